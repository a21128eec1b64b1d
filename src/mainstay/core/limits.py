"""Limits, rates and breakers as users declare them, and the rules that follow for one job."""

from __future__ import annotations

from . import rules
from .clock import UNITS, milliseconds
from .errors import TypeDisabled, UsageError
from .retention import NAMES as RETENTION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from .clock import Duration
    from .draft import Draft
    from .fields import by

    Key = str | by | Callable[[dict[str, Any]], object] | None

FUNCTION = "function"  # the key is computed by code
TENANT, ACCOUNT = "tenant", "tenant/*"  # the keys that are not fields of the payload
MOST = 1_000_000
SLOWEST = 366 * 86_400_000_000  # microseconds between two starts of a rate
REACH = 1 << 52  # microseconds that a burst may be ahead: a meter counts in them, and some engines in doubles
LONGEST_WINDOW = 60  # outcomes of a breaker: they are bits of one number


class Limit:
    """How many jobs may run at once (`running=5`), and how many may start in a time (`rate="10/s"`), over all workers.

    Without `key` for the whole type or queue; with `key="tenant"` for each tenant, `key="tenant/*"` for its first part,
    `key=by("a.b")` for each value of a payload field, or a function of the payload. `burst` is how many may start at once after
    a pause. Types that give the same `name` share the limit.
    """

    def __init__(
        self, running: int | None = None, rate: str | None = None, *, burst: int = 1, key: Key = None,
        name: str | None = None,
    ) -> None:  # fmt: skip
        if running is None and rate is None:
            raise UsageError('a limit needs running=… or rate=…: Limit(running=5), Limit(rate="10/s", burst=5)')
        self.running = None if running is None else whole("running", running)
        self.every = None if rate is None else interval(rate)
        self.burst, self.key, self.name = whole("burst", burst), key, name
        if (self.every or 0) * self.burst > REACH:
            raise UsageError(f"rate={rate!r}, burst={burst}: a burst of more than 100 years at this rate; lower it")
        if name is not None and not named(name):
            raise UsageError(
                f"name={name!r}: a limit's name has letters, digits, '.', '_', '-', '/' and ':', up to 200"
            )
        if isinstance(key, str) and key not in (TENANT, ACCOUNT):
            raise UsageError(
                f"key={key!r}: 'tenant' is the job's tenant= and 'tenant/*' its first part; write key=by({key!r}) for a "
                "field of the payload"
            )
        if not (key is None or isinstance(key, str) or callable(key) or hasattr(key, "paths")):
            raise UsageError(f'key={key!r}: give "tenant", by("field") or a function of the payload')

    def spec(self, owner: str) -> dict[str, Any]:
        """Return this limit as it is registered; `owner` names it if it has no name."""
        key: Any = self.key
        if hasattr(key, "paths"):
            key, end = {"by": list(key.paths)}, "/" + ("-".join(key.paths) or "payload")
        elif callable(key):
            key, end = FUNCTION, "/" + getattr(self.key, "__name__", "key").strip("<>")
        else:
            end = f"/{key.rstrip('/*')}" if key == TENANT else "/account" if key else ""
        return {
            "name": self.name or owner + end,
            "key": key,
            "running": self.running,
            "every": self.every,
            "burst": self.burst,
        }


class Breaker:
    """Rests a type that fails: when `failures` (a part, 0.5) of its last `of` outcomes failed, none starts for `rest`.

    Then one job is tried. If it completes, all go on; if it fails, the type rests again. No attempts are spent meanwhile.
    """

    def __init__(self, failures: float = 0.5, of: int = 20, rest: Duration = "30s") -> None:
        if type(failures) not in (int, float) or not 0 < failures <= 1:
            raise UsageError(f"failures={failures!r}: a part of the outcomes, above 0 and up to 1, such as 0.5")
        self.failures, self.of, self.rest = float(failures), whole("of", of), milliseconds(rest)
        if self.of > LONGEST_WINDOW:
            raise UsageError(f"of={of}: a breaker looks at the last {LONGEST_WINDOW} outcomes at most")
        if self.rest <= 0:
            raise UsageError("rest: give a duration above zero, such as rest='30s'")

    def spec(self) -> list[float]:
        """Return this breaker as jobs carry it."""
        return [self.failures, self.of, self.rest]


def whole(name: str, value: Any) -> int:
    """Return a number from 1 on, or raise."""
    if type(value) is not int or not 1 <= value <= MOST:
        raise UsageError(
            f"{name}={value!r}: a whole number from 1 to {MOST}; to stop jobs altogether, pause their type"
        )
    return value


def interval(rate: Any) -> int:
    """Return the microseconds between two starts at a rate such as `10/s`, `100/m`, `3/2s`."""
    number, slash, unit = str(rate).partition("/")
    try:
        span = UNITS[unit] if unit in UNITS else milliseconds(unit)
        per = float(number)
        every = round(span * 1000 / per) if per > 0 else 0
    except (ValueError, OverflowError):
        every = 0
    if not isinstance(rate, str) or not slash or every < 1:
        raise UsageError(f'rate={rate!r}: write how many in which time, such as "10/s", "100/m" or "1/2h"')
    if every > SLOWEST:
        raise UsageError(f"rate={rate!r}: the slowest rate is one in 366 days")
    return every


def named(name: object) -> bool:
    """Return whether a text can be the name of a limit."""
    return (
        isinstance(name, str)
        and 0 < len(name) <= 200
        and name[0].isalnum()
        and all(c.isalnum() or c in "._-/:" for c in name)
    )


# the rules of one job -------------------------------------------------------------------------------------------------
def add_limits(draft: Draft, specs: Iterable[Mapping[str, Any]], functions: Mapping[str, Any] | None = None) -> None:
    """Add the rules that follow from registered limits to a draft. `functions` compute keys by the name of their limit."""
    found = rules.unpack(draft.rules)
    for spec in specs:
        name, key = spec["name"], slot_key(spec, draft, functions or {})
        if spec.get("running") is not None:
            _add(found, "limits", [name, key, spec["running"]])
        if spec.get("every") is not None:
            _add(found, "rates", [name, key, spec["every"], spec.get("burst") or 1])
    set_rules(draft, found)


def _add(found: dict[str, Any], kind: str, rule: list[Any]) -> None:
    others = [each for each in found.get(kind, ()) if each[:2] != rule[:2]]
    found[kind] = sorted([*others, rule], key=lambda each: each[:2])


def set_rules(draft: Draft, found: Mapping[str, Any]) -> None:
    """Give a draft these rules, and what it waits for at first."""
    draft.rules, draft.waits = rules.pack(found), rules.waits_at_first(found)


def slot_key(spec: Mapping[str, Any], draft: Draft, functions: Mapping[str, Any]) -> str:
    """Return the key of a registered limit for a draft."""
    key = spec.get("key")
    if key is None:
        return ""
    if key in (TENANT, ACCOUNT):
        tenant = draft.tenant or ""
        return tenant if key == TENANT else tenant.partition("/")[0]
    if key != FUNCTION:
        from .fields import rule

        return _printable(spec, rule(key["by"]).text(draft.type, draft.plain))
    if spec["name"] not in functions:
        raise UsageError(
            f"the limit {spec['name']} of {draft.type} computes its key by code that is not here: enqueue it where the "
            "type's code is, or give the limit key=by(…)"
        )
    from .fields import sealed
    from .payload import loads

    return sealed(_printable(spec, functions[spec["name"]](loads(draft.plain))))


def _printable(spec: Mapping[str, Any], value: object) -> str:
    key = str(value)
    if len(key) > 200 or not key.isprintable():
        raise UsageError(f"the key {key[:40]!r} of the limit {spec['name']}: a key has up to 200 printable characters")
    return key


def follow_policy(draft: Draft, policy: Mapping[str, Any], functions: Mapping[str, Any] | None = None) -> None:
    """Give a draft the rules that its type declares: limits, rates, a breaker."""
    if policy.get("breaker"):
        set_rules(draft, rules.unpack(draft.rules) | {"breaker": policy["breaker"]})
    add_limits(draft, policy.get("limits") or (), functions)


# what operators set on types and queues -------------------------------------------------------------------------------
def effective(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return what holds of a rule: what code declares, and over it what operators have set."""
    return {**value.get("declared", {}), **value.get("set", {})}


def follow_type(draft: Draft, of_type: Mapping[str, Any], policy: Mapping[str, Any]) -> None:
    """Apply to a draft what operators have set on its type. `policy` is what the type's code declares.

    What a producer chose itself stays: it differs from what the code declares.
    """
    if of_type.get("disabled"):
        raise TypeDisabled(f"the type {draft.type} is disabled and takes no jobs: mainstay enable {draft.type}")
    for name, value in of_type.items():
        known = name in policy or name in RETENTION  # of which a type declares few
        if known and getattr(draft, name, None) == policy.get(name):
            setattr(draft, name, value)
    add_limits(draft, of_type.get("limits", ()))


def follow_queue(draft: Draft, of_queue: Mapping[str, Any]) -> None:
    """Apply to a draft what its queue asks for: a limit, a place by the tenant's share, a place that age improves."""
    if of_queue.get("running") is not None or of_queue.get("every") is not None:
        add_limits(draft, [{"name": f"queue:{draft.queue}", "key": None, **of_queue}])
    found = rules.unpack(draft.rules)
    if of_queue.get("fair"):
        tenant = (draft.tenant or "").partition("/")[0]
        found["fair"] = [draft.queue, tenant, of_queue.get("weights", {}).get(tenant, 1)]
    if of_queue.get("aging"):
        worth = found["aged"][0] if "aged" in found else draft.priority  # one that is sent again has followed already
        found["aged"], draft.priority = [worth, of_queue["aging"]], 0
    if found:
        set_rules(draft, found)
