import { useState } from "preact/hooks";
import { put, remove, segment } from "../../api/client";
import type { Setting } from "../../api/pages";
import { Empty } from "../../components/Empty";
import { Loaded } from "../../components/Loaded";
import { ReasonDialog } from "../../components/ReasonDialog";
import { TextField } from "../../components/TextField";
import { Ago } from "../../components/Time";
import { plain } from "../../format/json";
import { useLive } from "../../live/useLive";
import { act } from "../../state/notices";
import { may } from "../../state/session";
import { valueOf } from "../types/values";

/** Settings that handlers read at run time. */
export function SettingsTab() {
  const [editing, setEditing] = useState<Partial<Setting> | null>(null);
  const answer = useLive<Setting[]>("/api/worker/config");
  return (
    <Loaded answer={answer}>
      {(settings) => (
        <div class="stack">
          {may("admin") ? <p><button type="button" onClick={() => setEditing({})}>New setting</button></p> : null}
          {settings.length ? (
            <div class="card flush scroll" tabIndex={0} role="region" aria-label="Settings">
              <table class="table">
                <thead><tr><th scope="col">Name</th><th scope="col">Value</th><th scope="col">Changed</th><th scope="col"><span class="sr-only">Actions</span></th></tr></thead>
                <tbody>{settings.map((setting) => (
                  <tr key={setting.name} data-row={setting.name} tabIndex={-1}>
                    <td class="name">{setting.name}<span class="sub muted">{setting.description}</span></td>
                    <td class="mono">{plain(setting.value)}</td>
                    <td><Ago at={setting.updated_at} /></td>
                    <td class="actions">{may("admin") ? <><button type="button" class="small" onClick={() => setEditing(setting)}>Edit…</button><button type="button" class="small" onClick={() => void act("Removed", () => remove(`/api/worker/config/${segment(setting.name)}`))}>Remove</button></> : null}</td>
                  </tr>
                ))}</tbody>
              </table>
            </div>
          ) : <Empty title="No setting is made" code={'mainstay settings set model small-2\n\n# in a handler\napp.setting("model", "small-1")'}><p>Settings are values that handlers read at run time and that change without a deploy.</p></Empty>}
          {editing ? <SettingDialog setting={editing} onClose={() => setEditing(null)} /> : null}
        </div>
      )}
    </Loaded>
  );
}

function SettingDialog({ setting, onClose }: { setting: Partial<Setting>; onClose: () => void }) {
  const [name, setName] = useState(setting.name ?? "");
  const [value, setValue] = useState(setting.value === undefined ? "" : plain(setting.value));
  const [description, setDescription] = useState(setting.description ?? "");
  return (
    <ReasonDialog title={setting.name ? `Change ${setting.name}` : "New setting"} button="Save" label={null} done={`${name} is saved`} run={() => put("/api/worker/config", { name, value: valueOf(value), description: description || null })} onClose={onClose}>
      {setting.name ? null : <TextField first label="Name" value={name} onChange={setName} />}
      <TextField label="Value" value={value} onChange={setValue} hint="Text, or JSON: a number, true, a list" />
      <TextField label="Description" value={description} onChange={setDescription} />
    </ReasonDialog>
  );
}
