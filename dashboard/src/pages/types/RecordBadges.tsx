import type { TypeRecord } from "../../api/pages";

/** What is out of the ordinary about a type. */
export function RecordBadges({ type }: { type: TypeRecord }) {
  const breaker = type.breaker && type.breaker.state !== "closed" ? type.breaker : null;
  return (
    <>
      {type.paused.map((pause) => <span key={pause.of + pause.name} class="tag warn" title={`${pause.of} paused by ${pause.actor}${pause.reason ? `: ${pause.reason}` : ""}`}>paused</span>)}
      {type.disabled ? <span class="tag warn" title={`by ${type.disabled.actor}`}>disabled</span> : null}
      {breaker ? <span class="tag bad" title={breaker.reason || `${breaker.failed} of ${breaker.seen} failed`}>breaker {breaker.state}</span> : null}
      {type.drift.length ? <span class="tag note" title={`Set by operators otherwise than the code declares: ${type.drift.join(", ")}`}>drift</span> : null}
      {type.workers === 0 ? <span class="tag bad" title="No live worker has this type">no worker</span> : null}
    </>
  );
}
