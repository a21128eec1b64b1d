import { Page } from "../../components/Page";
import { Tabs } from "../../components/Tabs";
import { LimitTable } from "./LimitTable";
import { QueueTable } from "./QueueTable";
import { TypeTable } from "./TypeTable";

/** Types, queues and limits: what is declared, what operators have set, what holds. */
export function TypesPage() {
  return (
    <Page title="Types">
      <Tabs label="What to show" tabs={[
        { id: "types", name: "Types", body: () => <TypeTable /> },
        { id: "queues", name: "Queues", body: () => <QueueTable /> },
        { id: "limits", name: "Limits", body: () => <LimitTable /> },
      ]} />
    </Page>
  );
}
