// What actions do in the development server.
import { finish, iso, makeJob, record, start, TYPES, world } from "./world.mjs";

const refuse = (status, code, detail) => ({ status, body: { title: "Refused", status, code, detail } });
const ok = (body, status = 200) => ({ status, body });

export function mutate(method, path, body, answers) {
  const [, , kind, id, verb] = path.split("/").map(decodeURIComponent);
  if (kind === "session") return method === "DELETE" ? ok(null, 200) : ok(answers.session());
  if (kind === "jobs" && !id) return enqueue(body);
  if (kind === "jobs") return act(id, method === "DELETE" ? "delete" : verb, body);
  if (kind === "bulk") return id ? steer(id, verb) : bulk(body, answers);
  if (kind === "dead") return group(id, verb, body, answers);
  if (kind === "tokens") return token(method, id, body);
  return rule(kind, id, verb, body);
}

function enqueue({ type, args }) {
  if (!TYPES[type]) return refuse(400, "unknown_type", `there is no type ${type}`);
  if (type === "send_email" && !args.to?.includes("@")) return refuse(422, "invalid_payload", "to: give an address with an @");
  return ok({ id: makeJob(type, Date.now(), { args }).id, created: true }, 201);
}

function act(id, verb, body) {
  const job = world.jobs.get(id);
  if (!job) return refuse(404, "not_found", `there is no job ${id}`);
  record("ada", verb, id, body.note ? { note: body.note } : {});
  const now = Date.now();
  if (verb === "delete") world.jobs.delete(id);
  else if (verb === "copy") return ok({ id: makeJob(job.type, now, { args: job.args }).id, result: "copied" });
  else if (verb === "cancel" && job.state === "running") job.cancel_at = iso(now);
  else if (verb === "cancel") Object.assign(job, { state: "cancelled", finished_at: iso(now) });
  else if (verb === "amend") { job.args = body.args; if (body.retry) job.state = "queued"; }
  else if (verb === "retry") Object.assign(job, { state: "queued", finished_at: null, error: null });
  else if (verb === "approve" || verb === "reject") { start(job, now - 9000); finish(job, now, verb === "approve" ? "completed" : "dead"); }
  else Object.assign(job, body);
  return ok({ id, result: verb });
}

function bulk({ action, q, ids, dry_run: dry }, answers) {
  const jobs = ids ? ids.map((id) => world.jobs.get(id)).filter(Boolean) : answers.search(q ?? "");
  const types = jobs.reduce((found, job) => ({ ...found, [job.type]: (found[job.type] ?? 0) + 1 }), {});
  const operation = { id: `op${world.operations.length + 1}`, action, actor: "ada", at: iso(Date.now()), search: ids ? null : (q ?? ""), matched: jobs.length, changed: 0, refused: {}, types, done: 0, rate: 120, left: jobs.length / 120, state: dry ? "previewed" : "running", error: null, resumable: false };
  if (dry) return ok(operation);
  world.operations.unshift(operation);
  record("ada", `bulk ${action}`, null, { search: q, matched: jobs.length });
  run(operation, jobs.map((job) => job.id));
  return ok(operation, 202);
}

function run(operation, ids) {
  const timer = setInterval(() => {
    if (operation.state !== "running") return clearInterval(timer);
    for (const id of ids.splice(0, 20)) { act(id, operation.action, {}); operation.done += 1; operation.changed += 1; }
    operation.left = ids.length / 120;
    if (!ids.length) Object.assign(operation, { state: "finished", left: null });
    return undefined;
  }, 200);
  operation.rest = undefined;
}

function steer(id, verb) {
  const operation = world.operations.find((each) => each.id === id);
  if (!operation) return refuse(404, "not_found", "there is no such operation");
  Object.assign(operation, verb === "stop" ? { state: "stopped", resumable: true } : { state: "finished", resumable: false, done: operation.matched });
  return ok(operation);
}

function group(id, verb, body, answers) {
  const q = `fingerprint:${id} state:dead`;
  if (verb === "retry" || verb === "purge") return bulk({ action: verb === "retry" ? "retry" : "delete", ...(body.one ? { ids: [answers.search(q)[0].id] } : { q }) }, answers);
  world.ignored.set(id, { status: { ignore: "ignored", resolve: "resolved", reopen: "open" }[verb], actor: "ada", note: body.note ?? "" });
  return ok({ kind: "dead", name: id, before: null, after: null });
}

function token(method, id, body) {
  if (method === "DELETE") world.tokens = world.tokens.filter((each) => each.id !== id);
  else world.tokens.push({ id: `t${world.tokens.length + 1}`, name: body.name, role: body.role, tenant: body.tenant, created_at: iso(Date.now()), created_by: "ada", expires_at: null, last_used_at: null });
  return ok({ ...world.tokens.at(-1), token: "mst_t1_EXAMPLE" }, 201);
}

function rule(kind, id, verb, body) {
  const name = kind === "schedules" ? `schedule ${id}` : id;
  if (verb === "pause") world.paused.set(name, { of: kind === "types" ? "type" : kind, name: id, actor: "ada", at: iso(Date.now()), reason: body.reason ?? "" });
  if (verb === "resume") world.paused.delete(name);
  record("ada", verb ?? "set", null, { kind, name: id, before: null, after: body });
  return ok(verb === "run" ? { id: makeJob("sync_crm", Date.now()).id } : { kind, name: id, before: { timeout: "5m" }, after: { timeout: "5m", ...(body.set ?? {}) } });
}
