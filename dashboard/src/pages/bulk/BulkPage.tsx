import { route } from "../../router/location";
import { OperationView } from "./OperationView";
import { OperationList } from "./OperationList";

/** Operations on many jobs: the list, or one with its progress. */
export function BulkPage() {
  const { id } = route.value;
  return id === null ? <OperationList /> : <OperationView id={id} />;
}
