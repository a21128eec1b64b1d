/** The states of the live connection, and what moves it between them. Pure: `connection.ts` acts on it. */

export type Status = "off" | "hidden" | "connecting" | "live" | "polling";

export interface State {
  wanted: boolean; // the switch in the header
  visible: boolean;
  paths: number;
  failures: number; // of the stream since it last delivered
  streaming: boolean;
}

export type Event =
  | { kind: "switched"; on: boolean }
  | { kind: "visibility"; visible: boolean }
  | { kind: "paths"; count: number }
  | { kind: "delivered" }
  | { kind: "failed" }
  | { kind: "retry" };

export const START: State = { wanted: true, visible: true, paths: 0, failures: 0, streaming: false };

/** So many failures in a row before the page polls. */
export const PATIENCE = 2;

export function next(state: State, event: Event): State {
  switch (event.kind) {
    case "switched":
      return { ...state, wanted: event.on, failures: 0, streaming: false };
    case "visibility":
      return { ...state, visible: event.visible, failures: 0, streaming: false };
    case "paths":
      return { ...state, paths: event.count };
    case "delivered":
      return { ...state, failures: 0, streaming: true };
    case "failed":
      return { ...state, failures: state.failures + 1, streaming: false };
    case "retry":
      return { ...state, failures: 0 };
  }
}

export function status(state: State): Status {
  if (!state.wanted) return "off";
  if (!state.visible) return "hidden";
  if (state.failures >= PATIENCE) return "polling";
  return state.streaming ? "live" : "connecting";
}

/** Whether a stream should be open in this state. */
export function streams(state: State): boolean {
  const now = status(state);
  return state.paths > 0 && (now === "live" || now === "connecting");
}
