"""`status`, `ls`, `show`, `logs`: what people see, and what programs read."""

import json
import re

import pytest

from mainstay.cli import exits
from mainstay.cli.output import Output, columns, cut, size
from mainstay.cli.status import LABELS, print_counts
from mainstay.control.json_records import FIELDS
from mainstay.control.status import last_hour
from mainstay.core.clock import HOUR
from mainstay.core.decide import decide
from mainstay.core.draft import Draft
from mainstay.core.job import Count, TypeInfo
from mainstay.core.updates import Log

from .shop import COMPLETED, FAILED, Shop


@pytest.fixture
def shop(app):
    return Shop(app)


def test_ls_shows_newest_first_what_matters_about_each(run, shop):
    waiting, dead = shop.add("mail.send", '{"to":"ada"}'), shop.dead()
    lines = run("ls").out.splitlines()
    assert lines[0].split() == ["STATE", "ID", "TYPE", "TRY", "CREATED", "TOOK", "ABOUT"]
    assert lines[1].split()[:5] == ["✕", "dead", dead, "mail", "1/3"]
    assert lines[1].endswith("ReadTimeout: api.example")
    assert lines[2].split()[:3] == ["○", "queued", waiting]
    assert lines[2].endswith('to="ada"')


def test_ls_understands_the_search_language(run, shop):
    dead, done = shop.dead(tags=("eu",)), shop.end()
    assert run("ls", "state:dead", "-q").out == f"{dead}\n"
    assert run("ls", "state:dead error:readtimeout", "-q").out == f"{dead}\n"
    assert run("ls", "-tag:eu", "-q").out == f"{done}\n"
    assert run("ls", "-queue:default", "-q").out == ""
    wrong = run("ls", "stat:dead")
    assert wrong.code == exits.USAGE
    assert 'did you mean "state:"?' in wrong.err


def test_the_code_of_an_error_is_shown_and_found(run, shop):
    job = shop.end(FAILED._replace(retry=False, code="429"))
    shop.dead()
    assert run("ls", "code:429", "-q").out == f"{job}\n"
    assert json.loads(run("ls", "code:429", "--json").out)[0]["code"] == "429"
    shown = json.loads(run("show", job, "--json").out)
    assert (shown["code"], [attempt["code"] for attempt in shown["attempts"]]) == ("429", ["429"])
    text = run("show", job).out
    assert "· code 429" in text
    assert "429 · ReadTimeout: api.example" in text
    assert run("ls", "code:429", "--fields", "id,code").out.splitlines()[1].split() == [job, "429"]


def test_ls_pages(run, shop):
    jobs = [shop.add() for _ in range(5)][::-1]
    first = run("ls", "-n", "2", "--fields", "id")
    assert f"--after {jobs[1]}" in first.err
    rest = run("ls", "--after", jobs[1], "-q")
    assert rest.out.split() == jobs[2:]
    assert rest.err == ""


def test_ls_of_nothing_says_so_on_stderr(run, app):
    app.store.enqueue([], 0)
    assert run("ls") == (0, "", "there are no jobs yet\n")
    assert run("ls", "state:dead") == (0, "", "no job matches\n")
    assert run("ls", "--json") == (0, "[]\n", "")
    assert run("ls", "--jsonl") == (0, "", "")


def test_ls_suggests_the_type_that_was_meant(run, app):
    app.store.register_types([TypeInfo("resize", "default", "resize()", {}, 1)])
    assert run("ls", "type:resiz").err == 'no job matches; no type is called resiz (did you mean "resize"?)\n'
    assert run("ls", "type:resize").err == run("ls", "type:res*").err == "no job matches\n"


def test_ls_for_programs(run, shop):
    shop.dead(payload='{"n":1}', tenant="acme")
    shop.add()
    whole = json.loads(run("ls", "--json").out)
    lines = [json.loads(line) for line in run("ls", "--jsonl").out.splitlines()]
    assert whole == lines
    assert set(whole[0]) == set(FIELDS)
    assert whole[1]["args"] == {"n": 1}
    assert whole[1]["created_at"].endswith("Z")
    assert json.loads(run("ls", "--json", "--fields", "state,tenant").out) == [
        {"state": "queued", "tenant": None}, {"state": "dead", "tenant": "acme"},
    ]  # fmt: skip


def test_ls_with_chosen_fields(run, shop):
    shop.add(tags=("a", "b"))
    lines = run("ls", "--fields", "type,state,tags,args,took").out.splitlines()
    assert lines[0].split() == ["type", "state", "tags", "args", "took"]
    assert lines[1].split() == ["mail", "○", "queued", "a,", "b"]
    wrong = run("ls", "--fields", "id,tpye")
    assert wrong.code == exits.USAGE
    assert 'did you mean "type"?' in wrong.err


def test_show_tells_the_whole_story(run, shop):
    dead = shop.dead(payload='{"n":1}', key="k1")
    child = shop.add(parent=dead)
    run("cancel", child)
    out = run("show", dead[:-1]).out if len(dead) == 25 else run("show", dead).out
    for part in (
        "✕ dead", "permanent", "key k1", "timeline", "attempt 1 started", "on wtest", "attempt 1 failed", "arguments", "n  1",
        'File "shop.py", line 7', "children", child, f"→ mainstay retry {dead}",
    ):  # fmt: skip
        assert part in out, part


def test_show_a_running_job(run, shop):
    job = shop.speaking()
    out = run("show", job).out
    assert "62% read" in out
    assert '"page": 3' in out.partition("checkpoint")[2]
    assert "\x1b" not in out  # a log line cannot steer the terminal
    assert "page \\x1b[31mdone" in out


def test_show_numbers_the_stage_among_those_of_the_type(run, shop, app):
    job = shop.speaking()
    policy = {"stages": ["find", "read", "write"]}
    app.store.register_types([TypeInfo(app.store.get(job).type, "default", "mail()", policy, app.clock.now())])
    assert "62% read (2 of 3)" in run("show", job).out


def test_show_says_why_a_job_waits(run, shop):
    job = shop.add("thumb")
    assert "no live worker serves the type thumb (no worker is running at all)" in run("show", job).out
    retrying = shop.end(FAILED)
    out = run("show", retrying).out
    assert "attempt 1 of 3 failed: ReadTimeout: api.example" in out
    assert "it runs again in 59m" in out or "it runs again in 1h" in out
    assert f"→ mainstay retry {retrying}" in out
    assert "a person decides: 12.40 too much" in run("show", shop.review()).out


def test_show_for_programs(run, shop):
    job = shop.end(COMPLETED._replace(result='{"ok": true}'))
    run("retry", job)
    record = json.loads(run("show", job, "--json").out)
    assert (record["result"], record["state"]) == ({"ok": True}, "completed")
    assert record["attempts"][0]["number"] == 1
    assert json.loads(run("show", job, "--json", "--fields", "id").out) == {"id": job}
    assert run("show", job, "-q").out == f"{job}\n"


def test_an_operators_hand_is_on_record(run, shop):
    job = shop.review()
    run("approve", job, "--note", "seen by hand")
    out = run("show", job).out
    assert 'approve  note="seen by hand"' in out.partition("history")[2]
    assert json.loads(run("show", job, "--json").out)["actions"][0]["detail"] == {
        "note": "seen by hand",
        "declared": True,
    }


def test_logs(run, shop):
    job = shop.speaking()
    lines = run("logs", job).out.splitlines()
    assert lines[0].split()[1:] == ["info", "read", "page", "\\x1b[31mdone", "page=3"]
    assert lines[1].endswith("error   odd page")
    assert json.loads(run("logs", job, "--json").out)[0]["fields"] == {"page": 3}
    assert len(run("logs", job, "--jsonl").out.splitlines()) == 2
    silent = shop.add()
    assert run("logs", silent) == (0, "", f"job {silent} has logged nothing\n")
    assert json.loads(run("logs", silent, "--json").out) == []


def test_logs_follow_until_the_job_has_ended(run, shop, monkeypatch):
    job = shop.speaking()
    looks = []

    def look(seconds):
        looks.append(seconds)
        if len(looks) == 2:
            claimed = shop.store.get(job)
            shop.store.cancel([job], 1, "test")
            shop.store.deregister(claimed.worker)
            (orphan,) = shop.store.orphans(shop.app.clock.now(), 0, 1)
            from mainstay.core.decide import decide
            from mainstay.core.outcome import CANCELLED

            shop.store.finish([decide(orphan.job, CANCELLED, shop.app.clock.now(), lambda: 0.0)])

    monkeypatch.setattr("mainstay.cli.logs.time.sleep", look)
    assert len(run("logs", job, "--follow").out.splitlines()) == 2
    assert len(looks) == 2


def test_status_by_type_with_what_to_do(run, shop):
    shop.join()
    for _ in range(3):
        shop.dead()
    shop.review()
    shop.end(FAILED)
    shop.add("thumb")
    (fingerprint,) = run("dead", "-q").out.split()
    out = run("status").out
    head, names, mail, thumb, total, hour, *findings = out.splitlines()
    assert "(SQLite 3." in head
    assert re.search(r"schema \d+ · 1 worker, 0/8 slots busy$", head)
    assert names.split() == [
        "queued",
        "running",
        "retrying",
        "review",
        "scheduled",
        "dead",
        "oldest",
        "p95",
        "wait",
        "p95",
        "run",
    ]
    assert mail.split()[:8] == ["mail", "0", "0", "1", "1", "0", "3", "–"]
    assert "–" not in mail.split()[8:]
    assert thumb.split()[:7] == ["thumb", "1", "0", "0", "0", "0", "0"]
    assert total.split() == ["total", "1", "0", "1", "1", "0", "3"]
    assert hour == " last hour: 3 dead, 0% of 4 attempts succeeded"
    assert [line.split("→")[1].strip() for line in findings] == [
        "mainstay worker --app …", "mainstay reviews", f"mainstay dead show {fingerprint[:4]}",
    ]  # fmt: skip


def test_status_for_programs(run, shop):
    shop.dead()
    record = json.loads(run("status", "--json").out)
    assert record["last_hour"] == {"dead": 1}
    assert record["counts"][0]["type"] == "mail"
    assert run("status", "-q").out == "mail\n"


def test_status_for_programs_has_one_format(run, shop):
    shop.join()
    shop.add()
    record = json.loads(run("status", "--json").out)
    instants = [
        record["counts"][0]["oldest"],
        *(record["workers"][0][name] for name in ("started_at", "beat_at", "expires_at")),
    ]
    assert all(instant.endswith("Z") for instant in instants)
    assert isinstance(record["store"]["size"], int)
    assert not [name for name in record["store"] if " " in name]


def test_status_shows_workers_that_are_stopping(run, shop):
    shop.join()
    shop.join(worker="wother")
    shop.store.renew("wother", shop.app.clock.now(), HOUR, stopping=True)
    assert run("status").out.splitlines()[0].endswith("1 worker, 0/8 slots busy, 1 stopping")
    assert [worker["stopping"] for worker in json.loads(run("status", "--json").out)["workers"]] == [False, True]


def test_status_of_an_empty_store(run, app):
    app.store.enqueue([], 0)
    assert "no worker" in run("status").out


def test_a_terminal_sees_colour_and_relative_times(terminal, shop):
    dead = shop.dead()
    seen = terminal("ls")
    assert "\x1b[38;5;196m✕ dead\x1b[0m" in seen.out
    assert "ms ago" in seen.out or "s ago" in seen.out
    plain = terminal("ls", env={"NO_COLOR": "1"})
    assert "\x1b" not in plain.out
    assert dead in plain.out
    assert "\x1b[1;31merror:" not in terminal("show", "zzz").err  # stderr is a pipe here


def test_tables_fit_the_terminal(terminal, shop):
    shop.add(payload=json.dumps({"text": "x" * 300}))
    seen = terminal("ls", env={"NO_COLOR": "1", "COLUMNS": "100"})
    assert max(len(line) for line in seen.out.splitlines()) <= 100
    assert "…" in seen.out


def test_ls_fits_80_columns_and_commands_take_the_ids_that_it_shows(terminal, run, shop):
    jobs = [
        shop.dead(type="newsletter.weekly.send_to_everyone"),
        shop.add(),
        shop.end(FAILED),
        shop.speaking(),
        shop.review(),
    ]
    seen = terminal("ls", env={"NO_COLOR": "1", "COLUMNS": "80"}).out.splitlines()
    assert max(map(len, seen)) <= 80
    assert [len(line.split()[2]) for line in seen[1:]] == [15] * len(jobs)
    assert [run("show", line.split()[2], "-q").out.strip() for line in seen[1:]] == jobs[::-1]
    assert run("cancel", seen[-2].split()[2].replace("…", "..")).out.split()[0] == jobs[1]
    wide = terminal("ls", env={"NO_COLOR": "1", "COLUMNS": "140"}).out
    assert all(job in wide for job in jobs)
    assert "TOOK" in wide


def test_jobs_of_the_same_moment_keep_different_ids(terminal, run, app):
    now = app.clock.now()
    jobs = [job for job, _ in app.store.enqueue([Draft("mail", "{}") for _ in range(40)], now)]
    seen = terminal("ls", env={"NO_COLOR": "1", "COLUMNS": "80"}).out.splitlines()
    assert [run("show", line.split()[2], "-q").out.strip() for line in seen[1:]] == jobs[::-1]
    several = run("show", f"{jobs[0][:10]}…")
    assert several.code == exits.USAGE
    assert "stands for several jobs" in several.err
    assert run("show", f"{jobs[0][:10]}…ZZZZ").code == exits.MISSING


def test_an_attempt_that_begins_while_the_one_before_ends_comes_after_it(run, shop):
    """Two workers, whose clocks differ by a millisecond."""
    now = shop.app.clock.now()
    job = shop.add()
    for n in (1, 2):
        shop.join(worker=f"w{n}")
        (claimed,) = shop.store.claim(f"w{n}", {"default": ["mail"]}, 1, now).jobs
        shop.store.finish([decide(claimed, FAILED, now + 1, lambda: 0.0)])
        shop.store.retry([job], now, "ada")
    timeline = run("show", job).out.partition("timeline")[2].partition("arguments")[0]
    assert re.findall("created|started|failed", timeline) == ["created"] + ["started", "failed"] * 2
    assert "-" not in "".join(re.findall(r"Z +(\S+) ", timeline))


def test_status_and_show_fit_80_columns(terminal, shop):
    job = shop.dead(type="newsletter.weekly.send_to_everyone", key="k" * 40, ref="r" * 30, tags=("a" * 20, "b" * 20))
    for words in (["status"], ["show", job]):
        seen = terminal(*words, env={"NO_COLOR": "1", "COLUMNS": "80"}).out.splitlines()
        assert max(len(line) for line in seen if "sqlite://" not in line) <= 80, words


def test_status_fits_80_columns_with_jobs_in_all_states_and_a_long_reason(terminal, shop, app):
    shop.dead(type="extract_invoice")
    app.pause(type="extract_invoice", reason="the supplier moves its servers until the end of this week", actor="ann")
    seen = terminal("status", env={"NO_COLOR": "1", "COLUMNS": "80"}).out.splitlines()
    assert max(len(line) for line in seen if "sqlite://" not in line) <= 80
    assert any(line.startswith("   ") and "week" in line for line in seen), "the reason goes on below its beginning"


@pytest.mark.parametrize(
    ("width", "shown"),
    [(80, []), (90, ["oldest"]), (100, ["oldest", "p95 run"]), (110, ["oldest", "p95 wait", "p95 run"])],
)
def test_a_narrow_status_loses_times_before_it_cuts_numbers(width, shown, shop, app, capsys):
    shop.end(type="extract_invoice")
    output = Output()
    output.width = width
    counts = [Count("default", "extract_invoice", label, 1, 0, False) for label in LABELS]
    print_counts(output, counts, last_hour(app))
    head, *_ = capsys.readouterr().out.splitlines()
    assert re.split(r"  +", head.strip()) == [*LABELS, *shown]


def test_show_is_bounded_and_json_is_whole(run, shop):
    text = "x" * 900_000
    job = shop.end(COMPLETED._replace(result=json.dumps(["y"] * 90_000)), payload=json.dumps({"text": text}))
    out = run("show", job).out
    assert len(out) < 5_000
    assert "900 KB; --json prints all" in out
    assert "more lines: --json prints all" in out
    record = json.loads(run("show", job, "--json").out)
    assert record["args"] == {"text": text}
    assert len(record["result"]) == 90_000


def test_show_counts_children_and_log_lines_that_it_leaves_out(run, shop):
    claimed = shop.claim()
    children = [shop.add(parent=claimed.id) for _ in range(25)]
    notes = [Log(claimed.seq, claimed.token, n, 0, "info", None, f"line {n}", None) for n in range(1, 31)]
    shop.store.finish([], notes)
    out = run("show", claimed.id).out
    assert f"… more: mainstay ls parent:{claimed.id}" in out
    assert f"… 20 more: mainstay logs {claimed.id}" in out
    assert "line 30" in out
    assert sorted(json.loads(run("show", claimed.id, "--json").out)["children"]) == sorted(children)


def test_logs_prints_every_page(run, shop, monkeypatch):
    monkeypatch.setattr("mainstay.cli.logs.PAGE", 7)
    claimed = shop.claim()
    shop.store.finish([], [Log(claimed.seq, claimed.token, n, 0, "info", None, "x", None) for n in range(1, 31)])
    assert len(run("logs", claimed.id).out.splitlines()) == 30
    assert len(json.loads(run("logs", claimed.id, "--json").out)) == 30


def test_text_is_cut_by_columns_not_by_characters():
    assert [columns(text) for text in ("abc", "日本", "é", "e\u0301")] == [3, 4, 1, 1]
    assert cut("abcdef", 4) == "abc…"
    assert cut("日本語", 5) == "日本…"
    assert cut("abc", 3) == "abc"


def test_sizes():
    assert [size(number) for number in (12, 1_500, 41_000_000, 10**16)] == ["12 B", "1.5 KB", "41 MB", "10000 TB"]


def test_times_in_a_pipe_are_iso():
    assert Output(now=0).when(1_000) == "1970-01-01T00:00:01.000Z"
