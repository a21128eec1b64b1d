import type { ScheduleRecord } from "../../api/pages";
import { StatePill } from "../../components/StatePill";
import { Ago } from "../../components/Time";
import { upcoming, absolute } from "../../format/time";
import { format } from "../../router/route";
import { now } from "../../state/clock";
import { zone } from "../../state/preferences";
import { RunStrip } from "./RunStrip";
import { ScheduleActions } from "./ScheduleActions";

export function ScheduleRow({ schedule }: { schedule: ScheduleRecord }) {
  return (
    <tr data-row={schedule.name} tabIndex={-1}>
      <td class="name"><a href={format("schedule", schedule.name)}>{schedule.name}</a> <ScheduleBadges schedule={schedule} /><span class="sub"><a class="muted" href={format("type", schedule.type)}>{schedule.type}</a></span></td>
      <td><span title={schedule.cron ?? undefined}>{schedule.words}</span><span class="sub muted">{[schedule.cron, schedule.tz].filter(Boolean).join(" · ")}</span></td>
      <td class="nowrap"><NextRuns schedule={schedule} /></td>
      <td class="nowrap"><Ago at={schedule.last} />{schedule.result && schedule.job ? <span class="sub"><a class="plain" href={format("job", schedule.job)}><StatePill label={schedule.result} /></a></span> : null}</td>
      <td><RunStrip runs={schedule.history} /></td>
      <td class="actions"><ScheduleActions schedule={schedule} small /></td>
    </tr>
  );
}

/** The next run, and the two after it on the second line. */
function NextRuns({ schedule }: { schedule: ScheduleRecord }) {
  if (schedule.paused) return <span class="muted">paused</span>;
  const rest = schedule.next_fires.slice(1, 3).map((at) => Date.parse(at));
  return (
    <>
      <Ago at={schedule.next} />
      <span class="sub muted" title={schedule.next_fires.map((at) => absolute(Date.parse(at), zone.value)).join("\n")}>{rest.length ? `then ${rest.map((at) => upcoming(at, now.value, zone.value)).join(", ")}` : ""}</span>
    </>
  );
}

export function ScheduleBadges({ schedule }: { schedule: ScheduleRecord }) {
  return (
    <>
      {schedule.paused ? <span class="tag warn" title={`by ${schedule.paused.actor}: ${String(schedule.paused.value ?? "")}`}>paused</span> : null}
      {schedule.problem ? <span class="tag bad" title={schedule.problem}>problem</span> : null}
      {schedule.drift.length ? <span class="tag note" title={`Set otherwise than the code declares: ${schedule.drift.join(", ")}`}>drift</span> : null}
      {schedule.missed ? <span class="tag" title="Ticks that came too late">{schedule.missed} missed</span> : null}
      {schedule.limit !== null ? <span class="tag" title="Runs left">{Math.max(schedule.limit - schedule.fired, 0)} left</span> : null}
    </>
  );
}
