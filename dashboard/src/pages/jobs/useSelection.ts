import { useState } from "preact/hooks";
import { kept, ranged, type Selection, toggled } from "../../state/selection";

export interface SelectionState {
  ids: Selection;
  everything: boolean; // all that match the search
  toggle: (id: string) => void;
  extend: (id: string) => void;
  all: () => void;
  everythingMatching: () => void;
  clear: () => void;
}

/** The selection of a list: single rows, ranges, the page, or all that match. */
export function useSelection(ids: string[]): SelectionState {
  const [chosen, setChosen] = useState<Selection>(new Set());
  const [last, setLast] = useState<string | null>(null);
  const [everything, setEverything] = useState(false);
  const choose = (next: Selection, id: string | null) => {
    setChosen(next);
    setLast(id);
    setEverything(false);
  };
  const current = kept(chosen, ids);
  return {
    ids: current,
    everything,
    toggle: (id) => choose(toggled(current, id), id),
    extend: (id) => choose(ranged(current, ids, last, id), id),
    all: () => choose(current.size === ids.length ? new Set() : new Set(ids), null),
    everythingMatching: () => setEverything(true),
    clear: () => choose(new Set(), null),
  };
}
