/** What went wrong with a request, and what to do. The page asks again by itself. */
import type { Problem } from "../api/types";
import { session } from "../state/session";
import { Code } from "./Copy";
import { Icon } from "./Icon";

export function ProblemPanel({ problem }: { problem: Problem }) {
  const down = problem.code === "store_unavailable" || problem.status === 0 || problem.status === 503;
  return (
    <div class={`problem ${down ? "down" : ""}`} role="alert">
      <Icon name="warn" />
      <div class="grow">
        <strong>{problem.title}</strong>
        {problem.detail ? <p>{problem.detail}</p> : null}
        {down ? <Diagnosis problem={problem} /> : null}
      </div>
    </div>
  );
}

function Diagnosis({ problem }: { problem: Problem }) {
  const instance = session.value?.instance;
  return (
    <div class="diagnosis">
      <p>
        {problem.status === 0 ? "The page could not reach its server." : <>The server runs, but its store does not answer{instance ? <> (<code>{instance.url}</code>)</> : null}.</>}
      </p>
      <ul>
        {problem.status === 0 ? <li>The server was stopped, or is being deployed.</li> : <li>The database is down, restarts, or its address has changed.</li>}
        {problem.status === 0 ? <li>A proxy between browser and server refuses the connection.</li> : <li>Its connections are used up, the disk is full, or the file is locked.</li>}
      </ul>
      <Code text="mainstay doctor" />
      <p class="muted" aria-live="polite"><span class="spinner" /> Trying again every few seconds; the page heals by itself.</p>
    </div>
  );
}
