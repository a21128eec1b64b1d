import { useState } from "preact/hooks";
import type { WebhookRecord } from "../../api/webhooks";
import { Empty } from "../../components/Empty";
import { Loaded } from "../../components/Loaded";
import { Ago } from "../../components/Time";
import { count } from "../../format/numbers";
import { useLive } from "../../live/useLive";
import { route, setParams } from "../../router/location";
import { may } from "../../state/session";
import { Deliveries } from "./Deliveries";
import { EventActions } from "./EventActions";
import { WebhookDialog } from "./WebhookDialog";

/** Endpoints that get events, and how their deliveries went. */
export function WebhooksTab() {
  const [making, setMaking] = useState(false);
  const answer = useLive<WebhookRecord[]>("/api/webhooks");
  return (
    <div class="stack">
      {may("admin") ? <p><button type="button" class="primary" onClick={() => setMaking(true)}>New webhook</button></p> : null}
      <Loaded answer={answer}>
        {(hooks) => (hooks.length ? <Endpoints hooks={hooks} /> : <Empty title="No webhook is set up" code={"mainstay webhooks add URL --events 'job.*'"}><p>A webhook gets events of jobs as signed requests.</p></Empty>)}
      </Loaded>
      {making ? <WebhookDialog onClose={() => setMaking(false)} /> : null}
    </div>
  );
}

function Endpoints({ hooks }: { hooks: WebhookRecord[] }) {
  const chosen = route.value.params.webhook ?? null;
  return (
    <>
      <div class="card flush scroll" tabIndex={0} role="region" aria-label="Webhooks">
        <table class="table">
          <thead><tr><th scope="col">Endpoint</th><th scope="col">Events</th><th scope="col" class="num">Delivered</th><th scope="col" class="num">Failed</th><th scope="col">Last</th><th scope="col">State</th><th scope="col"><span class="sr-only">Actions</span></th></tr></thead>
          <tbody>{hooks.map((hook) => <Row key={hook.id} hook={hook} open={hook.id === chosen} />)}</tbody>
        </table>
      </div>
      {hooks.some((hook) => hook.id === chosen) ? <Deliveries key={chosen} id={chosen!} /> : null}
    </>
  );
}

function Row({ hook, open }: { hook: WebhookRecord; open: boolean }) {
  return (
    <tr data-row={hook.id} tabIndex={-1}>
      <td class="name"><span class="mono">{hook.url}</span><span class="sub muted">{hook.description || hook.id}</span></td>
      <td class="mono">{hook.events.join(", ")}</td>
      <td class="num">{count(hook.succeeded)}</td>
      <td class="num">{hook.failed ? <span class="t-dead">{count(hook.failed)}</span> : 0}</td>
      <td><Ago at={hook.last_delivered_at} /></td>
      <td>{hook.enabled ? "on" : <span class="tag warn">off: {hook.disabled_because}</span>}</td>
      <td class="actions"><button type="button" class="small" aria-expanded={open} onClick={() => setParams({ webhook: open ? null : hook.id }, true)}>Deliveries</button> <EventActions of="webhooks" name={hook.id} enabled={hook.enabled} /></td>
    </tr>
  );
}
