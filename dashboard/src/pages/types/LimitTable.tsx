import { useState } from "preact/hooks";
import { post, segment } from "../../api/client";
import type { LimitRecord } from "../../api/pages";
import { Empty } from "../../components/Empty";
import { Loaded } from "../../components/Loaded";
import { Ago } from "../../components/Time";
import { count } from "../../format/numbers";
import { ruleText } from "../../format/rules";
import { useLive } from "../../live/useLive";
import { format } from "../../router/route";
import { act } from "../../state/notices";
import { may } from "../../state/session";
import { LimitDialog } from "./LimitDialog";
import { RuleDialog } from "./RuleDialog";

const DECLARE = `from mainstay import Limit

@app.job(limit=Limit(running=5, rate="10/s", key="tenant"))
def call_api(tenant: str) -> None: ...`;

const QUEUE = "queue:"; // before the name of a queue: the name of its limit

/** The limits, and a way to give a type or a queue its first one. */
export function LimitTable() {
  const [making, setMaking] = useState(false);
  const answer = useLive<LimitRecord[]>("/api/limits");
  return (
    <div class="stack">
      {may("admin") ? <p><button type="button" onClick={() => setMaking(true)}>New limit…</button></p> : null}
      <Loaded answer={answer}>
        {(limits) => (limits.length ? limits.map((limit) => <LimitCard key={limit.name} limit={limit} />) : <NoLimit />)}
      </Loaded>
      {making ? <LimitDialog onClose={() => setMaking(false)} /> : null}
    </div>
  );
}

function NoLimit() {
  return (
    <Empty title="No type and no queue has a limit" code={DECLARE}>
      <p>A limit says how many jobs run at once, or start in a time; for each value of a key, if you like. {may("admin") ? "Set one for a type or a queue with “New limit…” above, without a deploy; " : "An admin sets one here, or "}<code>mainstay limits set TYPE --running 5</code> does the same. Or declare it in the code:</p>
    </Empty>
  );
}

function LimitCard({ limit }: { limit: LimitRecord }) {
  const [editing, setEditing] = useState(false);
  const most = Number(limit.effective.running) || null;
  return (
    <section class="card" aria-label={`Limit ${limit.name}`}>
      <div class="card-head">
        <h2>{limit.name} {limit.drift.length ? <span class="tag note" title={`code declares ${ruleText("limit", limit.declared)}`}>drift</span> : null}</h2>
        <span class="mono">{Object.entries(limit.effective).filter(([, value]) => value !== null).map(([name, value]) => `${name} ${ruleText(name, value)}`).join(" · ")}</span>
        <span class="grow" />
        {may("admin") ? <><button type="button" class="small" onClick={() => setEditing(true)}>Edit…</button>{Object.keys(limit.set).length ? <button type="button" class="small" onClick={() => void act(`${limit.name} is as the code declares it`, () => post(`/api/limits/${segment(limit.name)}/reset`))}>Reset</button> : null}</> : null}
      </div>
      <p class="muted">Of {limit.name.startsWith(QUEUE) ? `the queue ${limit.name.slice(QUEUE.length)}` : limit.types.map((type) => <a key={type} class="spaced" href={format("type", type)}>{type}</a>)}</p>
      {limit.slots.length ? (
        <ul class="slots">
          {limit.slots.map((slot) => (
            <li key={slot.key}>
              <span class="mono grow clip">{slot.key || "all jobs"}</span>
              {most ? <progress value={Math.min(slot.holders / most, 1)} max={1} aria-label={`${slot.holders} of ${most} in use`} /> : null}
              <span class="mono">{slot.holders}{most ? `/${most}` : ""} in use</span>
              <span class={slot.waiting ? "t-retrying mono" : "muted mono"}>{count(slot.waiting, slot.capped)} in line</span>
              {slot.next_start ? <span class="muted">next <Ago at={slot.next_start} /></span> : null}
            </li>
          ))}
        </ul>
      ) : <p class="muted">Nothing uses it now.</p>}
      {editing ? <RuleDialog kind="limits" name={limit.name} rules={limit} onClose={() => setEditing(false)} /> : null}
    </section>
  );
}
