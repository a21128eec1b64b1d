/** The difference of two texts by lines, and of two JSON values by their pretty text. */
import type { Json } from "../api/types";
import { isObject, pretty } from "./json";

export interface DiffLine {
  kind: "same" | "added" | "removed";
  text: string;
}

const MOST = 1_000_000; // cells of the table: beyond, all lines count as changed

export function diffJson(before: Json, after: Json): DiffLine[] {
  return diffText(asText(before), asText(after));
}

/** Return the lines of both texts: the longest common subsequence as `same`, the others removed, then added. */
export function diffText(before: string, after: string): DiffLine[] {
  const a = before.split("\n");
  const b = after.split("\n");
  if (a.length * b.length > MOST) return [...marked(a, "removed"), ...marked(b, "added")];
  return walk(a, b, lengths(a, b));
}

function lengths(a: string[], b: string[]): number[][] {
  const table = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      table[i]![j] = a[i] === b[j] ? table[i + 1]![j + 1]! + 1 : Math.max(table[i + 1]![j]!, table[i]![j + 1]!);
    }
  }
  return table;
}

function walk(a: string[], b: string[], table: number[][]): DiffLine[] {
  const out: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      out.push({ kind: "same", text: a[i]! });
      i += 1;
      j += 1;
    } else if (i < a.length && (j >= b.length || table[i + 1]![j]! >= table[i]![j + 1]!)) {
      out.push({ kind: "removed", text: a[i]! });
      i += 1;
    } else {
      out.push({ kind: "added", text: b[j]! });
      j += 1;
    }
  }
  return out;
}

function marked(lines: string[], kind: DiffLine["kind"]): DiffLine[] {
  return lines.map((text) => ({ kind, text }));
}

function asText(value: Json): string {
  return typeof value === "string" ? value : pretty(sorted(value));
}

/** Return a value with the names of its objects in order: another order is no difference. */
function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, each]) => [name, sorted(each)]));
}
