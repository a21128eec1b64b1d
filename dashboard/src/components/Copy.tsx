import { useState } from "preact/hooks";
import { Icon } from "./Icon";

/** Copy text; without the clipboard API (plain HTTP) through a selection. */
export async function copy(text: string): Promise<boolean> {
  if (navigator.clipboard && isSecureContext) {
    await navigator.clipboard.writeText(text);
    return true;
  }
  const area = document.createElement("textarea");
  area.value = text;
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}

export function CopyButton({ text, label = "Copy", show = false }: { text: string; label?: string; show?: boolean }) {
  const [done, setDone] = useState(false);
  const run = async () => {
    setDone(await copy(text));
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <button type="button" class={show ? "small" : "ghost square"} aria-label={show ? undefined : label} title={label} onClick={() => void run()}>
      <Icon name={done ? "check" : "copy"} />
      {show ? (done ? "Copied" : label) : null}
    </button>
  );
}

/** Code or a command to copy. */
export function Code({ text }: { text: string }) {
  return (
    <div class="code">
      <pre tabIndex={0}>{text}</pre>
      <CopyButton text={text} />
    </div>
  );
}
