import { useState } from "preact/hooks";
import { Dialog } from "../../components/Dialog";
import { Menu } from "../../components/Menu";
import { TextField } from "../../components/TextField";
import { views } from "../../state/preferences";

const READY = [
  { name: "Failing now", q: "state:retrying,dead age:<24h" },
  { name: "Slow jobs", q: "took:>30s finished:today" },
  { name: "Waiting long", q: "state:queued age:>1h" },
];

interface Props {
  q: string;
  onSearch: (q: string) => void;
}

/** Searches by name: some are ready, others are saved in this browser. */
export function SavedViews({ q, onSearch }: Props) {
  const [saving, setSaving] = useState(false);
  const saved = views.value.find((view) => view.q === q);
  return (
    <>
      <Menu label="Views">
        {[...READY, ...views.value].map((view) => <button key={view.name} type="button" onClick={() => onSearch(view.q)}>{view.name}<code class="muted">{view.q}</code></button>)}
        {saved ? <button type="button" onClick={() => { views.value = views.value.filter((view) => view !== saved); }}>Forget “{saved.name}”</button> : null}
        {q && !saved ? <button type="button" onClick={() => setSaving(true)}>Save this search…</button> : null}
      </Menu>
      {saving ? <SaveDialog q={q} onClose={() => setSaving(false)} /> : null}
    </>
  );
}

function SaveDialog({ q, onClose }: { q: string; onClose: () => void }) {
  const [name, setName] = useState("");
  const save = () => {
    views.value = [...views.value.filter((view) => view.name !== name), { name, q }];
    onClose();
  };
  return (
    <Dialog title="Save this search" onClose={onClose}>
      <form class="dialog-form" onSubmit={(event) => { event.preventDefault(); save(); }}>
        <TextField first label="Name" value={name} onChange={setName} hint="Kept in this browser. To share a search, share the address of the page." />
        <code>{q}</code>
        <footer class="dialog-foot"><button type="submit" class="primary" disabled={!name}>Save</button></footer>
      </form>
    </Dialog>
  );
}
