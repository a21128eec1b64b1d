import { useState } from "preact/hooks";
import { Icon } from "../components/Icon";
import { Dialog } from "../components/Dialog";
import { TextField } from "../components/TextField";
import { absolute, isZone } from "../format/time";
import { now } from "../state/clock";
import { zone } from "../state/preferences";

const HERE = Intl.DateTimeFormat().resolvedOptions().timeZone;
const ZONES = Intl.supportedValuesOf("timeZone");

/** The zone in which all times of the page are shown. */
export function ZoneSwitch() {
  const [open, setOpen] = useState(false);
  const name = zone.value === "local" ? "local" : (zone.value.split("/").at(-1) ?? "").replace(/_/g, " ");
  return (
    <>
      <button type="button" class="ghost small" aria-label={`Time zone: ${name}`} title={`Times are shown in ${zone.value === "local" ? HERE : zone.value}`} onClick={() => setOpen(true)}>
        <Icon name="clock" /><span class="hide-wide">{name}</span>
      </button>
      {open ? <ZoneDialog onClose={() => setOpen(false)} /> : null}
    </>
  );
}

function ZoneDialog({ onClose }: { onClose: () => void }) {
  const [other, setOther] = useState("");
  const choose = (value: string) => { zone.value = value; onClose(); };
  const wrong = other !== "" && !isZone(other);
  return (
    <Dialog title="Time zone" onClose={onClose}>
      <div class="choices">
        <button type="button" aria-pressed={zone.value === "local"} onClick={() => choose("local")}>This browser: {HERE}<span class="muted">{absolute(now.value, "local")}</span></button>
        <button type="button" aria-pressed={zone.value === "UTC"} onClick={() => choose("UTC")}>UTC<span class="muted">{absolute(now.value, "UTC")}</span></button>
      </div>
      <form class="dialog-form" onSubmit={(event) => { event.preventDefault(); if (other && !wrong) choose(other); }}>
        <TextField label="Another zone" value={other} onChange={setOther} list={ZONES} placeholder="Asia/Tokyo" error={wrong && other.includes("/") ? "There is no such zone: write it as Europe/Berlin" : null} hint={other && !wrong ? absolute(now.value, other) : "Every time in the page follows; hover over one to see it in UTC too."} />
        <footer class="dialog-foot"><button type="submit" class="primary" disabled={!other || wrong}>Show times there</button></footer>
      </form>
    </Dialog>
  );
}
