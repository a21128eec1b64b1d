import type { DeadGroup } from "../../api/pages";
import { Bars } from "../../components/Sparkline";
import { Ago } from "../../components/Time";
import { count } from "../../format/numbers";
import { format } from "../../router/route";
import { GroupActions } from "./GroupActions";

/** One cause: the error, how many died of it and when. */
export function GroupRow({ group }: { group: DeadGroup }) {
  const where = group.fingerprint ? format("dead", group.fingerprint) : format("job", group.sample);
  return (
    <li class={`row dead-row d-${group.status}`} data-row={group.fingerprint ?? group.sample} tabIndex={-1}>
      <div class="row-main">
        <div class="row-top"><a class="row-type clip" href={where}>{group.error ?? "died without an error"}</a>{group.status === "open" ? null : <span class="tag" title={group.note}>{group.status} by {group.actor}</span>}</div>
        <div class="row-sub muted">{group.type} · first <Ago at={group.first} /> · last <Ago at={group.last} /></div>
      </div>
      <Bars values={group.hours} title={`${sum(group.hours)} died in the last 24 hours`} />
      <div class="dead-count"><span class="number-small">{count(group.jobs, group.capped)}</span><span class="muted">{group.jobs === 1 ? "job" : "jobs"}</span></div>
      <GroupActions group={group} />
    </li>
  );
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
