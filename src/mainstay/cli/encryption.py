"""`encryption`: the keys of an encrypted installation: which are in use, a new one, and values sealed anew with the first one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..control.encryption import Rotation, sealing, status
from ..core.keyring import INDEX, VARIABLE, new_key
from . import exits
from .groups import group, subcommand
from .options import on_store, shaped
from .output import plural

if TYPE_CHECKING:
    from .options import Target
    from .output import Output


@group(
    """
    mainstay encryption
    mainstay encryption new-key k1
    mainstay encryption rotate
    """
)
@on_store("Print only the names of the keys in use.")
def encryption(target: Target, output: Output) -> int:
    """Show which encryption keys are here and which are in use; make one; rotate.

    Keys come from the environment variable MAINSTAY_ENCRYPTION_KEYS only: "k2:BASE64,k1:BASE64". The first one encrypts, every one
    decrypts. To rotate: add a new key behind the old one everywhere, put it first everywhere, run mainstay encryption rotate, remove the old one.
    """
    with target.open() as app:
        found = status(app.store)
    output.give(lambda: found, found["used"], lambda: _print(output, found))
    return exits.FAILED if found["missing"] or found["wrong"] else exits.OK


def _print(output: Output, found: dict[str, Any]) -> None:
    if not found["keys"] and not found["used"]:
        output.line("this installation is not encrypted, and there are no keys here")
        return
    rows = [
        [name, _here(found, name), "yes" if name in found["used"] else "", "encrypts" * (name == found["seals"])]
        for name in dict.fromkeys([*found["keys"], *found["used"]])
    ]  # fmt: skip
    output.table(["KEY", "HERE", "IN USE", ""], rows)


def _here(found: dict[str, Any], name: str) -> str:
    return "another key" if name in found["wrong"] else "yes" if name in found["keys"] else "missing"


@subcommand(encryption, "new-key", "mainstay encryption new-key k2")
@click.argument("name", default="k1")
@shaped("Print only the entry.")
def make_key(output: Output, name: str) -> int:
    """Print a new key, as an entry for MAINSTAY_ENCRYPTION_KEYS.

    It is stored nowhere. Whoever loses the keys loses what they encrypt.
    """
    entry = new_key(name)
    output.secret(entry)
    output.talk(
        f"put it first into {VARIABLE}, before the others and a comma; a key named {INDEX} makes the hashes of keys and is never replaced"
    )
    return exits.OK


@subcommand(encryption, "rotate", "mainstay encryption rotate")
@on_store("Print no messages.")
def rotate(target: Target, output: Output) -> int:
    """Encrypt every value with the first key, a few at a time.

    Also those that were stored before encryption was switched on. It may be stopped with Ctrl-C and run again; workers go on meanwhile. What operators
    noted in the audit trail stays as it is.
    """
    with target.open() as app:
        counts = Rotation(sealing(app.store)).run(lambda count: output.live(f"{count:,} values"))
    output.live()
    found = {"sealed": counts["sealed"], "unreadable": counts["unreadable"]}
    output.give(lambda: found, (), lambda: output.talk(_said(found)))
    return exits.PARTIAL if found["unreadable"] else exits.OK


def _said(found: dict[str, int]) -> str:
    said = f"{plural(found['sealed'], 'value')} encrypted with the first key"
    return said + (
        f"; {plural(found['unreadable'], 'value')} cannot be read: their keys are missing, or they are damaged"
        if found["unreadable"]
        else ""
    )
