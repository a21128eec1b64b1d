import type { Instant } from "./types";

export interface WebhookRecord {
  id: string;
  url: string;
  events: string[];
  description: string;
  enabled: boolean;
  disabled_because: string | null;
  succeeded: number;
  failed: number;
  average_ms: number | null;
  last_delivered_at: Instant | null;
}

/** One attempt to deliver a message: the id of its job is the id of the message. */
export interface WebhookDelivery {
  at: Instant;
  job: string;
  attempt: number;
  status: number | null;
  ms: number;
  error: string | null;
  answer: string | null;
}

/** What a new endpoint has: the secret is shown this once; null: the caller has given it. */
export interface WebhookChange {
  name: string;
  secret: string | null;
}
