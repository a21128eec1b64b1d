import { useState } from "preact/hooks";
import { post, put, segment } from "../../api/client";
import type { AlertRule, Alerts } from "../../api/pages";
import { Empty } from "../../components/Empty";
import { Loaded } from "../../components/Loaded";
import { ReasonDialog } from "../../components/ReasonDialog";
import { SelectField, TextField } from "../../components/TextField";
import { Ago } from "../../components/Time";
import { plain } from "../../format/json";
import { useLive } from "../../live/useLive";
import { act } from "../../state/notices";
import { may } from "../../state/session";
import { IncidentRow } from "../overview/Findings";
import { valueOf } from "../types/values";

/** Incidents that are open, rules with their thresholds, and where notices go. */
export function AlertsTab() {
  const answer = useLive<Alerts>("/api/alerts");
  return (
    <Loaded answer={answer}>
      {(alerts) => (
        <div class="stack">
          <section class="card" aria-label="Open incidents"><div class="card-head"><h2>Open incidents</h2></div>{alerts.open.length ? <ul class="findings">{alerts.open.map((each) => <IncidentRow key={each.id} incident={each} />)}</ul> : <p class="muted">None.</p>}</section>
          <section class="card flush" aria-label="Rules">
            <div class="card-head"><h2>Rules</h2><span class="muted">{alerts.channels.length ? `notices go to ${alerts.channels.join(", ")}` : "no channel is set up: incidents are only shown here"}</span></div>
            <ul class="rules">{alerts.rules.map((rule) => <RuleRow key={rule.name} rule={rule} />)}</ul>
          </section>
          {alerts.channels.length ? null : <Empty title="Nobody is told" code={'# mainstay.toml\n[alerts.script]\nkind = "command"\nargv = ["sh", "-c", "cat >> notices.jsonl"]\n\n# then\nmainstay alerts test'}><p>Configure a channel: a chat webhook, e-mail, or a command of your own.</p></Empty>}
          {alerts.history.length ? <section class="card" aria-label="Closed incidents"><div class="card-head"><h2>Closed</h2></div><ul class="findings">{alerts.history.map((each) => <IncidentRow key={each.id} incident={each} />)}</ul></section> : null}
        </div>
      )}
    </Loaded>
  );
}

function RuleRow({ rule }: { rule: AlertRule }) {
  const [asked, setAsked] = useState<"edit" | "silence" | null>(null);
  const path = `/api/alerts/${segment(rule.name)}`;
  return (
    <li class={rule.enabled ? "" : "off"}>
      <span class="grow"><strong>{rule.name}</strong> <span class={`tag ${rule.severity === "high" ? "bad" : ""}`}>{rule.severity}</span>{rule.enabled ? null : <span class="tag">off</span>}{rule.silenced_until ? <span class="tag warn">silenced, ends <Ago at={rule.silenced_until} /></span> : null}<span class="sub muted">{rule.about}</span></span>
      <span class="mono clip">{plain(rule.threshold)}</span>
      {may("admin") ? (
        <span class="actions">
          <button type="button" class="small" onClick={() => setAsked("edit")}>Edit…</button>
          <button type="button" class="small" onClick={() => setAsked("silence")}>Silence…</button>
          {Object.keys(rule.set).length ? <button type="button" class="small" onClick={() => void act(`${rule.name} has its default`, () => post(`${path}/reset`))}>Reset</button> : null}
        </span>
      ) : null}
      {asked === "edit" ? <RuleForm rule={rule} path={path} onClose={() => setAsked(null)} /> : null}
      {asked === "silence" ? <ReasonDialog title={`Silence ${rule.name}`} button="Silence" label="For" placeholder="2h" hint="A duration as 30m, 2h, 1d" done={`${rule.name} is silenced`} run={(given) => post(`${path}/silence`, { for: given || "1h" })} onClose={() => setAsked(null)}><p>Incidents are still recorded and shown; nobody is told.</p></ReasonDialog> : null}
    </li>
  );
}

function RuleForm({ rule, path, onClose }: { rule: AlertRule; path: string; onClose: () => void }) {
  const [threshold, setThreshold] = useState(plain(rule.threshold));
  const [severity, setSeverity] = useState(rule.severity);
  const [enabled, setEnabled] = useState(rule.enabled ? "on" : "off");
  const changes = () => ({
    ...(threshold === plain(rule.threshold) ? {} : { threshold: valueOf(threshold) }),
    ...(severity === rule.severity ? {} : { severity }),
    ...((enabled === "on") === rule.enabled ? {} : { enabled: enabled === "on" }),
  });
  return (
    <ReasonDialog title={`Alert rule ${rule.name}`} button="Save" label={null} done={`${rule.name} is saved`} run={() => put(path, changes())} onClose={onClose}>
      <p class="muted">{rule.about}</p>
      <TextField first label="Threshold" value={threshold} onChange={setThreshold} />
      <SelectField label="Severity" value={severity} options={["warning", "error", "high"]} onChange={setSeverity} />
      <SelectField label="State" value={enabled} options={["on", "off"]} onChange={setEnabled} />
    </ReasonDialog>
  );
}
