"""What a hook pays: `import mainstay` loads nothing, and one enqueue by name nothing heavy."""

import subprocess
import sys
from pathlib import Path

import mainstay

SOURCE = str(Path(mainstay.__file__).parents[1])
HEAVY = {"asyncio", "click", "cronsim", "dataclasses", "inspect", "logging", "msgspec", "pathlib", "socket", "subprocess",
         "tomllib", "typing", "uuid"}  # fmt: skip


def modules_after(code):
    """The modules that some code loads on top of a bare interpreter."""
    program = (
        f"import sys; sys.path.insert(0, {SOURCE!r}); bare = set(sys.modules)\n{code}\nprint(*set(sys.modules) - bare)"
    )
    done = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_imports_nothing_else():
    assert modules_after("import mainstay") == {"mainstay", "__future__"}


def test_a_cold_enqueue_imports_nothing_heavy(tmp_path):
    url = f"sqlite:///{tmp_path}/jobs.db"
    loaded = modules_after(
        f"from mainstay import Mainstay; Mainstay({url!r}).enqueue('mail', {{'to': 'ada'}}, key='k')"
    )
    assert not loaded & HEAVY
    ours = {name for name in loaded if name.startswith("mainstay")}
    assert len(ours) <= 27, sorted(ours)


def test_a_cold_enqueue_in_a_transaction_imports_nothing_heavy(tmp_path):
    path = tmp_path / "jobs.db"
    loaded = modules_after(
        f"import sqlite3; from mainstay import Mainstay; db = sqlite3.connect({str(path)!r}); db.execute('BEGIN IMMEDIATE')\n"
        f"Mainstay('sqlite:///{path}').enqueue('mail', {{'to': 'ada'}}, key='k', tx=db); db.commit()"
    )
    assert not loaded & HEAVY
    ours = {name for name in loaded if name.startswith("mainstay")}
    assert len(ours) <= 31, sorted(ours)


def test_every_public_name_is_there():
    for name in mainstay.__all__:
        assert getattr(mainstay, name) is not None
    assert set(mainstay.__all__) <= set(dir(mainstay))
