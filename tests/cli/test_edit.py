"""`edit`: what the editor leaves is checked, shown and applied; whatever goes wrong, nothing changes."""

import json
import sys

import pytest

from mainstay import Limit
from mainstay.cli import exits, toml
from mainstay.core.errors import UsageError

from .shop import Shop
from .test_errors import HOSTILE, controls

EDITOR = """
import pathlib, sys
path = pathlib.Path(sys.argv[1])
text = path.read_text(encoding="utf-8")
pathlib.Path("seen").write_text(text, encoding="utf-8")
{body}
"""


@pytest.fixture
def shop(app):
    @app.job(queue="post", timeout="5m", limit=Limit(running=1, name="api"))
    def mail(to: str) -> None: ...

    app.store.register_types([mail.info(app.clock.now())])
    mail.enqueue("a")
    return Shop(app)


@pytest.fixture
def editor(tmp_path, monkeypatch):
    """Let an editor replace texts, or do what `body` says; answers what it has seen."""
    monkeypatch.delenv("VISUAL", raising=False)

    def editor(*replaced, body=""):
        script = tmp_path / "editor.py"
        lines = [f"text = text.replace({before!r}, {after!r})" for before, after in replaced]
        end = 'path.write_text(text, encoding="utf-8")'
        script.write_text(EDITOR.format(body="\n".join([*lines, end, body])), encoding="utf-8")
        monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")

    return editor


def seen(tmp_path):
    return (tmp_path / "seen").read_text(encoding="utf-8")


def left(monkeypatch, tmp_path):
    folder = tmp_path / "temporary"
    folder.mkdir(exist_ok=True)
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def test_a_type(run, shop, editor, tmp_path, monkeypatch):
    folder = left(monkeypatch, tmp_path)
    editor(('# timeout = "5m"', 'timeout = "2m"'), ("# attempts", "attempts"), ("= 3", "= 5"))
    result = run("edit", "type", "mail", "--reason", "slow", "--actor", "ada")
    assert result.code == exits.OK, result.err
    assert [line.split() for line in result.out.splitlines()][1:] == [
        ["attempts", "3", "(declared)", "5"], ["timeout", "5m", "(declared)", "2m"],
    ]  # fmt: skip
    assert '# queue = "post"  # declared\n' in seen(tmp_path)
    (record,) = shop.app.types()
    assert {name: override.value for name, override in record.set.items()}["attempts"] == 5
    assert shop.store.actions(None, 9)[0].detail["reason"] == "slow"
    editor(("attempts = 5", "# attempts"))
    assert run("edit", "type", "mail").code == exits.OK
    assert 'timeout = "2m"  # declared: "5m"\n' in seen(tmp_path)
    assert list(shop.app.types()[0].set) == ["timeout"]
    assert list(folder.iterdir()) == []


def test_a_queue_and_a_limit(run, shop, editor):
    editor(("# max_depth = 10000", "max_depth = 5"), ("# weights", "weights"), ("# rate", "rate"), ("# aging", "aging"))
    assert run("edit", "queue", "post").code == exits.OK
    queue = next(each for each in shop.app.queues() if each.name == "post").effective
    assert (queue["max_depth"], queue["weights"], queue["rate"]) == (5, {"acme": 3}, "10/s")
    editor(("rate =", "# rate ="), ("# running = 20", "running = 7"), ("burst", "# burst"))
    result = run("edit", "queue", "post")
    assert result.code == exits.OK, result.err
    queue = next(each for each in shop.app.queues() if each.name == "post").effective
    assert ("rate" in queue, queue["running"], queue["max_depth"]) == (False, 7, 5)
    editor(("# running = 1", "running = 3"))
    assert run("edit", "limit", "api").code == exits.OK
    assert {each.name: each.effective for each in shop.app.limits()}["api"] == {"running": 3}
    editor(("running = 3", "# running = 1"))
    assert run("edit", "limit", "api").code == exits.OK
    assert {each.name: each.effective for each in shop.app.limits()}["api"] == {"running": 1}


def test_a_setting(run, shop, editor, tmp_path):
    editor(("null", '{"url": "https://a"}'), ('""', '"who we ask"'))
    assert run("edit", "setting", "provider").code == exits.OK
    assert shop.app.setting("provider") == {"url": "https://a"}
    editor(("https://a", "https://b"))
    assert run("edit", "setting", "provider").code == exits.OK
    assert json.loads(seen(tmp_path)) == {"value": {"url": "https://a"}, "description": "who we ask"}
    (setting,) = shop.app.settings()
    assert (setting.value, setting.description) == ({"url": "https://b"}, "who we ask")


@pytest.mark.parametrize(
    ("kind", "name", "text", "says"),
    [
        ("type", "mail", "timeout = ", "not valid TOML"),
        ("type", "mail", 'timeout = "soon"', "not a duration"),
        ("type", "mail", "timout = 3", 'did you mean "timeout"?'),
        ("type", "mail", "attempts = 0\npriority = 3", "attempts=0"),
        ("queue", "post", "max_depth = 0", "from 1"),
        ("queue", "post", 'rate = "ten/s"', "10/s"),
        ("limit", "api", "running = -1", "from 1"),
        ("setting", "model", "{", "not valid JSON"),
        ("setting", "model", '{"valu": 3}', '{"value"'),
    ],
)
def test_a_mistake_changes_nothing_and_keeps_the_text(run, shop, editor, tmp_path, monkeypatch, kind, name, text, says):
    folder = left(monkeypatch, tmp_path)
    editor(body=f"path.write_text({text!r}, encoding='utf-8')")
    result = run("edit", kind, name)
    assert (result.code, result.out) == (exits.USAGE, "")
    assert says in result.err
    (kept,) = folder.iterdir()
    assert f"nothing changed; your text is in {kept}" in result.err
    assert f"try: mainstay edit {kind} {name} --from {kept}" in result.err
    assert kept.read_text(encoding="utf-8") == text
    assert shop.store.actions(None, 9) == []


@pytest.mark.parametrize("body", ["", "sys.exit(1)", "path.write_text('attempts = 9'); sys.exit(1)"])
def test_an_unchanged_file_or_an_editor_that_fails_changes_nothing(run, shop, editor, tmp_path, monkeypatch, body):
    folder = left(monkeypatch, tmp_path)
    editor(body=body)
    result = run("edit", "type", "mail")
    assert result.code == (exits.FAILED if "exit" in body else exits.OK)
    assert "othing changed" in result.err
    assert list(folder.iterdir()) == []
    assert shop.store.actions(None, 9) == []


def test_other_ways_for_the_text_to_come(run, shop, monkeypatch, tmp_path, shell):
    (tmp_path / "mail.toml").write_text("attempts = 4\n", encoding="utf-8")
    dry = run("edit", "type", "mail", "--from", "mail.toml", "--dry-run")
    assert (dry.code, shop.app.types()[0].set) == (exits.OK, {})
    assert run("edit", "type", "mail", "--from", "mail.toml").code == exits.OK
    assert shop.app.types()[0].set["attempts"].value == 4
    assert shell("edit", "type", "mail", "--from", "-", stdin="attempts = 6\n").code == exits.OK
    assert shop.app.types()[0].set["attempts"].value == 6
    assert "cannot be read" in run("edit", "type", "mail", "--from", "none.toml").err


def test_a_name_that_is_not_there(run, shop, editor):
    editor()
    for kind, name in (("type", "mial"), ("queue", "pots"), ("limit", "apy")):
        result = run("edit", kind, name)
        assert result.code == exits.MISSING
        assert "did you mean" in result.err
        assert f"try: mainstay {kind}s" in result.err


def test_an_editor_that_is_not_there(run, shop, monkeypatch):
    monkeypatch.setenv("VISUAL", "/no/such/editor")
    result = run("edit", "type", "mail")
    assert result.code == exits.FAILED
    assert "the editor /no/such/editor cannot be started" in result.err
    monkeypatch.delenv("VISUAL")
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.setenv("PATH", "")
    assert "EDITOR=nano" in run("edit", "type", "mail").err


def test_toml_of_hostile_texts():
    text = toml.line(HOSTILE, {HOSTILE: [HOSTILE, 3, True, 0.5]})
    assert controls(text) == []
    assert toml.loads(text) == {HOSTILE: {HOSTILE: [HOSTILE, 3, True, 0.5]}}
    assert controls(toml.commented(HOSTILE)) == []
    with pytest.raises(UsageError, match="not valid TOML"):
        toml.loads("a = ")
