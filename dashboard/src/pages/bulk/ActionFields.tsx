/** The fields that a bulk action needs. */
import type { Json, JsonObject } from "../../api/types";
import { JsonEditor } from "../../components/JsonEditor";
import { TextField } from "../../components/TextField";
import { isObject, parsed } from "../../format/json";

export type Arguments = JsonObject;

interface Props {
  action: string;
  values: Record<string, string>;
  error: string | null;
  onChange: (values: Record<string, string>) => void;
}

export function ActionFields({ action, values, error, onChange }: Props) {
  const text = (name: string, label: string, hint: string, placeholder = "") => (
    <TextField label={label} value={values[name] ?? ""} placeholder={placeholder} hint={hint} error={values[name] ? error : null} onChange={(value) => onChange({ ...values, [name]: value })} />
  );
  switch (action) {
    case "retry": return text("stagger", "Spread over", "Optional: so that what has failed before is not overrun, e.g. 10m", "at once");
    case "reprioritise": return text("priority", "Priority", "A whole number; higher runs first", "10");
    case "requeue": return text("queue", "Queue", "The jobs wait there from now on", "default");
    case "reschedule": return text("delay", "Start in", "A duration as 90s, 5m, 2h; 0 is now", "5m");
    case "approve": case "reject": return text("note", "Note", "Optional. It is kept in the audit trail.");
    case "amend": return <JsonEditor label="Arguments to set" rows={5} value={values.set ?? '{\n  "": null\n}'} onChange={(set) => onChange({ ...values, set })} error={error} />;
    default: return null;
  }
}

/** Return the arguments of the request, or what is wrong with them. */
export function readArguments(action: string, values: Record<string, string>): { arguments: Arguments } | { error: string } {
  switch (action) {
    case "retry": return { arguments: values.stagger ? { stagger: values.stagger } : {} };
    case "reprioritise": return /^-?\d+$/.test(values.priority ?? "") ? { arguments: { priority: Number(values.priority) } } : { error: "Give a whole number" };
    case "requeue": return values.queue ? { arguments: { queue: values.queue } } : { error: "Give the name of a queue" };
    case "reschedule": return values.delay ? { arguments: { delay: asDelay(values.delay) } } : { error: "Give a duration" };
    case "approve": case "reject": return { arguments: values.note ? { note: values.note } : {} };
    case "amend": return readSet(values.set ?? "{}");
    default: return { arguments: {} };
  }
}

function asDelay(text: string): Json {
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}

function readSet(text: string): { arguments: Arguments } | { error: string } {
  const found = parsed(text);
  if ("error" in found) return found;
  if (!isObject(found.value)) return { error: 'Give an object, e.g. {"user.email": "a@example.org"}' };
  return "" in found.value ? { error: "Give the name of an argument" } : { arguments: { set: found.value } };
}
