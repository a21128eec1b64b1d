import { useState } from "preact/hooks";
import { post, segment } from "../../api/client";
import type { TypeRecord } from "../../api/pages";
import { Menu } from "../../components/Menu";
import { ReasonDialog } from "../../components/ReasonDialog";
import { act } from "../../state/notices";
import { may } from "../../state/session";

/** Breaker and enabling of a type. */
export function TypeMenu({ type }: { type: TypeRecord }) {
  const [asked, setAsked] = useState<"disable" | "breaker" | null>(null);
  const path = `/api/types/${segment(type.name)}`;
  const open = type.breaker !== null && type.breaker.state !== "closed";
  if (!may("operator")) return null;
  return (
    <>
      <Menu label="More">
        {open ? <button type="button" onClick={() => void act("The breaker is closed", () => post(`${path}/breaker/close`))}>Close the breaker</button> : <button type="button" onClick={() => setAsked("breaker")}>Open the breaker…</button>}
        {may("admin") ? (type.disabled ? <button type="button" onClick={() => void act(`${type.name} takes jobs again`, () => post(`${path}/enable`))}>Enable</button> : <button type="button" class="t-dead" onClick={() => setAsked("disable")}>Disable…</button>) : null}
      </Menu>
      {asked === "disable" ? (
        <ReasonDialog title={`Disable ${type.name}`} button="Disable" danger done={`${type.name} is disabled`} run={(reason) => post(`${path}/disable`, { reason })} onClose={() => setAsked(null)}>
          <p>New jobs of this type are refused with an error. Jobs that wait stay where they are.</p>
        </ReasonDialog>
      ) : null}
      {asked === "breaker" ? (
        <ReasonDialog title="Open the breaker" button="Open it" done="The breaker is open" run={(reason) => post(`${path}/breaker/open`, { reason })} onClose={() => setAsked(null)}>
          <p>No job of this type starts for a while; then one is tried, and if it completes the others follow.</p>
        </ReasonDialog>
      ) : null}
    </>
  );
}
