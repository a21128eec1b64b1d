import { segment } from "../../api/client";
import type { ScheduleRecord } from "../../api/pages";
import { Empty } from "../../components/Empty";
import { JsonTree } from "../../components/JsonTree";
import { Loaded } from "../../components/Loaded";
import { Page } from "../../components/Page";
import { ProblemPanel } from "../../components/ProblemPanel";
import { StatePill } from "../../components/StatePill";
import { Ago, Clock, Took } from "../../components/Time";
import { JobLink } from "../../components/JobLink";
import { absolute, upcoming } from "../../format/time";
import { useLive } from "../../live/useLive";
import { route } from "../../router/location";
import { format, jobs } from "../../router/route";
import { quoted } from "../../search/terms";
import { now } from "../../state/clock";
import { zone } from "../../state/preferences";
import { RunStrip } from "./RunStrip";
import { ScheduleActions } from "./ScheduleActions";
import { ScheduleBadges } from "./ScheduleRow";

/** One schedule: its next ten times and its last runs. */
export function SchedulePage() {
  const name = route.value.id ?? "";
  const answer = useLive<ScheduleRecord>(`/api/schedules/${segment(name)}`);
  if (answer.problem?.status === 404) return <Page title={name} hidden><Empty title={`There is no schedule ${name}`}><p><a href="#/schedules">All schedules</a></p></Empty></Page>;
  return (
    <Page title={name} crumb={{ name: "Schedules", href: "#/schedules" }} actions={answer.data ? <ScheduleActions schedule={answer.data} /> : null}>
      <Loaded answer={answer}>{(schedule) => <Body schedule={schedule} />}</Loaded>
    </Page>
  );
}

function Body({ schedule }: { schedule: ScheduleRecord }) {
  return (
    <div class="stack">
      <p><strong>{schedule.words}</strong> <span class="muted mono">{schedule.cron} {schedule.tz}</span> <ScheduleBadges schedule={schedule} /></p>
      {schedule.problem ? <ProblemPanel problem={{ title: "The next tick could not be fired", detail: schedule.problem, status: 1, code: "" }} /> : null}
      <dl class="facts">
        <div><dt>Type</dt><dd><a href={format("type", schedule.type)}>{schedule.type}</a></dd></div>
        <div><dt>Next</dt><dd><Ago at={schedule.next} /></dd></div>
        <div><dt>Last</dt><dd><Ago at={schedule.last} /></dd></div>
        <div><dt>Fired</dt><dd><a href={jobs(`schedule:${quoted(schedule.name)}`)}>{schedule.fired}</a>{schedule.limit === null ? "" : ` of ${schedule.limit}`}</dd></div>
        <div><dt>Missed · skipped</dt><dd>{schedule.missed} · {schedule.skipped}</dd></div>
        <div><dt>Missed ticks</dt><dd>{schedule.catch_up}</dd></div>
        <div><dt>Overlap</dt><dd>{schedule.overlap}</dd></div>
        <div><dt>Start</dt><dd><Clock at={schedule.start} /></dd></div>
        <div><dt>End</dt><dd><Clock at={schedule.end} /></dd></div>
        <div><dt>Declared</dt><dd>{Object.keys(schedule.declared).length ? "in code" : "at run time"}</dd></div>
      </dl>
      <div class="two">
        <section class="card" aria-labelledby="next"><div class="card-head"><h2 id="next">Next times</h2></div>{schedule.next_fires.length ? <ol class="fire-list">{schedule.next_fires.map((at) => <li key={at}><span class="mono" title={absolute(Date.parse(at), zone.value)}>{upcoming(Date.parse(at), now.value, zone.value)}</span> <span class="muted"><Ago at={at} /></span></li>)}</ol> : <p class="muted">None: it is paused or has ended.</p>}</section>
        <section class="card" aria-labelledby="runs"><div class="card-head"><h2 id="runs">Last runs</h2><RunStrip runs={schedule.history} /></div><ul class="related">{[...schedule.history].sort((a, b) => b.tick.localeCompare(a.tick)).slice(0, 12).map((run) => <li key={run.id}><StatePill label={run.state} /><JobLink id={run.id} /><span class="muted grow"><Clock at={run.tick} /></span><Took seconds={run.took} /></li>)}</ul></section>
      </div>
      <section class="card" aria-label="Arguments"><JsonTree name="Arguments of its jobs" value={schedule.args} /></section>
    </div>
  );
}
