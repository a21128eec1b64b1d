import { useState } from "preact/hooks";
import { post, segment } from "../../api/client";
import type { WorkerRecord } from "../../api/pages";
import { Progress } from "../../components/Progress";
import { ReasonDialog } from "../../components/ReasonDialog";
import { StatePill } from "../../components/StatePill";
import { Ago, Since } from "../../components/Time";
import { JobLink } from "../../components/JobLink";
import { format, jobs } from "../../router/route";
import { quoted } from "../../search/terms";
import { may } from "../../state/session";

/** One worker: where it runs, its lease, and the jobs it holds. */
export function WorkerCard({ worker }: { worker: WorkerRecord }) {
  return (
    <section class={`card worker w-${worker.state}`} aria-label={`Worker ${worker.id}`} data-row={worker.id} tabIndex={-1}>
      <div class="card-head">
        <h2 class="mono"><a class="plain" href={jobs(`worker:${quoted(worker.id)}`)}>{worker.id}</a></h2>
        <span class={`tag ${worker.state === "live" ? "good" : worker.state === "dead" ? "bad" : "warn"}`}>{worker.state}</span>
        <span class="muted">{worker.host} · pid {worker.pid} · up <Since at={worker.started_at} /></span>
        <span class="grow" />
        <span class="slots-text"><progress value={worker.slots ? Math.min(worker.running / worker.slots, 1) : 0} max={1} aria-label={`${worker.running} of ${worker.slots} slots`} /><span class="mono">{worker.running}/{worker.slots}</span></span>
        {may("operator") && worker.state !== "dead" ? <StopButtons worker={worker} /> : null}
      </div>
      <p class="muted">heartbeat <Ago at={worker.beat_at} /> · lease {worker.state === "dead" ? "ran out" : "ends"} <Ago at={worker.expires_at} /> · {worker.queues.length ? `queues ${worker.queues.join(", ")}` : "all queues"} · {worker.types.length} types</p>
      {worker.jobs.length ? (
        <ul class="related held">
          {worker.jobs.map((job) => (
            <li key={job.id}>
              <StatePill label={job.label} />
              <a href={format("job", job.id)}>{job.type}</a>
              <JobLink id={job.id} />
              <span class="grow"><Progress done={job.done} total={job.total} stage={job.stage} /></span>
              <span class="mono"><Since at={job.started_at} /></span>
            </li>
          ))}
        </ul>
      ) : <p class="muted">It holds no job.</p>}
    </section>
  );
}

function StopButtons({ worker }: { worker: WorkerRecord }) {
  const [asked, setAsked] = useState<"drain" | "stop" | null>(null);
  const drain = asked === "drain";
  return (
    <>
      {worker.state === "live" ? <button type="button" class="small" title="Take no new job, finish those it has, then stop" onClick={() => setAsked("drain")}>Drain</button> : null}
      <button type="button" class="small" onClick={() => setAsked("stop")}>Stop</button>
      {asked ? (
        <ReasonDialog title={`${drain ? "Drain" : "Stop"} ${worker.id}`} button={drain ? "Drain" : "Stop"} danger={!drain} label={null} done={drain ? "It takes no new job" : "It was told to stop"} run={() => post(`/api/workers/${segment(worker.id)}/stop`, { drain })} onClose={() => setAsked(null)}>
          <p>{drain ? "It takes no new job, finishes those it has, and stops." : "It stops as on a deploy: running jobs get their grace time, then they are released with their checkpoints and go on elsewhere."} A supervisor may start a new one.</p>
        </ReasonDialog>
      ) : null}
    </>
  );
}
