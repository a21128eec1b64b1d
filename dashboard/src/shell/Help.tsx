import { Dialog } from "../components/Dialog";
import { helpOpen } from "./overlays";
import { PAGES } from "./pages";

const GROUPS: [string, [string, string][]][] = [
  ["Anywhere", [["/", "Search jobs"], ["Ctrl K  ⌘ K", "Jump to a job, type, page or action"], [".", "Follow changes, or hold the page still"], ["t", "Theme: system, light, dark"], ["?", "This help"], ["Esc", "Close, or leave the field"]]],
  ["In lists", [["j  k", "Next, previous row"], ["Enter", "Open the row"], ["x", "Select the row"], ["Shift X", "Select up to this row"], ["R", "Retry"], ["C", "Cancel"]]],
  ["On a job or review", [["R", "Retry"], ["C", "Cancel"], ["e", "Edit the arguments"], ["a", "Approve"], ["x", "Reject"]]],
  ["Go to", PAGES.map((entry) => [`g  ${entry.key}`, entry.name])],
];

export function Help() {
  if (!helpOpen.value) return null;
  return (
    <Dialog title="Keyboard shortcuts" wide onClose={() => { helpOpen.value = false; }}>
      <div class="help">
        {GROUPS.map(([title, keys]) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {keys.map(([key, about]) => (
                <div key={key + about}><dt>{key.split(/\s{2}/).map((each) => <kbd key={each}>{each}</kbd>)}</dt><dd>{about}</dd></div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <p class="muted">Each of these is also a button or a link on the page.</p>
    </Dialog>
  );
}
