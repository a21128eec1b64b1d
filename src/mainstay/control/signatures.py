"""Signatures of webhooks that arrive: who has sent a body, and when, in the forms that senders use."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import TYPE_CHECKING, Any

from ..senders.signature import signed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

STANDARD, GITHUB, STRIPE, HMAC = SCHEMES = ("standard", "github", "stripe", "hmac")
HEADERS = {
    STANDARD: "webhook-signature",
    GITHUB: "x-hub-signature-256",
    STRIPE: "stripe-signature",
    HMAC: "x-signature",
}
DATED = (STANDARD, STRIPE)  # schemes whose signature has a time
MOST = 20  # signatures of one message that are compared


def verified(
    scheme: str, secrets: Sequence[str], headers: Mapping[str, str], body: bytes, header: str, now: int, tolerance: int
) -> bool:
    """Whether one of the secrets has signed a body, not longer ago than `tolerance` (both in seconds)."""
    given, made = headers.get(header, ""), _MADE[scheme]
    # The body is signed first, whatever the time says: a refusal takes as long for every scheme, and for no receiver at all.
    expected = [each for secret in secrets for each in made(secret, headers, body, given)]
    same = _any_same(expected, _given(scheme, given))
    return same and (scheme not in DATED or _is_recent(_sent(scheme, headers, given), now, tolerance))


def _sent(scheme: str, headers: Mapping[str, str], given: str) -> str:
    """Return when a message was sent, as it says."""
    return headers.get("webhook-timestamp", "") if scheme == STANDARD else _parts(given).get("t", [""])[0]


def _given(scheme: str, text: str) -> list[str]:
    """Return the signatures that a header has."""
    if scheme == STRIPE:
        return _parts(text).get("v1", [])[:MOST]
    return text.split(" ")[:MOST] if scheme == STANDARD else [text.strip().removeprefix("sha256=")]


def _any_same(expected: Iterable[str], given: Sequence[str]) -> bool:
    """Compare all with all, in a time that says nothing about them."""
    same = [hmac.compare_digest(one.encode(), other.encode()) for one in expected for other in given]
    return any(same)


def _is_recent(sent: str, now: int, tolerance: int) -> bool:
    return _is_time(sent) and abs(now - int(sent)) <= tolerance


def _is_time(sent: str) -> bool:
    return sent.isascii() and sent.isdecimal() and len(sent) < 13


def _parts(text: str) -> dict[str, list[str]]:
    """Return the parts of `t=1,v1=a,v1=b` by name."""
    found: dict[str, list[str]] = {}
    for part in text.split(",")[:MOST]:
        name, _, value = part.strip().partition("=")
        found.setdefault(name, []).append(value)
    return found


# Each function returns the signatures that are right for a secret, the headers and the body.
def _standard(secret: str, headers: Mapping[str, str], body: bytes, _: str) -> list[str]:
    message, sent = headers.get("webhook-id", ""), _sent(STANDARD, headers, "")
    return [signed(secret, message, int(sent) if _is_time(sent) else 0, body)["webhook-signature"]]


def _stripe(secret: str, _: Mapping[str, str], body: bytes, given: str) -> list[str]:
    content = _sent(STRIPE, {}, given).encode() + b"." + body
    return [hmac.digest(secret.encode(), content, hashlib.sha256).hex()]


def _plain(secret: str, _: Mapping[str, str], body: bytes, __: str) -> list[str]:
    made = hmac.digest(secret.encode(), body, hashlib.sha256)
    return [made.hex(), base64.b64encode(made).decode()]


_MADE: dict[str, Callable[[str, Mapping[str, str], bytes, str], list[str]]] = {
    STANDARD: _standard,
    GITHUB: _plain,
    STRIPE: _stripe,
    HMAC: _plain,
}


def message_id(scheme: str, headers: Mapping[str, str], body: bytes, data: Any) -> str:
    """Return what names a message, from what is signed: a header that is not could be changed, and the message sent again."""
    named = headers.get("webhook-id") if scheme == STANDARD else None
    if scheme == STRIPE and isinstance(data, dict):
        named = data.get("id")  # the rest of the body may differ when it is sent again
    return named if isinstance(named, str) and named else hashlib.sha256(body).hexdigest()
