"""One call of an operation: the application, who calls, and what that caller may see."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..core.errors import NotFound, UsageError
from ..core.ids import LENGTH
from ..core.redaction import CARD_NUMBERS
from ..core.search_terms import is_number
from ..query import parse, term
from ..redacting import redactor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request

    from ..app import Mainstay
    from ..core.job import Job
    from ..core.search_terms import Term
    from .roles import Access
    from .site import Site


class Call(NamedTuple):
    """What an operation gets beside its arguments."""

    app: Mainstay
    who: Access
    site: Site
    request: Request

    def search(self, text: str) -> str:
        """Return a search that finds only what the caller may see."""
        for each in parse(text, self.app.clock.now()):  # raises for a mistake, before anything is put in front of it
            _refuse_secret(each)
            _refuse_order(each)
        mine = self.who.tenant
        if mine is not None and mine.endswith("/*"):
            raise UsageError(
                f"the tenant {mine!r:.60} is a pattern in a search: give its jobs and callers another name"
            )
        return text if mine is None else f"{term('tenant', mine, f'{mine}/*')} {text}".strip()

    def terms(self, text: str) -> Sequence[Term]:
        """Return the terms of a search that finds only what the caller may see."""
        return parse(self.search(text), self.app.clock.now())

    def job(self, job_id: str) -> Job:
        """Return a job that the caller may see, by its id; the beginning of the id is enough for those who see all jobs."""
        if (self.who.tenant is not None or self.who.how == "none") and len(job_id) != LENGTH:
            raise NotFound(f"there is no job {job_id!r}: give its whole id")
        full = self.app.resolve(job_id)
        found = self.app.store.get(full)
        if found is None or not self.sees(found.tenant):
            raise NotFound(f"there is no job {job_id!r}")
        return found

    async def is_permitted(self) -> bool:
        """Whether the caller is still who it was: its token may have been revoked since. Streams ask this again and again."""
        return await self.site.who(self.request) == self.who

    def sees(self, tenant: str | None) -> bool:
        """Whether the caller sees the jobs of a tenant: its own, and those of the tenants below it (`acme/…`)."""
        mine = self.who.tenant
        return mine is None or (tenant is not None and (tenant == mine or tenant.startswith(f"{mine}/")))


def _refuse_secret(term: Term) -> None:
    """Raise for a search by an argument whose values are redacted: what it finds would tell them, letter by letter."""
    for end in range(1, len(term.path) + 1):
        if redactor().on and redactor().kind(".".join(term.path[:end])):
            name = ".".join(term.path)
            raise UsageError(f"args.{name}: its values are redacted here, so nobody can search by them")


def _refuse_order(term: Term) -> None:
    """Raise for an order of arguments by which one could find out a secret that only a pattern hides: of texts, and of numbers of cards."""
    if term.field != "args" or term.op == "=" or not redactor().on:
        return
    for value in map(str, term.values):
        if not is_number(value) or abs(float(value)) >= CARD_NUMBERS.start:
            name, most = ".".join(term.path), f"{CARD_NUMBERS.start:,}"
            raise UsageError(
                f"args.{name}:{term.op}{value:.60}: a text may be redacted here, so only numbers below {most} are compared with < and >"
            )
