const START = 10; // characters: the millisecond in which the job was made
const END = 4;

/** Return an id in little space, as the CLI shows and takes it: `01JQ93ZK5M…000A`. */
export function shortId(id: string): string {
  return id.length > START + END + 1 ? `${id.slice(0, START)}…${id.slice(-END)}` : id;
}
