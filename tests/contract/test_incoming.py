"""Receivers of webhooks on every engine: who may create a job by a message, and that a message creates it once."""

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime

import pytest
from standardwebhooks import Webhook

from mainstay import Conflict, InvalidPayload, Mainstay, NotFound, UsageError
from mainstay.control import signatures
from mainstay.control.incoming import REFUSED, NotVerified
from mainstay.core.errors import ConfigError
from mainstay.core.rules import INCOMING, INCOMING_SECRET
from tests.contract.moving import arrive
from tests.servers.engines import ONE_OF_EACH

pytestmark = pytest.mark.engines(*ONE_OF_EACH)
BODY = b'{"type": "invoice.paid", "id": "evt_1", "data": {"id": 7}}'
ARGS = {"invoice": "$.data.data.id"}


@pytest.fixture
def app(store, clock):
    return furnished(Mainstay(store=store, clock=clock))


def furnished(app):
    @app.job
    def book(invoice: int) -> None:
        """Book an invoice."""

    return app


def standard(app, secret, body=BODY, message="msg_1", at=None):
    """The headers that the library of the senders makes."""
    sent = datetime.fromtimestamp(at or app.clock.now() // 1000, UTC)
    made = Webhook(secret).sign(message, sent, body.decode())
    return {"webhook-id": message, "webhook-timestamp": str(int(sent.timestamp())), "webhook-signature": made}


def hexed(secret, content):
    return hmac.new(secret.encode(), content, hashlib.sha256).hexdigest()


def stripe(app, secret, body=BODY, at=None):
    t = at or app.clock.now() // 1000
    return {"stripe-signature": f"t={t},v1={hexed(secret, f'{t}.'.encode() + body)},v0=ignored"}


def refused(app, name, headers, body=BODY):
    before = len(app.list())
    with pytest.raises(NotVerified) as caught:
        app.incoming.receive(name, headers, body)
    return str(caught.value) == REFUSED and len(app.list()) == before


# schemes --------------------------------------------------------------------------------------------------------------
def test_a_message_of_standard_webhooks_creates_its_job_once(app):
    made = app.incoming.add("shop", type="book", args=ARGS, queue="money")
    (job,) = app.incoming.receive("shop", standard(app, made.secret), BODY)
    assert (app.get(job.id).args, app.get(job.id).queue, job.created) == ({"invoice": 7}, "money", True)
    app.cancel(job.id)
    (again,) = app.incoming.receive("shop", standard(app, made.secret), BODY)
    assert (again.id, again.created) == (job.id, False)
    assert app.incoming.receive("shop", standard(app, made.secret, message="msg_2"), BODY)[0].created


@pytest.mark.parametrize(
    "change",
    [
        {"webhook-id": "msg_2"}, {"webhook-timestamp": "1"}, {"webhook-timestamp": ""}, {"webhook-timestamp": "x"}, {"webhook-timestamp": "9" * 30},
        {"webhook-timestamp": "²"}, {"webhook-signature": ""}, {"webhook-signature": "v1,AAAA"}, {"webhook-signature": "v1"}, {"webhook-signature": "é"},
    ],
)  # fmt: skip
def test_a_changed_message_is_refused(app, change):
    made = app.incoming.add("shop", type="book", args=ARGS)
    assert refused(app, "shop", standard(app, made.secret) | change)


def test_a_message_is_refused_without_headers_with_another_body_and_by_another_secret(app):
    made = app.incoming.add("shop", type="book", args=ARGS)
    other = app.incoming.add("other", type="book", args=ARGS)
    assert refused(app, "shop", {})
    assert refused(app, "shop", standard(app, made.secret), BODY + b" ")
    assert refused(app, "shop", standard(app, other.secret))


@pytest.mark.parametrize("off", [-301, 301])
def test_a_message_from_another_time_is_refused(app, off):
    made = app.incoming.add("shop", type="book", args=ARGS)
    given = app.incoming.add("pay", scheme="stripe", secret="whsec_from_them", type="book", args=ARGS)
    assert given.secret is None
    at, near = (app.clock.now() // 1000 + each for each in (off, off - off // 301))
    assert refused(app, "shop", standard(app, made.secret, at=at))
    assert refused(app, "pay", stripe(app, "whsec_from_them", at=at))
    assert app.incoming.receive("shop", standard(app, made.secret, at=near), BODY)
    assert app.incoming.receive("pay", stripe(app, "whsec_from_them", at=near), BODY)


def test_github(app):
    """The vector is GitHub's own: docs.github.com, "Validating webhook deliveries"."""
    secret, body = "It's a Secret to Everybody", b"Hello, World!"
    known = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    app.incoming.add("github", scheme="github", secret=secret, event="github.{headers.x-github-event}")
    headers = {"x-hub-signature-256": known, "x-github-event": "push", "x-github-delivery": "d1"}
    with pytest.raises(InvalidPayload):  # it is verified, and no JSON
        app.incoming.receive("github", headers, body)
    assert refused(app, "github", headers | {"x-hub-signature-256": known[:-1] + "8"}, body)
    app.subscriptions.add("on-push", "github.push", "book", {"invoice": "$.data.data.id"})
    headers["x-hub-signature-256"] = "sha256=" + hexed(secret, BODY)
    first, again = (app.incoming.receive("github", headers | {"x-github-delivery": n}, BODY) for n in "ab")
    assert [(job.subscription, job.created) for job in (*first, *again)] == [("on-push", True), ("on-push", False)]


def test_stripe(app):
    secret = "whsec_5WbX5kEWLlfzsGNjH64I8lOOqUB6e8FH"
    app.incoming.add("pay", scheme="stripe", secret=secret, type="book", args=ARGS)
    (first,) = app.incoming.receive("pay", stripe(app, secret), BODY)
    later = BODY.replace(b'"id": "evt_1"', b'"id": "evt_1", "pending_webhooks": 2')
    (again,) = app.incoming.receive("pay", stripe(app, secret, later), later)
    assert (again.id, again.created) == (first.id, False)
    good = stripe(app, secret)["stripe-signature"]
    for header in ("", "t=,v1=", good.replace("v1=", "v0="), good.replace("t=", "t=1"), f"t=1,{good}", "t=1," * 1000):
        assert refused(app, "pay", {"stripe-signature": header})


@pytest.mark.parametrize("form", ["hex", "prefixed", "base64"])
def test_a_plain_header(app, form):
    app.incoming.add("plain", scheme="hmac", secret="Jefe" * 2, header="X-Shop-Signature", type="book", args=ARGS)
    digest = hmac.new(b"JefeJefe", BODY, hashlib.sha256)
    header = {
        "hex": digest.hexdigest(),
        "prefixed": f"sha256={digest.hexdigest()}",
        "base64": base64.b64encode(digest.digest()).decode(),
    }[form]
    assert app.incoming.receive("plain", {"x-shop-signature": header}, BODY)[0].created
    assert refused(app, "plain", {"x-signature": header})


def test_while_a_secret_is_changed_both_hold(app):
    old = app.incoming.add("shop", type="book", args=ARGS)
    new = app.incoming.rotate("shop", keep="1h", actor="ada")
    assert app.incoming.receive("shop", standard(app, old.secret), BODY)[0].created
    assert not app.incoming.receive("shop", standard(app, new.secret), BODY)[0].created
    app.clock.advance("1h")
    assert refused(app, "shop", standard(app, old.secret))
    assert app.incoming.receive("shop", standard(app, new.secret), BODY)


def test_a_secret_in_a_variable_is_not_stored(app, monkeypatch, caplog):
    app.incoming.add("pay", scheme="stripe", secret="$PAY_SECRET", type="book", args=ARGS)
    assert app.incoming.show("pay").verified_by == "$PAY_SECRET"
    assert refused(app, "pay", stripe(app, "hunter22"))
    assert "PAY_SECRET, which is not set" in caplog.text
    monkeypatch.setenv("PAY_SECRET", "hunter22")
    assert app.incoming.receive("pay", stripe(app, "hunter22"), BODY)


# what a sender learns ---------------------------------------------------------------------------------------------------
def test_a_name_that_is_none_is_refused_as_a_wrong_signature_is(app):
    made = app.incoming.add("shop", type="book", args=ARGS)
    app.incoming.disable("shop")
    for name in ("shop", "nothing", "", "a b", "\0", "x" * 10_000, "é"):
        assert refused(app, name, standard(app, made.secret))
    app.incoming.enable("shop")
    assert app.incoming.receive("shop", standard(app, made.secret), BODY)


@pytest.mark.engines("memory")
@pytest.mark.parametrize("scheme", signatures.SCHEMES)
@pytest.mark.parametrize("at", [None, "1", "x"])
def test_a_refusal_takes_the_same_work_whether_there_is_a_receiver_or_not(app, monkeypatch, scheme, at):
    """The body is hashed as often, and the store read as often: with a large body, the time would tell which names there are."""
    app.incoming.add(
        "shop", scheme=scheme, secret=None if scheme == "standard" else "a-long-secret", type="book", args=ARGS
    )
    work, digest, rules = [], hmac.digest, app.store.rules
    monkeypatch.setattr(hmac, "digest", lambda *given: work.append("hash") or digest(*given))
    monkeypatch.setattr(app.store, "rules", lambda *given: work.append("read") or rules(*given))
    spent = []
    for name in ("shop", "nothing"):
        work.clear()
        with pytest.raises(NotVerified):
            app.incoming.receive(
                name, {} if at is None else {"webhook-timestamp": at, "stripe-signature": f"t={at},v1=0"}, BODY
            )
        spent.append(sorted(work))
    assert spent[0] == spent[1] == ["hash", "read", "read"]


def test_a_receiver_without_a_secret_lets_nobody_in(app, monkeypatch):
    """Its row was written, its secret was not: the process was killed in between."""
    monkeypatch.setattr("mainstay.control.stored_secrets.StoredSecrets.put", lambda *_: None)
    app.incoming.add("pay", scheme="hmac", type="book", args=ARGS)
    assert refused(app, "pay", {"x-signature": hexed("", BODY)})
    assert app.incoming.show("pay").verified_by == "no secret"


# events ---------------------------------------------------------------------------------------------------------------
def test_a_message_publishes_an_event(app):
    made = app.incoming.add("shop", event="shop.{data.type}", data="data", message_id="{data.id}")
    app.subscriptions.add("ledger", "shop.invoice.*", "book", {"invoice": "$.data.id"})
    first = app.incoming.receive("shop", standard(app, made.secret), BODY)
    again = app.incoming.receive("shop", standard(app, made.secret, message="msg_2"), BODY)
    assert [(job.subscription, job.created) for job in (*first, *again)] == [("ledger", True), ("ledger", False)]
    nobody = BODY.replace(b"invoice.paid", b"order.paid")
    assert app.incoming.receive("shop", standard(app, made.secret, nobody), nobody) == []


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"{",
        b"\xff",
        b'{"type": "a b"}',
        b'{"type": {}}',
        b'{"id": 1}',
        b'{"type": "x", "data": 5}',
        b'{"type": "x"}',
    ],
)
def test_a_verified_message_that_does_not_fit_creates_nothing(app, body):
    made = app.incoming.add("shop", event="{data.type}", data="data")
    app.subscriptions.add("ledger", "*", "book", {"invoice": "$.data.id"})
    secret, t = base64.b64decode(made.secret.removeprefix("whsec_")), app.clock.now() // 1000
    signature = base64.b64encode(hmac.digest(secret, f"m.{t}.".encode() + body, "sha256")).decode()
    headers = {"webhook-id": "m", "webhook-timestamp": str(t), "webhook-signature": f"v1,{signature}"}
    with pytest.raises((InvalidPayload, UsageError)):
        app.incoming.receive("shop", headers, body)
    assert app.list() == []


# receivers ------------------------------------------------------------------------------------------------------------
def test_receivers_are_listed_replaced_and_removed_and_no_secret_is_in_the_audit_trail(app):
    made = app.incoming.add("shop", type="book", args=ARGS, actor="ada", reason="asked for")
    app.incoming.add("shop", event="x.y", replace=True, actor="ada")
    (found,) = app.incoming.list()
    assert (found.event, found.type, found.scheme, found.verified_by) == ("x.y", None, "standard", "a stored secret")
    app.incoming.receive("shop", standard(app, made.secret), BODY)  # its secret has stayed
    assert made.secret not in repr((app.store.actions(None, 9), app.incoming.list(), app.store.rules([INCOMING])))
    assert app.incoming.remove("shop").after == {}
    assert app.store.rules([INCOMING, INCOMING_SECRET]) == []
    assert [line.actor for line in app.store.actions(None, 9)] == ["python", "ada", "ada"]


def test_bad_input_is_refused_and_changes_nothing(app):
    for given in ({"type": None}, {"event": "a.b"}, {"event": "a b", "type": None}, {"scheme": "md5"}, {"scheme": 7}, {"header": "X"}, {"data": "a"},
                  {"scheme": "hmac", "header": "a b"}, {"scheme": "hmac", "secret": "short"}, {"scheme": "stripe"}, {"tolerance": "0s"}, {"tolerance": "2d"},
                  {"message_id": "{x.y}"}, {"secret": "$a b"}, {"name": "a/b"}, {"args": {"a": "$.body.id"}}, {"colour": 1},
                  {"event": "a.b", "type": None, "queue": "q"}):  # fmt: skip
        with pytest.raises(UsageError):
            app.incoming.add(**{"name": "shop", "type": "book", **given})
    with pytest.raises(ConfigError):
        app.incoming.add("shop", type="book", secret="hunter22")
    assert app.incoming.add("shop", type="book", dry_run=True).secret is None
    assert app.store.rules([INCOMING, INCOMING_SECRET]) == []
    app.incoming.add("shop", type="book")
    with pytest.raises(Conflict, match="already"):
        app.incoming.add("shop", type="book")
    with pytest.raises(NotFound, match='did you mean "shop"'):
        app.incoming.rotate("shp")


def test_receivers_move(elsewhere, store):
    there = furnished(Mainstay(store=elsewhere.store, clock=elsewhere.clock))
    made = there.incoming.add("shop", type="book", args=ARGS)
    before = there.incoming.list()
    here = furnished(Mainstay(store=arrive(elsewhere, store).store, clock=elsewhere.clock))
    assert here.incoming.list() == before
    assert json.loads(
        here.store.get(here.incoming.receive("shop", standard(here, made.secret), BODY)[0].id).payload
    ) == {"invoice": 7}
