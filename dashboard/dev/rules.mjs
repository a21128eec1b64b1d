// Types, queues, limits, schedules and settings of the development server.
import { iso, labelOf, TYPES, world } from "./world.mjs";

const spread = (p50) => ({ mean: p50 * 1.2, p50, p95: p50 * 3, p99: p50 * 6, longest: p50 * 11 });

const SCHEMAS = {
  send_email: { type: "object", additionalProperties: false, required: ["to"], properties: { to: { type: "string", description: "Who gets it" }, template: { enum: ["welcome", "invoice", "reset"], default: "welcome" }, attachments: { type: "integer", minimum: 0, default: 0 }, urgent: { type: "boolean", default: false } } },
  extract_document: { type: "object", additionalProperties: false, required: ["document"], properties: { document: { type: "integer" }, pages: { anyOf: [{ type: "integer" }, { type: "null" }], default: null }, options: { type: "object", default: { ocr: true } } } },
};

export function types() {
  return Object.keys(TYPES).map((name) => typeOf(name));
}

export function typeOf(name) {
  const of = TYPES[name];
  if (!of) return null;
  const jobs = [...world.jobs.values()].filter((job) => job.type === name);
  const counts = jobs.reduce((found, job) => ({ ...found, [labelOf(job)]: (found[labelOf(job)] ?? 0) + 1 }), {});
  const pause = world.paused.get(name);
  const set = name === "extract_document" ? { attempts: { value: 3, actor: "ada", at: iso(Date.now() - 86_400_000) } } : {};
  const declared = { queue: of.queue, priority: 0, attempts: 5, backoff: "2s to 1h", timeout: "5m", keep: "7d", limit: of.queue === "llm" ? { running: 5 } : null };
  return {
    name, description: { send_email: "Send one e-mail from a template.", extract_document: "Read a document and extract its fields.", draft_reply: "Draft a reply to a ticket; a person approves it." }[name] ?? null, queue: of.queue, declared, set,
    effective: { ...declared, ...(set.attempts ? { attempts: 3 } : {}) }, drift: Object.keys(set), paused: pause ? [pause] : [], disabled: null, stages: of.stages ?? [], schema: SCHEMAS[name] ?? { type: "object", properties: Object.fromEntries(Object.keys(of.args(1)).map((each) => [each, { type: "string" }])), required: [], additionalProperties: false },
    created_at: iso(Date.now() - 9e9), updated_at: iso(Date.now() - 9e8), seen_at: iso(Date.now() - 4000), workers: name === "build_report" ? 0 : 3, counts,
    stats: { type: name, at: null, enqueued: 4211, attempts: 4300, completed: 4100, failed: 120, retried: 100, dead: 9, cancelled: 2, snoozed: 0, released: 3, review: 0, success: 1 - of.fails, per_minute: 3.1, wait: spread(0.3), run: spread(of.took * 0.6), trend: Array.from({ length: 24 }, (_, i) => Math.round(20 + 12 * Math.sin(i / 3 + name.length))) },
    breaker: name === "sync_crm" ? { type: name, state: "probing", until: null, rest: 60, failures: 0.5, of: 20, failed: 11, seen: 20, actor: "", at: iso(Date.now()), reason: "" } : null,
    declarations: [{ version: 1, signature: `${name}(${Object.keys(of.args(1)).join(", ")})`, workers: 3 }], schedules: name === "build_report" ? ["monthly-report"] : [],
  };
}

export function queues() {
  return [...new Set(Object.values(TYPES).map((of) => of.queue))].map((name) => {
    const jobs = [...world.jobs.values()].filter((job) => job.queue === name);
    const count = (state) => jobs.filter((job) => job.state === state).length;
    return { name, counts: { running: count("running"), queued: count("queued") }, depth: count("queued") + count("scheduled") + count("blocked"), capped: false, oldest: jobs.find((job) => job.state === "queued")?.created_at ?? null, paused: [], declared: {}, set: {}, effective: { max_depth: name === "mail" ? 10000 : null, when_full: name === "mail" ? "refuse" : null }, drift: [] };
  });
}

export const limits = () => [{ name: "llm", types: ["extract_document", "draft_reply"], declared: { running: 5, rate: null, burst: 1 }, set: { running: { value: 4, actor: "grace", at: iso(Date.now() - 7e6) } }, effective: { running: 4, rate: null, burst: 1 }, drift: ["running"], slots: [{ key: "acme", holders: 4, waiting: 7, capped: false, next_start: null }, { key: "globex", holders: 1, waiting: 0, capped: false, next_start: null }] }];

const SCHEDULES = [
  ["nightly-cleanup", "sync_crm", "0 3 * * *", "every day at 03:00", "Europe/Berlin", 86_400],
  ["poll-inbox", "draft_reply", "*/5 * * * *", "every 5 minutes", "UTC", 300],
  ["monthly-report", "build_report", "0 6 1 * *", "on day 1 of the month at 06:00", "America/New_York", 2_592_000],
];

export function schedules(fires = 3) {
  return SCHEDULES.map(([name, type, cron, words, tz, every], i) => {
    const next = Math.ceil(Date.now() / 1000 / every) * every * 1000;
    const sample = [...world.jobs.values()].filter((job) => job.type === type && job.finished_at).slice(-30);
    return {
      name, type, args: TYPES[type].args(3), cron, every: null, words, tz, start: null, end: null, limit: i === 2 ? 24 : null, jitter: null, catch_up: "latest", overlap: "skip", paused: world.paused.has(`schedule ${name}`) ? { value: world.paused.get(`schedule ${name}`).reason, actor: "ada", at: iso(Date.now()) } : null,
      next: iso(next), last: iso(next - every * 1000), job: sample.at(-1)?.id ?? null, result: sample.at(-1)?.state ?? null, fired: 12 + i, missed: i, skipped: 0, problem: null, declared: i < 2 ? { cron } : {}, set: {}, drift: i === 1 ? ["cron"] : [], in_code: true,
      next_fires: Array.from({ length: fires }, (_, n) => iso(next + n * every * 1000)), history: sample.map((job, n) => ({ id: job.id, tick: iso(next - (sample.length - n) * every * 1000), state: job.state, took: job.took })),
    };
  });
}

export const settings = () => ({
  store: { engine: "PostgreSQL 18.4", size_bytes: 84_212_992, jobs: 420, latency_ms: 0.8, connections: { used: 6, most: 20 }, wal: "replica" },
  settings: configuration(), redaction: { keys: ["password", "token", "secret", "authorization"], patterns: ["mail", "card", "iban"] }, retention: { completed: "7d", cancelled: "7d", dead: "for ever", audit: "365d" }, health: { oldest_wait: "1h", dead: 100, workers: 1 },
});

export const configuration = () => [{ name: "model", value: "small-2", description: "Which model extract_document calls", updated_at: iso(Date.now() - 5e7) }, { name: "batch", value: 20, description: null, updated_at: iso(Date.now() - 9e7) }];

export const alerts = () => ({
  open: [], history: [{ id: "i0", rule: "oldest_wait", subject: "mail", severity: "warning", title: "mail: the oldest job waited 12 m", text: "", type: null, job: null, queue: "mail", tenant: null, opened_at: iso(Date.now() - 9e7), closed_at: iso(Date.now() - 8.9e7), owed: 0, silenced: false, past: [] }],
  rules: [{ name: "dead_jobs", severity: "critical", threshold: 10, least: null, enabled: true, silenced_until: null, about: "so many jobs of a type died within 10 minutes", set: {} }, { name: "oldest_wait", severity: "warning", threshold: "10m", least: null, enabled: true, silenced_until: iso(Date.now() + 3.6e6), about: "a queued job has waited so long", set: { threshold: { value: "10m", actor: "ada", at: null } } }, { name: "failure_rate", severity: "warning", threshold: 0.2, least: 20, enabled: false, silenced_until: null, about: "this part of the attempts of a type failed within 10 minutes", set: {} }],
  channels: ["slack", "ops@example.org"],
});
