import { liveStatus, switchLive } from "../live/connection";
import type { Status } from "../live/status";

const TEXT: Record<Status, [name: string, about: string]> = {
  live: ["live", "Changes appear as they happen. Click to hold the page still (.)"],
  connecting: ["connecting", "Opening the live connection. Click to hold the page still (.)"],
  polling: ["every 5 s", "The live connection is not possible here (a proxy?): the page asks every 5 seconds. Click to hold it still (.)"],
  off: ["held", "The page is held still. Click to follow changes again (.)"],
  hidden: ["paused", "Paused while the tab is hidden"],
};

export function toggleLive(): void {
  switchLive(liveStatus.value === "off");
}

/** Whether the page is live, and the switch. */
export function LiveSwitch() {
  const [name, about] = TEXT[liveStatus.value];
  return (
    <button type="button" class={`ghost small live l-${liveStatus.value}`} aria-pressed={liveStatus.value !== "off"} aria-label={`Live updates: ${name}`} title={about} onClick={toggleLive}>
      <span class="live-dot" />
      <span class="hide-phone">{name}</span>
    </button>
  );
}
