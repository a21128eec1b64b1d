import type { Json } from "../../api/types";
import { parsed } from "../../format/json";

/** Return typed text as a value: JSON where it is JSON (numbers, objects, true, null), else the text. */
export function valueOf(text: string): Json {
  const found = parsed(text.trim());
  return "value" in found ? found.value : text.trim();
}
