/** Tabs that live in the address: `?tab=logs`. Arrow keys move between them. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { route, setParams } from "../router/location";

export interface Tab {
  id: string;
  name: string;
  note?: string | number | null;
  body: () => ComponentChildren;
}

export function Tabs({ tabs, label, param = "tab" }: { tabs: Tab[]; label: string; param?: string }) {
  const chosen = tabs.find((tab) => tab.id === route.value.params[param]) ?? tabs[0]!;
  const bar = useRef<HTMLDivElement>(null);
  useEffect(() => { if (bar.current) showChosen(bar.current); }, [chosen.id]);
  const choose = (tab: Tab) => setParams({ [param]: tab === tabs[0] ? null : tab.id }, true);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = tabs[(tabs.indexOf(chosen) + step + tabs.length) % tabs.length]!;
    choose(next);
    document.getElementById(`tab-${next.id}`)?.focus();
  };
  return (
    <>
      <div class="tabs" ref={bar} role="tablist" aria-label={label} onKeyDown={onKeyDown}>
        {tabs.map((tab) => (
          <button key={tab.id} id={`tab-${tab.id}`} type="button" role="tab" aria-selected={tab === chosen} aria-controls="tab-panel" tabIndex={tab === chosen ? 0 : -1} onClick={() => choose(tab)}>
            {tab.name}
            {tab.note === null || tab.note === undefined ? null : <span class="tab-note">{tab.note}</span>}
          </button>
        ))}
      </div>
      <div class="tab-panel" role="tabpanel" id="tab-panel" aria-labelledby={`tab-${chosen.id}`} tabIndex={-1}>
        {chosen.body()}
      </div>
    </>
  );
}

/** Scroll a bar that is too narrow for its tabs to the chosen one; the page stays where it is, which `scrollIntoView` would move. */
function showChosen(bar: HTMLElement): void {
  const tab = bar.querySelector("[aria-selected=true]")?.getBoundingClientRect();
  const room = bar.getBoundingClientRect();
  if (tab && tab.right > room.right) bar.scrollLeft += tab.right - room.right;
  if (tab && tab.left < room.left) bar.scrollLeft -= room.left - tab.left;
}
