import type { TypeRecord } from "../../api/pages";
import { Empty } from "../../components/Empty";
import { Loaded } from "../../components/Loaded";
import { Sparkline } from "../../components/Sparkline";
import { Took } from "../../components/Time";
import { count, percent } from "../../format/numbers";
import { ruleText } from "../../format/rules";
import { useLive } from "../../live/useLive";
import { format, jobs } from "../../router/route";
import { quoted } from "../../search/terms";
import { PauseButton } from "./PauseButton";
import { RecordBadges } from "./RecordBadges";

const HEADS: [name: string, num: boolean][] = [["Type", false], ["Waiting", true], ["Running", true], ["Dead", true], ["Failed 24 h", true], ["p95 wait", true], ["p95 run", true], ["Attempts", true], ["Time limit", true], ["24 h", false], ["", false]];

export function TypeTable() {
  const answer = useLive<TypeRecord[]>("/api/types");
  return (
    <Loaded answer={answer}>
      {(types) => (types.length ? (
        <div class="card flush scroll" tabIndex={0} role="region" aria-label="Types">
          <table class="table">
            <thead><tr>{HEADS.map(([head, num]) => <th key={head} scope="col" class={num ? "num" : ""}>{head || <span class="sr-only">Actions</span>}</th>)}</tr></thead>
            <tbody>{types.map((type) => <Row key={type.name} type={type} />)}</tbody>
          </table>
        </div>
      ) : <Empty title="No type is registered" code="mainstay worker --app jobs:app"><p>A worker registers the types of the code that it runs. Start one:</p></Empty>)}
    </Loaded>
  );
}

function Row({ type }: { type: TypeRecord }) {
  const q = `type:${quoted(type.name)}`;
  const waiting = (type.counts.queued ?? 0) + (type.counts.blocked ?? 0) + (type.counts.scheduled ?? 0);
  const link = (n: number, states: string, kind = "plain") => (n ? <a class={kind} href={jobs(`${q} state:${states}`)}>{count(n)}</a> : <span class="muted">0</span>);
  return (
    <tr data-row={type.name} tabIndex={-1}>
      <td class="name"><a href={format("type", type.name)}>{type.name}</a> <RecordBadges type={type} /><span class="sub muted">{type.description ?? type.queue}</span></td>
      <td class="num">{link(waiting, "queued,blocked,scheduled")}</td>
      <td class="num">{link(type.counts.running ?? 0, "running")}</td>
      <td class="num">{link(type.counts.dead ?? 0, "dead", "t-dead")}</td>
      <td class="num">{type.stats?.success === null || !type.stats ? <span class="muted">–</span> : percent(1 - type.stats.success)}</td>
      <td class="num"><Took seconds={type.stats?.wait.p95} /></td>
      <td class="num"><Took seconds={type.stats?.run.p95} /></td>
      <td class="num">{ruleText("attempts", type.effective.attempts)}</td>
      <td class="num">{ruleText("timeout", type.effective.timeout)}</td>
      <td class="spark-cell">{type.stats ? <Sparkline values={type.stats.trend} /> : null}</td>
      <td><PauseButton of="type" name={type.name} paused={type.paused} /></td>
    </tr>
  );
}
