"""Items from one HTTP service to another, page by page: `http_sync.register(app, sources={"crm": Source(…)}, destinations={…})`.

The services are the application's settings: a payload names them, and cannot reach any other. Tokens come from the environment.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict
from urllib.parse import parse_qsl, quote, urlencode, urljoin, urlsplit, urlunsplit

from mainstay import ConfigError, Permanent, Snooze, ctx
from mainstay.core.errors import AddressRefused
from mainstay.core.suggest import did_you_mean
from mainstay.senders.addresses import parsed

from .extras import checked_allow, with_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeVar, Unpack

    from mainstay import Mainstay
    from mainstay.job_decorator import TypeOptions
    from mainstay.senders.post import Reply

    Service = TypeVar("Service")

SECONDS = 30.0  # for one request
PAGE = 20_000_000  # bytes of a page
KEPT = 100  # errors of items in the result
TRIES = 3  # of an item at which the destination fails; then it is counted, and the others go on
LEAST, MOST = 1.0, 3600.0  # seconds to wait after "too many requests"
FIELD = re.compile(r"\{([\w.-]+)\}")


class Source(NamedTuple):
    """A list of items at a URL. `items` is where it is in the JSON (`"data.rows"`), and nothing if the reply is the list.

    Of its pages: `next` is where the reply has the URL of the next one, or `cursor` is where it has what `cursor_parameter` then gets,
    or `page_parameter` gets 2, 3, 4 … until a page is empty. In headers, `$NAME` is a variable of the worker's environment.
    """

    url: str
    items: str = ""
    next: str = ""
    cursor: str = ""
    cursor_parameter: str = "cursor"
    page_parameter: str = ""
    headers: Mapping[str, str] = {}


class Destination(NamedTuple):
    """Where items go: a request for each, or for each page. In the URL, `{id}` is that field of the item.

    `transform` makes the body of an item, or returns None to leave the item out. A page is sent as a list, or as an object that has the list as `into`.
    """

    url: str
    method: Literal["POST", "PUT", "PATCH"] = "POST"
    per: Literal["item", "page"] = "item"
    into: str = ""
    headers: Mapping[str, str] = {}
    transform: Callable[[Any], Any] | None = None


class ItemError(TypedDict):
    """An item, by its id or its place in the page, that the destination refused."""

    item: str
    error: str


class Synced(TypedDict):
    """How many items the destination took, how many it refused, and the first of those."""

    synced: int
    failed: int
    errors: list[ItemError]


class ServiceFailed(Exception):
    """A service has not done its part. The next attempt goes on where this one ended."""


class HttpSync:
    """The job types of this module."""

    def __init__(
        self, app: Mainstay, sources: Mapping[str, Source], destinations: Mapping[str, Destination], allow: Sequence[str],
        options: TypeOptions,
    ) -> None:  # fmt: skip
        def http_sync(source: str, destination: str, params: dict[str, str] | None = None) -> Synced:
            """Send every item of a source to a destination; `params` are added to the query of the source."""
            here, there = _named("source", source, sources), _named("destination", destination, destinations)
            first = with_query(
                here.url, {**({here.page_parameter: "1"} if here.page_parameter else {}), **(params or {})}
            )
            return Run(here, there, first, allow).all()

        self.http_sync = app.job(**options)(http_sync)


def register(
    app: Mainstay, *, sources: Mapping[str, Source], destinations: Mapping[str, Destination], allow: Sequence[str] = (),
    **options: Unpack[TypeOptions],
) -> HttpSync:  # fmt: skip
    """Register `http_sync(source, destination, params)`; `options` are those of any job type.

    Only public addresses are reached. `allow` names hosts and networks that may be reached though they are inside this network.
    """
    for name, source in sources.items():
        _check_kind(name, source, Source)
        _check(name, source.url, sum(map(bool, (source.next, source.cursor, source.page_parameter))) <= 1, ONE_WAY)
    for name, to in destinations.items():
        _check_kind(name, to, Destination)
        _check(name, FIELD.sub("x", to.url), to.method in ("POST", "PUT", "PATCH") and to.per in ("item", "page"), FORM)
        _check(
            name,
            FIELD.sub("x", to.url),
            to.per == "item" or not FIELD.search(to.url),
            "a page has no fields for its URL",
        )
    if not sources or not destinations:
        raise ConfigError("http_sync needs sources and destinations, each by a name")
    return HttpSync(app, dict(sources), dict(destinations), checked_allow(allow), options)


ONE_WAY = "give one of next, cursor and page_parameter"
FORM = 'method is "POST", "PUT" or "PATCH", and per is "item" or "page"'


def _check_kind(name: str, given: object, kind: type) -> None:
    if not isinstance(given, kind):
        raise ConfigError(f'{name}: {given!r:.80} is no {kind.__name__}: give {kind.__name__}("https://…")')


def _check(name: str, url: str, fits: bool, how: str) -> None:
    try:
        parsed(url)
    except AddressRefused as error:
        raise ConfigError(f"{name}: the URL is not valid: {error}") from error
    if not fits:
        raise ConfigError(f"{name}: {how}")


def _named(what: str, name: str, known: Mapping[str, Service]) -> Service:
    if name not in known:
        there = ", ".join(known)
        raise Permanent(f"there is no {what} {name!r:.100}{did_you_mean(name, known)}; there are: {there}")
    return known[name]


class Run:
    """One attempt: what an earlier one saved, and the pages from there on."""

    def __init__(self, source: Source, to: Destination, first: str, allow: Sequence[str]) -> None:
        self.source, self.to, self.first, self.allow = source, to, first, allow
        saved = ctx.checkpoint
        self.at: str | None = saved.get("at", first)  # the URL of the page; None: all are done
        self.done = Synced(synced=saved.get("synced", 0), failed=saved.get("failed", 0), errors=saved.get("errors", []))
        self.sent: list[str] = saved.get("sent", [])  # what of the page was sent or refused
        # The item at which the destination has failed, and how often.
        self.stuck: list[Any] = saved.get("stuck", ["", 0])
        # A page that was seen, how long ago, when to take another.
        self.trail: list[Any] = saved.get("trail", ["", 0, 1])

    def all(self) -> Synced:
        """Go through the pages that are left."""
        while self.at is not None:
            reply = self._page(self.at)
            items = _found(reply, self.source.items)
            if not isinstance(items, list):
                raise Permanent(
                    f"the source has no list at {self.source.items or 'the top'!r} of its reply: set items= of the source"
                )
            self._send_page(items)
            self.at, self.sent = self._following(reply, items, self.at), []
            self._save()
            ctx.progress(self.done["synced"] + self.done["failed"])
        return self.done

    def _save(self) -> None:
        ctx.save(at=self.at, sent=self.sent, stuck=self.stuck, trail=self.trail, **self.done)

    # the source -----------------------------------------------------------------------------------------------------------
    def _page(self, url: str) -> Any:
        reply = self._request("source", url, None, self.source.headers, "GET")
        if not 200 <= reply.status < 300:
            raise Permanent(f"the source {_said(reply)}", code=reply.status)
        if len(reply.body) >= PAGE:
            raise Permanent(f"a page of the source has {PAGE:,} bytes or more: ask it for smaller pages")
        try:
            return json.loads(reply.body)
        except ValueError as error:
            raise ServiceFailed(f"the reply of the source is not JSON: {error}") from error

    def _following(self, reply: Any, items: list[Any], url: str) -> str | None:
        """Return the URL of the next page; None after the last."""
        source = self.source
        if source.page_parameter:
            if not items:
                return None
            self._pass(_key(items), 1)
            return with_query(url, {source.page_parameter: str(_number(source, url) + 1)})
        mark = _found(reply, source.next or source.cursor) if source.next or source.cursor else None
        if mark in (None, "", False):
            return None
        following = (
            urljoin(url, str(mark)) if source.next else with_query(self.first, {source.cursor_parameter: str(mark)})
        )
        if following == url:
            raise Permanent(f"the source names the page {mark!r:.100} as the one that follows itself")
        if _origin(following) != _origin(self.first):
            raise Permanent(f"the source names a page at another host, which is not followed: {following!r:.200}")
        self._pass(following, 2)
        return following

    def _pass(self, page: str, growth: int) -> None:
        """Raise if the pages go round in a circle (Brent). One page is remembered: the one before, or with growth one further and further back."""
        mark, passed, most = self.trail
        if page == mark:
            raise Permanent(
                "the source gives the same page again: its pages go round in a circle, or it does not know the parameter of the page"
            )
        self.trail = [page, 0, most * growth] if passed + 1 >= most else [mark, passed + 1, most]

    # the destination ------------------------------------------------------------------------------------------------------
    def _send_page(self, items: list[Any]) -> None:
        """Send what was not sent. However this ends, the next attempt knows how far it came."""
        before = set(self.sent)
        try:
            if self.to.per == "page":
                self._send_all(items)
                return
            for place, item in enumerate(items):
                ctx.check()
                if (key := _key(item)) not in before:
                    self._send(item, key, _name(item, place))
        except BaseException:
            self._save()
            raise

    def _send_all(self, items: list[Any]) -> None:
        bodies = [body for body in map(self._body, items) if body is not None]
        key = _key(bodies)
        if bodies and key not in self.sent:
            self._count(
                key,
                len(bodies),
                "a page",
                self._tried(key, self.to.url, {self.to.into: bodies} if self.to.into else bodies),
            )

    def _send(self, item: Any, key: str, name: str) -> None:
        body = self._body(item)
        if body is None:
            return
        url = self._url(item)
        self._count(key, 1, name, self._tried(key, url, body) if url else f"the item lacks a field of {self.to.url}")

    def _body(self, item: Any) -> Any:
        return self.to.transform(item) if self.to.transform else item

    def _url(self, item: Any) -> str:
        """Return the URL for an item; nothing if it lacks a field, or has one that would be another path."""
        values = {path: _found(item, path) for path in FIELD.findall(self.to.url)}
        if any(type(value) not in (str, int) or value in ("", ".", "..") for value in values.values()):
            return ""
        return FIELD.sub(lambda found: quote(str(values[found[1]]), safe=""), self.to.url)

    def _count(self, key: str, items: int, name: str, problem: str) -> None:
        self.sent.append(key)
        self.done["failed" if problem else "synced"] += items
        if problem and len(self.done["errors"]) < KEPT:
            self.done["errors"].append(ItemError(item=name, error=problem))

    def _tried(self, key: str, url: str, body: Any) -> str:
        """Send a body; return what was wrong with it. An item at which the destination fails again and again is wrong too."""
        try:
            return self._delivered(key, url, body)
        except ServiceFailed as error:
            self.stuck = [key, self.stuck[1] + 1 if self.stuck[0] == key else 1]
            if self.stuck[1] < TRIES:
                raise
            return str(error)

    def _delivered(self, key: str, url: str, body: Any) -> str:
        content = json.dumps(body, ensure_ascii=False).encode()
        same = hashlib.sha256(f"{ctx.id} {key}".encode()).hexdigest()[:32]  # on every attempt
        headers = {"Content-Type": "application/json", "Idempotency-Key": same, **self.to.headers}
        reply = self._request("destination", url, content, headers, self.to.method)
        if reply.status in (401, 403):
            raise Permanent(f"the destination {_said(reply)}; check its headers", code=reply.status)
        return "" if 200 <= reply.status < 300 else _said(reply)

    def _request(self, what: str, url: str, body: bytes | None, headers: Mapping[str, str], method: str) -> Reply:
        """Return a reply that is about this request; raise for one that is about the service."""
        from mainstay.senders.post import exchange, redirects, seconds_of

        given = with_secrets({"Accept": "application/json", "User-Agent": "mainstay", **headers})
        try:
            reply = exchange(url, body, given, method=method, seconds=SECONDS, allow=self.allow, most=PAGE)
        except AddressRefused as error:
            raise Permanent(f"the {what} cannot be reached: {error}") from error
        wait = seconds_of(reply.retry_after)
        if reply.status == 429 or (reply.status == 503 and wait):
            raise Snooze(min(max(wait, LEAST), MOST), f"the {what} {_said(reply)}", code=reply.status)
        if reply.status in (408, 425) or reply.status >= 500:
            raise ServiceFailed(f"the {what} {_said(reply)}")
        if 300 <= reply.status < 400:
            raise Permanent(f"the {what} {redirects(reply.status)}", code=reply.status)
        return reply


def with_query(url: str, values: Mapping[str, str]) -> str:
    """Return a URL with these values in its query, in place of those of the same names."""
    parts = urlsplit(url)
    kept = [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if name not in values]
    return urlunsplit(parts._replace(query=urlencode([*kept, *values.items()])))


def _number(source: Source, url: str) -> int:
    """Return the number of a page; a URL without one is that of page 1."""
    number = dict(parse_qsl(urlsplit(url).query)).get(source.page_parameter, "1")
    if not number.isascii() or not number.isdecimal():
        raise Permanent(f"{source.page_parameter}={number!r:.40} is not the number of a page")
    return int(number)


def _origin(url: str) -> tuple[bool, str, int]:
    try:
        return parsed(url)[:3]
    except AddressRefused as error:
        raise Permanent(f"the source names a page whose URL is not valid: {error}") from error


def _found(value: Any, path: str) -> Any:
    """Return what is at a dotted path of some JSON; None if nothing is."""
    for name in filter(None, path.split(".")):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _key(item: Any) -> str:
    """Return what stands for an item: the same for the same content."""
    return hashlib.sha256(json.dumps(item, sort_keys=True).encode()).hexdigest()[:16]


def _name(item: Any, place: int) -> str:
    known = item.get("id") if isinstance(item, dict) else None
    return str(known)[:100] if known is not None else f"item {place + 1} of its page"


def _said(reply: Reply) -> str:
    return f"replies {reply.status}: {reply.body[:200].decode('utf-8', 'replace')}"
