import type { TypeRow } from "../../api/pages";
import { Sparkline } from "../../components/Sparkline";
import { Ago, Took } from "../../components/Time";
import { count, percent } from "../../format/numbers";
import { format, jobs } from "../../router/route";
import { quoted } from "../../search/terms";
import { TypeBadges } from "./TypeBadges";

const HEADS = ["Type", "Waiting", "Running", "Retrying", "Dead", "Oldest", "p95 wait", "p95 run", "Failed", "Last hour"];

/** The types with work first; every number links to its jobs. */
export function TypesTable({ rows }: { rows: TypeRow[] }) {
  return (
    <section class="card flush" aria-labelledby="types">
      <div class="card-head"><h2 id="types">Types</h2><a href={format("types")}>all about types</a></div>
      <div class="scroll" tabIndex={0} role="region" aria-label="Types as a table">
        <table class="table">
          <thead><tr>{HEADS.map((head, i) => <th key={head} scope="col" class={i > 0 && i < 9 ? "num" : ""}>{head}</th>)}</tr></thead>
          <tbody>{sorted(rows).map((row) => <Row key={row.type} row={row} />)}</tbody>
        </table>
      </div>
    </section>
  );
}

function Row({ row }: { row: TypeRow }) {
  const q = `type:${quoted(row.type)}`;
  const waiting = row.queued + row.blocked + row.scheduled;
  return (
    <tr data-row={row.type} tabIndex={-1}>
      <td class="name"><a href={format("type", row.type)}>{row.type}</a> <TypeBadges row={row} /><span class="sub muted">{row.queue}</span></td>
      <CountCell n={waiting} capped={row.capped} href={jobs(`${q} state:queued,blocked,scheduled`)} />
      <CountCell n={row.running} href={jobs(`${q} state:running`)} />
      <CountCell n={row.retrying} href={jobs(`${q} state:retrying`)} kind="retrying" />
      <CountCell n={row.dead} href={jobs(`${q} state:dead`)} kind="dead" />
      <td class="num"><Ago at={row.oldest} /></td>
      <td class="num"><Took seconds={row.p95_wait} /></td>
      <td class="num"><Took seconds={row.p95_run} /></td>
      <td class={`num ${row.failure !== null && row.failure > 0.05 ? "t-dead" : ""}`}>{percent(row.failure)}</td>
      <td class="spark-cell"><Sparkline values={row.trend} /></td>
    </tr>
  );
}

function CountCell({ n, capped = false, href, kind }: { n: number; capped?: boolean; href: string; kind?: string }) {
  return <td class="num">{n ? <a class={kind ? `t-${kind}` : "plain"} href={href}>{count(n, capped)}</a> : <span class="muted">0</span>}</td>;
}

function sorted(rows: TypeRow[]): TypeRow[] {
  const attention = (row: TypeRow) => Number(row.workers === 0 && row.queued > 0) * 4 + Number(Boolean(row.breaker)) * 2 + Number(row.dead > 0);
  return [...rows].sort((a, b) => attention(b) - attention(a) || b.queued + b.running - a.queued - a.running || a.type.localeCompare(b.type));
}
