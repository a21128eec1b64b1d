import type { Facet, Facets as FacetsAnswer } from "../../api/pages";
import { Glyph } from "../../components/Glyph";
import { short } from "../../format/numbers";
import { has, toggle } from "../../search/terms";
import { session } from "../../state/session";
import { known, LABELS } from "../../state/states";

interface Props {
  facets: FacetsAnswer | undefined;
  q: string;
  onSearch: (q: string) => void;
}

const GROUPS: { key: keyof Omit<FacetsAnswer, "looked">; term: string; name: string }[] = [
  { key: "states", term: "state", name: "State" },
  { key: "types", term: "type", name: "Type" },
  { key: "queues", term: "queue", name: "Queue" },
  { key: "workers", term: "worker", name: "Worker" },
  { key: "tags", term: "tag", name: "Tag" },
  { key: "tenants", term: "tenant", name: "Tenant" },
];

const OPEN = 12; // values of one group before the rest is folded

/** Filters with counts. A click adds or removes the term in the search. */
export function Facets({ facets, q, onSearch }: Props) {
  const whole = !q.trim() && !session.value?.tenant; // the store counts them then, but not those that have ended well
  return (
    <>
      {GROUPS.map((group) => {
        const found = group.key === "states" ? allStates(facets?.states ?? [], whole) : (facets?.[group.key] ?? []);
        return found.length ? <Group key={group.key} name={group.name} term={group.term} found={found} q={q} onSearch={onSearch} /> : null;
      })}
      {facets ? <p class="rail-note muted">{note(facets.looked, whole)}</p> : null}
    </>
  );
}

interface GroupProps {
  name: string;
  term: string;
  found: Facet[];
  q: string;
  onSearch: (q: string) => void;
}

function Group({ name, term, found, q, onSearch }: GroupProps) {
  const entry = (facet: Facet) => <Entry key={facet.name} facet={facet} term={term} on={has(q, term, facet.name)} onToggle={() => onSearch(toggle(q, term, facet.name))} />;
  return (
    <section class="facet" aria-label={name}>
      <h2>{name}</h2>
      <ul>{found.slice(0, OPEN).map(entry)}</ul>
      {found.length > OPEN ? <details><summary>{found.length - OPEN} more</summary><ul>{found.slice(OPEN).map(entry)}</ul></details> : null}
    </section>
  );
}

function Entry({ facet, term, on, onToggle }: { facet: Facet; term: string; on: boolean; onToggle: () => void }) {
  return (
    <li>
      <button type="button" aria-pressed={on} class={term === "state" ? `s-text s-${known(facet.name)}` : ""} onClick={onToggle} title={`${term}:${facet.name}`}>
        {term === "state" ? <Glyph label={facet.name} /> : null}
        <span class="facet-name">{facet.name}</span>
        <span class="facet-count">{facet.jobs < 0 ? "" : `${short(facet.jobs)}${facet.capped ? "+" : ""}`}</span>
      </button>
    </li>
  );
}

/** Which jobs the counts are of. */
function note(looked: number, whole: boolean): string {
  const newest = `the newest ${looked.toLocaleString("en")}`;
  return whole ? `States, types and queues count unfinished and dead jobs; workers, tags and tenants ${newest} of all.` : `Counts of ${newest} that match.`;
}

/** All states in their usual order, so that the rail does not jump; completed and cancelled ones have no count in the whole. */
function allStates(found: Facet[], whole: boolean): Facet[] {
  const byName = new Map(found.map((facet) => [facet.name, facet]));
  return LABELS.filter((label) => label !== "cancelling" || byName.has(label)).map((label) => byName.get(label) ?? { name: label, jobs: whole && (label === "completed" || label === "cancelled") ? -1 : 0 });
}
