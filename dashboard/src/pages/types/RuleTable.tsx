import { useState } from "preact/hooks";
import { post, segment } from "../../api/client";
import type { Rules } from "../../api/pages";
import type { Role } from "../../api/types";
import { Ago } from "../../components/Time";
import { ruleText } from "../../format/rules";
import { act } from "../../state/notices";
import { may } from "../../state/session";
import { RuleDialog } from "./RuleDialog";

interface Props {
  kind: "types" | "queues" | "limits";
  name: string;
  rules: Rules;
  role: Role;
}

/** Values as the code declares them, as operators have set them, and as they hold. */
export function RuleTable({ kind, name, rules, role }: Props) {
  const [editing, setEditing] = useState(false);
  const names = [...new Set([...Object.keys(rules.effective), ...Object.keys(rules.declared), ...Object.keys(rules.set)])];
  const reset = (each: string) => void act(`${each} is as the code declares it`, () => post(`/api/${kind}/${segment(name)}/reset`, { names: [each] }));
  return (
    <section class="card flush" aria-label="Values">
      <div class="card-head"><h2>Values</h2>{may(role) ? <button type="button" class="small" onClick={() => setEditing(true)}>Edit…</button> : null}</div>
      <div class="scroll" tabIndex={0} role="region" aria-label="Values as a table">
        <table class="table">
          <thead><tr><th scope="col">Value</th><th scope="col">In force</th><th scope="col">Code declares</th><th scope="col">Set by operators</th></tr></thead>
          <tbody>
            {names.map((each) => (
              <tr key={each}>
                <td>{each} {rules.drift.includes(each) ? <span class="tag note">drift</span> : null}</td>
                <td class="mono"><strong>{ruleText(each, rules.effective[each])}</strong></td>
                <td class="mono muted">{ruleText(each, rules.declared[each])}</td>
                <td>{rules.set[each] ? <><span class="mono">{ruleText(each, rules.set[each].value)}</span> <span class="muted">{rules.set[each].actor} <Ago at={rules.set[each].at} /></span> {may(role) ? <button type="button" class="link" onClick={() => reset(each)}>reset</button> : null}</> : <span class="muted">–</span>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {editing ? <RuleDialog kind={kind} name={name} rules={rules} onClose={() => setEditing(false)} /> : null}
    </section>
  );
}
