"""Webhooks: signed messages to registered endpoints (`app.webhooks`), each delivery recorded (docs/decisions/0042).

`webhook.register(app)`, then `app.webhooks.add("https://example.com/hook", "invoice.*")` and `app.webhooks.send("invoice.paid", {"id": 7})`.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from mainstay import ConfigError, Limit, Permanent, Retry, __version__, by, ctx, transient

from .extras import checked_allow

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Unpack

    from mainstay import Mainstay
    from mainstay.job_decorator import TypeOptions
    from mainstay.registry import JobType

FINAL = "non_retryable_error"
LONGEST = 60  # seconds for one delivery
MOST_WAIT = 86_400  # seconds for which a receiver may put messages off
HEADERS = 50  # that a caller may give
RESERVED = ("host", "content-length", "transfer-encoding", "connection")


class DeliveryFailed(Exception):
    """The receiver has not taken the message; it is sent again. `retry_after` is in seconds, if the receiver has said so."""

    def __init__(self, message: str, code: int | None = None, retry_after: float = 0) -> None:
        super().__init__(message)
        self.code, self.retry_after = code, retry_after


class Registered(NamedTuple):
    """The job types of this module."""

    webhook_dispatch: JobType[[str, dict[str, Any], dict[str, str] | None], dict[str, Any], dict[str, Any]]


class Settings(NamedTuple):
    """What `register` was given."""

    allow: Sequence[str]
    seconds: float
    rated: bool


def register(
    app: Mainstay, *, allow: Iterable[str] = (), seconds: float = 10, rate: str | None = None,
    **options: Unpack[TypeOptions],
) -> Registered:  # fmt: skip
    """Register the type `webhook_dispatch`, which delivers messages to the endpoints of `app.webhooks`.

    `allow` names hosts and networks inside this network that may be reached, such as `["10.0.0.0/8"]`. `seconds` is the time for one
    delivery in all. With a `rate` such as `"10/s"`, no endpoint gets more, and a receiver that asks to wait (429 or 503 with
    Retry-After) holds all its messages back. Other options are those of a job type; usually 10 attempts, and a timeout of 20 s more than `seconds`.
    """
    settings = Settings(checked_allow(allow), _checked_seconds(seconds), rate is not None)
    given: TypeOptions = {"retry": Retry(10), "timeout": settings.seconds + 20, **options}
    if rate is not None:
        given["limit"] = Limit(rate=rate, key=by("webhook_id"))

    @app.job(**given)
    def webhook_dispatch(
        webhook_id: str, payload: dict[str, Any], headers: dict[str, str] | None = None
    ) -> dict[str, Any]:
        """Deliver a message to an endpoint: signed, at most 10 s, recorded."""
        return _dispatch(app, settings, webhook_id, payload, headers or {})

    return Registered(webhook_dispatch)


def _checked_seconds(seconds: float) -> float:
    if type(seconds) not in (int, float) or not 0 < seconds <= LONGEST:
        raise ConfigError(f"seconds={seconds!r}: give up to {LONGEST} seconds for one delivery")
    return seconds


# one delivery -------------------------------------------------------------------------------------------------------------
class Tried(NamedTuple):
    """What came of a request: a status, or an error; and whether sending again may help."""

    status: int | None
    ms: int
    answer: str
    error: str | None
    final: bool
    retry_after: float = 0


def _dispatch(
    app: Mainstay, settings: Settings, id: str, payload: dict[str, Any], given: Mapping[str, str]
) -> dict[str, Any]:
    """Send a message and record what came of it, then end the attempt accordingly."""
    url, secrets = app.webhooks.destination(id)
    body = json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()
    tried = _tried(url, body, _headers(id, secrets, body, given), settings)
    because = app.webhooks.record(id, ctx, tried.status, tried.ms, tried.error, tried.answer)
    if because is not None:
        ctx.log(f"the webhook {id} is disabled: {because}", level="error")
    if tried.error is None:
        return {"status": tried.status, "latency_ms": tried.ms}
    if tried.final:
        raise Permanent(f"{FINAL}: {tried.error}", code=tried.status or FINAL)
    if tried.retry_after and settings.rated:
        ctx.rate_limited(tried.retry_after, tried.error)
    raise DeliveryFailed(tried.error, tried.status, tried.retry_after)


def _headers(id: str, secrets: Sequence[str], body: bytes, given: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a message. Those of a caller replace none of ours."""
    from mainstay.core.errors import AddressRefused
    from mainstay.senders.post import check_headers
    from mainstay.senders.signature import signed

    proof = signed(secrets[0], ctx.id, int(time.time()), body, *secrets[1:])
    own = {
        "Content-Type": "application/json", "User-Agent": f"mainstay/{__version__}", "X-Webhook-Id": id, "X-Delivery-Id": ctx.id,
        "X-Signature": proof["webhook-signature"], **proof,
    }  # fmt: skip
    taken = {name.lower() for name in own}
    if len(given) > HEADERS or any(name.lower() in RESERVED for name in given):
        raise Permanent(f"headers: give up to {HEADERS}, and none of {', '.join(RESERVED)}", code=FINAL)
    try:
        check_headers(given)  # here, as it is no fault of the endpoint: nothing is counted against it
    except AddressRefused as error:
        raise Permanent(str(error), code=FINAL) from None
    return {**{name: value for name, value in given.items() if name.lower() not in taken}, **own}


def _tried(url: str, body: bytes, headers: Mapping[str, str], settings: Settings) -> Tried:
    """Send a message; return what came of it."""
    from mainstay.core.errors import AddressRefused, SendFailed
    from mainstay.senders.post import exchange, redirects, seconds_of

    began = time.monotonic()
    try:
        reply = exchange(url, body, headers, seconds=settings.seconds, allow=settings.allow)
    except SendFailed as error:
        return Tried(None, _ms(began), "", str(error), isinstance(error, AddressRefused))
    ms, answer = _ms(began), reply.body.decode("utf-8", "replace")
    if 200 <= reply.status < 300:
        return Tried(reply.status, ms, answer, None, final=False)
    again = transient(DeliveryFailed("", reply.status))
    said = f"the receiver replied {reply.status}" + ("" if again else ", so it is not sent again")
    if 300 <= reply.status < 400:
        said = f"the receiver {redirects(reply.status)}"
    return Tried(
        reply.status, ms, answer, said, not again, min(seconds_of(reply.retry_after), MOST_WAIT) if again else 0
    )


def _ms(began: float) -> int:
    return round((time.monotonic() - began) * 1000)
