import { useState } from "preact/hooks";
import { post, segment } from "../../api/client";
import type { DeadGroup, Operation } from "../../api/pages";
import { Menu } from "../../components/Menu";
import { ReasonDialog } from "../../components/ReasonDialog";
import { plural } from "../../format/numbers";
import { format } from "../../router/route";
import { act, notify } from "../../state/notices";
import { may } from "../../state/session";
import { refresh } from "../../live/connection";
import { RetryDialog } from "./RetryDialog";
import { PurgeDialog } from "./PurgeDialog";

const EXPLAINED: Record<string, string> = {
  ignore: "It is not shown as open any more and raises no alert, also when more jobs die of it.",
  resolve: "The cause is mended. If another job dies of it, it opens again by itself.",
  reopen: "It counts as open again.",
};

/** Retry one, then the rest; ignore, resolve, reopen, purge. */
export function GroupActions({ group }: { group: DeadGroup }) {
  const [asked, setAsked] = useState<string | null>(null);
  if (!may("operator") || group.fingerprint === null) return null;
  const path = `/api/dead/${segment(group.fingerprint)}`;
  const close = () => setAsked(null);
  const one = () => void act(() => `One job is retried: ${group.type}`, () => post<Operation>(`${path}/retry`, { one: true }));
  return (
    <div class="row-actions">
      <button type="button" class="small" title="Retry one job, to see whether the cause is mended" onClick={one}>Retry one</button>
      <button type="button" class="small" onClick={() => setAsked("retry")}>Retry all…</button>
      <Menu label="More actions" icon>
        {group.status === "resolved" ? null : <button type="button" onClick={() => setAsked("resolve")}>Resolve…</button>}
        {group.status === "ignored" ? null : <button type="button" onClick={() => setAsked("ignore")}>Ignore…</button>}
        {group.status === "open" ? null : <button type="button" onClick={() => setAsked("reopen")}>Reopen…</button>}
        <button type="button" class="t-dead" onClick={() => setAsked("purge")}>Purge…</button>
      </Menu>
      {asked === "retry" ? <RetryDialog group={group} path={path} onClose={close} /> : null}
      {asked === "purge" ? <PurgeDialog group={group} path={path} onClose={close} /> : null}
      {asked !== null && asked in EXPLAINED ? (
        <ReasonDialog title={`${asked.charAt(0).toUpperCase()}${asked.slice(1)} this cause`} button={asked} label="Note" done={`The cause is ${PAST[asked]}`} run={(note) => post(`${path}/${asked}`, { note })} onClose={close}>
          <p>{EXPLAINED[asked]}</p>
        </ReasonDialog>
      ) : null}
    </div>
  );
}

const PAST: Record<string, string> = { ignore: "ignored", resolve: "resolved", reopen: "open again" };

/** Tell that an operation has started, with a link to its progress. */
export function told(operation: Operation): void {
  notify("done", `${operation.action}: started on ${plural(operation.matched, "job")}`, "", { text: "Show its progress", href: format("bulk", operation.id) });
  void refresh();
}
