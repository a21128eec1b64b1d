import type { Overview } from "../../api/pages";
import { Icon } from "../../components/Icon";
import { Menu } from "../../components/Menu";
import { PauseDialog, resume } from "../../components/PauseDialog";
import { Timed } from "../../components/Time";
import { may } from "../../state/session";
import { useState } from "preact/hooks";

/** One line: healthy, degraded or unhealthy, and why. The components are below it on demand. */
export function Verdict({ overview }: { overview: Overview }) {
  const { status, components } = overview.health;
  const paused = components.some((each) => /paused/.test(each.text));
  return (
    <section class={`verdict v-${status}`} aria-label="Health">
      <details>
        <summary>
          <Icon name={status === "healthy" ? "check" : "warn"} />
          <strong>{status}</strong>
          <span class="verdict-text">{withoutStatus(overview.verdict, status)}</span>
        </summary>
        <ul class="components">
          {components.map((each) => (
            <li key={each.name} class={`c-${each.status}`}>
              <span class="component-name">{each.name}</span>
              <span>{each.status}</span>
              <span class="muted grow"><Timed text={each.text} /></span>
              {each.fix ? <code>{each.fix}</code> : null}
            </li>
          ))}
        </ul>
      </details>
      {may("operator") ? <PauseAll paused={paused} /> : null}
    </section>
  );
}

function withoutStatus(verdict: string, status: string): string {
  const text = verdict.replace(new RegExp(`^${status}\\W*`, "i"), "");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const ALL = { of: "all", name: "" } as const;

function PauseAll({ paused }: { paused: boolean }) {
  const [asked, setAsked] = useState(false);
  return (
    <>
      <Menu label="Actions for the whole installation" icon>
        <button type="button" onClick={() => setAsked(true)}>Pause everything…</button>
        <button type="button" onClick={() => resume(ALL)}>Resume everything{paused ? " (paused now)" : ""}</button>
      </Menu>
      {asked ? <PauseDialog target={ALL} onClose={() => setAsked(false)} /> : null}
    </>
  );
}
