"""`token`: a token is made and shown once, listed without its text, and revoked."""

import json
import re

import pytest

from mainstay.cli import exits


@pytest.fixture(autouse=True)
def there(app):
    app.store.set_setting("x", "1")  # the commands create no store


def test_a_token_is_made_and_shown_once(run, app):
    result = run(
        "token", "create", "ada", "--role", "operator", "--tenant", "acme", "--expires", "30d", "--actor", "bob"
    )
    assert re.fullmatch(r" id     [0-9a-f]{10}\n token  mst_[0-9a-f]{10}_[0-9a-f]{64}\n", result.out)
    assert "ada may use the HTTP API as operator of the tenant acme." in result.err
    assert "it is not shown again" in result.err
    text = result.out.split()[-1]
    found = app.tokens.find(text)
    assert (found.name, found.role, found.tenant, (found.expires_at - found.created_at).days) == (
        "ada",
        "operator",
        "acme",
        30,
    )
    assert f"to undo: mainstay token revoke {found.id}" in result.err
    shown = [
        run(*words).out
        for words in (["token"], ["token", "ls"], ["token", "ls", "--json"], ["audit"], ["audit", "--json"])
    ]
    assert not any(text.split("_")[2] in out for out in shown)
    assert f"bob  created the token {found.id} of ada: operator of the tenant acme" in shown[3]


def test_what_programs_read(run, app):
    made = json.loads(run("token", "create", "ada", "--expires", "never", "--json").out)
    assert app.tokens.find(made["token"]).id == made["id"]
    (listed,) = json.loads(run("token", "ls", "--json").out)
    assert (listed["id"], listed["name"], listed["role"], listed["expires_at"]) == (made["id"], "ada", "viewer", None)
    assert listed["last_used_at"] is not None
    assert run("token", "-q").out == made["id"] + "\n"
    assert run("token", "create", "bob", "-q").out.startswith("mst_")


def test_a_token_is_revoked(run, app):
    made = app.tokens.create("ada", "admin")
    assert run("token", "revoke", made.id, "--dry-run").code == exits.OK
    assert app.tokens.find(made.text) is not None
    result = run("token", "revoke", made.id, "--reason", "lost", "--actor", "bob")
    assert (result.code, f"the token {made.id} is revoked." in result.err) == (exits.OK, True)
    assert app.tokens.find(made.text) is None
    assert f"bob  revoked the token {made.id} of ada: admin (lost)" in run("audit").out
    wrong = run("token", "revoke", made.id)
    assert (wrong.code, "app." in wrong.err, "mainstay token" in wrong.err) == (exits.MISSING, False, True)


def test_a_dry_run_and_bad_input_make_nothing(run, app):
    assert "nothing changed" in run("token", "create", "ada", "--dry-run").err
    for words in (["--role", "root"], ["--tenant", "a/b/c"], ["--expires", "soon"], ["--expires", "0s"]):
        assert run("token", "create", "ada", *words).code == exits.USAGE
    assert "there are no tokens; mainstay token create NAME" in run("token").err
    assert app.tokens.list() == []


def test_an_expired_token_is_shown_as_such(run, app):
    app.tokens.create("ada", expires="1ms")
    assert "expired" in run("token").out
