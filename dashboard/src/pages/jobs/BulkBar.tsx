/** Actions on the selection, or on all jobs that match. */
import { useState } from "preact/hooks";
import type { Job } from "../../api/types";
import { Menu } from "../../components/Menu";
import { currentRow } from "../../keyboard/rows";
import { useShortcuts } from "../../keyboard/shortcuts";
import { may } from "../../state/session";
import { BulkDialog } from "../bulk/BulkDialog";
import type { SelectionState } from "./useSelection";

interface Props {
  q: string;
  jobs: Job[];
  selection: SelectionState;
}

const MORE: [action: string, name: string][] = [
  ["reprioritise", "Change priority…"], ["requeue", "Move to another queue…"], ["reschedule", "Change start time…"], ["copy", "Run copies…"], ["amend", "Change arguments…"], ["approve", "Approve…"], ["reject", "Reject…"], ["delete", "Delete…"],
];

export function BulkBar({ q, jobs, selection }: Props) {
  const [asked, setAsked] = useState<{ action: string; ids: string[] | null } | null>(null);
  const target = () => (selection.everything ? null : [...selection.ids]);
  const ask = (action: string) => () => {
    const row = currentRow()?.dataset.row;
    const ids = selection.everything ? null : selection.ids.size ? [...selection.ids] : row ? [row] : [];
    if (ids === null || ids.length) setAsked({ action, ids });
  };
  useShortcuts(may("operator") ? { R: ask("retry"), C: ask("cancel") } : {});
  const close = (done: boolean) => {
    setAsked(null);
    if (done) selection.clear();
  };
  if (!may("operator")) return null;
  const dialog = asked ? <BulkDialog action={asked.action} q={q} ids={asked.ids} onClose={close} /> : null;
  if (selection.ids.size === 0) return dialog;
  const open = (action: string) => setAsked({ action, ids: target() });
  return (
    <div class="bulk-bar" role="region" aria-label="Actions on the selection">
      <span><strong>{selection.everything ? "All that match" : `${selection.ids.size} selected`}</strong></span>
      {!selection.everything && selection.ids.size === jobs.length ? <button type="button" class="link" onClick={selection.everythingMatching}>Select all that match the search</button> : null}
      <span class="grow" />
      <button type="button" class="small" title="Retry (R)" onClick={() => open("retry")}>Retry</button>
      <button type="button" class="small" title="Cancel (C)" onClick={() => open("cancel")}>Cancel</button>
      <Menu label="More">{MORE.map(([action, name]) => <button key={action} type="button" onClick={() => open(action)}>{name}</button>)}</Menu>
      <button type="button" class="small ghost" onClick={selection.clear}>Clear</button>
      {dialog}
    </div>
  );
}
