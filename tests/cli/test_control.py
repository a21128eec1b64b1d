"""Pauses, types, queues, limits, breakers and settings from the command line: on each engine, for people and programs."""

import json

import pytest

from mainstay import Breaker, Limit
from mainstay.cli import exits
from mainstay.core.errors import TypeDisabled
from tests.servers.engines import ENGINES

from .shop import Shop

NAMES = [name for name in ("sqlite", "postgres18", "postgres", "valkey", "redis") if name in ENGINES]


@pytest.fixture(params=NAMES)
def url(request, tmp_path):
    with ENGINES[request.param](tmp_path) as url:
        yield url


@pytest.fixture
def shop(app):
    """A store that knows two types: `mail` is plain, `extract` has a limit, a rate and a breaker."""

    @app.job(queue="post", timeout="5m")
    def mail(to: str, urgent: bool = False) -> None:
        """Send one mail."""

    @app.job(queue="llm", limit=[Limit(running=1, key="tenant"), Limit(rate="1/h", name="api")], breaker=Breaker())
    def extract(doc: int) -> None: ...

    app.queue("llm", max_depth=1_000)
    app.store.register_types([type.info(app.clock.now()) for type in (mail, extract)])
    return Shop(app)


def lines(text):
    return [line.split() for line in text.splitlines()]


def loaded(result):
    assert result.code == exits.OK, result.err
    return json.loads(result.out)


# pause and resume -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("words", "name", "told"),
    [
        (["--type", "mail"], "type:mail", "the type mail"),
        (["--queue", "post"], "queue:post", "the queue post"),
        (["--all"], "all", "the whole installation"),
    ],
)
def test_a_pause_and_its_end(run, shop, words, name, told):
    result = run("pause", *words, "--reason", "maintenance", "--actor", "ada")
    assert (result.code, result.out) == (exits.OK, "")
    assert f"{told} is paused: nothing of it starts" in result.err
    assert f"to undo: mainstay resume {' '.join(words)}" in result.err
    (rule,) = shop.store.rules(["pause"])
    assert (rule.name, rule.actor, rule.reason) == (name, "ada", "maintenance")
    again = run("pause", *words)
    assert "is paused already: by ada" in again.err
    assert again.err.rstrip().endswith("maintenance.")
    assert shop.store.rules(["pause"]) == [rule]
    assert f"{told} is resumed" in run("resume", *words).err
    assert f"{told} is not paused" in run("resume", *words).err
    assert shop.store.rules(["pause"]) == []


def test_a_dry_run_changes_nothing(run, shop):
    for words in (
        ["pause", "--type", "mail"], ["disable", "mail"], ["types", "set", "mail", "timeout=2m"],
        ["queues", "set", "post", "--max-depth", "5"], ["limits", "set", "extract/tenant", "--running", "3"],
        ["breaker", "open", "extract"], ["settings", "set", "model", "small"],
    ):  # fmt: skip
        result = run(*words, "--dry-run")
        assert result.code == exits.OK, result.err
        assert result.err.startswith("--dry-run: nothing changed. Without it: ")  # no sentence says that it is done
        record = loaded(run(*words, "--dry-run", "--json"))
        assert (record["changed"], record["dry_run"]) == (False, True)
        assert record["before"] != record["after"]
    assert [rule for rule in shop.store.rules(["pause", "type", "limit", "breaker"]) if rule.value.get("set")] == []
    assert shop.store.actions(None, 10) == []


def test_a_disabled_type_takes_no_jobs(run, shop):
    assert "mail takes no jobs" in run("disable", "mail", "--reason", "moved").err
    assert ["mail", "post", "⊘", "disabled"] in [words[:4] for words in lines(run("types").out)]
    assert "the type mail is disabled and takes no jobs" in run("status").out
    result = run("enqueue", "mail", "to=a")
    assert result.code == exits.CONFLICT
    assert "mainstay enable mail" in result.err
    with pytest.raises(TypeDisabled):
        shop.add("mail")
    assert "mail takes jobs" in run("enable", "mail").err
    shop.add("mail")


# types ----------------------------------------------------------------------------------------------------------------
def test_types_show_what_is_declared_and_set(run, shop):
    result = run("types", "set", "mail", "timeout=2m", "attempts=5", "priority=7", "keep=none", "--actor", "ada")
    assert result.code == exits.OK, result.err
    assert ["timeout", "5m", "(declared)", "2m"] in lines(result.out)
    assert "to undo: mainstay types reset mail timeout attempts priority keep" in result.err
    assert "as before" in run("types", "set", "mail", "timeout=2m").err
    (job,) = shop.store.get_many([shop.app.enqueue("mail", {"to": "a"}).id])
    assert (job.timeout, job.max_attempts, job.priority, job.keep) == (120_000, 5, 7, None)
    shown = run("types", "show", "mail").out
    assert "Send one mail." in shown
    assert [words[:4] for words in lines(shown) if words[:1] == ["timeout"]] == [["timeout", "5m", "2m", "2m"]]
    assert "ada" in shown
    assert ["to", "string"] in lines(shown)
    record = loaded(run("types", "show", "mail", "--json"))
    assert (record["declared"]["timeout"], record["set"]["timeout"]["value"], record["effective"]["timeout"]) == (
        300,
        120,
        120,
    )
    assert record["drift"] == ["attempts", "keep", "priority", "timeout"]
    assert record["created_at"].endswith("Z")
    assert ["attempts", "5", "3", "(declared)"] in lines(run("types", "reset", "mail", "attempts").out)
    assert run("types", "reset", "mail").code == exits.OK
    assert loaded(run("types", "show", "mail", "--json"))["set"] == {}
    assert "nothing is set on mail" in run("types", "reset", "mail").err


def test_types_at_a_glance(run, shop):
    rows = {words[0]: words for words in lines(run("types").out)}
    assert rows["extract"][:4] == ["extract", "llm", "ready", "1"]
    run("pause", "--queue", "llm")
    run("types", "set", "mail", "timeout=2m")
    rows = {words[0]: words for words in lines(run("types").out)}
    assert rows["extract"][2:4] == ["⏸", "paused"]
    assert rows["mail"][3:4] == ["1"]
    assert run("types", "-q").out == "extract\nmail\n"
    assert [record["name"] for record in loaded(run("types", "--json"))] == ["extract", "mail"]
    assert lines(run("types", "--fields", "name,queue").out)[1:] == [["extract", "llm"], ["mail", "post"]]


# queues ---------------------------------------------------------------------------------------------------------------
def test_queues_and_their_rules(run, shop):
    shop.add("mail", queue="post")
    words = ["--max-depth", "1", "--when-full", "wait", "--wait", "5s", "--fair", "--weight", "acme=3", "--aging", "1m"]
    result = run("queues", "set", "post", *words, "--running", "20", "--rate", "10/s")
    assert result.code == exits.OK, result.err
    assert ["aging", "–", "1m"] in lines(result.out)
    (row,) = [words for words in lines(run("queues").out) if words[0] == "post"]
    assert row[:6] == ["post", "full", "1", "1", "wait", "5s"]
    assert "the queue post is full: 1 jobs wait, 1 may" in run("status").out
    record = {each["name"]: each for each in loaded(run("queues", "--json"))}["post"]
    assert {name: record["effective"][name] for name in ("max_depth", "wait", "weights", "running", "rate")} == {
        "max_depth": 1, "wait": 5, "weights": {"acme": 3}, "running": 20, "rate": "10/s",
    }  # fmt: skip
    assert run("queues", "set", "post", "--burst", "5").code == exits.OK
    assert run("queues", "set", "post", "--no-fair", "--no-limit", "--max-depth", "none").code == exits.OK
    effective = {each["name"]: each for each in loaded(run("queues", "--json"))}["post"]["effective"]
    assert (effective["fair"], effective["max_depth"]) == (False, None)
    assert "running" not in effective
    assert run("queues", "reset", "post", "max-depth").code == exits.OK
    assert run("queues", "reset", "post").code == exits.OK
    assert {each["name"]: each for each in loaded(run("queues", "--json"))}["post"]["set"] == {}


# limits ---------------------------------------------------------------------------------------------------------------
def extracts(shop, *tenants):
    return [shop.app.enqueue("extract", {"doc": n}, tenant=tenant).id for n, tenant in enumerate(tenants)]


def test_limits_and_who_waits(run, shop):
    extracts(shop, "acme", "acme", "acme", "globex")
    rows = lines(run("limits").out)
    assert ["extract/tenant", "acme", "1/1", "2"] in [row[:4] for row in rows]
    assert "jobs wait for limits: " in run("status").out
    assert "blocked" in run("status").out
    result = run("limits", "set", "extract/tenant", "--running", "3")
    assert ["running", "1", "(declared)", "3"] in lines(result.out)
    (record,) = [each for each in loaded(run("limits", "--json")) if each["name"] == "extract/tenant"]
    assert (record["declared"], record["effective"], record["drift"]) == ({"running": 1}, {"running": 3}, ["running"])
    assert "as code declares" in run("limits", "reset", "extract/tenant").err
    assert "nothing is set" in run("limits", "reset", "extract/tenant").err


def test_a_type_gets_its_first_limit(run, shop):
    result = run("limits", "set", "mail", "--running", "1", "--key", "to")
    assert result.code == exits.OK, result.err
    ids = [shop.app.enqueue("mail", {"to": to}).id for to in ("a", "a", "b")]
    assert [job.state for job in shop.store.get_many(ids)] == ["queued", "blocked", "queued"]
    assert run(*result.err.rpartition("mainstay ")[2].split()).code == exits.OK
    ids = [shop.app.enqueue("mail", {"to": to}).id for to in ("c", "c")]
    assert [job.state for job in shop.store.get_many(ids)] == ["queued"] * 2


def test_only_the_longest_lines_are_listed(run, shop):
    run("limits", "set", "mail", "--running", "1", "--key", "to")
    for to in "abcdeddb":
        shop.app.enqueue("mail", {"to": to})
    out = run("limits", "-n", "2").out
    keys = [row[row.index("1/1") - 1 :][:3] for row in lines(out) if "1/1" in row]
    assert keys == [["d", "1/1", "2"], ["b", "1/1", "1"]]
    assert "… and 3 keys" in out


# breakers -------------------------------------------------------------------------------------------------------------
def test_a_breaker_is_opened_and_closed(run, shop):
    assert ["extract", "closed", "0/0", "50%", "of", "20", "30s"] in lines(run("breaker").out)
    result = run("breaker", "open", "extract", "--rest", "10m", "--reason", "API down", "--actor", "ada")
    assert "to undo: mainstay breaker close extract" in result.err
    assert loaded(run("breaker", "--json"))[0]["state"] == "open"
    assert "⚡ resting" in run("types").out
    assert "the breaker of extract is open for another" in run("status").out
    assert "by ada" in run("types", "show", "extract").out
    assert "is closed" in run("breaker", "close", "extract").err
    assert loaded(run("breaker", "--json"))[0]["state"] == "closed"


# settings -------------------------------------------------------------------------------------------------------------
def test_settings(run, shop):
    assert "there are no settings" in run("settings").err
    assert run("settings", "set", "model", "small", "--description", "what extract asks").code == exits.OK
    assert run("settings", "set", "provider", '{"url": "https://a", "tries": 3}').code == exits.OK
    assert run("settings", "set", "version", "3", "--text").code == exits.OK
    assert run("settings", "get", "model").out == "small\n"
    assert loaded(run("settings", "get", "provider"))["tries"] == 3
    assert shop.app.setting("version") == "3"
    assert loaded(run("settings", "--json"))[0]["description"] == "what extract asks"
    changed = run("settings", "set", "model", "large")
    assert ["value", '"small"', '"large"'] in lines(changed.out)
    assert """to undo: mainstay settings set model '"small"'""" in changed.err
    assert "what extract asks" in run("settings").out
    assert run("settings", "unset", "model").code == exits.OK
    missing = run("settings", "get", "provder")
    assert (missing.code, missing.out) == (exits.MISSING, "")
    assert 'did you mean "provider"?' in missing.err


# the audit ------------------------------------------------------------------------------------------------------------
def test_every_change_is_on_record_with_before_and_after(run, shop):
    run("types", "set", "mail", "timeout=2m", "--actor", "ada", "--reason", "slow")
    run("types", "set", "mail", "timeout=3m", "--actor", "ada")
    run("types", "reset", "mail", "--actor", "bob", "--reason", "fast again")
    run("pause", "--queue", "post", "--actor", "ada", "--reason", "rest")
    run("resume", "--queue", "post", "--actor", "bob", "--reason", "rested")
    run("disable", "mail", "--actor", "ada")
    run("enable", "mail", "--actor", "ada")
    run("limits", "set", "extract/tenant", "--running", "3", "--actor", "ada")
    run("breaker", "open", "extract", "--actor", "ada")
    run("breaker", "close", "extract", "--actor", "ada")
    run("queues", "set", "post", "--max-depth", "5", "--rate", "10/s", "--actor", "ada")
    run("settings", "set", "model", "small", "--actor", "ada")
    told = [" ".join(words[1:]) for words in lines(run("audit").out)]
    assert told[::-1] == [
        "ada type mail: timeout as declared → 2m (slow)",
        "ada type mail: timeout 2m → 3m",
        "bob type mail: timeout 3m → as declared (fast again)",
        "ada paused the queue post (rest)",
        "bob resumed the queue post (rested)",
        "ada disabled the type mail",
        "ada enabled the type mail",
        "ada limit extract/tenant: running as declared → 3",
        "ada opened the breaker of extract",
        "ada closed the breaker of extract",
        "ada queue post: max_depth as declared → 5, rate as declared → 10/s, burst as declared → 1",
        'ada setting model: – → "small"',
    ]
    assert len(lines(run("audit", "--by", "bob").out)) == 2
    assert len(lines(run("audit", "type", "mail", "-n", "3").out)) == 3
    first = loaded(run("audit", "--json", "-n", "100"))[-1]
    assert (first["actor"], first["detail"]["before"], first["detail"]["after"]["set"]) == (
        "ada",
        None,
        {"timeout": 120_000},
    )
    assert "no action matches" in run("audit", "nobody").err


# mistakes -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("words", "says", "attempt"),
    [
        (["pause"], "what to pause?", "mainstay pause --type TYPE"),
        (["pause", "--type", "mail", "--all"], "name one thing", "mainstay pause --type TYPE"),
        (["pause", "mail"], "a type or a queue?", "mainstay pause --type mail"),
        (["resume", "post"], "a type or a queue?", "mainstay resume --queue post"),
        (["pause", "--type", "mial"], 'did you mean "mail"?', "mainstay types"),
        (["pause", "--queue", "pots"], 'did you mean "post"?', "mainstay queues"),
        (["disable", "mial"], 'did you mean "mail"?', "mainstay types"),
        (["types", "show", "mial"], 'did you mean "mail"?', "mainstay types"),
        (["types", "mail"], "there is no such subcommand", "mainstay types show mail"),
        (["types", "sett", "mail"], 'did you mean "set"?', "mainstay types set mail"),
        (["types", "--json", "show", "mail"], "write --json behind the subcommand show", "mainstay types --help"),
        (["types", "set", "mail"], "what to set?", "mainstay types set mail timeout=2m"),
        (["types", "set", "mail", "timeout"], "written name=value", "mainstay types set mail timeout="),
        (["types", "set", "mail", "timout=2m"], 'did you mean "timeout"?', "mainstay types set --help"),
        (["types", "set", "mail", "timeout=soon"], "not a duration", "mainstay types set --help"),
        (["types", "set", "mail", "attempts=many"], "a whole number", "mainstay types set --help"),
        (["types", "set", "mail", "attempts=0"], "attempts=0", "mainstay types set --help"),
        (["queues", "set", "post"], "what to set?", "mainstay queues set post --max-depth 10000"),
        (["queues", "set", "post", "--max-depth", "0"], "from 1", "mainstay queues set --help"),
        (["queues", "set", "post", "--max-depth", "lots"], "a whole number, or none", "mainstay queues set --help"),
        (["queues", "set", "post", "--weight", "acme"], "such as acme=3", "mainstay queues set --help"),
        (["queues", "set", "post", "--rate", "ten/s"], '"10/s"', "mainstay queues set --help"),
        (["queues", "set", "post", "--running", "0"], "from 1", "mainstay queues set --help"),
        (["queues", "set", "pots", "--fair"], 'did you mean "post"?', "mainstay queues"),
        (["queues", "set", "post", "--no-limit", "--running", "3"], "--no-limit takes no", "mainstay queues set --help"),
        (["limits", "set", "mail"], "what to set?", "mainstay limits set mail --running 5"),
        (["limits", "set", "extract/tenat", "--running", "2"], 'did you mean "extract/tenant"?', "mainstay limits"),
        (["limits", "set", "mail", "--running", "-1"], "from 1", "mainstay limits set --help"),
        (["limits", "reset", "nope"], "no limit is called", "mainstay limits"),
        (["breaker", "open", "mail"], "declares no breaker", "mainstay breaker open --help"),
        (["breaker", "open", "extract", "--rest", "0s"], "above zero", "mainstay breaker open --help"),
        (["audit", "--since", "yesterday"], "not a duration", ""),
    ],
)  # fmt: skip
def test_a_mistake_changes_nothing_and_says_what_to_type(run, shop, words, says, attempt):
    result = run(*words)
    assert result.code in (exits.USAGE, exits.MISSING)
    assert result.out == ""
    assert says in result.err
    assert f"try: {attempt}" in result.err or not attempt
    assert "app." not in result.err
    assert shop.store.actions(None, 10) == []


def test_the_audit_is_read_page_by_page(app, monkeypatch):
    """However many lines there are, one page is in memory; a search goes on only until it has found enough."""
    from mainstay.cli import audit

    class Reads:
        pages = 0

        def audit(self, limit, before):
            self.pages += 1
            return app.store.audit(limit, before)

    monkeypatch.setattr(audit, "PAGE", 10)
    now = app.clock.now()
    for n in range(95):
        app.store.set_setting("colour", str(n), None, now + n, "ada")
    for oldest, found, pages in ((0, 95, 11), (now + 80, 15, 3)):
        reads = Reads()
        assert len(list(audit._since(reads, oldest))) == found
        assert reads.pages == pages
    reads = Reads()
    assert next(audit._since(reads, 0)).detail["after"] == "94"
    assert reads.pages == 1
