import { describe, expect, it } from "vitest";
import { changed, format, jobs, parse } from "../src/router/route";

describe("routes", () => {
  it("reads a page, an id and parameters", () => {
    expect(parse("#/job/01J?tab=logs")).toEqual({ page: "job", id: "01J", params: { tab: "logs" } });
  });

  it("takes an empty hash for the overview", () => {
    expect(parse("")).toEqual({ page: "overview", id: null, params: {} });
    expect(parse("#/")).toEqual({ page: "overview", id: null, params: {} });
  });

  it("keeps every character of an id and of a search", () => {
    const name = "a/b?c#d %41 ü";
    const q = 'error:"a & b" args.x:1+1';
    expect(parse(format("type", name)).id).toBe(name);
    expect(parse(jobs(q)).params.q).toBe(q);
  });

  it("does not fail on a broken escape", () => {
    expect(parse("#/job/%E0%A4%A").id).toBe("%E0%A4%A");
  });

  it("changes and removes parameters", () => {
    const route = parse("#/jobs?q=a&after=b");
    expect(changed(route, { after: null, limit: "100" })).toBe("#/jobs?q=a&limit=100");
  });
});
