"""A node of IPFS, by the HTTP API of Kubo: what is pinned there, and what is added.

An upload is idempotent: the content id is computed here first, the node is asked for it, and only what is missing is sent.
"""

from __future__ import annotations

import json
import time
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import TYPE_CHECKING, Any, TypedDict
from urllib.parse import urlencode

from ... import ConfigError, Permanent, Snooze
from ...core.errors import AddressRefused, SendFailed
from ...senders.addresses import parsed
from ..extras import secret
from .cid import CHUNK, Cids, Counter, cids

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MOST = 65_536  # bytes of a reply that are read
BOUNDARY = "mainstay-e1b6f6c0a4d94b0f"
HEAD = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="content"\r\nContent-Type: application/octet-stream\r\n\r\n'.encode()
TAIL = f"\r\n--{BOUNDARY}--\r\n".encode()
# All that decides the content id is said: what a node does without is not the same in all versions.
ADD = {
    "cid-version": 1,
    "raw-leaves": "true",
    "chunker": f"size-{CHUNK}",
    "hash": "sha2-256",
    "pin": "true",
    "progress": "false",
}
ABSENT = "not pinned"  # what the node says of an id that it does not keep


class Uploaded(TypedDict):
    """The result of an upload. `uploaded` is false if the node had the content already."""

    cid: str
    size: int
    uploaded: bool


class Node:
    """One node: `Node("http://127.0.0.1:5001")`. `authorization` is the header of that name, for a node that wants one."""

    def __init__(self, url: str = "http://127.0.0.1:5001", *, authorization: str = "", seconds: float = 60.0) -> None:
        try:
            self._target = parsed(url)
        except AddressRefused as error:
            raise ConfigError(f"the address of the node is not valid: {error}") from None
        if self._target.path != "/":
            raise ConfigError(
                "the address of the node has a path: give scheme, host and port only, as http://127.0.0.1:5001"
            )
        if not authorization.isascii() or not authorization.isprintable():
            raise ConfigError("authorization= has characters that a header cannot have: give it in one line of ASCII")
        if seconds <= 0:
            raise ConfigError("seconds= is how long the node may take: give a number above zero")
        self._authorization, self._seconds = authorization, seconds

    def __repr__(self) -> str:
        return f"<Node {self._target.host}:{self._target.port}>"

    def upload(self, pieces: Callable[[], Iterator[bytes]]) -> Uploaded:
        """Have the node keep content, and return its id, which was computed here. `pieces` returns the content, each time it is called.

        Raises `Permanent` if the node replies with the id of other content, or refuses for good; any other error is worth a retry.
        """
        wanted = cids(pieces())
        kept = self.kept(wanted)
        if kept is None:
            return {"cid": self._add(pieces, wanted), "size": wanted.size, "uploaded": True}
        return {"cid": kept, "size": wanted.size, "uploaded": False}

    def kept(self, wanted: Cids) -> str | None:
        """Return under which of its ids the node keeps content; None: it does not."""
        return next((cid for cid in (wanted.v1, wanted.v0) if self.keeps(cid)), None)

    def keeps(self, cid: str) -> bool:
        """Whether the node keeps the content of an id."""
        status, reply = self._ask("pin/ls", {"arg": cid, "type": "recursive"})
        if status != 200 and ABSENT not in str(reply.get("Message")):
            self._refuse("pin/ls", status, reply)
        return status == 200

    def _add(self, pieces: Callable[[], Iterator[bytes]], wanted: Cids) -> str:
        sent = Counter()
        length = len(HEAD) + wanted.size + len(TAIL)
        headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}", "Content-Length": str(length)}
        status, reply = self._ask("add", ADD, _body(pieces(), sent, wanted.size), headers)
        if status != 200 or not isinstance(reply.get("Hash"), str):
            self._refuse("add", status, reply)
        if sent.ids() != wanted:
            raise SendFailed("the content has changed while it was sent: the next attempt sends it as it is then")
        if reply["Hash"] not in wanted[:2]:
            raise Permanent(
                f"the node says that the content is {reply['Hash']!r:.80}, but it is {wanted.v1} (or {wanted.v0}): "
                "check the node; what it keeps is not what was sent",
                code="wrong-cid",
            )
        return str(reply["Hash"])

    def _ask(
        self,
        command: str,
        query: dict[str, Any],
        body: Iterator[bytes] | None = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, dict[str, Any]]:
        given = {"Authorization": secret(self._authorization, "authorization")} if self._authorization else {}
        connection = (HTTPSConnection if self._target.tls else HTTPConnection)(
            self._target.host, self._target.port, timeout=self._seconds
        )
        try:
            connection.request("POST", f"/api/v0/{command}?{urlencode(query)}", body, {**given, **(headers or {})})
            with connection.getresponse() as reply:
                return self._reply(reply)
        except (OSError, HTTPException) as error:
            raise Unreachable(
                f"the node {self._target.host}:{self._target.port} is out of reach: {str(error) or type(error).__name__}"
            ) from error
        finally:
            connection.close()

    def _reply(self, reply: HTTPResponse) -> tuple[int, dict[str, Any]]:
        if reply.status in (429, 503) and (reply.getheader("Retry-After") or "").isdecimal():
            raise Snooze(
                min(int(reply.getheader("Retry-After") or 1), 3600) or 1, f"the node asks to wait ({reply.status})"
            )
        until, text = time.monotonic() + self._seconds, b""
        while len(text) < MOST and (piece := reply.read1(MOST)):
            text += piece
            if time.monotonic() > until:
                raise TimeoutError("the node sends its reply too slowly")
        return reply.status, _object(text)

    def _refuse(self, command: str, status: int, reply: dict[str, Any]) -> None:
        said = f"the node replies {status} to {command}: {str(reply.get('Message', 'no message'))[:200]}"
        if status in (401, 403):
            raise Permanent(f"{said}. Give the node's authorization= to register", code=status)
        if 300 <= status < 500 and status not in (408, 425, 429):
            raise Permanent(f"{said}. Is this the address of Kubo's RPC API?", code=status)
        raise Refused(said, status)


class Unreachable(SendFailed):
    """The node is out of reach."""


class Refused(SendFailed):
    """The node has not done what it was asked; it may later."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status_code = status


def _body(pieces: Iterator[bytes], sent: Counter, size: int) -> Iterator[bytes]:
    """Yield the body of an upload. It has the length that was announced, or the connection ends early."""
    yield HEAD
    for piece in pieces:
        if len(piece) > size:
            raise SendFailed("the content has grown while it was sent: the next attempt sends it as it is then")
        size -= len(piece)
        sent.add(piece)
        yield piece
    if size:
        raise SendFailed("the content has shrunk while it was sent: the next attempt sends it as it is then")
    yield TAIL


def _object(text: bytes) -> dict[str, Any]:
    """Return the last JSON object of a reply; an empty one if there is none."""
    try:
        found = json.loads(text.strip().splitlines()[-1])
    except (ValueError, IndexError, RecursionError):
        return {"Message": text[:200].decode("utf-8", "replace")} if text else {}
    return found if isinstance(found, dict) else {}
