"""Mails from templates to a real mail server: once, to those who have not got it, with nothing in a header that was not meant."""

import smtplib
import ssl
import sys

import pytest
import trustme

from mainstay import ConfigError, Limit
from mainstay.handlers import email
from mainstay.testing import Trial
from tests.senders.receiving import mail_server

TEMPLATES = {
    "welcome.subject.txt": "Grüße, {{ name }}\n",
    "welcome.txt": "Hello {{ name }}, your number is {{ order.number }}.",
    "welcome.html": "<p>Hello {{ name }}</p>{% include 'foot.html' %}",
    "foot.html": "<i>{{ order.number }}</i>",
    "bare.subject.txt": "Bare",
    "bare.html": "<b>{{ x }}</b>",
}
DATA = {"name": "Åsa <x>", "order": {"number": 7}}


@pytest.fixture
def box():
    with mail_server() as found:
        yield found


@pytest.fixture
def made(app, box):
    return register(app, box)


def register(app, box, **more):
    place = {
        "server": f"smtp://127.0.0.1:{box.port}?tls=none",
        "sender": "Shop <shop@example.org>",
        "templates": TEMPLATES,
    }
    return email.register(app, **{**place, **more})


def run(kit, draft):
    job = draft()
    kit.drain(raises=False)
    return job.job()


def test_a_mail_is_made_from_its_template(kit, made, box):
    job = run(kit, lambda: made.email.enqueue("welcome", "ada@example.org", DATA))
    assert job.result == {"message_id": f"<{job.id}@example.org>", "refused": {}}
    ((to, mail),) = box.got
    assert (to, mail["To"], mail["From"]) == (["ada@example.org"], "ada@example.org", "Shop <shop@example.org>")
    assert (mail["Subject"], mail["Message-ID"]) == ("Grüße, Åsa <x>", f"<{job.id}@example.org>")
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail.get_body(("plain",)).get_content().strip() == "Hello Åsa <x>, your number is 7."
    assert mail.get_body(("html",)).get_content().strip() == "<p>Hello Åsa &lt;x&gt;</p><i>7</i>"


def test_html_alone_and_templates_in_a_folder(kit, app, box, tmp_path):
    for name, text in TEMPLATES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    made = register(app, box, templates=str(tmp_path), reply_to="help@example.org")
    run(kit, lambda: made.email.enqueue("bare", "ada@example.org", {"x": "&"}))
    ((_, mail),) = box.got
    assert (mail.get_content_type(), mail.get_content().strip()) == ("text/html", "<b>&amp;</b>")
    assert mail["Reply-To"] == "help@example.org"


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("welcome", "ada@example.org", {"name": "x"}), "'order' is undefined"),
        (("welcome", "ada@example.org", {"name": "x", "order": {}}), "no attribute 'number'"),
        (("welcom", "ada@example.org", DATA), 'did you mean "welcome"?'),
        (("../../etc/passwd", "ada@example.org", DATA), "there is no template"),
        (("foot", "ada@example.org", DATA), "there is no template"),
        (("welcome", "ada@example.org\r\nBcc: eve@example.org", DATA), "is not an address"),
        (("welcome", "ada@example.org, eve@example.org", DATA), "is not an address"),
        (("welcome", ["ada@example.org", "eve"], DATA), "'eve' is not an address"),
        (("welcome", [], DATA), "is not an address"),
        (("welcome", "ada@example.org", {**DATA, "name": "x\r\nBcc: eve@example.org"}), "line break"),
        (("welcome", "ada@example.org", {**DATA, "name": "x\x1b[2J"}), "control character"),
    ],
)
def test_bad_input_is_dead_at_once_and_nothing_is_sent(kit, made, box, args, says):
    job = run(kit, lambda: made.email.enqueue(*args))
    assert (job.state, job.attempt) == ("dead", 1)
    assert says in job.error
    assert box.got == []


# what the server says -------------------------------------------------------------------------------------------------
def test_a_mail_that_is_not_taken_now_is_tried_again_with_the_same_id(kit, made, box):
    box.replies = ["451 later", "452 no room"]
    job = run(kit, lambda: made.email.enqueue("welcome", "ada@example.org", DATA))
    assert (job.state, job.attempt, len(box.got)) == ("completed", 3, 1)
    assert box.got[0][1]["Message-ID"] == f"<{job.id}@example.org>"


def test_a_mail_that_is_refused_is_dead_at_once(kit, made, box):
    box.replies = ["554 looks like spam"]
    job = run(kit, lambda: made.email.enqueue("welcome", "ada@example.org", DATA))
    assert (job.state, job.attempt) == ("dead", 1)
    assert "554 looks like spam" in job.error
    box.refusals = {"ada@example.org": "550 no such person"}
    job = run(kit, lambda: made.email.enqueue("welcome", "ada@example.org", DATA))
    assert (job.state, job.attempt) == ("dead", 1)
    assert "550 no such person" in job.error


def test_a_dead_mail_that_an_operator_runs_again_is_sent(kit, app, made, box):
    box.refusals = {"ada@example.org": "550 no such person", "bob@example.org": "450 later"}
    job = made.email.enqueue("welcome", ["ada@example.org", "bob@example.org"], DATA)
    kit.drain(retries=False)
    box.refusals["bob@example.org"] = "550 no such person"
    kit.drain(raises=False)
    assert job.job().state == "dead"
    box.refusals.clear()
    app.retry(job.id, "the addresses exist now")
    kit.drain()
    assert job.result()["refused"] == {}
    assert [to for to, _ in box.got] == [["ada@example.org", "bob@example.org"]]


def test_refused_recipients_are_in_the_result_and_a_retry_is_for_the_others_only(kit, made, box):
    people = [f"{name}@example.org" for name in ("ada", "bob", "eve", "ada")]
    box.refusals = {"bob@example.org": "550 no such person", "eve@example.org": "450 later"}
    job = made.email.enqueue("welcome", people, DATA)
    kit.drain(retries=False)
    assert "eve@example.org: 450 later" in job.job().error
    box.refusals.clear()
    kit.drain()
    assert [to for to, _ in box.got] == [["ada@example.org"], ["eve@example.org"]]
    assert job.result()["refused"] == {"bob@example.org": "550 no such person"}
    assert {mail["To"] for _, mail in box.got} == {"ada@example.org, bob@example.org, eve@example.org"}


def test_a_server_that_ends_the_connection_among_the_recipients_has_taken_it_for_nobody(kit, made, box):
    box.refusals = {"bob@example.org": "421 too many"}
    job = made.email.enqueue("welcome", ["ada@example.org", "bob@example.org", "eve@example.org"], DATA)
    kit.drain(retries=False)
    assert box.got == []
    box.refusals.clear()
    kit.drain()
    assert (len(box.got), len(box.got[0][0])) == (1, 3)
    assert job.result()["refused"] == {}


def test_an_attempt_that_ended_after_the_mail_was_taken_does_not_send_it_again(made, box):
    trial = Trial(made.email)
    sent = trial.run("welcome", "ada@example.org", DATA)
    again = Trial(made.email, attempt=2, checkpoint=trial.saved).run("welcome", "ada@example.org", DATA)
    assert len(box.got) == 1
    assert again["refused"] == sent["refused"]


def test_a_server_that_is_not_there_or_a_wrong_password_costs_attempts(kit, app, box):
    made = register(app, box, server=f"smtp://ada@127.0.0.1:{box.port}?tls=none", password="hunter2")
    job = run(kit, lambda: made.email.enqueue("welcome", "ada@example.org", DATA))
    assert (job.state, job.attempt) == ("dead", 10)
    assert "535" in job.error
    assert "hunter2" not in job.error
    app.registry.clear()
    made = register(app, box, server="smtp://127.0.0.1:1?tls=none")
    job = run(kit, lambda: made.email.enqueue("welcome", "ada@example.org", DATA))
    assert (job.state, job.attempt) == ("dead", 10)
    assert "the mail server 127.0.0.1:1 is out of reach" in job.error


@pytest.mark.filterwarnings("ignore:.*ssl_context:UserWarning", "ignore:Requiring AUTH:UserWarning")
@pytest.mark.parametrize(("tls", "scheme"), [("starttls", "smtp"), ("tls", "smtps")])
def test_encrypted_with_a_password_from_the_environment(kit, app, tmp_path, monkeypatch, tls, scheme):
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    authority.issue_cert("127.0.0.1").configure_cert(context)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    with mail_server(tls, context) as box:
        made = register(app, box, server=f"{scheme}://ada@127.0.0.1:{box.port}", password="$MAIL_PASSWORD")
        job = made.email.enqueue("welcome", "ada@example.org", DATA)
        kit.drain(retries=False)
        assert "MAIL_PASSWORD, which this worker does not have" in job.job().error
        monkeypatch.setenv("MAIL_PASSWORD", "pw")
        kit.drain()
        assert (len(box.got), box.logins) == (1, [b"ada"])
        plain = register(app, box, server=f"smtp://127.0.0.1:{box.port}?tls=none", name="plain")
        assert (made.emails.name, plain.emails.name) == ("emails", "plains")
        if tls == "starttls":  # a server that wants encryption gets it, or nothing
            assert run(kit, lambda: plain.email.enqueue("welcome", "ada@example.org", DATA)).state == "dead"


# batches --------------------------------------------------------------------------------------------------------------
def test_a_batch_is_a_mail_for_each_under_one_rate(kit, app, box):
    made = register(app, box, limit=Limit(rate="10/s"), queue="mail")
    batch = made.emails.enqueue(
        "welcome", [{"to": f"p{n}@example.org", "data": {"name": f"P{n}"}} for n in range(20)], DATA
    )
    started = app.clock.now()
    kit.drain()
    assert batch.result() == 20
    assert sorted(mail["Subject"] for _, mail in box.got) == sorted(f"Grüße, P{n}" for n in range(20))
    assert len({mail["Message-ID"] for _, mail in box.got}) == 20
    assert app.clock.now() - started >= 1_900
    assert {job.queue for job in kit.jobs} == {"mail"}


def test_a_batch_with_one_mail_that_cannot_be_made_sends_none(kit, made, box):
    people = [{"to": "ada@example.org", "data": DATA}, {"to": "bob@example.org"}]
    job = run(kit, lambda: made.emails.enqueue("welcome", people))
    assert (job.state, job.attempt, len(kit.jobs)) == ("dead", 1, 1)
    assert box.got == []


# settings -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"server": "smtp.example.org"}, "smtps://"), ({"server": "http://x"}, "smtps://"), ({"server": "smtp://"}, "smtps://"),
        ({"server": "smtp://u:hunter2@x:port"}, "smtps://"), ({"server": "smtp://x?tls=off"}, "smtps://"),
        ({"server": "smtp://x?tsl=none"}, "smtps://"), ({"sender": "shop"}, "sender="), ({"sender": "a@b.c\nBcc: x@y.z"}, "sender="),
        ({"reply_to": "x"}, "reply_to="), ({"templates": "/no/such/folder"}, "No such file"), ({"templates": {}}, "there is none"),
        ({"templates": {"a.subject.txt": "x"}}, "templates: a:"),
    ],
)  # fmt: skip
def test_settings_are_checked(app, settings, says):
    place = {"server": "smtp://x", "sender": "a@b.c", "templates": TEMPLATES}
    with pytest.raises(ConfigError, match=says) as caught:
        email.register(app, **{**place, **settings})
    assert "hunter2" not in str(caught.value)


def test_the_library_is_named_where_it_is_missing(app, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ConfigError, match=r"mainstay\[email\]"):
        email.register(app, server="smtp://x", sender="a@b.c", templates=TEMPLATES)


def test_a_goodbye_that_fails_does_not_send_the_mail_twice(kit, made, box, monkeypatch):
    def rude(self):
        raise smtplib.SMTPServerDisconnected("gone")

    monkeypatch.setattr(smtplib.SMTP, "quit", rude)
    job = run(kit, lambda: made.email.enqueue("welcome", "ada@example.org", DATA))
    assert (job.state, job.attempt, len(box.got)) == ("completed", 1, 1)
