import { segment } from "../../api/client";
import type { JobView } from "../../api/pages";
import { CopyButton } from "../../components/Copy";
import { Empty } from "../../components/Empty";
import { Loaded } from "../../components/Loaded";
import { Page } from "../../components/Page";
import { Progress } from "../../components/Progress";
import { StatePill } from "../../components/StatePill";
import { type Tab, Tabs } from "../../components/Tabs";
import { useLive } from "../../live/useLive";
import { route } from "../../router/location";
import { JobActions } from "./JobActions";
import { JobArguments } from "./JobArguments";
import { Attempts } from "./Attempts";
import { Context } from "./Context";
import { History } from "./History";
import { Logs } from "./Logs";
import { Result } from "./Result";
import { ReviewPanel } from "./ReviewPanel";
import { Stages } from "./Stages";
import { Timeline } from "./Timeline";
import { WhyPanel } from "./WhyPanel";

/** All about one job. */
export function JobPage() {
  const id = route.value.id ?? "";
  const answer = useLive<JobView>(`/api/jobs/${segment(id)}`);
  if (answer.problem?.status === 404) return <Gone id={id} />;
  return (
    <Page title={answer.data?.job.type ?? "Job"} crumb={{ name: "Jobs", href: "#/jobs" }} actions={answer.data ? <JobActions view={answer.data} /> : null}>
      <Loaded answer={answer}>{(view) => <Body view={view} />}</Loaded>
    </Page>
  );
}

function Body({ view }: { view: JobView }) {
  const { job } = view;
  return (
    <div class="stack job">
      <div class="job-head">
        <StatePill label={job.label} />
        <span class="mono">{job.id}</span><CopyButton text={job.id} label="Copy the id" />
        <span class="muted">attempt {job.attempt} of {job.max_attempts}</span>
        {job.state === "running" ? <Progress done={job.done} total={job.total} stage={job.stage} /> : null}
      </div>
      <WhyPanel view={view} />
      {view.review && job.state === "review" ? <ReviewPanel view={view} review={view.review} /> : null}
      <div class="job-top">
        <Timeline view={view} />
        <Stages view={view} />
      </div>
      <Tabs label="About this job" tabs={tabs(view)} />
    </div>
  );
}

function tabs(view: JobView): Tab[] {
  return [
    { id: "attempts", name: "Attempts", note: view.attempts.length, body: () => <Attempts view={view} /> },
    { id: "logs", name: "Logs", note: view.logs_total, body: () => <Logs view={view} /> },
    { id: "arguments", name: "Arguments", body: () => <JobArguments view={view} /> },
    { id: "result", name: "Result", body: () => <Result view={view} /> },
    { id: "context", name: "Context", body: () => <Context view={view} /> },
    { id: "history", name: "History", note: view.actions.length || null, body: () => <History actions={view.actions} /> },
  ];
}

function Gone({ id }: { id: string }) {
  return (
    <Page title="Job" hidden>
      <Empty title="There is no such job"><p>No job has the id <code>{id}</code>. It was deleted, or it ended and its type no longer keeps it. <a href={`#/audit?job=${encodeURIComponent(id)}`}>See what operators did to it.</a></p></Empty>
    </Page>
  );
}
