// A small, lively world for the development server: jobs that start, progress, fail and complete, in memory.

const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
let seed = 7;

/** Return a number from 0 to 1; the same sequence in every run. */
export function random() {
  seed = (seed * 1103515245 + 12345) % 2147483648;
  return seed / 2147483648;
}

export const pick = (list) => list[Math.floor(random() * list.length)];
export const iso = (ms) => new Date(ms).toISOString();

/** Return an id that sorts by time, as those of mainstay do. */
export function idAt(ms) {
  let time = "";
  for (let rest = ms, i = 0; i < 10; i += 1, rest = Math.floor(rest / 32)) time = ALPHABET[rest % 32] + time;
  return time + Array.from({ length: 16 }, () => pick(ALPHABET)).join("");
}

export const TYPES = {
  send_email: { queue: "mail", took: 1.2, fails: 0.06, args: (n) => ({ to: `user${n}@example.org`, template: pick(["welcome", "invoice", "reset"]), attachments: n % 3 }), error: "SMTPServerDisconnected: Connection unexpectedly closed" },
  extract_document: { queue: "llm", took: 24, fails: 0.12, stages: ["read", "extract", "store"], args: (n) => ({ document: n * 37, pages: 12 + (n % 30), options: { ocr: n % 2 === 0, languages: ["en", "de"] } }), error: "RateLimited: 429 Too Many Requests from api.example.org" },
  resize_image: { queue: "default", took: 0.4, fails: 0.01, args: (n) => ({ path: `uploads/${n}.png`, width: 800 }), error: "UnidentifiedImageError: cannot identify image file" },
  sync_crm: { queue: "default", took: 6, fails: 0.2, args: (n) => ({ account: `acme-${n % 9}`, full: false }), error: "TimeoutError: the CRM did not answer within 30 s" },
  build_report: { queue: "reports", took: 60, fails: 0.02, stages: ["query", "render", "upload"], args: () => ({ month: "2026-01", format: "pdf" }), error: "MemoryError" },
  draft_reply: { queue: "llm", took: 9, fails: 0.03, args: (n) => ({ ticket: 4000 + n, tone: "friendly" }), error: "ValueError: empty completion" },
};

const WORKERS = ["web-1.4821", "web-2.311", "gpu-1.77"];
export const world = { jobs: new Map(), actions: [], operations: [], paused: new Map(), ignored: new Map(), tokens: [], actionNumber: 0 };

export function makeJob(type, at, over = {}) {
  const of = TYPES[type];
  const n = Math.floor(random() * 900) + 1;
  const id = idAt(at);
  const job = {
    id, type, queue: of.queue, state: "queued", priority: n % 7 === 0 ? 10 : 0, args: of.args(n), attempt: 0, max_attempts: 5, crashes: 0, worker: null,
    created_at: iso(at), run_at: null, started_at: null, cancel_at: null, finished_at: null, expires_at: null, took: null, cancel_took: null, timeout: 300,
    key: null, tenant: n % 4 === 0 ? "acme" : null, ref: null, tags: n % 5 === 0 ? ["eu"] : n % 11 === 0 ? ["vip"] : [], parent: null, schedule: null, tick: null,
    done: null, total: null, stage: null, details: null, error: null, code: null, reason: null, fingerprint: null, attempts: [], logs: [], history: [], ...over,
  };
  world.jobs.set(id, job);
  return job;
}

export function labelOf(job) {
  if (job.state === "scheduled" && job.attempt > 0) return "retrying";
  return job.state === "running" && job.cancel_at ? "cancelling" : job.state;
}

export function record(actor, action, job, detail = {}) {
  world.actionNumber += 1;
  const line = { number: world.actionNumber, at: iso(Date.now()), actor, action, job, detail };
  world.actions.unshift(line);
  if (job) world.jobs.get(job)?.history.push(line);
}

export function start(job, now) {
  job.state = "running";
  job.attempt += 1;
  job.started_at = iso(now);
  job.worker = pick(WORKERS);
  job.total = TYPES[job.type].took > 5 ? 100 : null;
  job.done = job.total ? 0 : null;
  job.stage = TYPES[job.type].stages?.[0] ?? null;
  log(job, now, "info", `started on ${job.worker}`, { attempt: job.attempt });
}

export function finish(job, now, outcome) {
  const of = TYPES[job.type];
  const failed = outcome === "failed" || outcome === "dead";
  const attempt = { number: job.attempt, worker: job.worker, started_at: job.started_at, ended_at: iso(now), outcome: failed ? "failed" : outcome, error: failed ? of.error : null, traceback: failed ? traceback(job) : null, code: failed ? "E42" : null };
  job.attempts.push(attempt);
  job.error = failed ? of.error : null;
  job.took = (now - Date.parse(job.started_at)) / 1000;
  if (outcome === "failed" && job.attempt < job.max_attempts) Object.assign(job, { state: "scheduled", run_at: iso(now + 20_000 * job.attempt), worker: null });
  else if (failed) Object.assign(job, { state: "dead", finished_at: iso(now), fingerprint: fingerprintOf(job), worker: null });
  else if (outcome === "review") Object.assign(job, { state: "review", question: `Send this reply to ticket ${job.args.ticket}?`, asked_at: iso(now) });
  else Object.assign(job, { state: outcome, finished_at: iso(now), result: outcome === "completed" ? { pages: 12, stored: true, id: job.id.slice(-6) } : null, worker: null });
  log(job, now, failed ? "error" : "info", failed ? of.error : outcome, {});
}

export function log(job, at, level, message, fields) {
  job.logs.push({ number: job.logs.length + 1, at: iso(at), level, stage: job.stage, message, fields });
}

function fingerprintOf(job) {
  let hash = 0;
  for (const letter of job.type) hash = (hash * 31 + letter.charCodeAt(0)) % 4294967296;
  return hash.toString(16).padStart(8, "0").repeat(4);
}

function traceback(job) {
  return `Traceback (most recent call last):\n  File "site-packages/mainstay/worker/run.py", line 88, in call\n    return handler(*args)\n  File "shop/jobs.py", line 42, in ${job.type}\n    client.send(message)\n  File "site-packages/httpx/_client.py", line 901, in send\n    raise exc\n${TYPES[job.type].error}`;
}

export function framesOf(job) {
  return [
    { file: "site-packages/mainstay/worker/run.py", line: 88, function: "call", code: "return handler(*args)", user: false },
    { file: "site-packages/mainstay/context.py", line: 31, function: "inside", code: "with bound(ctx):", user: false },
    { file: "shop/jobs.py", line: 42, function: job.type, code: "client.send(message)", user: true },
    { file: "shop/client.py", line: 17, function: "send", code: "return self.pool.request(message, timeout=30)", user: true },
    { file: "site-packages/httpx/_client.py", line: 901, function: "send", code: "raise exc", user: false },
  ];
}

/** Fill the world with a past, so that every page has something to show. */
export function populate(now = Date.now()) {
  const names = Object.keys(TYPES);
  for (let i = 420; i > 0; i -= 1) {
    const at = now - i * 21_000 - Math.floor(random() * 15_000);
    const job = makeJob(pick(names), at);
    const roll = random();
    if (roll < 0.8 || i > 60) {
      start(job, at + 800);
      finish(job, at + 800 + TYPES[job.type].took * 1000 * (0.4 + random()), random() < 0.1 ? "dead" : job.type === "draft_reply" && random() < 0.3 ? "review" : "completed");
    } else if (roll < 0.9) Object.assign(job, { state: "scheduled", run_at: iso(now + 600_000 * random()) });
    else if (roll < 0.94) Object.assign(job, { state: "blocked", reason: "limit" });
  }
  for (const [actor, action] of [["ada", "retry"], ["grace", "pause"], ["ada", "cancel"]]) record(actor, action, [...world.jobs.keys()].at(-9), action === "pause" ? { kind: "pause", name: "sync_crm", before: null, after: { reason: "CRM outage" }, reason: "CRM outage" } : { note: "asked by support" });
}

/** Move the world by one step. */
export function step(now = Date.now()) {
  const jobs = [...world.jobs.values()];
  if (random() < 0.7) makeJob(pick(Object.keys(TYPES)), now);
  for (const job of jobs.filter((each) => each.state === "scheduled" && Date.parse(each.run_at) <= now)) job.state = "queued";
  const free = 9 - jobs.filter((job) => job.state === "running").length;
  for (const job of jobs.filter((each) => each.state === "queued" && !world.paused.has(each.type) && each.type !== "build_report").slice(0, Math.max(free, 0))) start(job, now);
  for (const job of jobs.filter((each) => each.state === "running")) advance(job, now);
}

function advance(job, now) {
  const of = TYPES[job.type];
  const part = (now - Date.parse(job.started_at)) / 1000 / of.took;
  if (job.cancel_at && now - Date.parse(job.cancel_at) > 4000) return finish(job, now, "cancelled");
  if (job.total) job.done = Math.min(99, Math.round(part * 100));
  if (of.stages) job.stage = of.stages[Math.min(of.stages.length - 1, Math.floor(part * of.stages.length))];
  if (job.total && random() < 0.5) log(job, now, random() < 0.1 ? "warning" : "info", `page ${job.done} done`, { page: job.done, ms: Math.round(random() * 900) });
  if (part >= 1) finish(job, now, random() < of.fails ? "failed" : job.type === "draft_reply" && random() < 0.25 ? "review" : "completed");
  return undefined;
}
