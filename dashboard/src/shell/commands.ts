/** What the palette offers for a text: pure, so that its order can be tested. */
import type { Pause, Role } from "../api/types";
import { format, jobs } from "../router/route";
import { quoted } from "../search/terms";
import { isPaused, type PauseTarget } from "../state/pauses";
import { PAGES } from "./pages";

export interface Command {
  name: string;
  about: string;
  href?: string;
  run?: () => void;
  pause?: PauseTarget; // to ask for a reason of
  resume?: PauseTarget;
}

/** A type or a queue, as the palette knows it. */
export interface Named {
  name: string;
  paused: Pick<Pause, "of">[];
  counts: Record<string, number>;
}

export interface Known {
  types: Named[];
  queues: Named[];
  pauses: Pick<Pause, "of">[];
  whole: boolean; // all that is to be known is here
}

const ID = /^[0-9a-hjkmnp-tv-z]{6,26}$/i;
const SHOWN = 14;

/**
 * Return the commands that match a text, the most specific first: a job, what begins so, what has it in it, a search.
 * A search is offered when all is known: before, it would stand first for a moment, and Enter would choose it.
 */
export function commands(text: string, known: Known, actions: Command[], may: (role: Role) => boolean): Command[] {
  const word = text.trim();
  const all = [
    ...PAGES.map((entry) => ({ name: entry.name, about: "page", href: format(entry.page) })),
    { name: "Bulk operations", about: "page", href: format("bulk") },
    ...actions,
    ...(may("operator") ? operating(known) : []),
    ...known.types.flatMap((type) => ofType(type, may)),
  ];
  if (!word) return all.slice(0, SHOWN);
  const found = all.filter((each) => matches(`${each.name} ${each.about}`, word));
  return [...job(word), ...begun(found, word).slice(0, SHOWN), ...(known.whole ? search(word) : [])];
}

function ofType({ name, counts }: Named, may: (role: Role) => boolean): Command[] {
  const dead = jobs(`type:${quoted(name)} state:dead`);
  return [
    { name, about: "type", href: format("type", name) },
    { name: `Jobs of ${name}`, about: "search", href: jobs(`type:${quoted(name)}`) },
    ...(may("operator") ? [{ name: `Enqueue ${name}`, about: "action", href: format("enqueue", null, { type: name }) }] : []),
    ...(may("operator") && counts.dead ? [{ name: `Retry dead jobs of ${name}…`, about: "search", href: dead }] : []),
  ];
}

/** What operators pause, and resume where it is paused. */
function operating({ types, queues, pauses }: Known): Command[] {
  return [
    pausing("everything", { of: "all", name: "" }, pauses),
    ...types.map(({ name, paused }) => pausing(`type ${name}`, { of: "type", name }, paused)),
    ...queues.map(({ name, paused }) => pausing(`queue ${name}`, { of: "queue", name }, paused)),
    ...(types.some((type) => type.counts.dead) ? [{ name: "Retry dead jobs by cause…", about: "page", href: format("dead") }] : []),
  ];
}

function pausing(what: string, target: PauseTarget, pauses: Pick<Pause, "of">[]): Command {
  return isPaused(target, pauses) ? { name: `Resume ${what}`, about: "action", resume: target } : { name: `Pause ${what}…`, about: "action", pause: target };
}

function job(word: string): Command[] {
  if (!ID.test(word) || !/\d/.test(word)) return [];
  const id = word.toUpperCase();
  return [id.length === 26 ? { name: `Job ${id}`, about: "job", href: format("job", id) } : { name: `Job ${id}`, about: "jobs whose id begins so", href: jobs(`id:${id}`) }];
}

function search(word: string): Command[] {
  return word.length > 2 ? [{ name: `Search jobs for “${word}”`, about: "search", href: jobs(word) }] : [];
}

function begun(found: Command[], word: string): Command[] {
  const first = (each: Command) => each.name.toLowerCase().startsWith(word.toLowerCase());
  return [...found.filter(first), ...found.filter((each) => !first(each))];
}

function matches(name: string, word: string): boolean {
  const lower = name.toLowerCase();
  return word.toLowerCase().split(/\s+/).every((part) => lower.includes(part));
}
