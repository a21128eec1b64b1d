import { useState } from "preact/hooks";
import type { ScheduleRecord } from "../../api/pages";
import { Empty } from "../../components/Empty";
import { Icon } from "../../components/Icon";
import { Loaded } from "../../components/Loaded";
import { Page } from "../../components/Page";
import { useLive } from "../../live/useLive";
import { may } from "../../state/session";
import { ScheduleDialog } from "./ScheduleDialog";
import { ScheduleRow } from "./ScheduleRow";

const DECLARE = `app.schedule("nightly", cleanup.prepare(days=30), cron="0 3 * * *", tz="Europe/Berlin")

# or in a terminal
mainstay schedules add nightly cleanup days=30 --cron "0 3 * * *" --tz Europe/Berlin`;

/** Schedules: when they run next, how the last runs went; run now, pause, edit. */
export function SchedulesPage() {
  const [making, setMaking] = useState(false);
  const answer = useLive<ScheduleRecord[]>("/api/schedules");
  const add = may("admin") ? <button type="button" onClick={() => setMaking(true)}><Icon name="plus" />New schedule</button> : null;
  return (
    <Page title="Schedules" actions={add}>
      <Loaded answer={answer}>
        {(schedules) => (schedules.length ? (
          <div class="card flush scroll" tabIndex={0} role="region" aria-label="Schedules">
            <table class="table schedules">
              <thead><tr><th scope="col">Schedule</th><th scope="col">When</th><th scope="col">Next</th><th scope="col">Last</th><th scope="col">Last 30 runs</th><th scope="col"><span class="sr-only">Actions</span></th></tr></thead>
              <tbody>{schedules.map((schedule) => <ScheduleRow key={schedule.name} schedule={schedule} />)}</tbody>
            </table>
          </div>
        ) : <Empty title="Nothing is scheduled" code={DECLARE}><p>A schedule enqueues a job at its times, also when many workers run: each tick makes one job.</p></Empty>)}
      </Loaded>
      {making ? <ScheduleDialog schedule={null} onClose={() => setMaking(false)} /> : null}
    </Page>
  );
}
