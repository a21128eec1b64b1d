"""Job ids: 26 characters (a ULID), sorted by time, unique without coordination, and increasing within a process."""

from __future__ import annotations

import os
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .draft import Draft

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
LENGTH = 26
_PAIRS = [a + b for a in ALPHABET for b in ALPHABET]  # ten bits as two characters


class Ids:
    """Makes ids: 48 bits of time, 50 random bits drawn anew each millisecond, 30 bits that count up."""

    def __init__(self, entropy: Callable[[int], bytes] = os.urandom) -> None:
        self._entropy = entropy
        self._lock = threading.Lock()
        self._now, self._prefix, self._count = -1, "", 0

    def new(self, now: int) -> str:
        """Return the next id. Ids increase even if the clock steps back."""
        with self._lock:
            if now > self._now or self._count >= (1 << 30) - 1:
                self._restart(max(now, self._now + 1))
            self._count += 1
            n = self._count
            return f"{self._prefix}{_PAIRS[n >> 20]}{_PAIRS[n >> 10 & 1023]}{_PAIRS[n & 1023]}"

    def many(self, now: int, count: int) -> list[str]:
        """Return the next ids, a thousand of them in a tenth of the time that `new` takes."""
        if count == 1:
            return [self.new(now)]
        with self._lock:
            if now > self._now or self._count + count >= 1 << 30:
                self._restart(max(now, self._now + 1))
            prefix, first, end = self._prefix, self._count + 1, self._count + count + 1
            self._count += count
        made: list[str] = []
        for start in range(first & ~1023, end, 1024):  # these have all but the last pair in common
            same = f"{prefix}{_PAIRS[start >> 20]}{_PAIRS[start >> 10 & 1023]}"
            made += [same + pair for pair in _PAIRS[max(first - start, 0) : end - start]]
        return made

    def give(self, drafts: Sequence[Draft], now: int) -> int:
        """Give drafts that lack them an id and the time of their creation; return how many got an id."""
        given = 0
        for draft, new in zip(drafts, self.many(now, len(drafts)), strict=True):
            if not draft.id:
                draft.id, given = new, given + 1
            if not draft.created_at:
                draft.created_at = now
        return given

    def _restart(self, now: int) -> None:
        drawn = encode(now, 10) + encode(int.from_bytes(self._entropy(7), "big") & (1 << 50) - 1, 10)
        self._now, self._prefix, self._count = now, drawn, 0  # at once: a signal comes before or after

    def after_fork(self) -> None:
        """Draw new random bits, so that a forked child does not continue its parent's sequence."""
        self._lock = threading.Lock()
        self._now = -1


def encode(value: int, length: int) -> str:
    """Return a number in Crockford's base 32, left-padded."""
    odd = length % 2
    return "".join([_PAIRS[value >> shift & 1023] for shift in range(5 * (length + odd) - 10, -1, -10)])[odd:]


def decode(text: str) -> int:
    """Return the number that `encode` made this text of."""
    value = 0
    for character in text:
        value = value << 5 | ALPHABET.index(character)
    return value


def normal(text: str) -> str:
    """Return an id, or a prefix of one, that a person typed, in its stored form."""
    return text.strip().upper().replace("O", "0").replace("I", "1").replace("L", "1")


def prefix(text: str) -> str | None:
    """Return an id, or the beginning of one, in the form in which it is stored; None if no id begins so."""
    found = normal(text)
    return found if 0 < len(found) <= LENGTH and set(found) <= set(ALPHABET) else None


IDS = Ids()
os.register_at_fork(after_in_child=IDS.after_fork)
