import { useState } from "preact/hooks";
import { post, remove, segment } from "../../api/client";
import { ReasonDialog } from "../../components/ReasonDialog";
import { act } from "../../state/notices";
import { may } from "../../state/session";

const MEANS = {
  subscriptions: { disable: "Events create no job of it until somebody enables it.", remove: "Events create no more jobs of it. Jobs that it has created stay." },
  incoming: { disable: "Messages are refused until somebody enables it; senders are told no more than that.", remove: "Messages are refused, and its secret is forgotten: a new receiver of this name has another one." },
  webhooks: { disable: "It gets no events until somebody enables it. Messages that wait for it are cancelled when their turn comes.", remove: "It gets no more events, and its secret is forgotten. Its deliveries stay for their time." },
};

interface Props {
  of: keyof typeof MEANS;
  name: string;
  enabled: boolean;
}

/** Enable, disable and remove, for admins. */
export function EventActions({ of, name, enabled }: Props) {
  const [asked, setAsked] = useState<"disable" | "remove" | null>(null);
  if (!may("admin")) return null;
  const path = `/api/${of}/${segment(name)}`;
  const close = () => setAsked(null);
  return (
    <>
      {enabled ? <button type="button" class="small" onClick={() => setAsked("disable")}>Disable…</button> : <button type="button" class="small" onClick={() => void act(`${name} is enabled`, () => post(`${path}/enable`))}>Enable</button>}
      <button type="button" class="small" onClick={() => setAsked("remove")}>Remove…</button>
      {asked === "disable" ? <ReasonDialog title={`Disable ${name}`} button="Disable" done={`${name} is disabled`} run={(reason) => post(`${path}/disable`, { reason })} onClose={close}><p>{MEANS[of].disable}</p></ReasonDialog> : null}
      {asked === "remove" ? <ReasonDialog title={`Remove ${name}`} button="Remove" danger done={`${name} is removed`} run={(reason) => remove(path, { reason })} onClose={close}><p>{MEANS[of].remove}</p></ReasonDialog> : null}
    </>
  );
}

export function EventState({ enabled }: { enabled: boolean }) {
  return enabled ? null : <span class="tag warn">disabled</span>;
}
