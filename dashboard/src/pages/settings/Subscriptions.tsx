import { useState } from "preact/hooks";
import type { SubscriptionRecord } from "../../api/events";
import { Empty } from "../../components/Empty";
import { Loaded } from "../../components/Loaded";
import { Ago } from "../../components/Time";
import { line } from "../../format/json";
import { useLive } from "../../live/useLive";
import { format } from "../../router/route";
import { may } from "../../state/session";
import { EventActions, EventState } from "./EventActions";
import { SubscriptionDialog } from "./SubscriptionDialog";

const FIRST = "mainstay subscriptions add ledger invoice.paid book 'invoice=$.data.id'\n\n# in your code\napp.publish(\"invoice.paid\", {\"id\": 7})";

/** Subscriptions: which job an event creates. */
export function Subscriptions() {
  const [making, setMaking] = useState(false);
  const answer = useLive<SubscriptionRecord[]>("/api/subscriptions");
  return (
    <section class="card flush" aria-label="Subscriptions">
      <div class="card-head"><h2>Subscriptions</h2>{may("admin") ? <button type="button" onClick={() => setMaking(true)}>New subscription…</button> : null}</div>
      <Loaded answer={answer}>
        {(found) => (found.length ? (
          <div class="scroll" tabIndex={0} role="region" aria-label="Subscriptions as a table">
            <table class="table">
              <thead><tr><th scope="col">Name</th><th scope="col">Event</th><th scope="col">Creates</th><th scope="col">Arguments</th><th scope="col">Changed</th><th scope="col"><span class="sr-only">Actions</span></th></tr></thead>
              <tbody>{found.map((each) => <Row key={each.name} each={each} />)}</tbody>
            </table>
          </div>
        ) : <Empty title="No event creates a job" code={FIRST}><p>A subscription creates a job whenever your code publishes an event whose name it matches.</p></Empty>)}
      </Loaded>
      {making ? <SubscriptionDialog taken={(answer.data ?? []).map((each) => each.name)} onClose={() => setMaking(false)} /> : null}
    </section>
  );
}

function Row({ each }: { each: SubscriptionRecord }) {
  return (
    <tr data-row={each.name} tabIndex={-1}>
      <td class="name">{each.name} <EventState enabled={each.enabled} /></td>
      <td class="mono">{each.event}</td>
      <td><a href={format("type", each.type)}>{each.type}</a></td>
      <td class="mono clip">{each.args === null ? <span class="muted">the data of the event</span> : line(each.args)}</td>
      <td><Ago at={each.updated_at} /></td>
      <td class="actions"><EventActions of="subscriptions" name={each.name} enabled={each.enabled} /></td>
    </tr>
  );
}
