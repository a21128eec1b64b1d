import type { JobView } from "../../api/pages";
import { Code } from "../../components/Copy";
import { JsonTree } from "../../components/JsonTree";

/** The arguments as a tree, and the job as a command, a request and code. */
export function JobArguments({ view }: { view: JobView }) {
  return (
    <div class="stack">
      <section class="card" aria-label="Arguments"><JsonTree name="Arguments" value={view.job.args} /></section>
      <section class="card" aria-label="Enqueue the same again">
        <div class="card-head"><h2>The same job again</h2></div>
        <p class="muted">In a terminal</p><Code text={view.copy.cli} />
        <p class="muted">Over HTTP</p><Code text={view.copy.curl} />
        <p class="muted">In Python</p><Code text={view.copy.python} />
      </section>
    </div>
  );
}
