import { Receivers } from "./Receivers";
import { Subscriptions } from "./Subscriptions";

/** Which events and which incoming messages create jobs. */
export function EventsTab() {
  return (
    <div class="stack">
      <Subscriptions />
      <Receivers />
    </div>
  );
}
