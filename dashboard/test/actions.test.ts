import { describe, expect, it } from "vitest";
import { match, nameOf } from "../src/keyboard/keys";
import { isCount, mustType } from "../src/state/confirm";
import { kept, ranged, toggled } from "../src/state/selection";
import { optionsOf } from "../src/pages/enqueue/options";
import { changesOf, formOf } from "../src/pages/schedules/form";
import { readArguments } from "../src/pages/bulk/ActionFields";
import { actionOf, summaryOf } from "../src/pages/audit/summary";
import { toneOf } from "../src/pages/job/tone";
import { pageOf } from "../src/pages/overview/fix";
import { commands, type Known } from "../src/shell/commands";

describe("confirmation", () => {
  const request = { action: "retry", count: 5, everything: false, production: false };

  it("is a click for few jobs that were chosen by hand", () => {
    expect(mustType(request)).toBe(false);
    expect(mustType({ ...request, action: "delete" })).toBe(false);
  });

  it("is typed for many jobs, and for destructive actions on a search", () => {
    expect(mustType({ ...request, count: 100 })).toBe(true);
    expect(mustType({ ...request, action: "delete", everything: true })).toBe(true);
    expect(mustType({ ...request, action: "cancel", count: 11 })).toBe(true);
  });

  it("is typed in production for every search", () => {
    expect(mustType({ ...request, everything: true })).toBe(false);
    expect(mustType({ ...request, everything: true, production: true })).toBe(true);
    expect(mustType({ ...request, everything: true, production: true, count: 1 })).toBe(false);
  });

  it("takes the count with separators, and nothing else", () => {
    expect(isCount("12,431", 12431)).toBe(true);
    expect(isCount(" 12 431 ", 12431)).toBe(true);
    expect(isCount("12", 12431)).toBe(false);
    expect(isCount("", 0)).toBe(false);
  });
});

describe("selection", () => {
  it("toggles, extends in the order of the list, and forgets what has left", () => {
    const one = toggled(new Set(), "b");
    expect([...ranged(one, ["a", "b", "c", "d"], "b", "d")]).toEqual(["b", "c", "d"]);
    expect([...ranged(one, ["a", "b", "c"], "c", "a")].sort()).toEqual(["a", "b", "c"]);
    expect([...ranged(new Set(), ["a", "b"], null, "b")]).toEqual(["b"]);
    expect([...kept(one, ["a"])]).toEqual([]);
    expect([...toggled(one, "b")]).toEqual([]);
  });
});

describe("keys", () => {
  const press = (key: string, more = {}) => ({ key, ctrl: false, shift: false, ...more });

  it("have names", () => {
    expect(nameOf(press("X", { shift: true }))).toBe("shift+x");
    expect(nameOf(press("K", { ctrl: true }))).toBe("mod+k");
    expect(nameOf(press("R", { shift: true }))).toBe("R");
  });

  it("build sequences", () => {
    const known = ["g j", "j", "g"].slice(0, 2);
    expect(match(known, "", press("g"))).toEqual({ shortcut: null, prefix: "g" });
    expect(match(known, "g", press("j"))).toEqual({ shortcut: "g j", prefix: "" });
    expect(match(known, "", press("j"))).toEqual({ shortcut: "j", prefix: "" });
    expect(match(known, "g", press("z"))).toEqual({ shortcut: null, prefix: "" });
  });
});

describe("requests", () => {
  it("have only the options that are given", () => {
    expect(optionsOf({ delay: "5m", priority: "10", tags: "eu, vip,", key: " " })).toEqual({ delay: "5m", priority: 10, tags: ["eu", "vip"] });
  });

  it("have the arguments that a bulk action needs", () => {
    expect(readArguments("retry", {})).toEqual({ arguments: {} });
    expect(readArguments("reprioritise", { priority: "x" })).toHaveProperty("error");
    expect(readArguments("reschedule", { delay: "0" })).toEqual({ arguments: { delay: 0 } });
    expect(readArguments("amend", { set: '{"a.b": 1}' })).toEqual({ arguments: { set: { "a.b": 1 } } });
    expect(readArguments("amend", { set: '{"": 1}' })).toHaveProperty("error");
    expect(readArguments("amend", { set: "[1]" })).toHaveProperty("error");
  });

  it("have what of a schedule was changed", () => {
    const made = changesOf(null, { ...formOf(null), name: "n", type: "t", cron: "0 3 * * *" }, {});
    expect(made).toEqual({ cron: "0 3 * * *", tz: "UTC", catch_up: "latest", overlap: "allow", args: {} });
  });
});

describe("the timeline", () => {
  it("has the tone of how an attempt ended", () => {
    expect(toneOf({ kind: "ended", what: "attempt 1 failed" })).toBe("failed");
    expect(toneOf({ kind: "ended", what: "attempt 2 completed" })).toBe("completed");
    expect(toneOf({ kind: "ended", what: "attempt 1 asked for a review" })).toBe("review");
    expect(toneOf({ kind: "started", what: "attempt 1 started" })).toBe("started");
  });
});

describe("the palette", () => {
  const none = { types: [], queues: [], pauses: [], whole: true };
  const known: Known = { types: [{ name: "mail.send", paused: [{ of: "queue" }], counts: { dead: 3 } }, { name: "charge", paused: [{ of: "type" }], counts: {} }], queues: [{ name: "mail", paused: [], counts: {} }], pauses: [{ of: "type" }], whole: true };
  const all = (text: string, operator = true) => commands(text, known, [], () => operator).map((command) => command.name);

  it("offers pages first, types by name, and actions only to who may", () => {
    expect(all("")[0]).toBe("Overview");
    expect(all("send")).toContain("mail.send");
    expect(all("enqueue send")).toContain("Enqueue mail.send");
    expect(all("enqueue send", false)).not.toContain("Enqueue mail.send");
  });

  it("offers to pause what runs and to resume what is paused, before a search", () => {
    expect(all("pause")).toEqual(["Pause everything…", "Pause type mail.send…", "Pause queue mail…", "Search jobs for “pause”"]);
    expect(all("resume")).toEqual(["Resume type charge", "Search jobs for “resume”"]);
    expect(commands("pause queue", known, [], () => true)[0]!.pause).toEqual({ of: "queue", name: "mail" });
    expect(all("pause", false)).toEqual(["Search jobs for “pause”"]);
  });

  it("offers no search before all is known: Enter would choose it", () => {
    expect(commands("pause type mail", { ...none, whole: false }, [], () => true)).toEqual([]);
  });

  it("leads to the dead jobs of a type that has some", () => {
    expect(all("retry")).toEqual(["Retry dead jobs by cause…", "Retry dead jobs of mail.send…", "Search jobs for “retry”"]);
    expect(commands("retry mail", known, [], () => true)[0]!.href).toBe("#/jobs?q=type%3Amail.send+state%3Adead");
  });

  it("opens a job by its id", () => {
    const [first] = commands("01jq93zk5m0123456789abcdef", none, [], () => true);
    expect(first!.href).toBe("#/job/01JQ93ZK5M0123456789ABCDEF");
    expect(commands("01JQ93ZK", none, [], () => true)[0]!.href).toBe("#/jobs?q=id%3A01JQ93ZK");
  });
});

describe("a finding", () => {
  it("leads to the page that does what its command does", () => {
    expect(pageOf("mainstay reviews")).toBe("#/reviews");
    expect(pageOf("mainstay dead show e576")).toBe("#/dead/e576");
    expect(pageOf("mainstay queues set mail --max-depth 20   (or more workers)")).toBe("#/types?tab=queues");
    expect(pageOf("finish the deploy, or give one of the types another name")).toBeNull();
  });
});

describe("the audit trail", () => {
  it("tells what was changed, and why", () => {
    expect(summaryOf({ kind: "limit", name: "mail", before: null, after: { running: 2 }, reason: "outage" })).toBe("limit mail · made · “outage”");
    expect(summaryOf({ kind: "type", name: "mail", before: { timeout: 1, keep: 2 }, after: { timeout: 3, keep: 2 }, reason: "" })).toBe("type mail · timeout");
    expect(summaryOf({ note: "by hand", from: "" })).toBe('note="by hand"');
  });

  it("calls a pause and its end what operators call them", () => {
    const detail = { kind: "pause", name: "type:mail", before: null, after: { since: 1 }, reason: "outage" };
    expect([actionOf({ action: "rule", detail }), summaryOf(detail)]).toEqual(["pause", "type mail · “outage”"]);
    expect(actionOf({ action: "rule", detail: { ...detail, after: null } })).toBe("resume");
    expect(actionOf({ action: "rule", detail: { ...detail, kind: "limit" } })).toBe("rule");
  });
});
