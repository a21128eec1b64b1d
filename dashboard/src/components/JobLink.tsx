import { format } from "../router/route";
import { shortId } from "../format/ids";

/** A link to a job, by its short id. */
export function JobLink({ id }: { id: string }) {
  return <a class="mono" href={format("job", id)} title={id}>{shortId(id)}</a>;
}
