/** Values of rules, settings and facts as people write them: `5m`, `10/s`, `2s × 2 up to 1h`. */
import type { Json } from "../api/types";
import { isObject, plain } from "./json";
import { bytes } from "./numbers";

const SPANS = /^(timeout|keep|keep_cancelled|keep_dead|wait|aging|rest|every|jitter|remind)$/; // in seconds
const UNITS: [seconds: number, unit: string][] = [[86_400, "d"], [3600, "h"], [60, "m"], [1, "s"]];

/** Return a duration as it is written in options, exactly: 5m, 90s, 1500ms. */
export function span(seconds: number): string {
  const found = UNITS.find(([size]) => seconds !== 0 && seconds % size === 0);
  if (found) return `${seconds / found[0]}${found[1]}`;
  return seconds === 0 ? "0s" : `${Math.round(seconds * 1000)}ms`;
}

/** Return the value of a rule as text. */
export function ruleText(name: string, value: Json | undefined): string {
  if (typeof value === "number" && SPANS.test(name)) return span(value);
  if (name === "backoff" && typeof value === "string") return backoff(value);
  if (isObject(value)) return Object.entries(value).filter(([, each]) => each !== null).map(([key, each]) => `${key} ${ruleText(key, each)}`).join(", ");
  if (Array.isArray(value)) return value.map((each) => ruleText(name, each)).join("; ") || "–";
  return plain(value);
}

/** Return how long a retry waits, from `base cap factor jitter` in milliseconds. */
function backoff(packed: string): string {
  const [base = NaN, cap = NaN, factor = NaN] = packed.split(" ").map(Number);
  if ([base, cap, factor].some(Number.isNaN)) return packed;
  return factor === 1 ? `${span(base / 1000)} each` : `${span(base / 1000)} × ${factor} up to ${span(cap / 1000)}`;
}

const MILLISECONDS = /^health\.(oldest|overdue|skew)$/;
const BYTES = /(^size$|bytes$|^health\.disk)/;

/** Return a fact of the store or a threshold as text. */
export function factText(name: string, value: Json): string {
  const number = typeof value === "number" ? value : typeof value === "string" && /^\d+$/.test(value) ? Number(value) : null;
  if (number !== null && BYTES.test(name)) return bytes(number);
  if (number !== null && MILLISECONDS.test(name)) return span(number / 1000);
  return Array.isArray(value) ? value.map(plain).join(", ") || "–" : plain(value);
}
