"""What a command costs before it does anything: the modules that it imports, on each engine."""

import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import mainstay
from mainstay import Mainstay
from tests.servers.engines import SERVERS

SOURCE = str(Path(mainstay.__file__).parents[1])
PACKAGES = str(Path(pytest.__file__).parents[1])
LOOKS = ["status", "stats", "dead", "stuck", "dupes", "history 1h", "why {job}", "health", "ls state:dead"]
NEVER = {"asyncio", "concurrent", "redis", "opentelemetry", "ssl", "logging", "email", "mainstay.core.fingerprint"}
HEAVY = NEVER | {"click", "dataclasses", "inspect", "json.tool", "msgspec", "pathlib", "subprocess", "uuid"}
REDIS = [name for name in SERVERS if not name.startswith("postgres")]


@pytest.fixture(params=REDIS)
def redis_url(request, tmp_path):
    with SERVERS[request.param](tmp_path) as url:
        yield url


def imported(words):
    """Run a command in an interpreter of its own; return the modules that it has imported."""
    code = f"""
import atexit, sys
sys.path[:0] = {[SOURCE, PACKAGES]!r}
sys.argv = {["mainstay", *words]!r}
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
from mainstay.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode in (0, 1, 3), done.stderr
    return set(done.stderr.splitlines()[-1].split())


def test_an_enqueue_on_redis_imports_nothing_heavy(redis_url):
    modules = imported(["enqueue", "mail", "to=ada", "--url", redis_url])
    assert not modules & HEAVY
    ours = {name for name in modules if name.startswith("mainstay")}
    assert len(ours) <= 42, sorted(ours)


@pytest.mark.parametrize("look", LOOKS)
def test_a_look_at_redis_imports_no_client_of_redis(redis_url, look):
    with closing(Mainstay(redis_url)) as app:
        job = app.enqueue("mail", {"to": "ada"}).id
    assert not imported([*look.format(job=job).split(), "--url", redis_url]) & NEVER


def test_a_search_on_redis_that_an_index_answers_needs_no_sqlite(redis_url):
    assert "sqlite3" not in imported(["ls", "state:dead", "--url", redis_url])
    assert "sqlite3" in imported(["ls", "state:dead", "priority:5", "--url", redis_url])


def test_a_command_runs_with_garbage_collection_and_ends_without(tmp_path):
    (tmp_path / "shop.py").write_text(
        "import atexit, gc\nfrom mainstay import Mainstay\nprint('imported', gc.isenabled())\n"
        "atexit.register(lambda: print('ended', gc.get_freeze_count() > 10_000))\napp = Mainstay('sqlite:///jobs.db')\n"
    )
    command = [sys.executable, "-m", "mainstay", "worker", "--app", "shop:app", "--drain"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    lines = done.stdout.splitlines()
    assert (lines[0], lines[-1]) == ("imported True", "ended True"), done.stderr
