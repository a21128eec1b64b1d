import { describe, expect, it } from "vitest";
import { shortId } from "../src/format/ids";
import { line, parsed, plain } from "../src/format/json";
import { bytes, count, percent, rate, short } from "../src/format/numbers";
import { factText, ruleText, span } from "../src/format/rules";

describe("numbers", () => {
  it("are short where there is little room", () => {
    expect([0, 950, 1000, 12_431, 999_600, 3_100_000].map(short)).toEqual(["0", "950", "1k", "12.4k", "1M", "3.1M"]);
    expect(count(12_431, true)).toBe("12,431+");
  });

  it("tell parts and rates", () => {
    expect([null, 0, 0.0004, 0.052, 0.2].map(percent)).toEqual(["–", "0 %", "<0.1 %", "5.2 %", "20 %"]);
    expect([0, 1.25, 38.4].map(rate)).toEqual(["0", "1.3", "38"]);
    expect(bytes(84_212_992)).toBe("80 MB");
  });
});

describe("rules", () => {
  it("are written as in options", () => {
    expect([300, 604_800, 90, 1.5, 0].map(span)).toEqual(["5m", "7d", "90s", "1500ms", "0s"]);
    expect(ruleText("timeout", 300)).toBe("5m");
    expect(ruleText("attempts", 300)).toBe("300");
    expect(ruleText("backoff", "2000 3600000 2.0 1")).toBe("2s × 2 up to 1h");
    expect(ruleText("backoff", "2000 3600000 1.0 1")).toBe("2s each");
    expect(ruleText("limit", { running: 5, rate: null })).toBe("running 5");
    expect(ruleText("keep", null)).toBe("–");
  });

  it("tell facts with their unit", () => {
    expect(factText("size", "572688")).toBe("559 KB");
    expect(factText("health.oldest", 3_600_000)).toBe("1h");
    expect(factText("redact", [])).toBe("–");
  });
});

describe("JSON", () => {
  it("is told on one line, cut", () => {
    expect(line({ path: "a.png", width: 400 })).toBe('path="a.png" width=400');
    expect(line({ text: "x".repeat(300) }, 20)).toHaveLength(20);
    expect(line(null)).toBe("");
  });

  it("says why a text is none", () => {
    expect(parsed('{"a": 1}')).toEqual({ value: { a: 1 } });
    expect(parsed("{a}")).toHaveProperty("error");
    expect(plain(true)).toBe("yes");
  });

  it("shortens ids as the CLI takes them", () => {
    expect(shortId("01JQ93ZK5MABCDEFGHJKMN000A")).toBe("01JQ93ZK5M…000A");
    expect(shortId("w1")).toBe("w1");
  });
});
