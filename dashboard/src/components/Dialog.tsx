/** A modal dialog. The browser traps the focus and gives it back; escape and the backdrop close it. */
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Icon } from "./Icon";

interface Props {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  wide?: boolean;
  side?: boolean;
}

export function Dialog({ title, onClose, children, wide, side }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => openModal(ref.current), []);
  return (
    <dialog
      ref={ref}
      class={`dialog ${wide ? "wide" : ""} ${side ? "side" : ""}`}
      aria-labelledby={heading}
      onClose={(event) => event.currentTarget.isConnected && onClose()} // also comes a frame after the dialog is gone
      onMouseDown={(event) => event.target === ref.current && onClose()}
    >
      <div class="dialog-box">
        <header class="dialog-head">
          <h2 id={heading}>{title}</h2>
          <button type="button" class="ghost square" aria-label="Close" onClick={onClose}>
            <Icon name="close" />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}

function openModal(dialog: HTMLDialogElement | null): (() => void) | undefined {
  if (!dialog) return undefined;
  const before = document.activeElement as HTMLElement | null;
  dialog.showModal();
  const first = dialog.querySelector<HTMLElement>("[data-first]") ?? dialog.querySelector<HTMLElement>("input, select, textarea");
  first?.focus();
  return () => {
    dialog.close();
    before?.focus();
  };
}
