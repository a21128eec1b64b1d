"""Signatures of what is sent, as Standard Webhooks has them (standardwebhooks.com): receivers have libraries for it."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os

from ..core.errors import ConfigError

PREFIX = "whsec_"
LEAST, MOST = 24, 64  # bytes of a secret
HOW = (
    "write whsec_ and 24 to 64 random bytes in base64: python -c "
    "'import base64, os; print(\"whsec_\" + base64.b64encode(os.urandom(32)).decode())'"
)


def key_of(secret: str) -> bytes:
    """Return the bytes of a secret such as `whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw`."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):  # its message would show a part of the secret
        key = b""
    if not secret.startswith(PREFIX) or not LEAST <= len(key) <= MOST:
        raise ConfigError(f"the secret of a webhook is not valid: {HOW}")
    return key


def signed(secret: str, message: str, seconds: int, body: bytes, *older: str) -> dict[str, str]:
    """Return the headers that prove who has sent a body and when. `message` is its id: a repeated delivery has the same.

    While a secret is being changed, the `older` one signs too: a receiver takes either.
    """
    content = b".".join((message.encode(), str(seconds).encode(), body))
    made = " ".join(_signature(key_of(each), content) for each in (secret, *older))
    return {"webhook-id": message, "webhook-timestamp": str(seconds), "webhook-signature": made}


def _signature(key: bytes, content: bytes) -> str:
    return f"v1,{base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()}"


def new_secret() -> str:
    """Return a random secret."""
    return PREFIX + base64.b64encode(os.urandom(32)).decode()
