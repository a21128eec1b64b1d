import { useState } from "preact/hooks";
import type { Receiver } from "../../api/events";
import { CopyButton } from "../../components/Copy";
import { Empty } from "../../components/Empty";
import { Loaded } from "../../components/Loaded";
import { Ago } from "../../components/Time";
import { useLive } from "../../live/useLive";
import { format } from "../../router/route";
import { may } from "../../state/session";
import { EventActions, EventState } from "./EventActions";
import { ReceiverDialog } from "./ReceiverDialog";

/** Receivers of incoming webhooks: what a message of each creates. */
export function Receivers() {
  const [making, setMaking] = useState(false);
  const answer = useLive<Receiver[]>("/api/incoming");
  return (
    <section class="card flush" aria-label="Incoming webhooks">
      <div class="card-head"><h2>Incoming webhooks</h2>{may("admin") ? <button type="button" onClick={() => setMaking(true)}>New receiver…</button> : null}</div>
      <Loaded answer={answer}>
        {(found) => (found.length ? (
          <div class="scroll" tabIndex={0} role="region" aria-label="Incoming webhooks as a table">
            <table class="table">
              <thead><tr><th scope="col">Name</th><th scope="col">Scheme</th><th scope="col">A message</th><th scope="col">Verified by</th><th scope="col">Changed</th><th scope="col"><span class="sr-only">Actions</span></th></tr></thead>
              <tbody>{found.map((each) => <Row key={each.name} each={each} />)}</tbody>
            </table>
          </div>
        ) : <Empty title="No message from outside is accepted" code="mainstay incoming add shop --event 'shop.{data.type}'"><p>A receiver has an address for webhooks of another service. It verifies each message, then publishes an event or creates a job.</p></Empty>)}
      </Loaded>
      {making ? <ReceiverDialog taken={(answer.data ?? []).map((each) => each.name)} onClose={() => setMaking(false)} /> : null}
    </section>
  );
}

function Row({ each }: { each: Receiver }) {
  return (
    <tr data-row={each.name} tabIndex={-1}>
      <td class="name">{each.name} <EventState enabled={each.enabled} /><span class="sub muted mono">{each.url} <CopyButton text={each.url} label={`Copy the address of ${each.name}`} /></span></td>
      <td>{each.scheme}</td>
      <td>{each.type ? <>creates a job <a href={format("type", each.type)}>{each.type}</a></> : <>publishes <span class="mono">{each.event}</span></>}</td>
      <td>{each.verified_by}</td>
      <td><Ago at={each.updated_at} /></td>
      <td class="actions"><EventActions of="incoming" name={each.name} enabled={each.enabled} /></td>
    </tr>
  );
}
