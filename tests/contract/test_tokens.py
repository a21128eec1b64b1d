"""Tokens and sessions on every engine: made, used, expired and revoked, at once in every process; only hashes are stored."""

import re
import threading

import pytest

from mainstay import Conflict, Mainstay, NotFound, UsageError
from mainstay.control.sessions import Sessions
from mainstay.core import tokens as core
from mainstay.core.clock import HOUR
from mainstay.core.errors import StoreReadOnly
from mainstay.core.rules import SESSION, TOKEN, TOKEN_HASH
from tests.contract.moving import arrive
from tests.servers.engines import ONE_OF_EACH

pytestmark = pytest.mark.engines(*ONE_OF_EACH)


@pytest.fixture
def app(store, clock):
    return Mainstay(store=store, clock=clock)


@pytest.fixture
def sessions(app):
    return Sessions(app)


def stored(app):
    return repr(app.store.rules([TOKEN, TOKEN_HASH, SESSION]))


# tokens ---------------------------------------------------------------------------------------------------------------
def test_a_token_is_made_found_listed_and_revoked(app):
    made = app.tokens.create("ada", "operator", tenant="acme/eu", actor="bob", reason="on call")
    assert re.fullmatch(r"mst_[0-9a-f]{10}_[0-9a-f]{64}", made.text)
    assert made.id == made.text.split("_")[1]
    found = app.tokens.find(made.text)
    assert (found.name, found.role, found.tenant, found.created_by) == ("ada", "operator", "acme/eu", "bob")
    assert (found.expires_at - found.created_at).days == 90
    (listed,) = app.tokens.list()
    assert listed == app.tokens.show(made.id)
    assert app.tokens.revoke(made.id, actor="bob").before["name"] == "ada"
    assert app.tokens.find(made.text) is None
    assert app.store.rules([TOKEN, TOKEN_HASH]) == []
    assert [(line.actor, line.detail["kind"]) for line in app.store.actions(None, 9)] == [("bob", "token")] * 2
    assert app.store.actions(None, 9)[1].detail["reason"] == "on call"


def test_neither_the_text_of_a_token_nor_its_hash_is_in_the_audit_trail(app):
    made = app.tokens.create("ada")
    app.tokens.find(made.text)
    app.tokens.revoke(made.id)
    said = repr(app.store.actions(None, 50))
    assert "ada" in said
    assert made.text.split("_")[2] not in said
    assert core.digest(made.text) not in said


def test_only_the_hash_of_a_token_and_of_a_session_is_stored(app, sessions):
    made = app.tokens.create("ada")
    text, _ = sessions.open(made.text)
    assert made.text.split("_")[2] not in stored(app)
    assert text not in stored(app)
    assert core.digest(made.text) in stored(app)


def test_a_wrong_text_finds_nothing(app):
    made = app.tokens.create("ada")
    secret = made.text.split("_")[2]
    wrong = [f"mst_{made.id}_{'0' * 64}", f"mst_{'0' * 10}_{secret}", made.text[:-1], made.text + "0", made.text.upper(),
             "", "mst__", secret, "\0", "ü" * 79, core.digest(made.text)]  # fmt: skip
    assert [app.tokens.find(text) for text in wrong] == [None] * len(wrong)
    assert app.tokens.find(made.text) is not None


def test_a_token_expires_at_its_instant(app, clock):
    made, lasting = app.tokens.create("ada", expires="1h"), app.tokens.create("bob", expires=None)
    clock.advance(3599.999)
    assert app.tokens.find(made.text) is not None
    clock.advance(0.001)
    assert app.tokens.find(made.text) is None
    assert [(each.name, each.expired) for each in app.tokens.list()] == [("ada", True), ("bob", False)]
    clock.advance("3650d")
    assert app.tokens.find(lasting.text).expires_at is None


def test_a_revoked_token_is_refused_by_another_process_at_once(app, another):
    there = Mainstay(store=another, clock=app.clock)
    made = app.tokens.create("ada")
    assert there.tokens.find(made.text) is not None
    app.tokens.revoke(made.id)
    assert there.tokens.find(made.text) is None


def test_the_last_use_is_noted_once_a_minute_and_leaves_no_audit_line(app, clock, monkeypatch):
    made, written = app.tokens.create("ada"), []
    assert app.tokens.show(made.id).last_used_at is None
    write = app.store.set_rule
    monkeypatch.setattr(
        app.store, "set_rule", lambda *given, **named: (written.append(given[0]), write(*given, **named))[1]
    )
    for _ in range(5):
        app.tokens.find(made.text)
    first = app.tokens.show(made.id).last_used_at
    clock.advance("59s")
    app.tokens.find(made.text)
    assert (app.tokens.show(made.id).last_used_at, len(written)) == (first, 1)
    clock.advance("1s")
    app.tokens.find(made.text)
    assert ((app.tokens.show(made.id).last_used_at - first).total_seconds(), len(written)) == (60, 2)
    assert len(app.store.actions(None, 9)) == 1


def test_a_store_that_cannot_be_written_lets_operators_in(app, sessions, clock, monkeypatch, caplog):
    made = app.tokens.create("ada")
    text, _ = sessions.open(made.text)

    def refuse(*_, **__):
        raise StoreReadOnly

    monkeypatch.setattr(app.store, "set_rule", refuse)
    clock.advance("1h")
    assert app.tokens.find(made.text) is not None
    assert sessions.find(text) is not None
    assert "is not noted" in caplog.text


def test_a_revocation_beats_the_note_of_a_use(app, clock, monkeypatch):
    """The token is revoked between the read and the note: the note must not bring its hash back."""
    made, write = app.tokens.create("ada"), app.store.set_rule

    def interleaved(rule, remove=False, was=None):
        if rule.kind == TOKEN_HASH and not remove:
            monkeypatch.undo()
            app.tokens.revoke(made.id)
        return write(rule, remove, was)

    monkeypatch.setattr(app.store, "set_rule", interleaved)
    app.tokens.find(made.text)
    assert app.store.rules([TOKEN, TOKEN_HASH]) == []


def test_bad_input_is_refused_and_changes_nothing(app):
    for given in ({"name": ""}, {"name": "x" * 101}, {"name": "a\nb"}, {"name": 7}, {"role": "root"}, {"role": None}, {"tenant": "a/b/c"},
                  {"tenant": "/"}, {"expires": "soon"}, {"expires": "0s"}, {"expires": -1}):  # fmt: skip
        with pytest.raises(UsageError):
            app.tokens.create(**{"name": "ada", **given})
    with pytest.raises(UsageError, match='did you mean "operator"'):
        app.tokens.create("ada", "operater")
    with pytest.raises(NotFound, match=r"app\.tokens\.list"):
        app.tokens.revoke("nobody")
    assert app.tokens.create("ada", dry_run=True).text is None
    assert app.tokens.list() == []
    made = app.tokens.create("ada")
    assert app.tokens.revoke(made.id, dry_run=True).changed
    assert app.tokens.find(made.text) is not None


def test_there_are_so_many_tokens_and_no_more(app, monkeypatch):
    monkeypatch.setattr(core, "MOST", 2)
    app.tokens.create("a")
    app.tokens.create("b")
    with pytest.raises(Conflict, match="revoke those"):
        app.tokens.create("c")


# sessions -------------------------------------------------------------------------------------------------------------
def test_a_session_dies_with_its_token(app, sessions, another):
    made = app.tokens.create("ada", "admin", tenant="acme")
    text, token = sessions.open(made.text)
    there = Sessions(Mainstay(store=another, clock=app.clock))
    assert (there.find(text).name, there.find(text).role, there.find(text).tenant) == ("ada", "admin", "acme")
    assert token.id == made.id
    app.tokens.revoke(made.id)
    assert there.find(text) is None


def test_a_session_lasts_twelve_hours_from_its_last_use_and_never_longer_than_its_token(app, sessions, clock):
    made = app.tokens.create("ada", expires="30h")
    text, _ = sessions.open(made.text)
    idle, _ = sessions.open(made.text)
    for _ in range(2):
        clock.advance("11h")
        assert sessions.find(text) is not None
    assert sessions.find(idle) is None
    clock.advance("7h59m")
    assert sessions.find(text) is not None
    assert max(rule.value["expires_at"] for rule in app.store.rules([SESSION])) == clock.now() + 60_000
    clock.advance("1m")
    assert sessions.find(text) is None


def test_a_session_is_closed(app, sessions):
    made = app.tokens.create("ada")
    text, _ = sessions.open(made.text)
    other, _ = sessions.open(made.text)
    sessions.close(text)
    sessions.close("nothing")
    assert sessions.find(text) is None
    assert sessions.find(other) is not None
    assert len(app.store.actions(None, 9)) == 1  # of the token


def test_no_session_is_opened_with_what_is_not_in_force(app, sessions, clock):
    made = app.tokens.create("ada", expires="1h")
    assert sessions.open("mst_") is None
    clock.advance("1h")
    assert sessions.open(made.text) is None
    assert app.store.rules([SESSION]) == []


def test_what_has_ended_is_removed_when_a_session_is_made(app, sessions, clock, monkeypatch):
    monkeypatch.setattr(core, "MOST_SESSIONS", 3)
    gone, kept = app.tokens.create("gone"), app.tokens.create("kept")
    sessions.open(gone.text)
    app.tokens.revoke(gone.id)
    texts = []
    for _ in range(5):
        texts.append(sessions.open(kept.text)[0])
        clock.advance("1s")
    assert [sessions.find(text) is not None for text in texts] == [False, False, True, True, True]
    assert len(app.store.rules([SESSION])) == 3
    clock.advance(HOUR * 13 / 1000)
    sessions.open(kept.text)
    assert len(app.store.rules([SESSION])) == 1


def test_a_revocation_that_was_cut_short_is_finished(app, sessions, monkeypatch):
    gone, kept, write = app.tokens.create("gone"), app.tokens.create("kept"), app.store.set_rule

    def killed(rule, remove=False, was=None):
        assert rule.kind != TOKEN_HASH
        return write(rule, remove, was)

    monkeypatch.setattr(app.store, "set_rule", killed)
    with pytest.raises(AssertionError):
        app.tokens.revoke(gone.id)
    monkeypatch.undo()
    assert app.tokens.find(gone.text) is None
    assert len(app.store.rules([TOKEN_HASH])) == 2
    sessions.open(kept.text)
    assert [rule.name for rule in app.store.rules([TOKEN_HASH])] == [kept.id]


def test_a_token_that_is_made_while_others_log_in_can_be_used(app, another):
    """What removes hashes without a token must not take one whose token is being made."""
    there = Sessions(Mainstay(store=another, clock=app.clock))
    door, done = app.tokens.create("door"), threading.Event()

    def log_in():
        while not done.is_set():
            there.open(door.text)

    thread = threading.Thread(target=log_in)
    thread.start()
    made = [app.tokens.create(f"t{n}") for n in range(10)]
    done.set()
    thread.join()
    assert all(app.tokens.find(each.text) for each in made)


def test_tokens_and_sessions_move(elsewhere, store):
    there = Mainstay(store=elsewhere.store, clock=elsewhere.clock)
    made = there.tokens.create("ada", "operator", tenant="acme")
    text, _ = Sessions(there).open(made.text)
    before = there.tokens.list()
    here = Mainstay(store=arrive(elsewhere, store).store, clock=elsewhere.clock)
    assert here.tokens.list() == before
    assert here.tokens.find(made.text).name == "ada"
    assert Sessions(here).find(text).name == "ada"
