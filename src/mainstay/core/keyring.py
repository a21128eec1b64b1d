"""The keys of an encrypted installation: `MAINSTAY_ENCRYPTION_KEYS="k2:BASE64,k1:BASE64"`. The first seals, every one opens.

A sealed value is a text: `enc:1:KEY:BASE64`. The bytes are a salt, a nonce and what AES-256-GCM made of the value. The salt makes a key of its
own for each value, so that no nonce is used twice with one key, however many values there are. The value is bound to what it is (its
`place`, such as "payload 01JQ93…"): moved elsewhere, it cannot be opened.
"""

from __future__ import annotations

import hmac
import os
import re
from base64 import b64decode, urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from .errors import ConfigError, MainstayError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

VARIABLE = "MAINSTAY_ENCRYPTION_KEYS"
INDEX = "index"  # the name of the key that makes hashes of what stands in payloads; it is never replaced
MARK = "enc:1:"
BYTES, SALT, NONCE = 32, 16, 12
SEALED = re.compile(r"enc:1:([A-Za-z0-9_-]{1,32}):([A-Za-z0-9_-]{59,}={0,2})")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,32}")


class Unreadable(MainstayError):
    """A sealed value cannot be opened: its key is missing here, or the value is damaged."""

    def __init__(self, message: str, key: str, missing: bool) -> None:
        super().__init__(message)
        self.key, self.missing = key, missing


class Keyring:
    """Seals and opens texts."""

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        self._keys = dict(keys)
        self.names = tuple(name for name in keys if name != INDEX)
        self.first = self.names[0]
        base = self._keys.get(INDEX) or self._keys[self.names[-1]]
        self._index = hmac.digest(base, b"mainstay index", "sha256")

    def seal(self, text: str, place: str) -> str:
        """Return a text sealed for a place."""
        salt, nonce = os.urandom(SALT), os.urandom(NONCE)
        body = self._cipher(self.first, salt).encrypt(nonce, text.encode(), place.encode())
        return f"{MARK}{self.first}:{urlsafe_b64encode(salt + nonce + body).decode()}"

    def open(self, text: str, *places: str) -> str:
        """Return what was sealed for one of these places; a text that is not sealed stays. Raises `Unreadable`."""
        if not text.startswith(MARK):
            return text
        found = SEALED.fullmatch(text)
        name = text[len(MARK) :].partition(":")[0]
        if name not in self._keys:
            raise Unreadable(
                f"a value is encrypted with the key {name!r:.40}, which {VARIABLE} does not have", name, missing=True
            )
        opened = self._opened(name, found[2], places) if found else None
        if opened is None:
            raise Unreadable(
                f"a value that was encrypted with the key {name!r} cannot be decrypted: it is damaged, or that is another key "
                "of the same name", name, missing=False,
            )  # fmt: skip
        return opened

    def _opened(self, name: str, body: str, places: Sequence[str]) -> str | None:
        from cryptography.exceptions import InvalidTag

        try:
            data = urlsafe_b64decode(body)
        except ValueError:
            return None
        cipher = self._cipher(name, data[:SALT])
        for place in places:
            try:
                text: str = cipher.decrypt(data[SALT : SALT + NONCE], data[SALT + NONCE :], place.encode()).decode()
            except InvalidTag:
                continue
            return text
        return None

    def opened_within(self, text: str, *places: str) -> str:
        """Return a text with each sealed part of it opened, as far as it can be."""
        return SEALED.sub(lambda found: self._lenient(found[0], places), text) if MARK in text else text

    def _lenient(self, text: str, places: Sequence[str]) -> str:
        try:
            return self.open(text, *places)
        except Unreadable:
            return text

    def hashed(self, text: str) -> str:
        """Return a text in place of one that comes from a payload: the same for the same text, and nobody can tell which."""
        return "hmac:" + hmac.digest(self._index, text.encode(), sha256).hex()[:40]

    def _cipher(self, name: str, salt: bytes) -> Any:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        return AESGCM(hmac.digest(self._keys[name], b"mainstay value" + salt, "sha256"))


def parse(text: str) -> Keyring:
    """Return the keys in the text of the variable; raise `ConfigError`, which shows no key."""
    keys: dict[str, bytes] = {}
    for number, entry in enumerate(text.split(","), 1):
        name, _, value = (part.strip() for part in entry.partition(":"))
        try:
            key = b64decode(value.replace("-", "+").replace("_", "/"), validate=True)
        except ValueError:
            key = b""
        if not _NAME.fullmatch(name) or len(key) != BYTES or name in keys:
            why = "comes twice" if name in keys else f"is not NAME:BASE64 with {BYTES} bytes"
            raise ConfigError(f"entry {number} of {VARIABLE} {why}. `mainstay encryption new-key` makes one")
        keys[name] = key
    if not keys.keys() - {INDEX}:
        raise ConfigError(f"{VARIABLE} has no key beside {INDEX!r}. `mainstay encryption new-key` makes one")
    try:
        import cryptography  # noqa: F401  (only whether it is there)
    except ImportError:
        raise ConfigError(f'{VARIABLE} is set, which needs a package: pip install "mainstay[encryption]"') from None
    return Keyring(keys)


def new_key(name: str) -> str:
    """Return an entry for the variable with a new key."""
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{name!r:.40}: a key's name has 1 to 32 letters, digits, - and _")
    return f"{name}:{urlsafe_b64encode(os.urandom(BYTES)).decode()}"
