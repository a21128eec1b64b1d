/** A bulk action: what it does, on how many jobs of which types, and a typed confirmation where it matters. */
import { useEffect, useState } from "preact/hooks";
import { post, problemOf } from "../../api/client";
import type { Operation } from "../../api/pages";
import { Dialog } from "../../components/Dialog";
import { TextField } from "../../components/TextField";
import { count, plural } from "../../format/numbers";
import { format } from "../../router/route";
import { go } from "../../router/location";
import { isCount, isDestructive, mustType } from "../../state/confirm";
import { notify } from "../../state/notices";
import { refresh } from "../../live/connection";
import { production } from "../../state/session";
import { type Arguments, ActionFields, readArguments } from "./ActionFields";

interface Props {
  action: string;
  q: string;
  ids: string[] | null; // null: all that match
  onClose: (done: boolean) => void;
}

export function BulkDialog({ action, q, ids, onClose }: Props) {
  const [given, setGiven] = useState<Record<string, string>>({});
  const [typed, setTyped] = useState("");
  const [error, setError] = useState<string | null>(null);
  const read = readArguments(action, given);
  const [preview, problem] = usePreview(action, q, ids, "arguments" in read ? read.arguments : (PREVIEWED[action] ?? null));
  const mustBeTyped = preview ? mustType({ action, count: preview.matched, everything: ids === null, production: production.value }) : true;
  const ready = preview !== null && preview.matched > 0 && "arguments" in read && (!mustBeTyped || isCount(typed, preview.matched));
  const run = async () => {
    try {
      if ("arguments" in read) finish(await start(action, q, ids, read.arguments, preview), onClose);
    } catch (failure) {
      const found = problemOf(failure);
      setError(found.detail || found.title);
    }
  };
  return (
    <Dialog title={`${TITLES[action] ?? action} ${ids ? plural(ids.length, "job") : "all that match"}`} onClose={() => onClose(false)}>
      <form class="dialog-form" onSubmit={(event) => { event.preventDefault(); if (ready) void run(); }}>
        {ids ? null : <p><code>{q || "every job"}</code></p>}
        <Preview preview={preview} problem={problem} waits={!("arguments" in read) && !PREVIEWED[action]} />
        <ActionFields action={action} values={given} error={"error" in read ? read.error : null} onChange={setGiven} />
        {mustBeTyped && preview && preview.matched > 0 ? <TextField first label={`Type ${count(preview.matched)} to confirm`} value={typed} onChange={setTyped} placeholder={String(preview.matched)} hint={isDestructive(action) ? "This cannot be undone." : "Many jobs are concerned."} /> : null}
        {error ? <p class="field-error" role="alert">{error}</p> : null}
        <footer class="dialog-foot">
          <button type="button" onClick={() => onClose(false)}>Keep them as they are</button>
          <button type="submit" class={isDestructive(action) ? "danger" : "primary"} disabled={!ready} data-first={!mustBeTyped || undefined}>{TITLES[action] ?? action}{preview ? ` ${count(preview.matched)}` : ""}</button>
        </footer>
      </form>
    </Dialog>
  );
}

const TITLES: Record<string, string> = {
  retry: "Retry", cancel: "Cancel", delete: "Delete", approve: "Approve", reject: "Reject", copy: "Run a copy of", reprioritise: "Change the priority of", requeue: "Move", reschedule: "Reschedule", amend: "Change the arguments of",
};

function usePreview(action: string, q: string, ids: string[] | null, args: Arguments | null): [Operation | null, string | null] {
  const [found, setFound] = useState<Operation | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    if (args === null) return undefined;
    const timer = setTimeout(() => {
      post<Operation>("/api/bulk", { action, ...chosen(q, ids), arguments: args, dry_run: true })
        .then((operation) => { setFound(operation); setProblem(null); })
        .catch((failure: unknown) => setProblem(problemOf(failure).detail || problemOf(failure).title));
    }, found || problem ? 300 : 0);
    return () => clearTimeout(timer);
  }, [JSON.stringify(args)]);
  return [found, problem];
}

/** Values with which actions are previewed before their arguments are given: the preview only counts. */
const PREVIEWED: Record<string, Arguments> = { reprioritise: { priority: 1 }, reschedule: { delay: 1 } };

/** An empty search is every job: the server wants that said. */
function chosen(q: string, ids: string[] | null): { ids: string[] } | { q: string } {
  return ids ? { ids } : { q: q || "state:alive,ended" };
}

function start(action: string, q: string, ids: string[] | null, args: Arguments, preview: Operation | null): Promise<Operation> {
  return post<Operation>("/api/bulk", { action, ...chosen(q, ids), arguments: args, dry_run: false, expected: preview?.matched ?? null });
}

/** Small operations are told in a notice; long ones have their own page. */
function finish(operation: Operation, onClose: (done: boolean) => void): void {
  onClose(true);
  void refresh();
  if (operation.matched > 200 && operation.state === "running") go(format("bulk", operation.id));
  else notify("done", `${operation.action}: started on ${plural(operation.matched, "job")}`, "", { text: "Show its progress", href: format("bulk", operation.id) });
}

function Preview({ preview, problem, waits }: { preview: Operation | null; problem: string | null; waits: boolean }) {
  if (waits && !preview) return <p class="muted">Fill in what is asked for below, then the jobs are counted.</p>;
  if (problem) return <p class="field-error" role="alert">{problem}</p>;
  if (!preview) return <p class="muted"><span class="spinner" /> Counting…</p>;
  const types = Object.entries(preview.types).sort((a, b) => b[1] - a[1]);
  return (
    <div class="preview">
      <p><strong class="big">{count(preview.matched)}</strong> {preview.matched === 1 ? "job" : "jobs"} of {plural(types.length, "type")}</p>
      <ul>{types.slice(0, 6).map(([type, n]) => <li key={type}><span class="grow">{type}</span><span class="mono">{count(n)}</span></li>)}</ul>
      {types.length > 6 ? <p class="muted">and {types.length - 6} more types</p> : null}
      {Object.entries(preview.refused).map(([reason, n]) => <p key={reason} class="muted">{count(n)} will be left alone: {reason}</p>)}
    </div>
  );
}
