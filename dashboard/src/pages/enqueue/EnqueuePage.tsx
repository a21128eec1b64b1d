import type { TypeRecord } from "../../api/pages";
import { Empty } from "../../components/Empty";
import { Loaded } from "../../components/Loaded";
import { Page } from "../../components/Page";
import { SelectField, TextField } from "../../components/TextField";
import { useLive } from "../../live/useLive";
import { route, setParams } from "../../router/location";
import { may, sees, session } from "../../state/session";
import { EnqueueForm } from "./EnqueueForm";

/** Enqueue a job: the form is made from the schema of its type. */
export function EnqueuePage() {
  const answer = useLive<TypeRecord[]>(sees("types") ? "/api/types" : null);
  const chosen = route.value.params.type;
  const refused = session.value?.creation === "off" || !may("operator");
  if (refused) return <Page title="Enqueue" hidden><Empty title="This page may not make jobs"><p>{session.value?.creation === "off" ? "Creation over HTTP is switched off for this installation." : "Your role may look, but not enqueue."}</p></Empty></Page>;
  if (!sees("types")) return <ByName name={chosen ?? ""} />;
  return (
    <Page title="Enqueue a job" crumb={{ name: "Jobs", href: "#/jobs" }}>
      <Loaded answer={answer}>
        {(types) => {
          const type = types.find((each) => each.name === chosen) ?? types[0];
          if (!type) return <Empty title="No type is registered" code="mainstay worker --app jobs:app"><p>Start a worker: it registers the types of the code.</p></Empty>;
          return (
            <div class="card enqueue">
              <SelectField label="Type" value={type.name} options={types.map((each) => each.name)} onChange={(name) => setParams({ type: name }, true)} hint={type.description ?? ""} />
              <EnqueueForm key={type.name} type={type} />
            </div>
          );
        }}
      </Loaded>
    </Page>
  );
}

/** For callers who may not list the types: the type by its name, the arguments as JSON. The server checks both. */
function ByName({ name }: { name: string }) {
  return (
    <Page title="Enqueue a job" crumb={{ name: "Jobs", href: "#/jobs" }}>
      <div class="card enqueue">
        <TextField label="Type" value={name} onChange={(type) => setParams({ type: type || null }, true)} placeholder="send_email" />
        <EnqueueForm type={{ name, schema: {}, queue: "", effective: {} }} />
      </div>
    </Page>
  );
}
