import { post } from "../../api/client";
import type { Settings } from "../../api/pages";
import type { JsonObject } from "../../api/types";
import { Loaded } from "../../components/Loaded";
import { isObject } from "../../format/json";
import { factText } from "../../format/rules";
import { useLive } from "../../live/useLive";
import { act } from "../../state/notices";
import { may, session } from "../../state/session";

/** Facts of the store, retention, redaction, thresholds of health; prune and reconcile. */
export function StoreTab() {
  const answer = useLive<Settings>("/api/settings");
  const instance = session.value?.instance;
  return (
    <Loaded answer={answer}>
      {(settings) => (
        <div class="stack">
          <div class="two">
            <FactsCard title="Store" facts={{ engine: instance?.engine ?? null, url: instance?.url ?? null, version: instance?.version ?? null, schema: instance?.schema ?? null, ...settings.store }} />
            <div class="stack">
              <FactsCard title="Retention" facts={settings.retention} />
              <FactsCard title="Redaction" facts={settings.redaction} />
              <FactsCard title="Health: thresholds" facts={settings.health} />
            </div>
          </div>
          <section class="card" aria-label="Maintenance">
            <div class="card-head"><h2>Maintenance</h2></div>
            <p class="buttons">
              <a class="button" href="metrics">Metrics</a>
              <a class="button" href="api/openapi.json">OpenAPI</a>
              {may("admin") ? <button type="button" onClick={() => void act("Pruned: ended jobs beyond their time are removed", () => post("/api/prune"))}>Prune now</button> : null}
              {may("admin") ? <button type="button" onClick={() => void act((found: { checked: number; wrong: number }) => `Checked ${found.checked} completed jobs: ${found.wrong} wrong`, () => post("/api/reconcile"))}>Reconcile now</button> : null}
            </p>
            <p class="muted">Prune removes ended jobs that are no longer kept; workers do it by themselves. Reconcile asks each type's <code>verify=</code> whether the effect of its completed jobs still holds.</p>
          </section>
        </div>
      )}
    </Loaded>
  );
}

/** What a fact means that asks for something to be done: by its name and value. */
const NOTES: Record<string, string> = {
  "wal-reset bug yes": "This SQLite has the WAL-reset bug: rarely, a checkpoint that meets a write damages the file. Run Python with SQLite 3.51.3 or newer (or 3.50.7, 3.44.6), and keep backups until then.",
};

function FactsCard({ title, facts }: { title: string; facts: JsonObject }) {
  const lines = flat(facts);
  const notes = lines.flatMap(([name, value]) => NOTES[`${name} ${value}`] ?? []);
  return (
    <section class="card" aria-label={title}>
      <div class="card-head"><h2>{title}</h2></div>
      <dl class="facts lines">{lines.map(([name, value]) => <div key={name}><dt>{name.replace(/_/g, " ")}</dt><dd class="mono">{value}</dd></div>)}</dl>
      {notes.map((note) => <p key={note} class="note-text">{note}</p>)}
    </section>
  );
}

/** Facts as lines; nested ones by their path. */
function flat(facts: JsonObject, prefix = ""): [string, string][] {
  return Object.entries(facts).flatMap(([name, value]): [string, string][] => {
    if (isObject(value) && Object.keys(value).length) return flat(value, `${prefix}${name} `);
    return [[prefix + name, factText(name, value)]];
  });
}
