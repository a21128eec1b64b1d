import type { Overview } from "../../api/pages";
import type { Incident } from "../../api/types";
import { Icon } from "../../components/Icon";
import { CopyButton } from "../../components/Copy";
import { Ago } from "../../components/Time";
import { format, jobs } from "../../router/route";
import { pageOf } from "./fix";
import { quoted } from "../../search/terms";

/** What is wrong now, with the command that mends it, and open incidents. */
export function Findings({ overview }: { overview: Overview }) {
  const { findings, incidents } = overview;
  if (!findings.length && !incidents.length) return null;
  return (
    <section class="card" aria-labelledby="findings">
      <div class="card-head"><h2 id="findings">What is wrong</h2></div>
      <ul class="findings">
        {incidents.map((incident) => <IncidentRow key={incident.id} incident={incident} />)}
        {findings.map((finding) => (
          <li key={finding.text}>
            <Icon name="warn" />
            <span class="grow"><FindingText finding={finding} /></span>
            {finding.fix ? <span class="fix"><code>{finding.fix}</code><CopyButton text={finding.fix} label="Copy the command" /></span> : null}
          </li>
        ))}
      </ul>
    </section>
  );
}

function FindingText({ finding }: { finding: Overview["findings"][number] }) {
  const href = pageOf(finding.fix);
  return href ? <a href={href}>{finding.text}</a> : <>{finding.text}</>;
}

export function IncidentRow({ incident }: { incident: Incident }) {
  return (
    <li class={`severity-${incident.severity}`}>
      <Icon name="warn" />
      <span class="grow"><a href={whereOf(incident)}><strong>{incident.title}</strong></a> <span class="muted">{incident.text}</span></span>
      <span class="muted nowrap">{incident.silenced ? "silenced · " : ""}{incident.closed_at ? <>closed <Ago at={incident.closed_at} /></> : <>since <Ago at={incident.opened_at} /></>}</span>
    </li>
  );
}

function whereOf({ job, type, queue }: Incident): string {
  if (job) return format("job", job);
  if (type) return jobs(`type:${quoted(type)} state:dead,retrying,queued,running`);
  return queue ? jobs(`queue:${quoted(queue)} state:waiting`) : format("settings", null, { tab: "alerts" });
}
