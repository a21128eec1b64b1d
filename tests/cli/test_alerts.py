"""`alerts`: what is wrong, the rules, and the channels of the settings; and a worker that tells by them."""

import json
import sys

import pytest

from mainstay.cli import exits
from mainstay.upkeep.alerts import Alerts

from .shop import Shop

COMMAND = "import sys; open('got.jsonl', 'a').write(sys.stdin.read() + chr(10))"
SETTINGS = f"""
[alerts.script]
kind = "command"
argv = [{json.dumps(sys.executable)}, "-c", "{COMMAND}"]
"""


@pytest.fixture(autouse=True)
def there(app):
    app.store.set_setting("x", "1")  # the commands create no store


@pytest.fixture
def wrong(app):
    """An installation with a dead job, at which a worker has looked."""
    job = Shop(app).dead(tenant="acme")
    Alerts(app).step(app.clock.now())
    return job


def test_what_is_wrong(run, app, wrong):
    result = run("alerts")
    assert result.code == exits.OK
    assert "1 job of mail failed for good; the last is" in result.out
    (found,) = json.loads(run("alerts", "--json").out)
    assert (found["rule"], found["severity"], found["job"], found["tenant"], found["closed_at"]) == (
        "dead",
        "error",
        wrong,
        "acme",
        None,
    )
    app.delete(wrong)
    Alerts(app).step(app.clock.now() + 60_000)
    assert "nothing is wrong" in run("alerts").err
    assert " over " in run("alerts", "--all").out


def test_stored_text_cannot_control_the_terminal(run, app):
    Shop(app).dead()
    app.pause(reason="\x1b[31mred")
    Alerts(app).step(app.clock.now())
    assert "\x1b" not in run("alerts").out


def test_rules_are_set_and_reset(run, app):
    result = run(
        "alerts", "set", "depth", "threshold=500", "severity=high", "--actor", "ada", "--reason", "a large shop"
    )
    assert (result.code, "to undo: mainstay alerts reset depth" in result.err) == (exits.OK, True)
    assert "depth     high     more than 500 jobs wait in a queue" in run("alerts", "rules").out
    assert (
        "ada  alert depth: threshold as declared → 500, severity as declared → high (a large shop)" in run("audit").out
    )
    run("alerts", "set", "critical", "threshold=charge,refund")
    assert "is dead: charge, refund" in run("alerts", "rules").out
    run("alerts", "set", "oldest", "enabled=false", "--dry-run")
    assert " off " not in run("alerts", "rules").out
    run("alerts", "reset", "depth")
    assert "more than 100 jobs" in run("alerts", "rules").out


def test_silence(run, app):
    assert "for 2h" in run("alerts", "silence", "running", "--for", "2h").err
    assert "nobody is told: silenced until" in run("alerts", "rules").out
    run("alerts", "silence", "running", "--for", "0s")
    assert "silenced until" not in run("alerts", "rules").out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("set depht threshold=1", 'did you mean "depth"'), ("set depth", "NAME=VALUE"), ("set depth threshold", "NAME=VALUE"),
        ("set depth threshold=many", "a whole number"), ("set depth treshold=1", 'did you mean "threshold"'),
        ("silence depth --for soon", "--for"), ("silence nothing --for 1h", "no alert is called"), ("reset nothing", "no alert is called"),
    ],
)  # fmt: skip
def test_mistakes(run, app, words, says):
    result = run("alerts", *words.split())
    assert (result.code, says in result.err) == (exits.USAGE, True), result.err
    assert app.store.rules(["watch"]) == []


def test_channels_are_tested(run, app, tmp_path):
    assert run("alerts", "test").code == exits.MISSING
    (tmp_path / "mainstay.toml").write_text(SETTINGS, encoding="utf-8")
    result = run("alerts", "test")
    assert (result.code, "script  command  ok" in result.out) == (exits.OK, True)
    assert json.loads((tmp_path / "got.jsonl").read_text(encoding="utf-8"))["event"] == "alert.test"
    broken = SETTINGS + '[alerts.broken]\nkind = "command"\nargv = ["/no/such/program"]\n'
    (tmp_path / "mainstay.toml").write_text(broken, encoding="utf-8")
    assert run("alerts", "test", "-q") == (exits.PARTIAL, "broken\n", "")


def test_secrets_are_shown_nowhere(run, app, tmp_path, monkeypatch):
    hook = '[alerts.ops]\nkind = "slack"\nurl = "https://hooks.example/hunter2"\nulr = "hunter2"\n'
    (tmp_path / "mainstay.toml").write_text(hook, encoding="utf-8")
    assert "ops (slack)" in run("config").out
    for words in (["config"], ["config", "--json"], ["alerts", "test"], ["doctor"]):
        result = run(*words)
        assert "hunter2" not in result.out + result.err
    monkeypatch.setenv("MAINSTAY_ALERTS", '{"ops": "hunter2"}')
    assert "hunter2" not in run("config").err


def test_a_worker_tells_by_the_channels_of_the_settings(shell, run, app, tmp_path, url):
    (tmp_path / "mainstay.toml").write_text(SETTINGS, encoding="utf-8")
    (tmp_path / "shop.py").write_text(
        "from mainstay import Mainstay\napp = Mainstay()\n@app.job\ndef other(): ...\n", encoding="utf-8"
    )
    job = Shop(app).dead()
    result = shell("worker", "--app", "shop:app", "--drain", env={"PYTHONPATH": str(tmp_path)}, cwd=tmp_path)
    assert "alert opened (error): 1 job of mail failed for good" in result.err
    (told,) = [json.loads(line) for line in (tmp_path / "got.jsonl").read_text(encoding="utf-8").splitlines()]
    assert (told["event"], told["job"]) == ("alert.opened", job)
    (incident,) = app.alerts.open()
    assert (told["id"], incident.owed) == (f"{incident.id}.opened", 0)
