import type { ScheduleRecord } from "../../api/pages";
import { duration } from "../../format/time";
import { format } from "../../router/route";
import { known } from "../../state/states";

/** The last runs, oldest first: a tick for each, its colour the state, its height how long it took. */
export function RunStrip({ runs }: { runs: ScheduleRecord["history"] }) {
  if (!runs.length) return <span class="muted">no run yet</span>;
  const longest = Math.max(...runs.map((run) => run.took ?? 0), 0.001);
  return (
    <span class="strip">
      {[...runs].sort((a, b) => a.tick.localeCompare(b.tick)).map((run) => (
        <a key={run.id} class={`strip-run s-${known(run.state)}`} href={format("job", run.id)} aria-label={`${run.state}, ${run.tick}`} title={`${run.tick}: ${run.state}${run.took === null ? "" : ` in ${duration(run.took)}`}`}>
          <span style={{ height: `${Math.round(25 + 75 * ((run.took ?? 0) / longest))}%` }} />
        </a>
      ))}
    </span>
  );
}
