import { useState } from "preact/hooks";
import { post, remove, segment } from "../../api/client";
import type { JobView } from "../../api/pages";
import { copy } from "../../components/Copy";
import { Menu } from "../../components/Menu";
import { ReasonDialog } from "../../components/ReasonDialog";
import { useShortcuts } from "../../keyboard/shortcuts";
import { go } from "../../router/location";
import { format } from "../../router/route";
import { act, notify } from "../../state/notices";
import { may } from "../../state/session";
import { isEnded } from "../../state/states";
import { EditDialog } from "./EditDialog";
import { MoveDialog } from "./MoveDialog";

type Asked = "cancel" | "delete" | "amend" | "reprioritise" | "requeue" | "reschedule" | null;

/** What can be done with this job now; each also has its key. */
export function JobActions({ view }: { view: JobView }) {
  const [asked, setAsked] = useState<Asked>(null);
  const path = `/api/jobs/${segment(view.job.id)}`;
  const can = (action: string) => may("operator") && view.actions_possible.includes(action);
  const retry = () => void act("Retried", () => post(`${path}/retry`));
  const again = () => void act("A copy is enqueued", () => post<{ id: string }>(`${path}/copy`)).then((made) => made && go(format("job", made.id)));
  useShortcuts({ ...(can("retry") ? { R: retry } : {}), ...(can("cancel") ? { C: () => setAsked("cancel") } : {}), ...(can("amend") ? { e: () => setAsked("amend") } : {}) });
  return (
    <>
      {can("retry") ? <button type="button" class={isEnded(view.job.state) ? "primary" : ""} title="Retry (R)" onClick={retry}>Retry</button> : null}
      {can("amend") ? <button type="button" title="Edit the arguments (e)" onClick={() => setAsked("amend")}>Edit{can("retry") ? " and retry" : ""}</button> : null}
      {can("cancel") ? <button type="button" title="Cancel (C)" onClick={() => setAsked("cancel")}>{view.job.label === "cancelling" ? "Cancel again" : "Cancel"}</button> : null}
      <Menu label="More">
        {can("copy") ? <button type="button" onClick={again}>Run a copy</button> : null}
        {can("reprioritise") ? <button type="button" onClick={() => setAsked("reprioritise")}>Change priority…</button> : null}
        {can("requeue") ? <button type="button" onClick={() => setAsked("requeue")}>Move to another queue…</button> : null}
        {can("reschedule") ? <button type="button" onClick={() => setAsked("reschedule")}>Change start time…</button> : null}
        <CopyAs view={view} />
        {can("delete") ? <button type="button" class="t-dead" onClick={() => setAsked("delete")}>Delete…</button> : null}
      </Menu>
      <Asking asked={asked} view={view} path={path} onClose={() => setAsked(null)} />
    </>
  );
}

function CopyAs({ view }: { view: JobView }) {
  const run = (name: string, text: string) => () => void copy(text).then((done) => notify(done ? "done" : "failed", done ? `Copied as ${name}` : "The browser refused to copy", text));
  return (
    <>
      <button type="button" onClick={run("a command", view.copy.cli)}>Copy as command</button>
      <button type="button" onClick={run("curl", view.copy.curl)}>Copy as curl</button>
      <button type="button" onClick={run("Python", view.copy.python)}>Copy as Python</button>
    </>
  );
}

function Asking({ asked, view, path, onClose }: { asked: Asked; view: JobView; path: string; onClose: () => void }) {
  const running = view.job.state === "running";
  switch (asked) {
    case null: return null;
    case "amend": return <EditDialog view={view} path={path} onClose={onClose} />;
    case "cancel": return (
      <ReasonDialog title="Cancel this job" button="Cancel the job" danger label={null} done={running ? "The job is asked to stop" : "Cancelled"} run={() => post(`${path}/cancel`)} onClose={onClose}>
        <p>{running ? "Its worker is asked to stop. A handler that checks for it stops at its next safe point; one that does not runs to its end." : "The job does not start any more. It can be retried while it is kept."}</p>
      </ReasonDialog>
    );
    case "delete": return (
      <ReasonDialog title="Delete this job" button="Delete" danger label={null} done="Deleted" run={() => remove(path).then(() => go(format("jobs")))} onClose={onClose}>
        <p>The job, its attempts and its log are removed. What operators did to it stays in the audit trail.</p>
      </ReasonDialog>
    );
    default: return <MoveDialog action={asked} job={view.job} path={path} onClose={onClose} />;
  }
}
