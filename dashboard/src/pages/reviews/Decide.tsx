/** Approve, edit then approve, or reject, with a note. Keys: `a`, `e` and `x`. */
import { useState } from "preact/hooks";
import { post } from "../../api/client";
import type { Json } from "../../api/types";
import { JsonEditor } from "../../components/JsonEditor";
import { TextField } from "../../components/TextField";
import { parsed, pretty } from "../../format/json";
import { useShortcuts } from "../../keyboard/shortcuts";
import { act } from "../../state/notices";
import { may as mayRole } from "../../state/session";

interface Props {
  path: string;
  output: Json;
  deciders: string[];
  may: boolean;
  keys: boolean; // whether the keys decide this review
}

export function Decide({ path, output, deciders, may, keys }: Props) {
  const [note, setNote] = useState("");
  const [text, setText] = useState<string | null>(null);
  const edited = text === null ? null : parsed(text);
  const approve = () => {
    if (edited && "error" in edited) return;
    void act(edited ? "Edited and approved" : "Approved", () => post(`${path}/approve`, { note, ...(edited ? { output: edited.value } : {}) }));
  };
  const reject = () => void act("Rejected", () => post(`${path}/reject`, { note }));
  const edit = () => setText(text === null ? pretty(output) : null);
  const can = may && mayRole("operator");
  useShortcuts(keys && can ? { a: approve, x: reject, e: edit } : {});
  if (!can) return <p class="muted">{deciders.length ? `To be decided by ${deciders.join(", ")}.` : "An operator decides."}</p>;
  return (
    <div class="decide">
      {text === null ? null : <JsonEditor label="Output to approve" value={text} onChange={setText} />}
      <TextField label="Note" value={note} onChange={setNote} placeholder="Optional, kept in the audit trail" />
      <div class="decide-buttons">
        <button type="button" class="primary" title="Approve (a)" disabled={Boolean(edited && "error" in edited)} onClick={approve}>{text === null ? "Approve" : "Approve the edited output"}{keys ? <kbd>a</kbd> : null}</button>
        <button type="button" title="Edit, then approve (e)" onClick={edit}>{text === null ? "Edit first" : "Keep the proposal"}{keys ? <kbd>e</kbd> : null}</button>
        <button type="button" class="danger" title="Reject (x)" onClick={reject}>Reject{keys ? <kbd>x</kbd> : null}</button>
      </div>
    </div>
  );
}
