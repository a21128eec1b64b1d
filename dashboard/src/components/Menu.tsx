/** A button that opens a list of actions. Closes on escape, on a click outside and after a choice. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "./Icon";

interface Props {
  label: string;
  children: ComponentChildren;
  icon?: boolean;
}

export function Menu({ label, children, icon }: Props) {
  const [open, setOpen] = useState(false);
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => (open ? closeOutside(ref.current, () => setOpen(false)) : undefined), [open]);
  return (
    <div class="menu" ref={ref}>
      <button type="button" class={icon ? "ghost square" : ""} aria-expanded={open} aria-label={icon ? label : undefined} title={label} onClick={() => setOpen(!open)}>
        {icon ? <Icon name="more" /> : <>{label} <Icon name="down" /></>}
      </button>
      {open ? <div class="menu-list" onClick={() => setOpen(false)}>{children}</div> : null}
    </div>
  );
}

function closeOutside(root: HTMLElement | null, close: () => void): () => void {
  const onPointer = (event: Event) => !root?.contains(event.target as Node) && close();
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    close();
    root?.querySelector("button")?.focus();
  };
  addEventListener("pointerdown", onPointer);
  addEventListener("keydown", onKey);
  return () => {
    removeEventListener("pointerdown", onPointer);
    removeEventListener("keydown", onKey);
  };
}
