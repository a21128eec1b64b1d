import { useState } from "preact/hooks";
import { put, segment, wrong } from "../../api/client";
import type { JsonObject } from "../../api/types";
import { ReasonDialog } from "../../components/ReasonDialog";
import { SelectField, TextField } from "../../components/TextField";
import { useNames } from "../../live/useOnce";
import { HINTS } from "./RuleDialog";
import { valueOf } from "./values";

const VALUES = ["running", "rate", "burst", "key"] as const;
const LABELS = { running: "Running", rate: "Rate", burst: "Burst", key: "Key" };
const KEY = "Optional: one limit for each tenant, tenant/*, or field of the payload, as order.id";

/** Give a type or a queue a limit. */
export function LimitDialog({ onClose }: { onClose: () => void }) {
  const [form, setForm] = useState({ of: "type", name: "", running: "", rate: "", burst: "", key: "" });
  const known = { type: useNames("types"), queue: useNames("queues") }[form.of]!;
  const change = (name: keyof typeof form) => (value: string) => setForm({ ...form, [name]: value });
  return (
    <ReasonDialog title="New limit" button="Set" done={`${form.name} has a limit`} run={(reason) => save(form, reason)} onClose={onClose}>
      <SelectField label="Of a" value={form.of} options={["type", "queue"]} onChange={change("of")} />
      <TextField first label="Name" value={form.name} list={known} onChange={change("name")} hint={`Of the ${form.of}`} />
      {VALUES.slice(0, form.of === "type" ? 4 : 3).map((each) => <TextField key={each} label={LABELS[each]} value={form[each]} onChange={change(each)} hint={HINTS[each] ?? KEY} />)}
      <p class="note-text">It holds for jobs that are enqueued from now on, until somebody resets it. The code stays as it is.</p>
    </ReasonDialog>
  );
}

/** Set the values that have a text. */
function save(form: Record<"of" | "name" | (typeof VALUES)[number], string>, reason: string): Promise<unknown> {
  const set: JsonObject = Object.fromEntries(VALUES.filter((each) => form[each].trim()).map((each) => [each, valueOf(form[each])]));
  if (!form.name.trim()) throw wrong(`name the ${form.of}`);
  if (!("running" in set || "rate" in set)) throw wrong("say how many may run at once (running), or start in a time (rate)");
  return put(`/api/limits/${segment((form.of === "queue" ? "queue:" : "") + form.name.trim())}`, { set, reason });
}
