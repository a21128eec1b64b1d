import type { WorkerRecord } from "../../api/pages";
import { Empty } from "../../components/Empty";
import { Loaded } from "../../components/Loaded";
import { Page } from "../../components/Page";
import { useLive } from "../../live/useLive";
import { WorkerCard } from "./WorkerCard";

const ORDER = ["live", "stopping", "dead"];

/** Workers, what each holds, and how full it is. */
export function WorkersPage() {
  const answer = useLive<WorkerRecord[]>("/api/workers");
  return (
    <Page title="Workers">
      <Loaded answer={answer}>
        {(workers) => (workers.length ? (
          <div class="stack">
            <Capacity workers={workers} />
            {[...workers].sort((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state) || a.host.localeCompare(b.host) || a.pid - b.pid).map((worker) => <WorkerCard key={worker.id} worker={worker} />)}
          </div>
        ) : <Empty title="No worker runs" code="mainstay worker --app jobs:app"><p>Jobs are accepted and wait until a worker starts:</p></Empty>)}
      </Loaded>
    </Page>
  );
}

function Capacity({ workers }: { workers: WorkerRecord[] }) {
  const live = workers.filter((worker) => worker.state === "live");
  const slots = live.reduce((sum, worker) => sum + worker.slots, 0);
  const running = live.reduce((sum, worker) => sum + worker.running, 0);
  return (
    <p class="capacity">
      <strong>{live.length}</strong> live · <strong>{running}</strong> of <strong>{slots}</strong> slots in use
      <progress value={slots ? Math.min(running / slots, 1) : 0} max={1} aria-label={`${running} of ${slots} slots in use`} />
    </p>
  );
}
