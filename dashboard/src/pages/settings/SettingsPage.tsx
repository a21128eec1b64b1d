import { Page } from "../../components/Page";
import { type Tab, Tabs } from "../../components/Tabs";
import { may, sees } from "../../state/session";
import { AlertsTab } from "./AlertsTab";
import { EventsTab } from "./EventsTab";
import { SettingsTab } from "./SettingsTab";
import { StoreTab } from "./StoreTab";
import { TokensTab } from "./TokensTab";
import { WebhooksTab } from "./WebhooksTab";

/** The installation: its store, settings, events, webhooks, alerts and tokens. */
export function SettingsPage() {
  const tabs: Tab[] = [
    { id: "store", name: "Store", body: () => <StoreTab /> },
    { id: "settings", name: "Settings", body: () => <SettingsTab /> },
    ...(sees("alerts") ? [{ id: "alerts", name: "Alerts", body: () => <AlertsTab /> }] : []),
    ...(sees("subscriptions") ? [{ id: "events", name: "Events", body: () => <EventsTab /> }] : []),
    ...(sees("webhooks") ? [{ id: "webhooks", name: "Webhooks", body: () => <WebhooksTab /> }] : []),
    ...(may("admin") && sees("tokens") ? [{ id: "tokens", name: "Tokens", body: () => <TokensTab /> }] : []),
  ];
  return <Page title="Settings"><Tabs label="Settings" tabs={tabs} /></Page>;
}
