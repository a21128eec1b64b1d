/** A JSON value as a tree that opens and closes. Rendered as text only. */
import type { Json } from "../api/types";
import { isObject, pretty } from "../format/json";
import { CopyButton } from "./Copy";

const OPEN_DEPTH = 2;
const SHOWN = 200; // entries of one object or list

export function JsonTree({ value, name }: { value: Json; name: string }) {
  return (
    <div class="json" role="group" aria-label={name}>
      <div class="json-tools"><CopyButton text={pretty(value)} label="Copy as JSON" show /></div>
      <Node value={value} depth={0} />
    </div>
  );
}

function Node({ name, value, depth }: { name?: string; value: Json; depth: number }) {
  const entries: [string, Json][] | null = Array.isArray(value) ? value.map((each, i) => [String(i), each]) : isObject(value) ? Object.entries(value) : null;
  if (!entries || entries.length === 0) return <div class="json-leaf">{name === undefined ? null : <Name name={name} />}<Leaf value={value} /></div>;
  const summary = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
  return (
    <details class="json-node" open={depth < OPEN_DEPTH && entries.length <= 40}>
      <summary>{name === undefined ? null : <Name name={name} />}<span class="muted">{summary}</span></summary>
      {entries.slice(0, SHOWN).map(([key, each]) => <Node key={key} name={key} value={each} depth={depth + 1} />)}
      {entries.length > SHOWN ? <p class="muted">{entries.length - SHOWN} more: copy as JSON to see all</p> : null}
    </details>
  );
}

function Name({ name }: { name: string }) {
  return <span class="json-name">{name}</span>;
}

function Leaf({ value }: { value: Json }) {
  const kind = value === null ? "null" : Array.isArray(value) ? "list" : typeof value;
  const text = typeof value === "string" && value.includes("\n") ? `"${value}"` : JSON.stringify(value); // lines as lines
  return <span class={`json-${kind}`}>{text}</span>;
}
