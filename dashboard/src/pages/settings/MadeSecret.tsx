import type { ComponentChildren } from "preact";
import { Code } from "../../components/Copy";

interface Props {
  secret: string | null;
  does: string;
  onClose: () => void;
  children?: ComponentChildren;
}

/** The end of a form that may have made a secret: it is shown this once. */
export function MadeSecret({ secret, does, onClose, children }: Props) {
  return (
    <>
      {children}
      {secret ? <><p>{does} with this secret. Copy it now: it is shown this once.</p><Code text={secret} /></> : <p>{does} with the secret that you gave.</p>}
      <footer class="dialog-foot"><button type="button" class="primary" onClick={onClose}>Done</button></footer>
    </>
  );
}
