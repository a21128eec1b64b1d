/** One stream for all that the page shows. Falls back to polling; closed while the tab is hidden. */
import { computed, signal } from "@preact/signals";
import { get, problemOf } from "../api/client";
import { noteTime } from "../state/clock";
import { loadSession } from "../state/session";
import type { Problem } from "../api/types";
import { answerFor, type Answer, watched } from "./answers";
import { type Event, next, START, status, streams } from "./status";

const POLL = 5_000; // ms between two polls
const RETRY = 60_000; // ms of polling after which the stream is tried again
const FIRST = 1_500; // ms within which a stream must deliver each path, else it is asked for once
const KEY = "mainstay.live";

const state = signal({ ...START, wanted: localStorage.getItem(KEY) !== "off", visible: !document.hidden });
export const liveStatus = computed(() => status(state.value));

let source: EventSource | null = null;
let open = ""; // the paths of the stream that is open
let timers: number[] = [];
let pending = false;

/** Bring the stream in line with what is watched, after the current render. */
export function changedPaths(): void {
  if (pending) return;
  pending = true;
  setTimeout(() => {
    pending = false;
    dispatch({ kind: "paths", count: watched().length });
  }, 20);
}

export function switchLive(on: boolean): void {
  localStorage.setItem(KEY, on ? "on" : "off");
  dispatch({ kind: "switched", on });
}

function dispatch(event: Event): void {
  state.value = next(state.value, event);
  apply();
}

function apply(): void {
  const paths = watched();
  const wanted = streams(state.value) ? paths.slice(0, 10).join("\n") : "";
  if (wanted !== open) reopen(wanted);
  if (liveStatus.value === "polling" && timers.length === 0) startPolling();
  if (liveStatus.value !== "polling") stopPolling();
  if (liveStatus.value === "off" || liveStatus.value === "polling" || paths.length > 10) for (const path of missing()) void fetchPath(path);
}

function reopen(wanted: string): void {
  source?.close();
  source = null;
  open = wanted;
  if (!wanted) return;
  const query = wanted.split("\n").map((path) => `path=${encodeURIComponent(path)}`).join("&");
  const stream = new EventSource(`api/live?${query}`);
  source = stream;
  stream.addEventListener("answer", (event) => stream === source && deliver((event as MessageEvent<string>).data));
  stream.addEventListener("bye", () => stream === source && lost());
  stream.onerror = () => stream === source && lost();
  setTimeout(() => stream === source && missing().forEach((path) => void fetchPath(path)), FIRST);
}

function lost(): void {
  source?.close();
  source = null;
  open = "";
  state.value = next(state.value, { kind: "failed" });
  for (const path of watched()) void fetchPath(path);
  setTimeout(apply, 1_000);
}

function deliver(data: string): void {
  const { path, status: code, body } = JSON.parse(data) as { path: string; status: number; body: unknown };
  const streamed = answerFor(path).peek().streamed + 1;
  if (code < 400) accept(path, { data: body, problem: null }, streamed);
  else accept(path, { data: undefined, problem: { code: "", title: "Error", detail: "", ...(body as Partial<Problem>), status: code } }, streamed);
  if (liveStatus.value !== "live") dispatch({ kind: "delivered" });
}

function accept(path: string, answer: Pick<Answer, "data" | "problem">, streamed: number): void {
  const slot = answerFor(path);
  if (answer.problem?.status === 401) void loadSession(); // the session has ended: shows the login
  noteTime(answer.data);
  // The last data stays on the screen while there is a problem.
  slot.value = { data: answer.data ?? slot.peek().data, problem: answer.problem, at: Date.now(), streamed };
}

/** Ask for a path once. If the stream delivers meanwhile, its answer may be newer, and it sends only what changes: that one stays. */
export async function fetchPath(path: string): Promise<void> {
  const { streamed } = answerFor(path).peek();
  const answer = await asked(path);
  if (answerFor(path).peek().streamed === streamed) accept(path, answer, streamed);
}

async function asked(path: string): Promise<Pick<Answer, "data" | "problem">> {
  try {
    return { data: await get(path), problem: null };
  } catch (error) {
    return { data: undefined, problem: problemOf(error) };
  }
}

/** Ask again for all that the page shows, e.g. after an action. */
export function refresh(): Promise<void[]> {
  return Promise.all(watched().map(fetchPath));
}

function missing(): string[] {
  return watched().filter((path) => answerFor(path).peek().at === 0);
}

function startPolling(): void {
  timers = [
    window.setInterval(() => void refresh(), POLL),
    window.setTimeout(() => dispatch({ kind: "retry" }), RETRY),
  ];
}

function stopPolling(): void {
  for (const timer of timers) clearInterval(timer);
  timers = [];
}

document.addEventListener("visibilitychange", () => dispatch({ kind: "visibility", visible: !document.hidden }));
