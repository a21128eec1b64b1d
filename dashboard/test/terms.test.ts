import { describe, expect, it } from "vitest";
import { between, completed, has, pieces, quoted, set, toggle, values } from "../src/search/terms";

describe("terms of a search", () => {
  it("keeps quoted words together", () => {
    expect(pieces('type:mail error:"connection refused" -tag:eu')).toEqual(["type:mail", 'error:"connection refused"', "-tag:eu"]);
  });

  it("reads the values of a qualifier, without quotes", () => {
    expect(values('state:dead,retrying state:"queued"', "state")).toEqual(["dead", "retrying", "queued"]);
    expect(values('tag:"a,b",c', "tag")).toEqual(["a,b", "c"]);
  });

  it("does not take an excluded term for a chosen one", () => {
    expect(has("-tag:eu", "tag", "eu")).toBe(false);
  });

  it("adds and removes a value, and leaves the rest", () => {
    expect(toggle("age:>1h", "state", "dead")).toBe("age:>1h state:dead");
    expect(toggle("state:dead age:>1h", "state", "running")).toBe("age:>1h state:dead,running");
    expect(toggle("state:dead,running", "state", "dead")).toBe("state:running");
    expect(toggle("state:dead x", "state", "dead")).toBe("x");
  });

  it("quotes what the grammar would read otherwise", () => {
    expect(quoted("acme/eu")).toBe("acme/eu");
    expect(quoted("a b")).toBe('"a b"');
    expect(quoted("a,b")).toBe('"a,b"');
    expect(quoted(">5")).toBe('">5"');
    expect(quoted("-x")).toBe('"-x"');
    expect(quoted('say "hi"\\')).toBe('"say \\"hi\\"\\\\"');
    expect(values(set("", "tag", ['say "hi"\\']), "tag")).toEqual(['say "hi"\\']);
  });

  it("replaces the last word by a suggestion", () => {
    expect(completed("st", "state:")).toBe("state:");
    expect(completed("type:a st", "state:dead")).toBe("type:a state:dead ");
    expect(completed("type:a ", "state:")).toBe("type:a state:");
    expect(completed("-st", "state:")).toBe("-state:");
  });

  it("replaces a time range of the same field", () => {
    const found = between("type:a finished:today", "finished", new Date("2026-01-31T09:00:00Z"), new Date("2026-01-31T10:00:00.500Z"));
    expect(found).toBe("type:a finished:>=2026-01-31T09:00:00Z finished:<2026-01-31T10:00:00Z");
  });
});
