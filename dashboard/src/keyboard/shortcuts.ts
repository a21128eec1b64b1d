/** Binds shortcuts to the page. A component binds them while it is shown; the newest binding wins. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { match } from "./keys";

export type Bindings = Record<string, () => void>;

const layers: { bindings: Bindings }[] = [];
let prefix = "";
let since = 0;
const SEQUENCE = 1_200; // ms within which a sequence must be finished

/** Bind shortcuts while the component is shown. */
export function useShortcuts(bindings: Bindings): void {
  const { current: layer } = useRef({ bindings });
  layer.bindings = bindings; // at once: the next key may come before effects run
  useLayoutEffect(() => { // before the page is painted: whoever sees a button can press its key
    layers.push(layer);
    return () => {
      layers.splice(layers.indexOf(layer), 1);
    };
  }, []);
}

addEventListener("keydown", (event) => {
  if (event.altKey || isTyping(event) || document.querySelector("dialog[open]")) return;
  if (Date.now() - since > SEQUENCE) prefix = "";
  since = Date.now();
  const names = layers.flatMap((layer) => Object.keys(layer.bindings));
  const found = match(names, prefix, { key: event.key, ctrl: event.ctrlKey || event.metaKey, shift: event.shiftKey });
  prefix = found.prefix;
  if (found.shortcut === null) return;
  event.preventDefault();
  layers.findLast((layer) => found.shortcut! in layer.bindings)?.bindings[found.shortcut]?.();
});

function isTyping(event: KeyboardEvent): boolean {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") return false;
  const at = event.target as HTMLElement;
  return at.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName) ? !isCheckbox(at) : false;
}

function isCheckbox(at: HTMLElement): boolean {
  return at instanceof HTMLInputElement && at.type === "checkbox";
}
