import type { Job } from "../../api/types";
import { Progress } from "../../components/Progress";
import { StatePill } from "../../components/StatePill";
import { Ago, Since, Took } from "../../components/Time";
import { shortId } from "../../format/ids";
import { line } from "../../format/json";
import { format } from "../../router/route";
import { isEnded } from "../../state/states";

interface Props {
  job: Job;
  gone: boolean;
  selected: boolean;
  onSelect: (range: boolean) => void;
}

/** Two lines: what it is and how it stands; its arguments or its error. */
export function JobRow({ job, gone, selected, onSelect }: Props) {
  return (
    <li class={`row ${selected ? "selected" : ""} ${gone ? "gone" : ""}`} data-row={job.id} tabIndex={-1} title={gone ? "No longer matches this search" : undefined}>
      <input type="checkbox" checked={selected} aria-label={`Select ${job.type} ${shortId(job.id)}`} onClick={(event) => onSelect(event.shiftKey)} />
      <JobCells job={job} />
    </li>
  );
}

/** The cells of a job in a list, without the checkbox. */
export function JobCells({ job }: { job: Job }) {
  return (
    <>
      <div class="row-main">
        <div class="row-top">
          <a class="row-type" href={format("job", job.id)}>{job.type}</a>
          <span class="mono muted row-id">{shortId(job.id)}</span>
          {job.tags.map((tag) => <span key={tag} class="tag">{tag}</span>)}
          {job.tenant ? <span class="tag" title="Tenant">{job.tenant}</span> : null}
        </div>
        <div class="row-sub mono">{job.error && !isQuiet(job) ? <span class="row-error">{job.error}</span> : (job.about ?? line(job.args))}</div>
      </div>
      <div class="row-progress">{job.label === "running" || job.label === "cancelling" ? <Progress done={job.done} total={job.total} stage={job.stage} /> : null}</div>
      <div class="row-attempt muted" title={`Attempt ${job.attempt} of ${job.max_attempts}`}>{job.attempt > 1 || job.error ? `${job.attempt}/${job.max_attempts}` : ""}</div>
      <div class="row-state"><StatePill label={job.label} /></div>
      <div class="row-time"><When job={job} /></div>
    </>
  );
}

function isQuiet(job: Job): boolean {
  return job.state === "completed" || job.state === "running";
}

/** The time that matters in this state. */
function When({ job }: { job: Job }) {
  if (job.state === "running") return <><span class="time-main"><Since at={job.started_at} /></span><span class="muted time-sub">so far</span></>;
  if (isEnded(job.state)) return <><span class="time-main"><Ago at={job.finished_at} /></span><span class="muted time-sub">{job.took === null ? "" : <>in <Took seconds={job.took} /></>}</span></>;
  if (job.state === "scheduled") return <><span class="time-main"><Ago at={job.run_at} /></span><span class="muted time-sub">{job.label === "retrying" ? "next attempt" : "starts"}</span></>;
  return <><span class="time-main"><Since at={job.created_at} /></span><span class="muted time-sub">waiting</span></>;
}
