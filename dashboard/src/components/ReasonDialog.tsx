/** Asks for an optional reason or note before an action; it is kept in the audit trail. */
import { type ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { problemOf } from "../api/client";
import { notify } from "../state/notices";
import { refresh } from "../live/connection";
import { Dialog } from "./Dialog";
import { TextField } from "./TextField";

interface Props {
  title: string;
  button: string;
  danger?: boolean;
  label?: string | null;
  hint?: string;
  placeholder?: string;
  children?: ComponentChildren;
  done: string;
  run: (note: string) => Promise<unknown>;
  onClose: () => void;
}

export function ReasonDialog({ title, button, danger, label = "Reason", hint, placeholder, children, done, run, onClose }: Props) {
  const [note, setNote] = useState("");
  const [error, setError] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const submit = async () => {
    setBusy(true);
    try {
      await run(note);
      notify("done", done);
      void refresh();
      onClose();
    } catch (failure) {
      const problem = problemOf(failure);
      setError([problem.title, problem.detail].filter(Boolean).join(": "));
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="dialog-form" onSubmit={(event) => { event.preventDefault(); void submit(); }}>
        {children}
        {label === null ? null : <TextField first label={label} value={note} onChange={setNote} hint={hint ?? "Optional. It is kept in the audit trail."} placeholder={placeholder ?? ""} />}
        {error ? <p class="field-error" role="alert">{error}</p> : null}
        <footer class="dialog-foot">
          <button type="button" onClick={onClose}>Keep as it is</button>
          <button type="submit" class={danger ? "danger" : "primary"} disabled={busy} data-first={label === null || undefined}>{button}</button>
        </footer>
      </form>
    </Dialog>
  );
}
