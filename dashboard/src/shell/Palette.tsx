/** Ctrl+K: jump to a job, a type, a page or an action. */
import { useState } from "preact/hooks";
import type { Pause } from "../api/types";
import { Dialog } from "../components/Dialog";
import { resume } from "../components/PauseDialog";
import { useOnce } from "../live/useOnce";
import { go } from "../router/location";
import { format } from "../router/route";
import { compact, nextTheme } from "../state/preferences";
import { may, sees } from "../state/session";
import { type Command, commands, type Known, type Named } from "./commands";
import { toggleLive } from "./LiveSwitch";
import { helpOpen, paletteOpen, pausing } from "./overlays";

function actions(): Command[] {
  return [
    ...(may("operator") ? [{ name: "Enqueue a job", about: "action", href: format("enqueue") }] : []),
    { name: "Change the theme", about: "action", run: nextTheme },
    { name: "Follow changes, or hold the page", about: "action", run: toggleLive },
    { name: "Compact rows", about: "action", run: () => { compact.value = !compact.value; } },
    { name: "Keyboard shortcuts", about: "help", run: () => { helpOpen.value = true; } },
  ];
}

export function Palette() {
  if (!paletteOpen.value) return null;
  return (
    <Dialog title="Jump to" onClose={close}>
      <Chooser />
    </Dialog>
  );
}

function close(): void {
  paletteOpen.value = false;
}

function Chooser() {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const found = commands(text, useKnown(), actions(), may);
  const run = (command: Command | undefined) => {
    if (!command) return;
    close();
    if (command.href) go(command.href);
    command.run?.();
    if (command.pause) pausing.value = command.pause;
    if (command.resume) resume(command.resume);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) { event.preventDefault(); setAt((at + step + found.length) % Math.max(found.length, 1)); }
    if (event.key === "Enter") { event.preventDefault(); run(found[at]); }
  };
  return (
    <div class="palette">
      <input type="text" role="combobox" data-first aria-label="Jump to a job id, type, page or action" aria-expanded="true" aria-controls="palette-list" aria-activedescendant={`palette-${at}`} placeholder="Job id, type, page or action" autocomplete="off" spellcheck={false} value={text} onInput={(event) => { setText(event.currentTarget.value); setAt(0); }} onKeyDown={onKeyDown} />
      <ul id="palette-list" role="listbox" aria-label="Commands">
        {found.map((command, i) => (
          <li key={command.name + command.about} id={`palette-${i}`} role="option" aria-selected={i === at} onMouseMove={() => setAt(i)} onClick={() => run(command)}>
            <span>{command.name}</span><span class="muted">{command.about}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** What the palette offers beside pages; without it the palette still finds pages and ids. */
function useKnown(): Known {
  const types = useOnce<Named[]>(sees("types") ? "/api/types" : null);
  const queues = useOnce<Named[]>(sees("queues") ? "/api/queues" : null);
  const pauses = useOnce<Pause[]>(sees("overview") ? "/api/pauses" : null);
  const whole = types !== undefined && queues !== undefined && pauses !== undefined;
  return { types: types ?? [], queues: queues ?? [], pauses: pauses ?? [], whole };
}
