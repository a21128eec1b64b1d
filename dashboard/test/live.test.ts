import { describe, expect, it } from "vitest";
import { shown, withNewer } from "../src/live/log";
import { merge } from "../src/live/merge";
import { type Event, next, PATIENCE, START, type State, status, streams } from "../src/live/status";

const after = (...events: Event[]): State => events.reduce(next, { ...START, paths: 1 });

describe("the live connection", () => {
  it("connects, then is live", () => {
    expect(status(after())).toBe("connecting");
    expect(status(after({ kind: "delivered" }))).toBe("live");
    expect(streams(after({ kind: "delivered" }))).toBe(true);
  });

  it("polls after some failures in a row, and tries the stream again later", () => {
    const failures = Array.from({ length: PATIENCE }, (): Event => ({ kind: "failed" }));
    expect(status(after(...failures))).toBe("polling");
    expect(streams(after(...failures))).toBe(false);
    expect(status(after(...failures, { kind: "retry" }))).toBe("connecting");
    expect(status(after({ kind: "failed" }, { kind: "delivered" }, { kind: "failed" }))).toBe("connecting");
  });

  it("rests while the tab is hidden, and when it is switched off", () => {
    expect(status(after({ kind: "visibility", visible: false }))).toBe("hidden");
    expect(streams(after({ kind: "visibility", visible: false }))).toBe(false);
    expect(status(after({ kind: "switched", on: false }, { kind: "visibility", visible: false }))).toBe("off");
    expect(status(after({ kind: "switched", on: false }, { kind: "switched", on: true }))).toBe("connecting");
  });

  it("opens nothing when nothing is shown", () => {
    expect(streams(after({ kind: "paths", count: 0 }))).toBe(false);
  });
});

describe("lists that are read", () => {
  const row = (id: string, state = "queued") => ({ id, state });

  it("update in place and do not move", () => {
    const merged = merge([row("b"), row("a")], [row("c"), row("b", "running"), row("a")], false);
    expect(merged.rows).toEqual([row("b", "running"), row("a")]);
    expect(merged.fresh).toBe(1);
    expect(merged.gone.size).toBe(0);
  });

  it("keep rows that have left, marked", () => {
    expect([...merge([row("b"), row("a")], [row("a")], false).gone]).toEqual(["b"]);
  });

  it("do not take rows behind the end of a full list for gone", () => {
    const merged = merge([row("b"), row("a")], [row("d"), row("c"), row("b")], true);
    expect(merged.gone.size).toBe(0);
    expect(merged.fresh).toBe(2);
  });
});

describe("logs", () => {
  const line = (number: number, level = "info") => ({ number, level, at: "", stage: null, message: "", fields: {} });

  it("grow by what is newer", () => {
    const lines = [line(1), line(2)];
    expect(withNewer(lines, [line(2), line(3)]).map((each) => each.number)).toEqual([1, 2, 3]);
    expect(withNewer(lines, [line(1)])).toBe(lines);
  });

  it("are shown from a level on", () => {
    const lines = [line(1, "debug"), line(2, "INFO"), line(3, "warning"), line(4, "error")];
    expect(shown(lines, "warning").map((each) => each.number)).toEqual([3, 4]);
    expect(shown(lines, "all")).toHaveLength(4);
  });
});
