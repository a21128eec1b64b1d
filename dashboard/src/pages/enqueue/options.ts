import type { Json, JsonObject } from "../../api/types";

const NUMBERS = new Set(["priority", "attempts"]);

/** Return the options of a request: only those that are given. */
export function optionsOf(given: Record<string, string>): JsonObject {
  const entries = Object.entries(given).filter(([, text]) => text.trim() !== "");
  return Object.fromEntries(entries.map(([name, text]): [string, Json] => [name, optionOf(name, text.trim())]));
}

function optionOf(name: string, text: string): Json {
  if (name === "tags") return text.split(",").map((tag) => tag.trim()).filter(Boolean);
  return NUMBERS.has(name) && /^-?\d+$/.test(text) ? Number(text) : text;
}
