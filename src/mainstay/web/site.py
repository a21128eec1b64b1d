"""One site: the API and the dashboard of an installation, its options, and who may use it."""

from __future__ import annotations

import getpass
import inspect
import threading
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, cast

from anyio import CapacityLimiter, to_thread

from ..core.errors import ConfigError, StoreError
from ..core.rules import TOKEN
from ..core.suggest import did_you_mean
from . import origin
from .bulk_runs import BulkRuns
from .live import Live
from .problems import Refused
from .rate_limits import DEFAULTS as RATES, RateLimits
from .recent import Recent
from .roles import ADMIN, ANYBODY, CREATOR, NOBODY, OPERATOR, Access, checked_access
from .streams import Streams
from .tokens import Tokens

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from ..app import Mainstay
    from .operations import Operation

    T = TypeVar("T")
    Found = Access | str | None
    Callback = Callable[[Request], Found | Awaitable[Found]]

    class SiteOptions(TypedDict, total=False):
        """The options of a dashboard."""

        creation: Literal["open", "authenticated", "off"]
        read_only: bool
        name: str | None
        environment: str | None
        accent: str | None
        login_rate: str  # of each client; ten times as many of all together
        creation_rate: str  # of each caller who is known
        anonymous_rate: str  # of each client who is not, where creation is open
        hook_rate: str  # of each client that sends webhooks


CREATION = ("open", "authenticated", "off")
HANDOVER = 5 * 60_000  # milliseconds for which a site that was open stays so after the first token was made
THREADS = 8  # calls that use the store at once; others wait
DEFAULTS: dict[str, Any] = {"creation": "authenticated", "read_only": False, "name": None, "environment": None, "accent": None, **RATES}  # fmt: skip


class Site:
    """A site. `access` is the host application's callback; without it, callers need a token, unless the site is `open` to this machine."""

    def __init__(
        self, app: Mainstay, access: Callback | None = None, options: SiteOptions | None = None, *, open: bool = False
    ) -> None:
        self.app, self.options = app, _checked(options or {})
        self.tokens, self.rates = Tokens(app), RateLimits(self.options, app.clock)
        self.live, self.streams = Live(self), Streams()
        self._access, self._open = access, open
        self.recent = Recent()
        self._limiter: CapacityLimiter | None = None
        self.bulk = BulkRuns(app)
        self.stopping = threading.Event()  # set by a server that stops: streams end then

    @property
    def hosted(self) -> bool:
        """Whether the host application says who calls: nobody logs in here then."""
        return self._access is not None

    def stop(self) -> None:
        """End every stream, because the server stops."""
        self.stopping.set()
        self.live.stop()

    async def who(self, request: Request) -> Access:
        """Return who makes a request; `NOBODY` if that is not known."""
        if self._access is not None:
            found = self._access(request)
            return checked_access(await found if inspect.isawaitable(found) else found) or NOBODY
        known = await self.tokens.access_of(self, request)
        if known is None and self._open and origin.is_local(request) and await self.in_thread(self._is_open):
            return Access(ADMIN, actor=_user(), how="open")
        return known or NOBODY

    def _is_open(self) -> bool:
        """Whether there is no token yet, or none that its maker has had the time to copy."""
        try:
            made = [rule.value["set"]["created_at"] for rule in self.app.store.rules([TOKEN])]
        except StoreError:  # without its store this site shows and changes nothing, and can say so
            return True
        return all(self.app.clock.now() - at < HANDOVER for at in made)

    def lowest(self, operation: Operation) -> str:
        """Return the lowest role that may call an operation of this site."""
        if self.options["read_only"] and operation.changes and operation.role != ANYBODY:
            raise Refused(403, "read_only", "this dashboard only shows; start one without read_only to change things")
        if operation.creates:
            self._check_creation(operation)
        if operation.role != CREATOR:
            return operation.role
        return ANYBODY if self.options["creation"] == "open" else OPERATOR

    def _check_creation(self, operation: Operation) -> None:
        if self.options["creation"] == "off" or self.options["read_only"]:
            raise Refused(
                403,
                "creation_off",
                f"{operation.name}: this site enqueues no jobs: its option creation is off, or it is read_only",
            )

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Run what waits for the store in a thread, a few at a time."""
        if self._limiter is None:
            self._limiter = CapacityLimiter(THREADS)
        return await to_thread.run_sync(work, limiter=self._limiter)


def _checked(options: SiteOptions) -> SiteOptions:
    """Return options with their defaults; raise `ConfigError` for a wrong one."""
    given: dict[str, Any] = {**options}
    for name in given:
        if name not in DEFAULTS:
            raise ConfigError(f"a dashboard has no option {name!r}{did_you_mean(name, DEFAULTS)}")
    found = cast("SiteOptions", {**DEFAULTS, **given})
    if found["creation"] not in CREATION:
        raise ConfigError(f"creation={found['creation']!r}: it is one of {', '.join(CREATION)}")
    return found


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container without a user of that number
        return "local"
