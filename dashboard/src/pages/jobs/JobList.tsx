import type { Job } from "../../api/types";
import { useShortcuts } from "../../keyboard/shortcuts";
import { currentRow } from "../../keyboard/rows";
import { JobRow } from "./JobRow";
import type { SelectionState } from "./useSelection";

interface Props {
  jobs: Job[];
  gone: Set<string>;
  selection: SelectionState;
}

/** The rows. `j` and `k` move, `x` selects. */
export function JobList({ jobs, gone, selection }: Props) {
  const onRow = (action: (id: string) => void) => () => {
    const id = currentRow()?.dataset.row;
    if (id) action(id);
  };
  useShortcuts({ x: onRow(selection.toggle), "shift+x": onRow(selection.extend), Escape: selection.clear });
  if (jobs.length === 0) return null;
  const all = selection.ids.size === jobs.length;
  return (
    <div class="rows">
      <label class="rows-head">
        <input type="checkbox" checked={all} ref={(box) => { if (box) box.indeterminate = selection.ids.size > 0 && !all; }} onChange={selection.all} />
        <span class="muted">Select these {jobs.length}</span>
      </label>
      <ul class="row-list" aria-label="Jobs">
        {jobs.map((job) => <JobRow key={job.id} job={job} gone={gone.has(job.id)} selected={selection.ids.has(job.id)} onSelect={(range) => (range ? selection.extend : selection.toggle)(job.id)} />)}
      </ul>
    </div>
  );
}
