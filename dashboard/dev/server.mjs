// A development server with invented data: `npm run dev`, then http://127.0.0.1:8766/. It is not part of the package.
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import * as answers from "./answers.mjs";
import * as rules from "./rules.mjs";
import { mutate } from "./mutations.mjs";
import { populate, step, world } from "./world.mjs";

const PORT = Number(process.env.PORT ?? 8766);
const STATIC = fileURLToPath(new URL("../../src/mainstay/web/static/", import.meta.url));
const KINDS = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };

function answer(path) {
  const url = new URL(path, "http://localhost");
  const [, , kind, id, part] = url.pathname.split("/").map(decodeURIComponent);
  const params = url.searchParams;
  switch (kind) {
    case "session": return answers.session();
    case "overview": return answers.overview();
    case "counts": return { ...answers.overview().numbers };
    case "jobs": return id === "facets" ? answers.facets(params) : id === "suggest" ? answers.suggest(params) : !id ? answers.jobPage(params) : part === "logs" ? { lines: world.jobs.get(id).logs, next: 0 } : answers.jobView(id);
    case "dead": return id ? answers.deadView(id) : answers.dead(params.get("everything") === "true");
    case "reviews": return answers.reviews();
    case "types": return id ? found(rules.typeOf(id)) : rules.types();
    case "queues": return rules.queues();
    case "limits": return rules.limits();
    case "schedules": return id === "next" ? preview(params) : id ? found(rules.schedules(10).find((each) => each.name === id)) : rules.schedules();
    case "workers": return answers.workers();
    case "audit": return { lines: world.actions.filter((line) => (!params.get("actor") || line.actor === params.get("actor")) && (!params.get("action") || line.action === params.get("action"))), before: null };
    case "bulk": return id ? found(world.operations.find((each) => each.id === id)) : world.operations;
    case "settings": return rules.settings();
    case "worker": return rules.configuration();
    case "alerts": return rules.alerts();
    case "webhooks": case "subscriptions": case "incoming": return [];
    case "tokens": return world.tokens;
    default: throw new answers.Refused(404, "not_found", "Not found", `there is nothing at ${path}`);
  }
}

function found(record) {
  if (!record) throw new answers.Refused(404, "not_found", "Not found", "there is no such record");
  return record;
}

function preview(params) {
  const cron = params.get("cron");
  if (cron && cron.trim().split(/\s+/).length !== 5) throw new answers.Refused(400, "usage_error", "Bad request", "a cron expression has five fields, e.g. 0 3 * * *");
  return { words: cron ? `at ${cron}` : `every ${params.get("every")}`, fires: Array.from({ length: 10 }, (_, i) => new Date(Math.ceil(Date.now() / 864e5) * 864e5 + i * 864e5).toISOString()) };
}

function answered(path) {
  try {
    return { status: 200, body: answer(path) };
  } catch (error) {
    return { status: error.status ?? 500, body: { title: error.title ?? "Error", detail: error.detail ?? String(error), code: error.code ?? "", status: error.status ?? 500 } };
  }
}

function live(request, response, paths) {
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
  const sent = new Map();
  const send = () => {
    for (const path of paths) {
      const data = JSON.stringify({ path, ...answered(path) });
      if (sent.get(path) !== data) response.write(`event: answer\ndata: ${data}\n\n`);
      sent.set(path, data);
    }
  };
  send();
  const timer = setInterval(send, 500);
  request.on("close", () => clearInterval(timer));
}

async function serveFile(path, response) {
  const file = normalize(join(STATIC, path === "/" ? "index.html" : path));
  try {
    const content = await readFile(file.startsWith(STATIC) ? file : "");
    response.writeHead(200, { "Content-Type": KINDS[extname(file)] ?? "text/plain", "Content-Security-Policy": "default-src 'self'" });
    response.end(content);
  } catch {
    response.writeHead(404).end("not found");
  }
}

async function serve(request, response) {
  const url = new URL(request.url, "http://localhost");
  if (url.pathname === "/api/live") return live(request, response, url.searchParams.getAll("path"));
  if (!url.pathname.startsWith("/api/")) return serveFile(url.pathname, response);
  let text = "";
  for await (const part of request) text += part;
  const { status, body } = request.method === "GET" ? answered(request.url) : mutate(request.method, url.pathname, text ? JSON.parse(text) : {}, answers);
  response.writeHead(status, { "Content-Type": "application/json" });
  return response.end(JSON.stringify(body));
}

populate();
setInterval(step, 1000);
createServer((request, response) => void serve(request, response)).listen(PORT, "127.0.0.1", () => console.log(`http://127.0.0.1:${PORT}/`));
if (process.argv.includes("--watch")) {
  const { build } = await import("vite");
  await build({ root: fileURLToPath(new URL("..", import.meta.url)), build: { watch: {} } });
}
