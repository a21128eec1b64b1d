import { useState } from "preact/hooks";
import { post, problemOf } from "../../api/client";
import type { DeadGroup, Operation } from "../../api/pages";
import { Dialog } from "../../components/Dialog";
import { TextField } from "../../components/TextField";
import { count } from "../../format/numbers";
import { isCount, mustType } from "../../state/confirm";
import { production } from "../../state/session";
import { told } from "./GroupActions";

interface Props {
  group: DeadGroup;
  path: string;
  onClose: () => void;
}

/** Retry all jobs of a cause, spread over a time. */
export function RetryDialog({ group, path, onClose }: Props) {
  const [stagger, setStagger] = useState(group.jobs >= 100 ? "10m" : "");
  const [typed, setTyped] = useState("");
  const [error, setError] = useState<string | null>(null);
  const mustBeTyped = mustType({ action: "retry", count: group.jobs, everything: true, production: production.value });
  const run = async () => {
    try {
      told(await post<Operation>(`${path}/retry`, { one: false, stagger: stagger || null }));
      onClose();
    } catch (failure) {
      const problem = problemOf(failure);
      setError(problem.detail || problem.title);
    }
  };
  return (
    <Dialog title={`Retry ${count(group.jobs, group.capped)} jobs`} onClose={onClose}>
      <form class="dialog-form" onSubmit={(event) => { event.preventDefault(); void run(); }}>
        <p class="mono clip">{group.error}</p>
        <TextField first label="Spread over" value={stagger} onChange={setStagger} placeholder="at once" error={error} hint="A duration as 10m or 1h, so that what has failed before is not overrun. Empty: all at once." />
        {mustBeTyped ? <TextField label={`Type ${count(group.jobs)} to confirm`} value={typed} onChange={setTyped} placeholder={String(group.jobs)} /> : null}
        <footer class="dialog-foot">
          <button type="button" onClick={onClose}>Leave them dead</button>
          <button type="submit" class="primary" disabled={mustBeTyped && !isCount(typed, group.jobs)}>Retry {count(group.jobs, group.capped)}</button>
        </footer>
      </form>
    </Dialog>
  );
}
