import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { session } from "../state/session";

interface Props {
  title: string;
  actions?: ComponentChildren;
  children: ComponentChildren;
  hidden?: boolean;
  crumb?: { name: string; href: string };
}

/** A page: its heading, its actions, and the title of the tab. */
export function Page({ title, actions, children, hidden, crumb }: Props) {
  useEffect(() => {
    document.title = `${title} · ${session.value?.instance.name || "mainstay"}`;
  }, [title]);
  return (
    <>
      <div class={`page-head ${hidden && !actions ? "sr-only" : ""}`}>
        <h1 class={hidden ? "sr-only" : ""}>
          {crumb ? <><a class="crumb" href={crumb.href}>{crumb.name}</a> <span class="crumb-sep" aria-hidden="true">/</span> </> : null}
          {title}
        </h1>
        {actions ? <div class="page-actions">{actions}</div> : null}
      </div>
      {children}
    </>
  );
}
