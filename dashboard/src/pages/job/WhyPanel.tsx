import type { JobView } from "../../api/pages";
import type { Reason } from "../../api/types";
import { Icon } from "../../components/Icon";
import { Since, Timed } from "../../components/Time";
import { format } from "../../router/route";
import { isEnded } from "../../state/states";

/** Why the job has not started, or is where it is: the first reason is the one that holds it now. */
export function WhyPanel({ view }: { view: JobView }) {
  const { job, why } = view;
  if (job.label === "cancelling") return <p class="why"><Icon name="clock" /><span>Cancel requested, <Since at={job.cancel_at} /> ago. The worker was told; the handler stops at its next safe point.</span></p>;
  if (!why?.reasons.length || isEnded(job.state) || job.state === "running" || job.state === "review") return null;
  return (
    <section class="why" aria-labelledby="why">
      <Icon name="clock" />
      <div>
        <h2 id="why">Why it is not running</h2>
        <ol>{why.reasons.map((reason, i) => <li key={i} class={i === 0 ? "first" : ""}><Timed text={reason.text} /> <Where reason={reason} view={view} /></li>)}</ol>
      </div>
    </section>
  );
}

/** A link to what holds the job. */
function Where({ reason, view }: { reason: Reason; view: JobView }) {
  switch (reason.kind) {
    case "parents": return <>{view.after.map((parent) => <a key={parent.id} href={format("job", parent.id)}>{parent.type} ({parent.label}) </a>)}</>;
    case "limit": case "rate": return <a href={format("types", null, { tab: "limits" })}>limits</a>;
    case "worker": case "slot": return <a href={format("workers")}>workers</a>;
    case "paused": case "breaker": return <a href={format("type", view.job.type)}>{view.job.type}</a>;
    default: return null;
  }
}
