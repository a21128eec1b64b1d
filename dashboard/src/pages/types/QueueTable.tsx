import { useState } from "preact/hooks";
import type { QueueRecord } from "../../api/pages";
import { Empty } from "../../components/Empty";
import { Loaded } from "../../components/Loaded";
import { Ago } from "../../components/Time";
import { count } from "../../format/numbers";
import { plain } from "../../format/json";
import { useLive } from "../../live/useLive";
import { jobs } from "../../router/route";
import { quoted } from "../../search/terms";
import { may } from "../../state/session";
import { PauseButton } from "./PauseButton";
import { RuleDialog } from "./RuleDialog";

export function QueueTable() {
  const answer = useLive<QueueRecord[]>("/api/queues");
  return (
    <Loaded answer={answer}>
      {(queues) => (queues.length ? (
        <div class="card flush scroll" tabIndex={0} role="region" aria-label="Queues">
          <table class="table">
            <thead><tr><th scope="col">Queue</th><th scope="col" class="num">Waiting</th><th scope="col" class="num">Running</th><th scope="col" class="num">Oldest</th><th scope="col" class="num">Most</th><th scope="col">When full</th><th scope="col"><span class="sr-only">Actions</span></th></tr></thead>
            <tbody>{queues.map((queue) => <Row key={queue.name} queue={queue} />)}</tbody>
          </table>
        </div>
      ) : <Empty title="No queue has a job" code={'@app.job(queue="mail")\ndef send(to: str) -> None: ...'}><p>A queue exists as soon as a type names it. Workers serve all queues, or those that you name.</p></Empty>)}
    </Loaded>
  );
}

function Row({ queue }: { queue: QueueRecord }) {
  const [editing, setEditing] = useState(false);
  const q = `queue:${quoted(queue.name)}`;
  return (
    <tr data-row={queue.name} tabIndex={-1}>
      <td class="name"><a href={jobs(q)}>{queue.name}</a> {queue.paused.map((pause) => <span key={pause.of} class="tag warn" title={`by ${pause.actor}: ${pause.reason}`}>paused</span>)}{queue.drift.length ? <span class="tag note">drift</span> : null}</td>
      <td class="num"><a class="plain" href={jobs(`${q} state:queued,scheduled,blocked`)}>{count(queue.depth, queue.capped)}</a></td>
      <td class="num"><a class="plain" href={jobs(`${q} state:running`)}>{count(queue.counts.running ?? 0)}</a></td>
      <td class="num"><Ago at={queue.oldest} /></td>
      <td class="num">{plain(queue.effective.max_depth)}</td>
      <td>{plain(queue.effective.when_full)}</td>
      <td class="actions">{may("admin") ? <button type="button" class="small" onClick={() => setEditing(true)}>Edit…</button> : null}<PauseButton of="queue" name={queue.name} paused={queue.paused} />{editing ? <RuleDialog kind="queues" name={queue.name} rules={queue} onClose={() => setEditing(false)} /> : null}</td>
    </tr>
  );
}
