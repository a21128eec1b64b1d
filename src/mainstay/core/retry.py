"""How often a failed job is retried, and how long it waits in between."""

from __future__ import annotations

from .clock import HOUR, SECOND, milliseconds
from .draft import ATTEMPTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .clock import Duration

    When = Callable[[Any], bool]
    Exceptions = type[BaseException] | tuple[type[BaseException], ...]

BASE, CAP, FACTOR = SECOND, HOUR, 2.0
CRASHES = 3  # a job whose workers died this many times is poison


class Undecided(Exception):
    """The function given as `when=` raised, or returned something else than True or False."""


class Retry:
    """A retry policy: `attempts` in all, waiting `base`, then `factor` times as long each time, at most `cap`.

    `jitter` spreads the wait over [wait, 1.5 × wait], so that jobs that failed together do not come back together
    and none comes back early. `on` names the only exceptions worth a retry; `never` those that are final at once. `when` is
    a function of the exception that returns whether to retry; with `on`, it is asked about all other exceptions.
    """

    __slots__ = ("attempts", "base", "cap", "factor", "jitter", "never", "on", "when")

    def __init__(
        self,
        attempts: int = ATTEMPTS,
        base: Duration = "1s",
        cap: Duration = "1h",
        factor: float = FACTOR,
        jitter: bool = True,
        on: Exceptions = (),
        never: Exceptions = (),
        when: When | None = None,
    ) -> None:
        if type(attempts) is not int or not 1 <= attempts <= 1_000_000:
            raise ValueError(f"attempts={attempts!r}: a job needs at least 1 attempt, as a whole number")
        if not 1.0 <= factor <= 100.0:
            raise ValueError(f"factor={factor!r}: give a number from 1 (fixed wait) to 100")
        self.attempts = attempts
        self.base = milliseconds(base)
        self.cap = max(milliseconds(cap), self.base)  # base="2h" alone means two hours, whatever the usual cap
        self.factor, self.jitter = float(factor), bool(jitter)
        self.on, self.never = _classes("on", on), _classes("never", never)
        self.when = _function(when)

    @classmethod
    def fixed(cls, attempts: int = ATTEMPTS, every: Duration = "1s", **options: Any) -> Retry:
        """Wait equally long before every attempt."""
        return cls(attempts, base=every, cap=every, factor=1.0, **options)

    def retryable(self, error: BaseException) -> bool:
        """Return whether this exception is worth another attempt. Raises `Undecided` if `when` does not decide."""
        if self.never and isinstance(error, self.never):
            return False
        if self.on and isinstance(error, self.on):
            return True
        return not self.on if self.when is None else _decided(self.when, error)

    def pack(self) -> str | None:
        """Return the waits as they are stored on the job; None for the default ones."""
        if (self.base, self.cap, self.factor, self.jitter) == (BASE, CAP, FACTOR, True):
            return None
        return f"{self.base} {self.cap} {self.factor!r} {int(self.jitter)}"


def wait(packed: str | None, attempt: int, random: Callable[[], float]) -> int:
    """Return how many milliseconds to wait after this attempt failed."""
    base, cap, factor, jitter = map(float, packed.split()) if packed else (BASE, CAP, FACTOR, True)
    plain = min(base * factor ** min(attempt - 1, 64), cap)
    return round(plain * (1 + 0.5 * random())) if jitter else round(plain)


def _decided(when: When, error: BaseException) -> bool:
    name = getattr(when, "__name__", None) or repr(when)
    about = f"Retry(when={name}) cannot decide about {type(error).__name__}"
    try:
        found = when(error)
    except Exception as worse:
        raise Undecided(f"{about}: it raised {type(worse).__name__}: {worse}") from worse
    if found is not True and found is not False:
        raise Undecided(f"{about}: it returned {found!r:.100}; return True or False")
    return found


def _function(when: Any) -> When | None:
    if when is None:
        return None
    from inspect import iscoroutinefunction

    if not callable(when) or isinstance(when, type) or iscoroutinefunction(when):
        raise TypeError(f"when={when!r}: give a plain function of the exception that returns True or False")
    decide: When = when
    return decide


def _classes(name: str, given: Any) -> tuple[type[BaseException], ...]:
    classes = given if isinstance(given, tuple) else (given,)
    for item in classes:
        if not (isinstance(item, type) and issubclass(item, BaseException)):
            raise TypeError(f"{name}={item!r}: give exception classes, e.g. {name}=(TimeoutError, ConnectionError)")
    return classes
