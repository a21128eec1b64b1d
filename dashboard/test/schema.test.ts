import { describe, expect, it } from "vitest";
import { fields, read } from "../src/schema/schema";

const SCHEMA = {
  type: "object", additionalProperties: false, required: ["to", "count"],
  properties: {
    to: { type: "string", description: "Who gets it" }, count: { type: "integer", minimum: 1 }, part: { type: "number", default: 0.5 }, urgent: { type: "boolean", default: false },
    kind: { enum: ["a", 2] }, maybe: { anyOf: [{ type: "integer" }, { type: "null" }], default: null }, other: { $ref: "#/$defs/Options" }, types: { type: ["string", "null"] },
  },
  $defs: { Options: { type: "object", properties: { x: { type: "integer" } } } },
};

describe("forms from a schema", () => {
  it("have a field for each property", () => {
    const found = fields(SCHEMA)!;
    expect(found.map((field) => [field.name, field.kind])).toEqual([["to", "text"], ["count", "integer"], ["part", "number"], ["urgent", "boolean"], ["kind", "choice"], ["maybe", "integer"], ["other", "json"], ["types", "text"]]);
    expect(found.filter((field) => field.required).map((field) => field.name)).toEqual(["to", "count"]);
    expect(found[0]!.about).toBe("Who gets it");
    expect(found[1]!.about).toBe("at least 1");
    expect(found[2]!.initial).toBe("0.5");
    expect(found[5]!.nullable).toBe(true);
  });

  it("are not possible for open objects", () => {
    expect(fields({ type: "object", properties: {}, additionalProperties: true })).toBeNull();
    expect(fields({})).toBeNull();
  });

  it("give the payload, without what was left empty", () => {
    const { args, errors } = read(fields(SCHEMA)!, { to: "a@b.c", count: "3", part: "", urgent: "true", kind: "2", other: '{"x": 1}' });
    expect(errors).toEqual({});
    expect(args).toEqual({ to: "a@b.c", count: 3, urgent: true, kind: 2, other: { x: 1 } });
  });

  it("say what is wrong with a field", () => {
    const { errors } = read(fields(SCHEMA)!, { to: "", count: "three", other: "{" });
    expect(Object.keys(errors)).toEqual(["to", "count", "other"]);
    expect(read(fields(SCHEMA)!, { to: "x" }).errors.count).toMatch(/required/);
  });

  it("do not take a field that was left empty for an empty text", () => {
    expect(read(fields(SCHEMA)!, { to: "", count: "1" }).errors.to).toMatch(/edit as JSON/);
  });
});
