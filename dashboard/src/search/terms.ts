/** Edits the text of a search term by term, with the server's grammar: spaces separate, commas list, `-` excludes, quotes enclose. */

const PIECE = /(?:"(?:[^"\\]|\\.)*"|".*|[^\s"])+/gs;
const ITEM = /(?:"(?:[^"\\]|\\.)*"|[^,"])+/gs;

export function pieces(text: string): string[] {
  return text.match(PIECE) ?? [];
}

/** Return a value as it is written in a search, in quotes where it needs them. */
export function quoted(value: string): string {
  return /^[^\s",<>=\\-][^\s",\\]*$/.test(value) ? value : `"${value.replace(/[\\"]/g, "\\$&")}"`;
}

/** Return the values that a search gives for a qualifier. */
export function values(text: string, name: string): string[] {
  return pieces(text).filter((piece) => piece.startsWith(`${name}:`)).flatMap((piece) => items(piece.slice(name.length + 1)));
}

export function has(text: string, name: string, value: string): boolean {
  return values(text, name).includes(value);
}

/** Return the search with a value of a qualifier added, or removed if it has it. */
export function toggle(text: string, name: string, value: string): string {
  const kept = values(text, name);
  const next = kept.includes(value) ? kept.filter((each) => each !== value) : [...kept, value];
  return set(text, name, next);
}

/** Return the search with exactly these values of a qualifier; none removes its terms. */
export function set(text: string, name: string, next: string[]): string {
  const others = pieces(text).filter((piece) => !piece.startsWith(`${name}:`));
  const term = next.length ? [`${name}:${next.map(quoted).join(",")}`] : [];
  return [...others, ...term].join(" ");
}

/** Return the search with a time range instead of other terms of the same field. */
export function between(text: string, field: "created" | "finished", from: Date, until: Date): string {
  const others = pieces(text).filter((piece) => !piece.startsWith(`${field}:`));
  return [...others, `${field}:>=${instant(from)}`, `${field}:<${instant(until)}`].join(" ");
}

/** Return the text with its last word replaced by a suggestion; a suggestion that ends with a colon waits for its value. */
export function completed(text: string, suggestion: string): string {
  const words = pieces(text);
  const open = words.length > 0 && !/\s$/.test(text) ? words.pop() : undefined;
  const minus = open?.startsWith("-") && !suggestion.startsWith("-") ? "-" : "";
  const next = [...words, minus + suggestion].join(" ");
  return /[:.,]$/.test(suggestion) ? next : `${next} `;
}

function items(text: string): string[] {
  return (text.match(ITEM) ?? []).map((item) => item.replace(/"((?:[^"\\]|\\.)*)"/g, (_, inner: string) => inner.replace(/\\(.)/g, "$1")));
}

function instant(at: Date): string {
  return at.toISOString().replace(/\.\d+Z$/, "Z");
}
