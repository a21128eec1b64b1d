import type { Action } from "../../api/types";
import { Ago } from "../../components/Time";
import { line } from "../../format/json";

/** What operators did to this job. */
export function History({ actions }: { actions: Action[] }) {
  if (!actions.length) return <p class="muted pad">No operator has touched this job.</p>;
  return (
    <ul class="history">
      {[...actions].reverse().map((action, i) => (
        <li key={i}><strong>{action.actor}</strong> <span>{action.action}</span> <span class="muted mono grow">{line(action.detail, 300)}</span> <span class="muted nowrap"><Ago at={action.at} /></span></li>
      ))}
    </ul>
  );
}
