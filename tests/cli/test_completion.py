"""Shell completion: real bash asks for words; the store's names come if it answers, and nothing if it does not."""

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mainstay.core.job import TypeInfo
from tests.cli.shop import Shop
from tests.waiting import eventually

PROGRAM = Path(sys.executable).parent / "mainstay"
# What bash does at a press of the tab key, without a terminal.
ASK = """
compopt() { [ "$2" = nospace ] || echo "compopt $2"; }
eval "$(mainstay completion bash)"
COMP_LINE="$1"; COMP_POINT=${#1}
_mainstay_completion mainstay
printf '%s\\n' "${COMPREPLY[@]}"
"""

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="the command is not installed here")


@pytest.fixture
def tab():
    """The words that bash would offer for a line."""
    bash = shutil.which("bash") or pytest.skip("there is no bash")

    def tab(line):
        environment = os.environ | {"PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"}
        done = subprocess.run(
            [bash, "-c", ASK, "bash", line], capture_output=True, text=True, env=environment, timeout=60, check=False
        )
        assert done.stderr == ""
        return done.stdout.split()

    return tab


@pytest.fixture
def names(tab):
    """The words that the store has for a line. A busy machine takes longer than a prompt waits: then it is asked again."""
    return lambda line: eventually(lambda: tab(line), "the store replies in time", 60)


@pytest.fixture
def shop(app):
    shop = Shop(app)
    shop.store.register_types([TypeInfo(name, "images", "f()", {}, 1) for name in ("resize", "report")])
    shop.join(["resize"], worker="w7k2")
    return shop


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("mainstay rev", ["reviews"]),
        ("mainstay work", ["workers", "worker"]),
        ("mainstay workers ", ["show", "drain", "stop"]),
        ("mainstay ls --js", ["--json", "--jsonl"]),
        ("mainstay completion z", ["zsh"]),
        ("mainstay ls state:de", ["dead"]),  # bash puts this behind the colon
        ("mainstay ls state:dead,ret", ["dead,retrying"]),
        ("mainstay ls 'state:canc", ["state:cancelled", "state:cancelling"]),
        ("mainstay ls ten", ["tenant:"]),
        ("mainstay edit qu", ["queue"]),
        ("mainstay nonsense ", []),
        ("mainstay enqueue --on-conflict re", ["replace"]),
    ],
)
def test_static_words(tab, line, words):
    assert sorted(tab(line)) == sorted(words)


def test_names_of_the_store(names, shop):
    job, review = shop.add("resize"), shop.review(type="resize")
    assert names("mainstay types show re") == ["report", "resize"]
    assert names("mainstay worker --types resize,rep") == ["resize,report"]
    assert names("mainstay ls type:res") == ["resize"]
    assert "images" in names("mainstay pause --queue ")
    assert names("mainstay workers show ")[0] == "w7k2"
    assert set(names("mainstay show 0")) == {job, review}
    assert names("mainstay approve ") == [review]
    assert names(f"mainstay show {job[:20].lower()}") in ([job], [review, job], [job, review])
    assert names("mainstay edit type rep") == ["report"]
    assert names("mainstay prune type:rep") == ["report"]


def test_names_of_schedules_and_zones(names, app):
    app.store.register_types([TypeInfo("report", "images", "f()", {}, 1)])
    app.create_schedule("nightly", app.prepare("report"), every="1h")
    assert names("mainstay schedules pause ni") == ["nightly"]
    assert names("mainstay ls schedule:n") == ["nightly"]
    assert names("mainstay schedules next --tz Europe/Berl") == ["Europe/Berlin"]


@pytest.mark.parametrize("line", ["mainstay import a", "mainstay export -o a", "mainstay edit type mail --from a"])
def test_files_are_left_to_the_shell(tab, line):
    assert tab(line) == ["compopt", "default"]


@pytest.mark.parametrize(
    "url", ["sqlite:///nowhere/at/all.db", "postgresql://127.0.0.1:1/x", "redis://127.0.0.1:1/0", "what://"]
)
def test_an_unreachable_store_is_silent(tab, monkeypatch, url):
    monkeypatch.setenv("MAINSTAY_URL", url)
    assert tab("mainstay types show ") == []
    assert not Path("nowhere").exists()


def test_a_store_on_the_command_line_is_asked(tab, names, shop, url, monkeypatch):
    monkeypatch.delenv("MAINSTAY_URL")
    assert tab("mainstay types show ") == []
    assert names(f"mainstay types show --url {url} res") == ["resize"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_ask_in_their_own_way(shell, shop):
    asked = {"COMP_WORDS": "mainstay types show re", "COMP_CWORD": "re" if shell == "fish" else "3"}
    environment = os.environ | asked | {"_MAINSTAY_COMPLETE": f"{shell}_complete"}

    def completed():
        done = subprocess.run([PROGRAM], capture_output=True, text=True, env=environment, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.strip()  # nothing where a busy machine takes longer than a prompt waits

    found = eventually(completed, "the store is asked in time", 60)
    assert "resize" in found
    assert "report" in found
    installed = shutil.which(shell)
    if installed:
        script = subprocess.run([PROGRAM, "completion", shell], capture_output=True, text=True, check=True).stdout
        assert subprocess.run([installed, "-n"], input=script, text=True, check=False).returncode == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_and_says_where_to_put_it_to_people(run, shell, terminal):
    done = terminal("completion", shell)
    assert done.code == 0
    assert "_MAINSTAY_COMPLETE" in done.out
    assert {"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish"}[shell] in done.err
    assert terminal("completion", shell, "-q").err == ""
    assert run("completion", shell).err == ""  # each new shell evaluates it


def test_static_words_come_fast():
    """By the time of the processor: a busy machine would make it wait. On an idle one, that is what a user waits for."""
    environment = os.environ | {"_MAINSTAY_COMPLETE": "bash_complete", "COMP_LINE": "mainstay re", "COMP_BREAKS": ":"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([PROGRAM], capture_output=True, text=True, env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert "retry" in done.stdout.split()
    assert after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime < 0.3
