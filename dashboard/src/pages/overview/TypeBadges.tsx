import type { TypeRow } from "../../api/pages";

/** What is out of the ordinary about a type: paused, disabled, breaker, no worker. */
export function TypeBadges({ row }: { row: Pick<TypeRow, "paused" | "disabled" | "breaker" | "workers" | "queued"> }) {
  return (
    <>
      {row.paused ? <span class="tag warn" title={`by ${row.paused.actor}${row.paused.reason ? `: ${row.paused.reason}` : ""}`}>paused</span> : null}
      {row.disabled ? <span class="tag warn">disabled</span> : null}
      {row.breaker ? <span class="tag bad">breaker {row.breaker}</span> : null}
      {row.workers === 0 ? <span class={`tag ${row.queued > 0 ? "bad" : ""}`} title="No live worker has this type">no worker</span> : null}
    </>
  );
}
