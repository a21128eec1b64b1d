import type { JobView } from "../../api/pages";
import { JsonTree } from "../../components/JsonTree";

/** What the handler returned, and its last checkpoint. */
export function Result({ view }: { view: JobView }) {
  return (
    <div class="stack">
      {view.result === null ? <p class="muted pad">{view.job.state === "completed" ? "The handler returned nothing." : "There is a result when the job has completed."}</p> : <section class="card" aria-label="Result"><JsonTree name="Result" value={view.result} /></section>}
      {view.checkpoint === null ? null : (
        <section class="card" aria-labelledby="checkpoint">
          <div class="card-head"><h2 id="checkpoint">Checkpoint</h2><span class="muted">where the next attempt goes on</span></div>
          <JsonTree name="Checkpoint" value={view.checkpoint} />
        </section>
      )}
    </div>
  );
}
