"""No command shows a secret, and none lets stored text control the terminal: every command, as text and as JSON.

A new command must be given its words here.
"""

import json
import re
from pathlib import Path

import pytest

from mainstay import cli
from mainstay.core.export import DeliveryRecord
from mainstay.core.outcome import Outcome
from mainstay.core.updates import Checkpoint, Log, Progress
from tests.cli.shop import Shop
from tests.cli.test_every_command import EVERY

ESCAPES = "\x1b[31m\x1b]0;title\x07\x9b2J\r\x08\u202e"
CARD = "4111 1111 1111 1111"
SECRETS = (
    "hunter-nested", "hunter-error", "hunter-trace", "hunter-log", "hunter-field", "hunter-result", "hunter-saved", "hunter-question",
    "hunter-output", "hunter-schedule", "hunter-setting", "hunter-before", "hunter-reason", "hunter-url", "hunter-list", "hunter-note", CARD,
    "hunter-path",
)  # fmt: skip
PAYLOAD = json.dumps({
    "to": f"mail {ESCAPES}", "user": {"name": "Ann", "login": {"db_password": "hunter-nested"}}, "card": f"it is {CARD}",
    "source": "postgresql://ann:hunter-url@db/shop", "secrets": ["hunter-list", {"a": "hunter-list"}], "account": {"holder": "hunter-path"},
})  # fmt: skip
TRACE = f'Traceback (most recent call last):\n  File "a.py", line 1, in f{ESCAPES}\nValueError: {{"api_key": "hunter-trace"}}'
DEAD = Outcome(
    "failed", error=f"ValueError: bad{ESCAPES} token=hunter-error", traceback=TRACE, retry=False, reason="secret: hunter-reason"
)  # fmt: skip
REVIEW = Outcome("review", reason=f"may I, password=hunter-question?{ESCAPES}", result='{"token": "hunter-output"}')
DONE = Outcome("completed", result=json.dumps({"session": {"access_token": "hunter-result"}, "odd": ESCAPES}))

# The words of each command, after its name; {dead}, {review}, {running}, {done}, {waiting} are ids.
WORDS = {
    "doctor": "", "config": "", "completion": "bash", "version": "",
    "enqueue": 'mail password="hunter-nested" --wait --timeout 0.01s', "worker": "--app nothing:here",
    "status": "", "ls": "", "show": "{dead}", "why": "{waiting}", "logs": "{running}", "audit": "", "reviews": "",
    "workers": "", "workers show": "wtest", "workers drain": "wtest --dry-run", "workers stop": "wtest --dry-run",
    "retry": "{dead}", "cancel": "{waiting}", "approve": "{review}", "reject": "{review}", "delete": "{done}",
    "reprioritise": "{waiting} --to 5", "requeue": "{waiting} --to other --force", "reschedule": "{waiting} --in 5m",
    "amend": '{waiting} --set password="hunter-nested"', "bulk": "", "bulk resume": "nothing", "bulk forget": "nothing", "keys": "",
    "pause": "--type mail --reason token=hunter-note", "resume": "--type mail", "disable": "mail", "enable": "mail", "types": "", "types show": "mail",
    "types set": "mail timeout=2m --reason secret=hunter-note", "types reset": "mail", "queues": "",
    "queues set": "default --max-depth 500", "queues reset": "default", "limits": "", "limits set": "mail --running 3",
    "limits reset": "mail", "schedules": "", "schedules show": "nightly", "schedules next": "nightly",
    "schedules add": 'daily mail password="hunter-schedule" --every 1d', "schedules set": 'nightly api_key="hunter-schedule"',
    "schedules pause": "nightly", "schedules resume": "nightly", "schedules remove": "nightly --dry-run", "schedules reset": "nightly",
    "schedules run": "nightly", "breaker": "", "breaker open": "mail", "breaker close": "mail", "settings": "", "settings get": "smtp.password",
    "settings set": "smtp.password hunter-setting --text", "settings unset": "smtp.password", "edit": "{waiting} --from edited.json",
    "watch": "{done}", "top": "", "dead": "", "dead show": "{print}", "dead retry": "{print} --dry-run", "dead purge": "{print} --dry-run",
    "dead ignore": "{print} --note token=hunter-note", "dead resolve": "{print}", "dead reopen": "{print}", "stuck": "--after 1s", "dupes": "", "reconcile": "--app nothing:here",
    "stats": "", "history": "1h", "metrics": "", "health": "", "alerts": "", "alerts rules": "", "alerts set": "depth above=5 --reason token=hunter-note", "alerts reset": "depth",
    "alerts silence": "depth --for 1h --reason token=hunter-note", "alerts test": "", "encryption": "", "encryption rotate": "", "migrate": "", "compact": "", "move": "{url} sqlite:///moved.db", "prune": "--older 1d --dry-run", "export": "",
    "import": "exported.jsonl --dry-run",
    "webhooks": "", "webhooks show": "billing", "webhooks deliveries": "billing", "webhooks update": "billing --description token=hunter-note",
    "webhooks enable": "billing", "webhooks disable": "billing --reason token=hunter-note", "webhooks remove": "billing --dry-run",
    "webhooks send": 'invoice.paid password="hunter-nested"',
    "token": "", "token ls": "", "token revoke": "{bearer} --dry-run", "subscriptions": "", "subscriptions add": 'books invoice.paid mail password="hunter-nested"',
    "subscriptions enable": "ledger", "subscriptions disable": "ledger --reason token=hunter-note", "subscriptions remove": "ledger --dry-run",
    "publish": 'invoice.paid password="hunter-nested"', "incoming": "", "incoming enable": "shop", "incoming disable": "shop --reason token=hunter-note",
    "incoming remove": "shop --dry-run",
}  # fmt: skip
MORE = (
    "show {running}", "show {review}", "show {done}", "show {waiting}", "ls --fields id,args,error,reason", "edit {review} --from edited.json --dry-run",
    "edit setting smtp.password --from setting.json", "audit --fields at,detail", "schedules --fields name,args", "enqueue mail to={dead} --json",
    "settings get nothing", "show nothing", "prune state:dead --archive old --yes",
)  # fmt: skip
OTHER = {
    "demo": "it makes its own store, without anything of the user's",
    "tail": "it goes on until it is stopped; it prints by Output.line, as watch does",
    "encryption new-key": "it prints the key that it was asked to make",
    "serve": "it goes on until it is stopped; what it serves is redacted by web.encode",
    "token create": "it prints the token that it was asked to make",
    "incoming add": "it prints the secret that it was asked to make",
    "incoming rotate": "it prints the secret that it was asked to make",
    "webhooks add": "it prints the secret that it was asked to make",
    "webhooks rotate": "it prints the secret that it was asked to make",
}


@pytest.fixture
def planted(app, url, run, tmp_path):
    """A store in which every text that people write, or handlers, has a secret and control characters."""
    shop = Shop(app)
    ids = {"dead": shop.end(DEAD, payload=PAYLOAD), "review": shop.end(REVIEW, payload=PAYLOAD)}
    ids |= {
        "done": shop.end(DONE, payload=PAYLOAD),
        "running": _running(app, shop),
        "waiting": shop.add(payload=PAYLOAD),
        "url": url,
    }
    ids["print"] = app.store.get(ids["dead"]).fingerprint
    app.schedule("nightly", app.prepare("mail", {"password": "hunter-schedule", "odd": ESCAPES}), cron="0 3 * * *")
    app.set_setting("smtp.password", "hunter-before", actor="ann")
    app.set_setting("smtp.password", "hunter-setting", "of the relay", actor="ann")
    app.set_setting("odd", ESCAPES)
    app.webhooks.add(
        "https://hooks.example.com/?token=hunter-url",
        id="billing",
        description=f"for{ESCAPES} password=hunter-note",
        max_failures=1,
    )
    ids["bearer"] = app.tokens.create("ann", "viewer").id
    app.subscriptions.add("ledger", "invoice.*", "mail", {"password": "hunter-schedule", "odd": ESCAPES})
    app.incoming.add("shop", scheme="github", event="invoice.paid", secret="hunter-incoming-secret-0123456789")
    answer = f"it{ESCAPES} is api_key=hunter-result"
    app.store.record_delivery(
        DeliveryRecord("billing", 0, ids["dead"], 1, 1, 500, 5, f"secret=hunter-error{ESCAPES}", answer),
        app.clock.now(),
    )
    app.store.cancel(
        [shop.add(payload=PAYLOAD)], app.clock.now(), f"ann{ESCAPES}", note=f"password: hunter-note{ESCAPES}"
    )
    (tmp_path / "mainstay.toml").write_text('redact = ["account.holder"]\n', encoding="utf-8")
    (tmp_path / "edited.json").write_text('{"to": "b@c.d", "password": "hunter-nested"}', encoding="utf-8")
    (tmp_path / "setting.json").write_text('{"value": "hunter-setting"}', encoding="utf-8")
    run("export", "-o", "exported.jsonl", "--unredacted")
    return ids


def _running(app, shop):
    claimed = shop.claim(payload=PAYLOAD)
    now, place = app.clock.now(), (claimed.seq, claimed.token)
    app.store.finish([], [
        Log(*place, 1, now, "info", f"read{ESCAPES}", f"sent{ESCAPES} Authorization: Bearer hunter-log", '{"token": "hunter-field", "x": "\\u001b[1m"}'),
        Progress(*place, now, 31, 50, f"read{ESCAPES}"),
        Checkpoint(*place, now, '{"secret": "hunter-saved"}'),
    ])  # fmt: skip
    return claimed.id


def test_only_one_module_makes_text_fit_to_be_shown():
    """All others call `shown`, which redacts too."""
    folder = Path(cli.__file__).parent
    calls = re.compile(r"(?<![\w.])printable\(")
    users = {path.name for path in folder.rglob("*.py") if calls.search(path.read_text(encoding="utf-8"))}
    assert users == {"exits.py", "completed_lines.py"}  # the second prints types and ids only, for every job


def test_every_command_has_its_words():
    assert {*WORDS, *OTHER} == {*EVERY}


@pytest.mark.parametrize("line", [*(f"{name} {words}" for name, words in WORDS.items()), *MORE])
def test_no_command_shows_a_secret_or_controls_the_terminal(run, planted, line):
    words = line.format(**planted).split()
    as_text, as_json = run(*words), run(*words, "--json")
    for said in (*as_text[1:], *as_json[1:]):
        assert [secret for secret in SECRETS if secret in said] == []
        assert [c for c in said if not c.isprintable() and c not in "\n\t"] == []


def test_what_is_no_secret_is_shown(run, planted):
    shown = run("show", planted["dead"]).out
    assert '"Ann"' in shown
    assert "[redacted:password]" in shown
    assert "postgresql://ann:***@db/shop" in shown
    assert "[redacted:account.holder]" in shown
    record = json.loads(run("show", planted["dead"], "--json").out)
    assert record["args"]["user"] == {"name": "Ann", "login": {"db_password": "[redacted:password]"}}
    assert record["error"].endswith("token=[redacted:token]")


def test_redaction_can_be_switched_off(run, planted, monkeypatch):
    monkeypatch.setenv("MAINSTAY_REDACT", "off")
    assert json.loads(run("show", planted["dead"], "--json").out)["args"] == json.loads(PAYLOAD)


def test_addresses_are_redacted_on_request_only(run, planted, app, monkeypatch):
    job = Shop(app).add(payload='{"to": "ann@example.com"}')
    assert "ann@example.com" in run("show", job).out
    monkeypatch.setenv("MAINSTAY_REDACT_PATTERNS", "default,mail")
    assert "ann@example.com" not in run("show", job).out


@pytest.mark.parametrize(("name", "value"), [("REDACT", "off,ssn"), ("REDACT_PATTERNS", "cards")])
def test_a_mistake_in_the_settings_is_told_and_the_usual_secrets_stay_hidden(run, planted, monkeypatch, name, value):
    monkeypatch.setenv(f"MAINSTAY_{name}", value)
    shown = run("show", planted["dead"])
    assert "only the usual secrets are redacted" in shown.err
    assert "hunter-nested" not in shown.out
    assert run("config").code != 0


# files ----------------------------------------------------------------------------------------------------------------
def test_an_export_and_an_archive_have_no_secrets(run, planted, tmp_path):
    import gzip

    run("export", "-o", "jobs.jsonl.gz")
    run("prune", "state:dead", "--archive", "old", "--yes")
    (archive,) = (tmp_path / "old").iterdir()
    for path in (tmp_path / "jobs.jsonl.gz", archive):
        text = gzip.decompress(path.read_bytes()).decode()
        assert [secret for secret in SECRETS if secret in text] == []
        assert json.loads(text.splitlines()[0])["redacted"] is True
        assert "[redacted:password]" in text


def test_an_unredacted_export_has_everything(run, planted):
    lines = run("export", "--unredacted").out.splitlines()
    assert "redacted" not in json.loads(lines[0])
    assert {json.loads(line)["job"]["payload"] for line in lines[1:]} == {PAYLOAD}


def test_an_import_says_that_a_file_was_redacted_and_enqueues_nothing_of_it(run, planted):
    run("export", "-o", "jobs.jsonl")
    told = run("import", "jobs.jsonl", "--url", "sqlite:///other.db")
    assert "6 jobs have marks in place of secrets" in told.err
    refused = run("import", "jobs.jsonl", "--requeue", "--url", "sqlite:///third.db")
    assert refused.code == 2
    assert "--unredacted" in refused.err


# editing --------------------------------------------------------------------------------------------------------------
def test_an_edit_keeps_what_stands_behind_a_mark(run, planted, app, monkeypatch, tmp_path):
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\ngrep -q hunter "$1" && exit 1\nsed -i s/Ann/Bea/ "$1"\n', encoding="utf-8")
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    assert run("edit", planted["waiting"]).code == 0
    assert json.loads(app.store.get(planted["waiting"]).payload) == json.loads(PAYLOAD.replace("Ann", "Bea"))


def test_a_mark_that_stands_for_nothing_is_refused(run, planted, app, tmp_path):
    (tmp_path / "edited.json").write_text('{"new": "[redacted:password]"}', encoding="utf-8")
    refused = run("edit", planted["waiting"], "--from", "edited.json")
    assert refused.code == 2
    assert json.loads(app.store.get(planted["waiting"]).payload) == json.loads(PAYLOAD)


def test_an_edited_secret_is_in_no_line_of_the_audit_trail(run, planted, app):
    run(
        "amend",
        planted["waiting"],
        "--set",
        "user.login.db_password=hunter-after",
        "--set",
        "secrets.0=hunter-after",
        "--set",
        "to=hunter-open",
    )
    run("amend", planted["waiting"], "--set", "user.login.db_password=hunter-after", "--set", "to=hunter-open")
    told = json.dumps([action.detail for action in app.store.actions(planted["waiting"], 9)])
    assert "hunter-open" in told
    assert [secret for secret in (*SECRETS, "hunter-after") if secret in told] == []
    assert "hunter-after" not in run("audit").out + run("show", planted["waiting"]).out
