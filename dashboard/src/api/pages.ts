/** The answers that single pages read. */
import type { Action, Attempt, Health, Incident, Instant, Job, Json, JsonObject, LogLine, Override, Pause, Seconds, Why } from "./types";

export interface Point {
  at: Instant;
  enqueued: number;
  completed: number;
  failed: number;
  dead: number;
  wait_p50: Seconds | null;
  wait_p95: Seconds | null;
  wait_p99: Seconds | null;
  run_p50: Seconds | null;
  run_p95: Seconds | null;
  run_p99: Seconds | null;
}

export interface TypeRow {
  type: string;
  queue: string;
  queued: number;
  running: number;
  retrying: number;
  scheduled: number;
  blocked: number;
  review: number;
  dead: number;
  capped: boolean;
  oldest: Instant | null;
  p95_wait: Seconds | null;
  p95_run: Seconds | null;
  failure: number | null;
  trend: number[];
  paused: Pause | null;
  disabled: boolean;
  breaker: string | null;
  workers: number;
}

export interface Overview {
  health: Health;
  verdict: string;
  numbers: {
    waiting: number;
    running: number;
    review: number;
    dead: number;
    done_per_minute: number;
    failed_per_minute: number;
    oldest_wait: Seconds | null;
    capped: boolean;
  };
  series: Point[];
  types: TypeRow[];
  findings: { text: string; fix: string }[];
  incidents: Incident[];
}

/** What waits for people. */
export interface Counts {
  dead: number;
  review: number;
  capped: boolean;
}

export interface JobPage {
  jobs: Job[];
  after: string | null;
  searched: number | null;
}

export interface Facet {
  name: string;
  jobs: number;
  capped?: boolean;
}

export interface Facets {
  states: Facet[];
  types: Facet[];
  queues: Facet[];
  workers: Facet[];
  tags: Facet[];
  tenants: Facet[];
  looked: number;
}

export interface Suggestion {
  text: string;
  about: string;
}

export interface Review {
  question: string;
  output: Json;
  before?: Json;
  expires_at: Instant | null;
  at_deadline?: string | null;
  deciders: string[];
}

export interface JobView {
  job: Job & { updated_at?: Instant; waits?: Json; start_by?: Instant | null; version?: number; backoff?: string | null; keep?: Json };
  result: Json;
  checkpoint: Json;
  review: Review | null;
  attempts: Attempt[];
  logs: LogLine[];
  logs_total: number;
  actions: Action[];
  children: Job[];
  after: Job[];
  why: Why | null;
  timeline: { at: Instant; what: string; text: string; kind: string; took: Seconds | null }[];
  stages: { name: string; started_at: Instant | null; took: Seconds | null }[];
  copy: { cli: string; curl: string; python: string };
  actions_possible: string[];
}

export interface Operation {
  id: string;
  action: string;
  actor: string;
  at: Instant;
  search: string | null;
  matched: number;
  changed: number;
  refused: Record<string, number>;
  types: Record<string, number>;
  done: number;
  rate: number | null;
  left: Seconds | null;
  state: "previewed" | "running" | "finished" | "stopped" | "failed";
  error: string | null;
  resumable: boolean;
}

export interface ReviewRow {
  id: string;
  type: string;
  queue: string;
  question: string;
  asked_at: Instant | null;
  expires_at: Instant | null;
  at_deadline: string | null;
  deciders: string[];
  output: Json;
  before: Json | null;
  args: Json;
  tenant: string | null;
  may_decide: boolean;
}

export interface DeadGroup {
  fingerprint: string | null;
  type: string;
  jobs: number;
  capped: boolean;
  error: string | null;
  first: Instant | null;
  last: Instant | null;
  status: string;
  actor: string;
  at: Instant | null;
  note: string;
  hours: number[];
  sample: string;
}

export interface DeadView {
  group: DeadGroup;
  jobs: Job[];
  attempt: Attempt | null;
}

export interface Spread {
  mean: Seconds | null;
  p50: Seconds | null;
  p95: Seconds | null;
  p99: Seconds | null;
  longest: Seconds | null;
}

export interface Rules {
  declared: JsonObject;
  set: Record<string, Override>;
  effective: JsonObject;
  drift: string[];
}

export interface TypeRecord extends Rules {
  name: string;
  description: string | null;
  queue: string;
  paused: Pause[];
  disabled: Override | null;
  stages: string[];
  schema: JsonObject;
  created_at: Instant | null;
  updated_at: Instant | null;
  seen_at: Instant;
  stats: { enqueued: number; completed: number; failed: number; dead: number; success: number | null; per_minute: number; wait: Spread; run: Spread; trend: number[] } | null;
  breaker: Breaker | null;
  workers: number;
  counts: Record<string, number>;
  declarations?: { version: number; signature: string; workers: number }[];
  schedules?: string[];
}

export interface Breaker {
  type: string;
  state: string;
  until: Instant | null;
  failures: number | null;
  of: number | null;
  failed: number;
  seen: number;
  actor: string;
  at: Instant | null;
  reason: string;
}

export interface QueueRecord extends Rules {
  name: string;
  counts: Record<string, number>;
  depth: number;
  capped: boolean;
  oldest: Instant | null;
  paused: Pause[];
}

export interface LimitRecord extends Rules {
  name: string;
  types: string[];
  slots: { key: string; holders: number; waiting: number; capped: boolean; next_start: Instant | null }[];
}

export interface ScheduleRecord {
  name: string;
  type: string;
  args: Json;
  cron: string | null;
  every: Seconds | null;
  words: string;
  tz: string;
  start: Instant | null;
  end: Instant | null;
  limit: number | null;
  jitter: Seconds | null;
  catch_up: string;
  overlap: string;
  paused: Override | null;
  next: Instant | null;
  last: Instant | null;
  job: string | null;
  result: string | null;
  fired: number;
  missed: number;
  skipped: number;
  problem: string | null;
  declared: JsonObject;
  set: Record<string, Override>;
  drift: string[];
  in_code: boolean | null;
  next_fires: Instant[];
  history: { id: string; tick: Instant; state: string; took: Seconds | null }[];
}

export interface WorkerRecord {
  id: string;
  state: string;
  host: string;
  pid: number;
  slots: number;
  running: number;
  queues: string[];
  types: string[];
  started_at: Instant | null;
  beat_at: Instant | null;
  expires_at: Instant | null;
  jobs: Job[];
}

export interface AuditPage {
  lines: Action[];
  before: number | null;
}

export interface AlertRule {
  name: string;
  severity: string;
  threshold: Json;
  least: number | null;
  enabled: boolean;
  silenced_until: Instant | null;
  about: string;
  set: Record<string, Override>;
}

export interface Alerts {
  open: Incident[];
  history: Incident[];
  rules: AlertRule[];
  channels: string[];
}

export interface Setting {
  name: string;
  value: Json;
  description: string | null;
  updated_at: Instant | null;
}

export interface Settings {
  store: JsonObject;
  settings: Setting[];
  redaction: JsonObject;
  retention: JsonObject;
  health: JsonObject;
}

export interface Token {
  id: string;
  name: string;
  role: string;
  tenant: string | null;
  created_at: Instant;
  created_by: string;
  expires_at: Instant | null;
  last_used_at: Instant | null;
}
