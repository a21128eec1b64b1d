/** The records of the HTTP API, as JSON: instants are ISO 8601 strings, durations are seconds. */

export type Instant = string;
export type Seconds = number;
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };

export type Role = "viewer" | "operator" | "admin";

export interface Session {
  actor: string;
  role: Role | null;
  tenant: string | null;
  authentication: "open" | "token" | "session" | "host";
  instance: Instance;
  creation: "open" | "authenticated" | "off";
  pages: string[];
}

export interface Instance {
  name: string;
  environment: string | null;
  accent: string | null;
  url: string;
  engine: string;
  version: string;
  schema: number | string;
  time: Instant;
}

export interface Pause {
  of: string;
  name: string;
  actor: string;
  at: Instant;
  reason: string;
}

export interface Override {
  value: Json;
  actor: string;
  at: Instant | null;
}

export interface Change {
  kind: string;
  name: string;
  before: JsonObject | null;
  after: JsonObject | null;
}

export interface Job {
  id: string;
  type: string;
  queue: string;
  state: string;
  label: string;
  priority: number;
  args: Json;
  attempt: number;
  max_attempts: number;
  crashes: number;
  worker: string | null;
  created_at: Instant;
  run_at: Instant | null;
  started_at: Instant | null;
  cancel_at: Instant | null;
  finished_at: Instant | null;
  expires_at: Instant | null;
  took: Seconds | null;
  cancel_took: Seconds | null;
  timeout: Seconds | null;
  key: string | null;
  tenant: string | null;
  ref: string | null;
  tags: string[];
  parent: string | null;
  schedule: string | null;
  tick: Instant | null;
  done: number | null;
  total: number | null;
  stage: string | null;
  details: Json;
  error: string | null;
  code: string | null;
  reason: string | null;
  fingerprint: string | null;
  about?: string;
}

export interface Frame {
  file: string;
  line: number | null;
  function: string;
  code: string | null;
  user: boolean;
}

export interface Attempt {
  number: number;
  worker: string | null;
  started_at: Instant;
  ended_at: Instant | null;
  outcome: string;
  error: string | null;
  traceback: string | null;
  code: string | null;
  frames?: Frame[];
}

export interface LogLine {
  number: number;
  at: Instant;
  level: string;
  stage: string | null;
  message: string;
  fields: JsonObject;
}

export interface Action {
  number?: number;
  at: Instant;
  actor: string;
  action: string;
  job: string | null;
  detail: JsonObject;
}

export interface Reason {
  kind: string;
  text: string;
  details: JsonObject;
}

export interface Why {
  id: string;
  type: string;
  queue: string;
  state: string;
  reasons: Reason[];
}

export interface Health {
  status: "healthy" | "degraded" | "unhealthy";
  components: { name: string; status: string; text: string; figures: JsonObject; fix: string }[];
  at: Instant;
}

export interface Incident {
  id: string;
  rule: string;
  subject: string;
  severity: string;
  title: string;
  text: string;
  type: string | null;
  job: string | null;
  queue: string | null;
  tenant: string | null;
  opened_at: Instant;
  closed_at: Instant | null;
  owed: number;
  silenced: boolean;
}

export interface Problem {
  type?: string;
  title: string;
  status: number;
  detail: string;
  code: string;
}
