import { describe, expect, it } from "vitest";
import { absolute, brief, clock, duration, elapsed, isZone, relativeTo, upcoming, withInstants } from "../src/format/time";

const AT = Date.parse("2026-03-29T00:59:30Z");

describe("durations", () => {
  it.each([[0, "0 ms"], [0.0004, "0 ms"], [0.84, "840 ms"], [0.9996, "1.0 s"], [4.23, "4.2 s"], [9.96, "10 s"], [59.4, "59 s"], [59.6, "1 m 00 s"], [65, "1 m 05 s"], [7380, "2 h 03 m"], [273_600, "3 d 4 h"], [-3, "0 ms"]])("%s is %s", (seconds, text) => {
    expect(duration(seconds)).toBe(text);
  });

  it("runs in whole seconds", () => {
    expect(elapsed(0.9)).toBe("0 s");
    expect(elapsed(61.9)).toBe("1 m 01 s");
  });

  it("has one unit on an axis", () => {
    expect([0.001, 0.1, 10, 60, 600, 36_000, 86_400].map(brief)).toEqual(["1 ms", "100 ms", "10 s", "1 m", "10 m", "10 h", "1 d"]);
  });
});

describe("instants", () => {
  it("are found in a text", () => {
    expect(withInstants("paused since 2026-03-29T00:59:30.123Z by ann: 2026-03-29")).toEqual(["paused since ", "2026-03-29T00:59:30.123Z", " by ann: 2026-03-29"]);
    expect(withInstants("ready")).toEqual(["ready"]);
  });

  it("tells how far they are", () => {
    expect(relativeTo(AT - 200, AT)).toBe("now");
    expect(relativeTo(AT - 65_000, AT)).toBe("1 m ago");
    expect(relativeTo(AT + 3_900_000, AT)).toBe("in 1 h 5 m");
    expect(relativeTo(AT - 30 * 3_600_000, AT)).toBe("1 d ago");
  });

  it("follows the zone, also over the change to summer time", () => {
    expect(absolute(AT, "UTC")).toBe("2026-03-29 00:59:30 UTC");
    expect(absolute(AT, "Europe/Berlin")).toBe("2026-03-29 01:59:30 CET");
    expect(absolute(AT + 60_000, "Europe/Berlin")).toBe("2026-03-29 03:00:30 CEST");
  });

  it("shows the date of another day, by the day of the zone", () => {
    expect(clock(AT, AT + 3_600_000, "UTC")).toBe("00:59:30");
    expect(clock(AT, AT - 3_600_000, "UTC")).toBe("03-29 00:59");
    expect(clock(AT, AT - 3_600_000, "Europe/Berlin")).toBe("01:59:30");
  });

  it("names the weekday of runs to come", () => {
    expect(upcoming(AT - 30_000, AT - 864e5, "UTC")).toBe("Sun 00:59");
    expect(upcoming(AT - 30_000, AT - 90 * 864e5, "UTC")).toBe("2026-03-29 00:59");
  });

  it("knows zones", () => {
    expect(isZone("Asia/Tokyo")).toBe(true);
    expect(isZone("Mars/Base")).toBe(false);
  });
});
