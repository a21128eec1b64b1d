"""The scripts: one file per verb in `statements/`, with the shared parts in front that its line `-- uses:` names.

Parts that only jobs with rules need come behind `-- rarely:` in that line.
"""

from __future__ import annotations

import os
from functools import cache
from hashlib import sha1
from typing import NamedTuple

from . import record

FOLDER = os.path.join(os.path.dirname(__file__), "statements")
USES = "-- uses:"
MANY, RULED = "_many", "_ruled"
HOT = ("enqueue", "claim", "claim_on_wake", "finish")  # scripts with a variant for jobs with rules
RARE = " -- rarely:"  # before the parts that few calls need
# Those parts make the function `flow`: a script makes each of its functions anew with every call, and a plain job needs none of
# these. They put what others call into the table `made`. Hot scripts are without them, and answer "rules" where they are needed:
# the function itself takes a tenth of the time of a small call.
LAZY = """
flow = function()
if made then
    return made
end
made = {{}}
{}
return made
end
"""


class Script(NamedTuple):
    """A script's text, and the digest by which a server that has run it knows it."""

    text: str
    sha: str


@cache
def load(name: str) -> Script:
    """Return the script `statements/<name>.lua`.

    With `_many` behind its name it is the variant for workers with many lanes, with `_ruled` that for jobs with rules.
    """
    name, ruled = name.removesuffix(RULED), name.endswith(RULED)
    text = _text(name.removesuffix(MANY) + ".lua")
    uses = next(line for line in text.splitlines() if line.startswith(USES)).removeprefix(USES)
    if name.endswith(MANY):
        uses = uses.replace("few", "lane many")
    usual, _, rare = uses.partition(RARE)
    hot = name.removesuffix(MANY) in HOT and not ruled
    lazily = LAZY.format(_parts(rare)) if rare and not hot else ""
    text = record.with_positions(_parts(usual) + lazily + text)
    return Script(text, sha1(text.encode(), usedforsecurity=False).hexdigest())


def _parts(names: str) -> str:
    return "".join(_text(os.path.join("parts", part + ".lua")) for part in names.split())


def _text(path: str) -> str:
    with open(os.path.join(FOLDER, path), encoding="utf-8") as file:
        return file.read()
