import { useState } from "preact/hooks";
import { post, remove, segment } from "../../api/client";
import type { ScheduleRecord } from "../../api/pages";
import { Menu } from "../../components/Menu";
import { ReasonDialog } from "../../components/ReasonDialog";
import { go } from "../../router/location";
import { format } from "../../router/route";
import { act } from "../../state/notices";
import { may } from "../../state/session";
import { ScheduleDialog } from "./ScheduleDialog";

/** Run now, pause or resume, edit, reset, delete. */
export function ScheduleActions({ schedule, small }: { schedule: ScheduleRecord; small?: boolean }) {
  const [asked, setAsked] = useState<"pause" | "edit" | "delete" | null>(null);
  const path = `/api/schedules/${segment(schedule.name)}`;
  const kind = small ? "small" : "";
  const close = () => setAsked(null);
  if (!may("operator")) return null;
  const run = () => void act("Enqueued", () => post<{ id: string }>(`${path}/run`)).then((made) => made && !small && go(format("job", made.id)));
  return (
    <>
      <button type="button" class={kind} onClick={run}>Run now</button>
      {schedule.paused ? <button type="button" class={kind} onClick={() => void act(`${schedule.name} runs again`, () => post(`${path}/resume`))}>Resume</button> : <button type="button" class={kind} onClick={() => setAsked("pause")}>Pause</button>}
      {may("admin") ? (
        <Menu label="More actions" icon>
          <button type="button" onClick={() => setAsked("edit")}>Edit…</button>
          {schedule.drift.length ? <button type="button" onClick={() => void act("As the code declares it", () => post(`${path}/reset`, { names: [] }))}>Reset to what the code declares</button> : null}
          <button type="button" class="t-dead" onClick={() => setAsked("delete")}>Delete…</button>
        </Menu>
      ) : null}
      {asked === "pause" ? <ReasonDialog title={`Pause ${schedule.name}`} button="Pause" done={`${schedule.name} is paused`} run={(reason) => post(`${path}/pause`, { reason })} onClose={close}><p>It makes no job until somebody resumes it. Times that pass meanwhile follow its rule for missed ticks: {schedule.catch_up}.</p></ReasonDialog> : null}
      {asked === "delete" ? <ReasonDialog title={`Delete ${schedule.name}`} button="Delete" danger label={null} done="Deleted" run={() => remove(path).then(() => go(format("schedules")))} onClose={close}><p>{schedule.in_code === false || !Object.keys(schedule.declared).length ? "The schedule is removed; its jobs stay." : "The code declares this schedule: the next worker that starts makes it again. To stop it for good, pause it, or remove it from the code."}</p></ReasonDialog> : null}
      {asked === "edit" ? <ScheduleDialog schedule={schedule} onClose={close} /> : null}
    </>
  );
}
