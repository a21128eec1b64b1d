/** The form of a schedule: what it shows, and what of it has changed. Pure. */
import type { ScheduleRecord } from "../../api/pages";
import type { Json, JsonObject } from "../../api/types";
import { pretty } from "../../format/json";
import { span } from "../../format/rules";

export interface Form {
  name: string;
  type: string;
  cron: string;
  every: string;
  tz: string;
  catch_up: string;
  overlap: string;
}

export function formOf(schedule: ScheduleRecord | null): Form {
  return {
    name: schedule?.name ?? "",
    type: schedule?.type ?? "",
    cron: schedule?.cron ?? "",
    every: schedule?.every ? span(schedule.every) : "",
    tz: schedule?.tz ?? "UTC",
    catch_up: schedule?.catch_up ?? "latest",
    overlap: schedule?.overlap ?? "allow",
  };
}

/** Return the values to send: those that differ from the schedule; of a new one all that are given. */
export function changesOf(schedule: ScheduleRecord | null, form: Form, args: Json): JsonObject {
  const before = formOf(schedule);
  const changes: JsonObject = {};
  for (const name of ["cron", "every", "tz", "catch_up", "overlap"] as const) {
    if (schedule ? form[name] !== before[name] : form[name]) changes[name] = form[name] || null;
  }
  if (!schedule || pretty(args) !== pretty(schedule.args)) changes.args = args;
  return changes;
}
