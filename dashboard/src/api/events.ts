import type { Instant, JsonObject } from "./types";

export interface SubscriptionRecord {
  name: string;
  event: string;
  type: string;
  args: JsonObject | null;
  options: JsonObject;
  enabled: boolean;
  updated_at: Instant;
}

export interface Receiver {
  name: string;
  url: string;
  scheme: string;
  event: string | null;
  type: string | null;
  enabled: boolean;
  verified_by: string;
  updated_at: Instant;
}

/** What a new receiver has: the secret is shown this once; null: the caller has given it. */
export interface ReceiverChange {
  name: string;
  url: string;
  secret: string | null;
}
