import { segment } from "../../api/client";
import type { TypeRecord } from "../../api/pages";
import { Empty } from "../../components/Empty";
import { Icon } from "../../components/Icon";
import { JsonTree } from "../../components/JsonTree";
import { Loaded } from "../../components/Loaded";
import { Page } from "../../components/Page";
import { StatePill } from "../../components/StatePill";
import { Ago, Took } from "../../components/Time";
import { count, percent, plural } from "../../format/numbers";
import { useLive } from "../../live/useLive";
import { route } from "../../router/location";
import { format, jobs } from "../../router/route";
import { quoted } from "../../search/terms";
import { may } from "../../state/session";
import { PauseButton } from "./PauseButton";
import { RecordBadges } from "./RecordBadges";
import { RuleTable } from "./RuleTable";
import { TypeMenu } from "./TypeMenu";

/** One type: what it takes, how it does, and its values as declared, set and in force. */
export function TypePage() {
  const name = route.value.id ?? "";
  const answer = useLive<TypeRecord>(`/api/types/${segment(name)}`);
  const type = answer.data;
  if (answer.problem?.status === 404) return <Page title={name} hidden><Empty title={`There is no type ${name}`} code="mainstay types"><p>No worker has registered it, and no job has it.</p></Empty></Page>;
  return (
    <Page title={name} crumb={{ name: "Types", href: "#/types" }} actions={type ? <Actions type={type} /> : null}>
      <Loaded answer={answer}>{(found) => <Body type={found} />}</Loaded>
    </Page>
  );
}

function Actions({ type }: { type: TypeRecord }) {
  return (
    <>
      {may("operator") ? <a class="button primary" href={format("enqueue", null, { type: type.name })}><Icon name="plus" />Enqueue</a> : null}
      <PauseButton of="type" name={type.name} paused={type.paused} />
      <TypeMenu type={type} />
    </>
  );
}

function Body({ type }: { type: TypeRecord }) {
  return (
    <div class="stack">
      <p>{type.description ?? <span class="muted">The docstring of the handler would be shown here.</span>} <RecordBadges type={type} /></p>
      <ul class="chips">{Object.entries(type.counts).filter(([, n]) => n > 0).map(([label, n]) => <li key={label}><a class="plain" href={jobs(`type:${quoted(type.name)} state:${label}`)}><StatePill label={label} note={count(n)} /></a></li>)}</ul>
      {type.stats ? <Stats stats={type.stats} /> : null}
      <RuleTable kind="types" name={type.name} rules={type} role="admin" />
      <div class="two">
        <section class="card" aria-labelledby="schema"><div class="card-head"><h2 id="schema">Arguments</h2></div><JsonTree name="JSON Schema of the arguments" value={type.schema} /></section>
        <Registered type={type} />
      </div>
    </div>
  );
}

function Stats({ stats }: { stats: NonNullable<TypeRecord["stats"]> }) {
  return (
    <dl class="facts" aria-label="The last 24 hours">
      <div><dt>Enqueued, 24 h</dt><dd>{count(stats.enqueued)}</dd></div>
      <div><dt>Completed</dt><dd>{count(stats.completed)}</dd></div>
      <div><dt>Failed attempts</dt><dd>{count(stats.failed)}</dd></div>
      <div><dt>Success</dt><dd>{percent(stats.success)}</dd></div>
      <div><dt>Wait p50 · p95 · p99</dt><dd><Took seconds={stats.wait.p50} /> · <Took seconds={stats.wait.p95} /> · <Took seconds={stats.wait.p99} /></dd></div>
      <div><dt>Run p50 · p95 · p99</dt><dd><Took seconds={stats.run.p50} /> · <Took seconds={stats.run.p95} /> · <Took seconds={stats.run.p99} /></dd></div>
    </dl>
  );
}

function Registered({ type }: { type: TypeRecord }) {
  const declarations = type.declarations ?? [];
  return (
    <section class="card" aria-labelledby="registered">
      <div class="card-head"><h2 id="registered">Registered</h2></div>
      <dl class="facts">
        <div><dt>Queue</dt><dd><a href={jobs(`queue:${quoted(type.queue)}`)}>{type.queue}</a></dd></div>
        <div><dt>Live workers</dt><dd>{type.workers}</dd></div>
        <div><dt>Last seen</dt><dd><Ago at={type.seen_at} /></dd></div>
        <div><dt>Stages</dt><dd>{type.stages.length ? type.stages.join(" → ") : "–"}</dd></div>
        <div><dt>Schedules</dt><dd>{type.schedules?.length ? type.schedules.map((name) => <a key={name} class="spaced" href={format("schedule", name)}>{name}</a>) : "–"}</dd></div>
      </dl>
      {declarations.length > 1 ? <p class="note-text"><Icon name="warn" /> Live workers declare different arguments: a deployment is under way, or an old worker was left behind.</p> : null}
      <ul class="counts">{declarations.map((each) => <li key={each.signature + String(each.version)}><code class="grow clip">{each.signature}</code><span class="muted">v{each.version} · {plural(each.workers, "worker")}</span></li>)}</ul>
    </section>
  );
}
