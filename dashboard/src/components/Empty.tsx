import type { ComponentChildren } from "preact";
import { Code } from "./Copy";

interface Props {
  title: string;
  children?: ComponentChildren;
  code?: string;
}

/** What a page says when there is nothing yet: why, and what to type. */
export function Empty({ title, children, code }: Props) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children ? <div class="empty-text">{children}</div> : null}
      {code ? <Code text={code} /> : null}
    </div>
  );
}
