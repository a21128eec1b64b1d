/** Makes or edits a schedule, with its next ten times as they are typed. */
import { useState } from "preact/hooks";
import { patch, post, problemOf, segment } from "../../api/client";
import type { ScheduleRecord } from "../../api/pages";
import { Dialog } from "../../components/Dialog";
import { JsonEditor } from "../../components/JsonEditor";
import { SelectField, TextField } from "../../components/TextField";
import { parsed, pretty } from "../../format/json";
import { ruleText } from "../../format/rules";
import { refresh } from "../../live/connection";
import { notify } from "../../state/notices";
import { changesOf, type Form, formOf } from "./form";
import { Preview } from "./Preview";

const ZONES = Intl.supportedValuesOf("timeZone");

interface Props {
  schedule: ScheduleRecord | null;
  onClose: () => void;
}

export function ScheduleDialog({ schedule, onClose }: Props) {
  const [form, setForm] = useState<Form>(formOf(schedule));
  const [args, setArgs] = useState(pretty(schedule?.args ?? {}));
  const [reason, setReason] = useState("");
  const [error, setError] = useState<string | null>(null);
  const change = (name: keyof Form) => (value: string) => setForm({ ...form, [name]: value });
  const save = async () => {
    const found = parsed(args);
    if ("error" in found) return;
    try {
      if (schedule) await patch(`/api/schedules/${segment(schedule.name)}`, { set: changesOf(schedule, form, found.value), reason });
      else await post("/api/schedules", { ...changesOf(null, form, found.value), name: form.name, type: form.type });
      notify("done", `${form.name} is saved`);
      void refresh();
      onClose();
    } catch (failure) {
      const problem = problemOf(failure);
      setError(problem.detail || problem.title);
    }
  };
  return (
    <Dialog title={schedule ? `Edit ${schedule.name}` : "New schedule"} wide onClose={onClose}>
      <form class="dialog-form" onSubmit={(event) => { event.preventDefault(); void save(); }}>
        {schedule ? null : <div class="two"><TextField first label="Name" value={form.name} onChange={change("name")} /><TextField label="Type" value={form.type} onChange={change("type")} /></div>}
        <div class="two">
          <div>
            <TextField label="Cron" value={form.cron} onChange={change("cron")} placeholder="0 3 * * *" hint="minute hour day month weekday; or leave it empty and give an interval" />
            <TextField label="Every" value={form.every} onChange={change("every")} placeholder="15m" />
            <TextField label="Time zone" value={form.tz} onChange={change("tz")} list={ZONES} />
            <SelectField label="Missed ticks" value={form.catch_up} options={["latest", "all", "skip"]} onChange={change("catch_up")} />
            <SelectField label="While the last run is not done" value={form.overlap} options={["allow", "skip", "queue", "cancel"]} onChange={change("overlap")} />
          </div>
          <Preview cron={form.cron} every={form.every} tz={form.tz} />
        </div>
        <JsonEditor label="Arguments" rows={4} value={args} onChange={setArgs} />
        {schedule && Object.keys(schedule.declared).length ? <p class="note-text">The code declares <code>{ruleText("every", schedule.declared.cron ?? schedule.declared.every)}</code>. An override survives deploys: it holds until somebody resets it.</p> : null}
        {schedule ? <TextField label="Reason" value={reason} onChange={setReason} hint="Optional. It is kept in the audit trail." /> : null}
        {error ? <p class="field-error" role="alert">{error}</p> : null}
        <footer class="dialog-foot"><button type="button" onClick={onClose}>Keep as it is</button><button type="submit" class="primary" disabled={!schedule && (!form.name || !form.type)}>Save</button></footer>
      </form>
    </Dialog>
  );
}
