import { post, segment } from "../../api/client";
import type { Operation } from "../../api/pages";
import { Loaded } from "../../components/Loaded";
import { Page } from "../../components/Page";
import { Ago } from "../../components/Time";
import { count, rate } from "../../format/numbers";
import { duration } from "../../format/time";
import { useLive } from "../../live/useLive";
import { jobs } from "../../router/route";
import { act } from "../../state/notices";
import { may } from "../../state/session";

/** One operation: how far it is, what it left alone and why; stop and resume. */
export function OperationView({ id }: { id: string }) {
  const path = `/api/bulk/${segment(id)}`;
  const answer = useLive<Operation>(path);
  return (
    <Page title={answer.data?.action ?? "Operation"} crumb={{ name: "Bulk operations", href: "#/bulk" }} actions={answer.data && may("operator") ? <Controls operation={answer.data} path={path} /> : null}>
      <Loaded answer={answer}>{(operation) => <Body operation={operation} />}</Loaded>
    </Page>
  );
}

function Controls({ operation, path }: { operation: Operation; path: string }) {
  if (operation.state === "running") return <button type="button" onClick={() => void act("Stopped; what is done stays done", () => post(`${path}/stop`))}>Stop</button>;
  if (operation.resumable) return <button type="button" class="primary" onClick={() => void act("Goes on", () => post(`${path}/resume`))}>Resume</button>;
  return null;
}

function Body({ operation }: { operation: Operation }) {
  const part = operation.matched ? operation.done / operation.matched : 1;
  return (
    <div class="card operation">
      <p><strong>{operation.actor}</strong> started this <Ago at={operation.at} /> on {operation.search === null || /by id$/.test(operation.search) ? `${operation.search ?? "a selection"}` : <a href={jobs(operation.search)}><code>{operation.search || "every job"}</code></a>}</p>
      <progress class="wide" value={part} max={1} aria-label={`${Math.round(part * 100)} % done`} />
      <dl class="facts">
        <div><dt>State</dt><dd>{operation.state}</dd></div>
        <div><dt>Done</dt><dd>{count(operation.done)} of {count(operation.matched)}</dd></div>
        <div><dt>Changed</dt><dd>{count(operation.changed)}</dd></div>
        <div><dt>Speed</dt><dd>{operation.rate ? `${rate(operation.rate)} jobs/s` : "–"}</dd></div>
        <div><dt>Left</dt><dd>{operation.left === null ? "–" : duration(operation.left)}</dd></div>
      </dl>
      {operation.error ? <p class="field-error" role="alert">{operation.error}</p> : null}
      <Counts title="Left alone" counts={operation.refused} />
      <Counts title="Types" counts={operation.types} />
    </div>
  );
}

function Counts({ title, counts }: { title: string; counts: Record<string, number> }) {
  const entries = Object.entries(counts);
  if (!entries.length) return null;
  return (
    <section>
      <h2>{title}</h2>
      <ul class="counts">{entries.map(([name, n]) => <li key={name}><span class="grow">{name}</span><span class="mono">{count(n)}</span></li>)}</ul>
    </section>
  );
}
