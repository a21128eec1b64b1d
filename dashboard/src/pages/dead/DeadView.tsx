import { segment } from "../../api/client";
import type { DeadView as DeadViewAnswer } from "../../api/pages";
import { Bars } from "../../components/Sparkline";
import { Empty } from "../../components/Empty";
import { Loaded } from "../../components/Loaded";
import { Page } from "../../components/Page";
import { Ago } from "../../components/Time";
import { count } from "../../format/numbers";
import { useLive } from "../../live/useLive";
import { format, jobs } from "../../router/route";
import { JobCells } from "../jobs/JobRow";
import { Traceback } from "../job/Traceback";
import { GroupActions } from "./GroupActions";

/** One cause: its traceback, its jobs, and what to do about them. */
export function DeadView({ fingerprint }: { fingerprint: string }) {
  const answer = useLive<DeadViewAnswer>(`/api/dead/${segment(fingerprint)}`);
  const group = answer.data?.group;
  if (answer.problem?.status === 404) return <Page title="Cause" hidden><Empty title="No dead job has this cause any more"><p>They were retried or deleted. <a href="#/dead">See what is dead now.</a></p></Empty></Page>;
  return (
    <Page title={group?.type ?? "Cause"} crumb={{ name: "Dead", href: "#/dead" }} actions={group ? <GroupActions group={group} /> : null}>
      <Loaded answer={answer}>{(view) => <Body view={view} fingerprint={fingerprint} />}</Loaded>
    </Page>
  );
}

function Body({ view, fingerprint }: { view: DeadViewAnswer; fingerprint: string }) {
  const { group, attempt } = view;
  return (
    <div class="stack">
      <p class="dead-error mono">{group.error ?? "died without an error"}</p>
      <dl class="facts">
        <div><dt>Jobs</dt><dd><a href={jobs(`fingerprint:${fingerprint} state:dead`)}>{count(group.jobs, group.capped)}</a></dd></div>
        <div><dt>Type</dt><dd><a href={format("type", group.type)}>{group.type}</a></dd></div>
        <div><dt>First</dt><dd><Ago at={group.first} /></dd></div>
        <div><dt>Last</dt><dd><Ago at={group.last} /></dd></div>
        <div><dt>Status</dt><dd>{group.status}{group.actor ? ` by ${group.actor}` : ""}{group.note ? `: ${group.note}` : ""}</dd></div>
        <div class="fact-bars"><dt>Last 24 hours</dt><dd><Bars values={group.hours} title="Jobs that died in each of the last 24 hours" /></dd></div>
      </dl>
      {attempt ? <section class="card" aria-label="Traceback of the newest job"><div class="card-head"><h2>Traceback of the newest</h2><a href={format("job", group.sample)}>open this job</a></div><Traceback attempt={attempt} /></section> : null}
      <section class="card flush" aria-label="Jobs">
        <div class="card-head"><h2>Newest jobs</h2><a href={jobs(`fingerprint:${fingerprint} state:dead`)}>all of them</a></div>
        <ul class="row-list">{view.jobs.map((job) => <li key={job.id} class="row plain-row" data-row={job.id} tabIndex={-1}><JobCells job={job} /></li>)}</ul>
      </section>
    </div>
  );
}
