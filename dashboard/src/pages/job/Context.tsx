import type { ComponentChildren } from "preact";
import type { JobView } from "../../api/pages";
import type { Job } from "../../api/types";
import { StatePill } from "../../components/StatePill";
import { Clock, Took } from "../../components/Time";
import { JobLink } from "../../components/JobLink";
import { ruleText } from "../../format/rules";
import { format, jobs } from "../../router/route";
import { quoted } from "../../search/terms";

/** What the job belongs to, and the options that hold for it. Every value is a search. */
export function Context({ view }: { view: JobView }) {
  const { job } = view;
  return (
    <div class="stack">
      <dl class="facts wide-facts">
        <Fact name="Type"><a href={format("type", job.type)}>{job.type}</a></Fact>
        <Fact name="Queue"><Search term="queue" value={job.queue} /></Fact>
        <Fact name="Priority">{job.priority}</Fact>
        <Fact name="Tenant"><Search term="tenant" value={job.tenant} /></Fact>
        <Fact name="Key"><Search term="key" value={job.key} /></Fact>
        <Fact name="Reference"><Search term="ref" value={job.ref} /></Fact>
        <Fact name="Tags">{job.tags.length ? job.tags.map((tag) => <Search key={tag} term="tag" value={tag} />) : "–"}</Fact>
        <Fact name="Schedule">{job.schedule ? <a href={format("schedule", job.schedule)}>{job.schedule}</a> : "–"}</Fact>
        <Fact name="Parent">{job.parent ? <JobLink id={job.parent} /> : "–"}</Fact>
        <Fact name="Worker"><Search term="worker" value={job.worker} /></Fact>
        <Fact name="Created"><Clock at={job.created_at} /></Fact>
        <Fact name="Start by"><Clock at={job.start_by} /></Fact>
        <Fact name="Time limit"><Took seconds={job.timeout} /></Fact>
        <Fact name="Backoff">{ruleText("backoff", job.backoff ?? null)}</Fact>
        <Fact name="Kept for">{ruleText("keep", job.keep ?? null)}</Fact>
        <Fact name="Removed"><Clock at={job.expires_at} /></Fact>
        <Fact name="Crashes">{job.crashes}</Fact>
        <Fact name="Fingerprint">{job.fingerprint ? <a class="mono" href={format("dead", job.fingerprint)}>{job.fingerprint.slice(0, 12)}</a> : "–"}</Fact>
      </dl>
      <Related title="Waits for" found={view.after} />
      <Related title="Children" found={view.children} />
    </div>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return <div><dt>{name}</dt><dd>{children}</dd></div>;
}

function Search({ term, value }: { term: string; value: string | null }) {
  return value ? <a class="spaced" href={jobs(`${term}:${quoted(value)}`)}>{value}</a> : <>–</>;
}

function Related({ title, found }: { title: string; found: Job[] }) {
  if (!found.length) return null;
  return (
    <section class="card" aria-label={title}>
      <div class="card-head"><h2>{title}</h2></div>
      <ul class="related">{found.map((job) => <li key={job.id}><StatePill label={job.label} /><a href={format("job", job.id)}>{job.type}</a><JobLink id={job.id} /></li>)}</ul>
    </section>
  );
}
