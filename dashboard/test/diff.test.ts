import { describe, expect, it } from "vitest";
import { diffJson, diffText } from "../src/format/diff";

const shown = (lines: { kind: string; text: string }[]) => lines.map(({ kind, text }) => `${{ same: " ", added: "+", removed: "-" }[kind]}${text}`);

describe("differences", () => {
  it("keep what both have", () => {
    expect(shown(diffText("a\nb\nc", "a\nx\nc\nd"))).toEqual([" a", "-b", "+x", " c", "+d"]);
  });

  it("are none between equals", () => {
    expect(diffText("a\nb", "a\nb").every((line) => line.kind === "same")).toBe(true);
  });

  it("compare JSON by its lines", () => {
    expect(shown(diffJson({ a: 1, b: 2 }, { a: 1, b: 3 }))).toEqual([" {", '   "a": 1,', '-  "b": 2', '+  "b": 3', " }"]);
  });

  it("do not take another order of names for a difference", () => {
    expect(diffJson({ a: 1, b: { c: 2, d: 3 } }, { b: { d: 3, c: 2 }, a: 1 }).every((line) => line.kind === "same")).toBe(true);
  });

  it("compare texts as they are", () => {
    expect(shown(diffJson("one\ntwo", "one"))).toEqual([" one", "-two"]);
  });

  it("give up on texts that are too long to compare", () => {
    const long = Array.from({ length: 1200 }, (_, i) => String(i)).join("\n");
    expect(diffText(long, long).filter((line) => line.kind === "same")).toHaveLength(0);
  });
});
