import { useState } from "preact/hooks";
import { post, problemOf } from "../../api/client";
import type { JobView } from "../../api/pages";
import { Dialog } from "../../components/Dialog";
import { Diff } from "../../components/Diff";
import { JsonEditor } from "../../components/JsonEditor";
import { TextField } from "../../components/TextField";
import { parsed, pretty } from "../../format/json";
import { notify } from "../../state/notices";
import { refresh } from "../../live/connection";

interface Props {
  view: JobView;
  path: string;
  onClose: () => void;
}

/** Edit the arguments; the server checks them against the schema of the type. The old ones stay in the history. */
export function EditDialog({ view, path, onClose }: Props) {
  const before = view.job.args;
  const canRetry = view.actions_possible.includes("retry");
  const [text, setText] = useState(pretty(before));
  const [note, setNote] = useState("");
  const [error, setError] = useState<string | null>(null);
  const found = parsed(text);
  const changed = "value" in found && pretty(found.value) !== pretty(before);
  const save = async (retry: boolean) => {
    if (!("value" in found)) return;
    try {
      await post(`${path}/amend`, { args: found.value, note, retry });
      notify("done", retry ? "Saved and retried" : "Saved");
      void refresh();
      onClose();
    } catch (failure) {
      const problem = problemOf(failure);
      setError(problem.detail || problem.title);
    }
  };
  return (
    <Dialog title="Edit the arguments" wide onClose={onClose}>
      <form class="dialog-form" onSubmit={(event) => { event.preventDefault(); void save(canRetry); }}>
        <JsonEditor label={`Arguments of ${view.job.type}`} rows={12} value={text} error={error} onChange={(next) => { setText(next); setError(null); }} />
        {changed && "value" in found ? <Diff before={before} after={found.value} /> : <p class="muted">Nothing is changed yet. Values shown as masked are secrets: leave them, and they stay as they are.</p>}
        <TextField label="Note" value={note} onChange={setNote} hint="Optional. It is kept in the history of the job, with the old arguments." />
        <footer class="dialog-foot">
          <button type="button" onClick={onClose}>Keep as it is</button>
          {canRetry ? <button type="button" disabled={!changed} onClick={() => void save(false)}>Save only</button> : null}
          <button type="submit" class="primary" disabled={!changed}>{canRetry ? "Save and retry" : "Save"}</button>
        </footer>
      </form>
    </Dialog>
  );
}
