import { PauseDialog } from "../components/PauseDialog";
import { pausing } from "./overlays";

/** The dialog of a pause that was chosen in the palette. */
export function Pausing() {
  return pausing.value ? <PauseDialog target={pausing.value} onClose={() => { pausing.value = null; }} /> : null;
}
