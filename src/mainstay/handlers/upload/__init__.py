"""Uploads to IPFS, by the HTTP API of a Kubo node: `upload_text`, and `upload_file` for files inside the folders that `register` names.

The content id is computed here and compared with what the node says, so a result is never the id of anything else.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ... import Breaker, ConfigError, Permanent, Retry
from ..files import FolderMissing, _checked_roots as checked_roots, _opened as opened, place
from .kubo import Node, Uploaded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Unpack

    from ... import Mainstay
    from ...job_decorator import TypeOptions

MAX_BYTES = 100_000_000
PIECE = 65_536
__all__ = ["Node", "Uploaded", "Uploads", "register"]


def register(
    app: Mainstay, *, node: str | Node = "http://127.0.0.1:5001", authorization: str = "",
    roots: Sequence[str | os.PathLike[str]] | Mapping[str, str | os.PathLike[str]] | None = None,
    max_bytes: int = MAX_BYTES, **options: Unpack[TypeOptions],
) -> Uploads:  # fmt: skip
    """Register `upload_text` and `upload_file`; both return {"cid": …, "size": …, "uploaded": …}. `options` are those of any job type.

    `node` is the address of a Kubo node; `authorization` is the header of that name if it wants one, or `"$NAME"` of a variable. `roots` are the
    folders whose files may be uploaded, as in `files.register`. While the node is away, the breaker holds the jobs back: they lose no attempts.
    """
    if max_bytes < 1:
        raise ConfigError("max_bytes= is the longest content that is uploaded: give a number above zero")
    kubo = node if isinstance(node, Node) else Node(node, authorization=authorization)
    usual: TypeOptions = {
        "retry": Retry(10, base="1s", cap="5m"), "breaker": Breaker(failures=0.5, of=4, rest="30s"),
    }  # fmt: skip
    return Uploads(app, kubo, checked_roots(roots) if roots is not None else {}, max_bytes, {**usual, **options})


class Uploads:
    """The job types: `made.upload_text.enqueue("hello")`, `made.upload_file.enqueue("report.pdf")`."""

    def __init__(
        self, app: Mainstay, node: Node, roots: Mapping[str, str], max_bytes: int, options: TypeOptions
    ) -> None:
        def upload_text(content: str) -> Uploaded:
            """Upload a text to IPFS, unless the node has it already."""
            body = content.encode()
            _check_size(len(body), max_bytes)
            return node.upload(lambda: iter([body]))

        def upload_file(path: str) -> Uploaded:
            """Upload a file to IPFS, unless the node has its content already."""
            if not roots:
                raise Permanent("no folder is configured: give roots=[…] to upload.register")
            try:
                with place(roots, path) as target, opened(target, path) as file:
                    _check_size(os.fstat(file).st_size, max_bytes)
                    return node.upload(lambda: _pieces(file))
            except (FileNotFoundError, FolderMissing):
                raise Permanent(f"there is no file {path!r:.200}: enqueue the upload when it is written") from None

        self.node = node
        self.upload_text = app.job(**options)(upload_text)
        self.upload_file = app.job(**options)(upload_file)


def _check_size(size: int, most: int) -> None:
    if size > most:
        raise Permanent(f"the content has {size:,} bytes, the limit is {most:,}: raise max_bytes, or split it")


def _pieces(file: int) -> Iterator[bytes]:
    position = 0
    while piece := os.pread(file, PIECE, position):
        position += len(piece)
        yield piece
