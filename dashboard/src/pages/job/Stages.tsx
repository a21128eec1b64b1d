import type { JobView } from "../../api/pages";
import { JsonTree } from "../../components/JsonTree";
import { Since } from "../../components/Time";
import { duration } from "../../format/time";
import { short } from "../../format/numbers";

/** Progress and stages, if the handler tells them. */
export function Stages({ view }: { view: JobView }) {
  const { job, stages } = view;
  if (!stages.length && job.done === null && job.details === null) return null;
  return (
    <section class="card" aria-labelledby="stages">
      <div class="card-head"><h2 id="stages">Progress</h2>{job.done === null ? null : <span class="mono">{short(job.done)}{job.total ? ` of ${short(job.total)}` : ""}</span>}</div>
      {job.done !== null && job.total ? <progress class="wide" value={Math.min(job.done / job.total, 1)} max={1} aria-label={`${Math.round((job.done / job.total) * 100)} % done`} /> : null}
      <ol class="stages">
        {stages.map((stage) => (
          <li key={stage.name} class={stageKind(stage, view)}>
            <span class="stage-dot" aria-hidden="true" />
            <span class="grow">{stage.name}</span>
            <span class="muted mono">{stage.took !== null ? duration(stage.took) : stageKind(stage, view) === "current" ? <Since at={stage.started_at} /> : ""}</span>
          </li>
        ))}
      </ol>
      {job.details ? <JsonTree name="Details" value={job.details} /> : null}
    </section>
  );
}

function stageKind(stage: JobView["stages"][number], { job }: JobView): string {
  if (stage.took !== null) return "done";
  if (stage.started_at === null) return "open";
  return job.state === "running" ? "current" : "done";
}
