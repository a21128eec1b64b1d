import type { JobView } from "../../api/pages";
import type { Attempt } from "../../api/types";
import { StatePill } from "../../components/StatePill";
import { Clock, Since } from "../../components/Time";
import { duration } from "../../format/time";
import { jobs } from "../../router/route";
import { quoted } from "../../search/terms";
import { Traceback } from "./Traceback";

/** Every attempt, the newest first and open. */
export function Attempts({ view }: { view: JobView }) {
  if (!view.attempts.length) return <p class="muted pad">It has not started yet.</p>;
  return <div class="attempts">{[...view.attempts].reverse().map((attempt, i) => <AttemptView key={`${attempt.number}-${attempt.started_at}`} attempt={attempt} open={i === 0} />)}</div>;
}

const SHOWN: Record<string, string> = { failed: "retrying", released: "queued", snoozed: "scheduled", crashed: "dead", lost: "dead", timeout: "dead" };

export function AttemptView({ attempt, open }: { attempt: Attempt; open: boolean }) {
  return (
    <details class="attempt" open={open}>
      <summary>
        <span class="attempt-number">Attempt {attempt.number}</span>
        <Outcome attempt={attempt} />
        <span class="grow attempt-error">{attempt.error ?? ""}</span>
        <span class="muted nowrap"><Clock at={attempt.started_at} /> · {attempt.ended_at ? duration((Date.parse(attempt.ended_at) - Date.parse(attempt.started_at)) / 1000) : <Since at={attempt.started_at} />}</span>
      </summary>
      <div class="attempt-body">
        <p class="muted">{attempt.worker ? <>on <a href={jobs(`worker:${quoted(attempt.worker)}`)}>{attempt.worker}</a></> : "on no worker"}{attempt.code ? <> · code <code>{attempt.code}</code></> : null}</p>
        {attempt.traceback || attempt.frames?.length ? <Traceback attempt={attempt} /> : null}
      </div>
    </details>
  );
}

function Outcome({ attempt }: { attempt: Attempt }) {
  const label = SHOWN[attempt.outcome] ?? attempt.outcome;
  return label === attempt.outcome ? <StatePill label={label} /> : <span class={`outcome s-text s-${label}`}>{attempt.outcome}</span>;
}
