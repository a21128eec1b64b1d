import { useState } from "preact/hooks";
import { problemOf, put, segment } from "../../api/client";
import type { Rules } from "../../api/pages";
import type { Change, Json, JsonObject } from "../../api/types";
import { Dialog } from "../../components/Dialog";
import { Diff } from "../../components/Diff";
import { SelectField, TextField } from "../../components/TextField";
import { ruleText } from "../../format/rules";
import { refresh } from "../../live/connection";
import { notify } from "../../state/notices";
import { valueOf } from "./values";

const NAMES = {
  types: ["timeout", "attempts", "priority", "queue", "keep", "limit"],
  queues: ["max_depth", "when_full", "wait", "below", "one_in", "fair", "weights", "aging", "limit"],
  limits: ["running", "rate", "burst"],
};

export const HINTS: Record<string, string> = {
  timeout: "A duration as 2m", keep: "A duration as 7d", attempts: "A whole number", priority: "A whole number; higher runs first", running: "How many run at once", rate: "How many start in a time, as 10/s", burst: "How many may start at once after a pause", max_depth: "How many jobs may wait", when_full: "What happens to a new job then: refuse, wait or drop", fair: "true or false", limit: 'JSON, e.g. {"running": 5}',
};

interface Props {
  kind: keyof typeof NAMES;
  name: string;
  rules: Rules;
  onClose: () => void;
}

/** Override one value: what changes is shown before it is saved. */
export function RuleDialog({ kind, name, rules, onClose }: Props) {
  const names = NAMES[kind];
  const [field, setField] = useState(names[0]!);
  const [value, setValue] = useState(editable(rules, names[0]!));
  const [reason, setReason] = useState("");
  const [error, setError] = useState<string | null>(null);
  const [preview, setPreview] = useState<Change | null>(null);
  const send = async (dry: boolean) => {
    try {
      const change = await put<Change>(`/api/${kind}/${segment(name)}`, { set: { [field]: valueOf(value) }, reason, dry_run: dry });
      if (dry) { setPreview(change); setError(null); return; }
      notify("done", `${name}: ${field} is ${value}`);
      void refresh();
      onClose();
    } catch (failure) {
      const problem = problemOf(failure);
      setError(problem.detail || problem.title);
      setPreview(null);
    }
  };
  return (
    <Dialog title={`Values of ${name}`} onClose={onClose}>
      <form class="dialog-form" onSubmit={(event) => { event.preventDefault(); void send(preview === null); }}>
        <SelectField label="Value" value={field} options={names} onChange={(next) => { setField(next); setValue(editable(rules, next)); setPreview(null); setError(null); }} />
        <TextField first label="Set it to" value={value} error={error} onChange={(next) => { setValue(next); setPreview(null); }} hint={HINTS[field] ?? "A number, a duration as 2m, or JSON"} />
        <p class="note-text">The code declares <code>{ruleText(field, rules.declared[field])}</code>. An override survives deploys: it holds until somebody resets it, also if the code changes.</p>
        <TextField label="Reason" value={reason} onChange={setReason} hint="Optional. It is kept in the audit trail." />
        {preview ? <Diff before={told(preview.before)} after={told(preview.after)} /> : null}
        <footer class="dialog-foot">
          <button type="button" onClick={onClose}>Keep as it is</button>
          <button type="submit" class="primary" disabled={!value}>{preview ? "Save" : "Preview"}</button>
        </footer>
      </form>
    </Dialog>
  );
}

/** The values of a change as people write them. */
function told(values: JsonObject | null): Json {
  return values && Object.fromEntries(Object.entries(values).map(([name, value]) => [name, ruleText(name, value)]));
}

function editable(rules: Rules, field: string): string {
  const found = rules.effective[field];
  if (found === null || found === undefined) return "";
  return typeof found === "object" ? JSON.stringify(found) : ruleText(field, found);
}
