/** Turns the JSON Schema of a payload into the fields of a form, and the form back into JSON. Pure. */
import type { Json, JsonObject } from "../api/types";
import { isObject, parsed, pretty } from "../format/json";

export interface Field {
  name: string;
  kind: "text" | "integer" | "number" | "boolean" | "choice" | "json";
  required: boolean;
  nullable: boolean;
  choices: Json[];
  about: string;
  initial: string; // as it stands in the form; "" is left out unless the field is required
}

/** Return the fields of an object schema, required ones first; null if a form cannot show it, then the whole payload is edited as JSON. */
export function fields(schema: JsonObject): Field[] | null {
  const whole = resolved(schema, schema);
  const properties = whole.properties;
  if (!isObject(properties) || whole.additionalProperties === true) return null;
  const required = Array.isArray(whole.required) ? whole.required : [];
  const found = Object.entries(properties).map(([name, each]) => field(name, isObject(each) ? each : {}, schema, required.includes(name)));
  return [...found.filter((each) => each.required), ...found.filter((each) => !each.required)];
}

function field(name: string, given: JsonObject, root: JsonObject, required: boolean): Field {
  const { rule, nullable } = withoutNull(resolved(given, root), root);
  const choices = Array.isArray(rule.enum) ? rule.enum : "const" in rule ? [rule.const ?? null] : [];
  const kind = choices.length ? "choice" : kindOf(rule);
  return { name, kind, required, nullable, choices, about: aboutOf(given, rule), initial: initial(given.default ?? rule.default, kind) };
}

function kindOf(rule: JsonObject): Field["kind"] {
  switch (rule.type) {
    case "string": return "text";
    case "integer": return "integer";
    case "number": return "number";
    case "boolean": return "boolean";
    default: return "json";
  }
}

/** Follow `$ref` within the document. */
function resolved(rule: JsonObject, root: JsonObject): JsonObject {
  const ref = rule.$ref;
  if (typeof ref !== "string" || !ref.startsWith("#/")) return rule;
  let at: Json | undefined = root;
  for (const step of ref.slice(2).split("/")) at = isObject(at) ? at[step.replace(/~1/g, "/").replace(/~0/g, "~")] : undefined;
  return isObject(at) ? { ...resolved(at, root), ...withoutRef(rule) } : rule;
}

function withoutRef(rule: JsonObject): JsonObject {
  const { $ref: _, ...rest } = rule;
  return rest;
}

/** Return the rule beside `null` in `anyOf` or in a list of types. */
function withoutNull(rule: JsonObject, root: JsonObject): { rule: JsonObject; nullable: boolean } {
  if (Array.isArray(rule.type)) {
    const types = rule.type.filter((each) => each !== "null");
    return { rule: { ...rule, type: types.length === 1 ? types[0]! : types }, nullable: types.length < rule.type.length };
  }
  const options = Array.isArray(rule.anyOf) ? rule.anyOf.filter(isObject) : [];
  const real = options.filter((each) => each.type !== "null");
  if (options.length === real.length || real.length !== 1) return { rule, nullable: options.length > real.length };
  return { rule: { ...rule, ...resolved(real[0]!, root) }, nullable: true };
}

function aboutOf(given: JsonObject, rule: JsonObject): string {
  const text = given.description ?? rule.description;
  const bounds = [["at least", rule.minimum], ["at most", rule.maximum], ["pattern", rule.pattern]].filter(([, value]) => value !== undefined).map(([name, value]) => `${String(name)} ${String(value)}`);
  return [typeof text === "string" ? text : "", ...bounds].filter(Boolean).join("; ");
}

function initial(value: Json | undefined, kind: Field["kind"]): string {
  if (value === undefined || value === null) return "";
  return kind === "text" ? String(value) : kind === "json" ? pretty(value) : kind === "choice" ? JSON.stringify(value) : String(value);
}

export interface Read {
  args: JsonObject;
  errors: Record<string, string>;
}

/** Return the payload of a filled form, and what is wrong with it by field. */
export function read(form: Field[], values: Record<string, string>): Read {
  const args: JsonObject = {};
  const errors: Record<string, string> = {};
  for (const each of form) {
    const found = readField(each, values[each.name] ?? "");
    if (found === undefined) continue;
    if ("error" in found) errors[each.name] = found.error;
    else args[each.name] = found.value;
  }
  return { args, errors };
}

function missing(of: Field): { value: Json } | { error: string } | undefined {
  if (!of.required) return undefined;
  if (of.nullable) return { value: null };
  return { error: `Give a value: this argument is required${of.kind === "text" ? "; for an empty text, edit as JSON" : ""}` };
}

function readField(of: Field, text: string): { value: Json } | { error: string } | undefined {
  if (text === "") return missing(of);
  switch (of.kind) {
    case "text": return { value: text };
    case "integer": return /^-?\d+$/.test(text.trim()) ? { value: Number(text) } : { error: "Give a whole number, e.g. 42" };
    case "number": return Number.isFinite(Number(text)) ? { value: Number(text) } : { error: "Give a number, e.g. 0.5" };
    case "boolean": return { value: text === "true" };
    default: return parsed(text);
  }
}
