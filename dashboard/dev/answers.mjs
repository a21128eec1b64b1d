// The answers of the development server, by path.
import { framesOf, iso, labelOf, random, TYPES, world } from "./world.mjs";

const all = () => [...world.jobs.values()].sort((a, b) => (a.id < b.id ? 1 : -1));
const row = ({ attempts, logs, history, result, question, asked_at, ...job }) => ({ ...job, label: labelOf(job) });
const STATES = ["queued", "scheduled", "blocked", "running", "review", "completed", "cancelled", "dead"];

export class Refused extends Error {
  constructor(status, code, title, detail) {
    super(detail);
    Object.assign(this, { status, code, title, detail });
  }
}

/** A rough search: state, type, queue, tag, tenant, worker, id, fingerprint; other words in the text of the job. */
export function search(q) {
  const terms = (q.match(/(?:"[^"]*"|[^\s"])+/g) ?? []).map((term) => /^(-?)([a-z][\w.]*):(.*)$/i.exec(term) ?? [term, "", "text", term]);
  for (const [, , name] of terms) if (!/^(state|type|queue|tag|tenant|worker|id|text|error|fingerprint|schedule|age|took|created|finished|attempt|args\..+|key|ref|code|parent|priority)$/.test(name)) throw new Refused(400, "usage_error", "Bad search", `there is no search qualifier "${name}:"; did you mean "type:"? there are: id, type, queue, state, …`);
  return all().filter((job) => terms.every(([, minus, name, text]) => matches(job, name, text.replace(/"/g, "").split(",")) !== (minus === "-")));
}

function matches(job, name, values) {
  const one = { state: labelOf(job), type: job.type, queue: job.queue, tenant: job.tenant, worker: job.worker }[name];
  if (name === "tag") return values.some((value) => job.tags.includes(value));
  if (name === "id") return values.some((value) => job.id.startsWith(value));
  if (name === "fingerprint") return values.some((value) => job.fingerprint?.startsWith(value));
  if (one !== undefined) return values.includes(one) || (name === "state" && values.includes(job.state));
  return name === "text" || name === "error" ? values.some((value) => JSON.stringify([job.id, job.type, job.error]).toLowerCase().includes(value.toLowerCase())) : true;
}

export const session = () => ({
  actor: "ada", role: process.env.ROLE ?? "admin", tenant: null, authentication: "session", creation: "open", pages: [],
  instance: { name: "shop", environment: "production", accent: "#c2410c", url: "postgresql://shop@db/jobs", engine: "PostgreSQL 18", version: "1.0.0", schema: 14, time: iso(Date.now()) },
});

export function overview() {
  const jobs = all();
  const count = (state) => jobs.filter((job) => job.state === state).length;
  const dead = count("dead");
  return {
    health: { status: "degraded", at: iso(Date.now()), components: [{ name: "store", status: "healthy", text: "answers in 0.8 ms", figures: {}, fix: "" }, { name: "workers", status: "degraded", text: "build_report has no live worker", figures: {}, fix: "mainstay worker --queue reports" }, { name: "queues", status: "healthy", text: "oldest wait 4 m", figures: {}, fix: "" }] },
    verdict: `degraded: 1 type has no worker, ${dead} dead in 24 h`,
    numbers: { waiting: count("queued") + count("scheduled") + count("blocked"), running: count("running"), review: count("review"), dead, done_per_minute: 38.4, failed_per_minute: 1.7, oldest_wait: 263, capped: false },
    series: series(),
    types: Object.keys(TYPES).map((type) => typeRow(type, jobs.filter((job) => job.type === type))),
    findings: [{ text: "build_report: 6 jobs wait, and no live worker has this type (last seen 2 h ago)", fix: "mainstay worker --app shop:app --queue reports" }],
    incidents: [{ id: "i1", rule: "dead_jobs", subject: "sync_crm", severity: "critical", title: "sync_crm: 12 jobs died within 10 minutes", text: "TimeoutError: the CRM did not answer within 30 s", type: "sync_crm", job: null, queue: null, tenant: null, opened_at: iso(Date.now() - 840_000), closed_at: null, owed: 0, silenced: false, past: [] }],
  };
}

function series() {
  const minute = Math.floor(Date.now() / 60_000);
  return Array.from({ length: 60 }, (_, i) => {
    const t = minute - 59 + i;
    const wave = (k) => 1 + Math.sin(t / 7 + k) * 0.35 + Math.sin(t * k) * 0.12;
    return { at: iso(t * 60_000), enqueued: Math.round(40 * wave(1)), completed: Math.round(38 * wave(1.3)), failed: Math.max(0, Math.round(3 * wave(2) - 1)), dead: 0, wait_p50: 0.2 * wave(3), wait_p95: 2 * wave(4), wait_p99: 9 * wave(5), run_p50: 1 * wave(2), run_p95: 14 * wave(3), run_p99: 41 * wave(4) };
  });
}

function typeRow(type, jobs) {
  const count = (label) => jobs.filter((job) => labelOf(job) === label).length;
  const paused = world.paused.get(type) ?? null;
  return { type, queue: TYPES[type].queue, ...Object.fromEntries(["queued", "running", "retrying", "scheduled", "blocked", "review", "dead"].map((label) => [label, count(label)])), capped: false, oldest: jobs.find((job) => job.state === "queued")?.created_at ?? null, p95_wait: 2.1, p95_run: TYPES[type].took * 1.6, failure: TYPES[type].fails, trend: Array.from({ length: 30 }, (_, i) => Math.round(10 + 6 * Math.sin(i / 3 + type.length))), paused, disabled: false, breaker: type === "sync_crm" ? "probing" : null, workers: type === "build_report" ? 0 : 3 };
}

export function jobPage(params) {
  const found = search(params.get("q") ?? "");
  const after = params.get("after");
  const limit = Number(params.get("limit") ?? 50);
  const rest = after ? found.filter((job) => job.id < after) : found;
  return { jobs: rest.slice(0, limit).map(row), after: rest.length > limit ? rest[limit - 1].id : null, searched: null };
}

export function facets(params) {
  const jobs = search(params.get("q") ?? "");
  const by = (of) => Object.entries(jobs.flatMap(of).reduce((found, name) => (name ? { ...found, [name]: (found[name] ?? 0) + 1 } : found), {})).map(([name, n]) => ({ name, jobs: n, capped: false })).sort((a, b) => b.jobs - a.jobs);
  return { states: by((job) => [labelOf(job)]).filter((each) => !["completed", "cancelled"].includes(each.name)), types: by((job) => [job.type]), queues: by((job) => [job.queue]), workers: by((job) => [job.worker]), tags: by((job) => job.tags), tenants: by((job) => [job.tenant]), looked: jobs.length };
}

export function suggest(params) {
  const word = (params.get("q") ?? "").split(/\s/).at(-1) ?? "";
  const known = [...["state", "type", "queue", "tag", "worker", "error", "age", "took", "args."].map((name) => [name.endsWith(".") ? name : `${name}:`, "qualifier"]), ...STATES.map((state) => [`state:${state}`, "state"]), ...Object.keys(TYPES).map((type) => [`type:${type}`, "type"])];
  return { suggestions: known.filter(([text]) => text.startsWith(word) && text !== word).map(([text, about]) => ({ text, about })).slice(0, 10) };
}

export function jobView(id) {
  const job = world.jobs.get(id);
  if (!job) throw new Refused(404, "not_found", "Not found", `there is no job ${id}`);
  const current = job.state === "running" ? [{ number: job.attempt, worker: job.worker, started_at: job.started_at, ended_at: null, outcome: "running", error: null, traceback: null, code: null }] : [];
  const attempts = [...job.attempts, ...current].map((attempt) => ({ ...attempt, frames: attempt.traceback ? framesOf(job) : [] }));
  const waits = ["queued", "scheduled", "blocked"].includes(job.state);
  const args = Object.entries(job.args).map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(" ");
  return {
    job: { ...row(job), updated_at: job.created_at, waits: null, start_by: null, version: 1, backoff: "2s to 1h, jitter", keep: "7d" }, result: job.result ?? null, checkpoint: job.total ? { page: job.done } : null,
    review: job.state === "review" ? { question: job.question, output: proposal(job), before: null, expires_at: iso(Date.now() + 7_200_000), at_deadline: "reject", deciders: [] } : null,
    attempts, logs: job.logs.slice(-500), logs_total: job.logs.length, actions: job.history, children: [], after: [],
    why: waits ? { id, type: job.type, queue: job.queue, state: job.state, reasons: whyOf(job) } : null, timeline: timeline(job, attempts),
    stages: (TYPES[job.type].stages ?? []).map((name, i, names) => stageOf(job, name, i, names)),
    copy: { cli: `mainstay enqueue ${job.type} ${args}`, curl: `curl -X POST http://localhost:8765/api/jobs -d '${JSON.stringify({ type: job.type, args: job.args })}'`, python: `app.enqueue(${JSON.stringify(job.type)}, ${JSON.stringify(job.args)})` },
    actions_possible: job.state === "review" ? ["approve", "reject", "cancel", "copy"] : ["dead", "cancelled"].includes(job.state) ? ["retry", "amend", "copy", "delete"] : job.state === "completed" ? ["copy", "delete"] : waits ? ["cancel", "amend", "copy", "reprioritise", "requeue", "reschedule"] : ["cancel", "copy"],
  };
}

function proposal(job) {
  return { subject: `Re: ticket ${job.args.ticket}`, body: "Thank you for the report. The invoice was sent again.", refund: 12.5, tags: ["billing"] };
}

function whyOf(job) {
  if (job.type === "build_report") return [{ kind: "worker", text: "No live worker has the type build_report: start one that imports its code.", details: {} }];
  if (job.state === "blocked") return [{ kind: "limit", text: "The limit llm is full: 5 of 5 run; it is third in line.", details: {} }, { kind: "behind", text: "About 12 jobs with the same or a higher priority are before it.", details: {} }];
  if (job.state === "scheduled") return [{ kind: job.attempt ? "retrying" : "scheduled", text: job.attempt ? `Attempt ${job.attempt} failed; the next starts ${job.run_at}.` : `It starts ${job.run_at}.`, details: {} }];
  return [{ kind: "slot", text: "All slots of the workers of its queue are in use; about 4 jobs are before it.", details: {} }];
}

function stageOf(job, name, i, names) {
  const at = job.state === "completed" ? names.length : names.indexOf(job.stage);
  return { name, started_at: i <= at ? job.started_at : null, took: i < at ? 3.2 + i * 4 : null };
}

function timeline(job, attempts) {
  const points = [{ at: job.created_at, what: "enqueued", text: `by ada in ${job.queue}`, kind: "enqueued" }];
  for (const attempt of attempts) {
    points.push({ at: attempt.started_at, what: "started", text: `attempt ${attempt.number} on ${attempt.worker}`, kind: "started" });
    if (attempt.ended_at) points.push({ at: attempt.ended_at, what: attempt.outcome, text: attempt.error ?? "", kind: attempt.outcome });
  }
  return points.map((point, i) => ({ ...point, took: points[i + 1] ? (Date.parse(points[i + 1].at) - Date.parse(point.at)) / 1000 : null }));
}

export function reviews() {
  const found = all().filter((job) => job.state === "review");
  return { reviews: found.map((job, i) => ({ id: job.id, type: job.type, queue: job.queue, question: job.question, asked_at: job.asked_at, expires_at: iso(Date.now() + 3_600_000), at_deadline: "reject", deciders: [], remind: null, output: proposal(job), before: i % 2 ? { subject: `Re: ticket ${job.args.ticket}`, body: "Thank you for the report.", tags: ["billing"] } : null, args: job.args, tenant: job.tenant, may_decide: true })), after: null };
}

export function dead(everything) {
  const groups = new Map();
  for (const job of all().filter((each) => each.state === "dead")) groups.set(job.fingerprint, [...(groups.get(job.fingerprint) ?? []), job]);
  return [...groups].map(([fingerprint, jobs]) => ({ fingerprint, type: jobs[0].type, jobs: jobs.length, capped: false, error: jobs[0].error, first: jobs.at(-1).finished_at, last: jobs[0].finished_at, status: "open", actor: "", at: null, note: "", ...world.ignored.get(fingerprint), hours: Array.from({ length: 24 }, (_, i) => Math.max(0, Math.round(jobs.length * Math.sin(i / 4 + jobs.length) - 1))), sample: jobs[0].id })).filter((group) => everything || group.status === "open").sort((a, b) => b.jobs - a.jobs);
}

export function deadView(fingerprint) {
  const group = dead(true).find((each) => each.fingerprint.startsWith(fingerprint));
  if (!group) throw new Refused(404, "not_found", "Not found", "no dead job has this fingerprint");
  const jobs = all().filter((job) => job.state === "dead" && job.fingerprint === group.fingerprint);
  return { group, jobs: jobs.slice(0, 20).map(row), attempt: { ...jobs[0].attempts.at(-1), frames: framesOf(jobs[0]) } };
}

export function workers() {
  return [["web-1.4821", "live"], ["web-2.311", "live"], ["gpu-1.77", "stopping"], ["web-0.90", "dead"]].map(([id, state]) => {
    const held = all().filter((job) => job.state === "running" && job.worker === id);
    return { id, state, host: id.split(".")[0], pid: Number(id.split(".")[1]), slots: 8, running: held.length, queues: state === "stopping" ? ["llm"] : [], types: Object.keys(TYPES), started_at: iso(Date.now() - 7_400_000), beat_at: iso(Date.now() - (state === "dead" ? 900_000 : 2_000)), expires_at: iso(Date.now() + (state === "dead" ? -880_000 : 28_000)), jobs: held.map(row) };
  });
}

export { random };
