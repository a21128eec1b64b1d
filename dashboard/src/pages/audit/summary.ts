import type { Action, Json, JsonObject } from "../../api/types";
import { isObject, line } from "../../format/json";

/** Return what operators call an action: the change of a pause is recorded as that of a rule. */
export function actionOf({ action, detail }: Pick<Action, "action" | "detail">): string {
  if (action !== "rule" || detail.kind !== "pause") return action;
  return detail.after === null ? "resume" : "pause";
}

/** Return the details of an action on one line: what was changed of what, and why; the values are in the difference below. */
export function summaryOf(detail: JsonObject): string {
  const { kind, name, before, after, reason, ...rest } = detail;
  if (typeof name !== "string") return line(Object.fromEntries(Object.entries(detail).filter(([, value]) => value !== "")), 240);
  if (kind === "pause") return [name.replace(":", " "), reason ? `“${String(reason)}”` : ""].filter(Boolean).join(" · ");
  const what = [typeof kind === "string" ? kind : "", name].filter(Boolean).join(" ");
  const how = before === null ? "made" : after === null ? "removed" : changedNames(before, after);
  return [what, how, line(rest, 120), reason ? `“${String(reason)}”` : ""].filter(Boolean).join(" · ");
}

function changedNames(before: Json | undefined, after: Json | undefined): string {
  if (!isObject(before) || !isObject(after)) return "";
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names.filter((each) => JSON.stringify(before[each]) !== JSON.stringify(after[each])).join(", ");
}
