import { useState } from "preact/hooks";
import { put, segment, wrong } from "../../api/client";
import { JsonEditor } from "../../components/JsonEditor";
import { ReasonDialog } from "../../components/ReasonDialog";
import { TextField } from "../../components/TextField";
import { parsed } from "../../format/json";
import { useNames } from "../../live/useOnce";
import { unused } from "./unused";

/** Let events of a pattern create jobs of a type. */
export function SubscriptionDialog({ taken, onClose }: { taken: string[]; onClose: () => void }) {
  const [form, setForm] = useState({ name: "", event: "", type: "", args: "" });
  const change = (name: keyof typeof form) => (value: string) => setForm({ ...form, [name]: value });
  const types = useNames("types");
  const add = (reason: string) => {
    const name = unused(form.name, taken);
    const args = parsed(form.args.trim() || "null");
    if ("error" in args) throw wrong(args.error);
    return put(`/api/subscriptions/${segment(name)}`, { event: form.event.trim(), type: form.type.trim(), args: args.value, reason });
  };
  return (
    <ReasonDialog title="New subscription" button="Add" done={`Events create jobs of ${form.type}`} run={add} onClose={onClose}>
      <TextField first label="Name" value={form.name} onChange={change("name")} hint="Of the subscription, as ledger" />
      <TextField label="Event" value={form.event} onChange={change("event")} hint="A name or a pattern: invoice.paid, invoice.*, *" />
      <TextField label="Type" value={form.type} list={types} onChange={change("type")} hint="Of the job that each event creates" />
      <JsonEditor optional label="Arguments (JSON)" rows={4} value={form.args} onChange={change("args")} />
      <p class="hint">In arguments, <code>"$.data.id"</code> stands for a value of the event. Empty: the data of the event are the arguments.</p>
    </ReasonDialog>
  );
}
