/** JSON as text. */
import type { Json } from "../api/types";

/** Return a value on one line, cut at a length: `path="a.png" width=400` for objects. */
export function line(value: Json, length = 160): string {
  const text = isObject(value) ? Object.entries(value).map(([name, each]) => `${name}=${JSON.stringify(each)}`).join(" ") : value === null ? "" : JSON.stringify(value);
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

export function pretty(value: Json): string {
  return JSON.stringify(value, null, 2);
}

export function isObject(value: Json | undefined): value is { [name: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Return a value, or why the text is not JSON, with its line. */
export function parsed(text: string): { value: Json } | { error: string } {
  try {
    return { value: JSON.parse(text) as Json };
  } catch (error) {
    return { error: `This is not JSON yet: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** Return a setting's value as people read it. */
export function plain(value: Json | undefined): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return value ? "yes" : "no";
  return isObject(value) || Array.isArray(value) ? JSON.stringify(value) : String(value);
}
