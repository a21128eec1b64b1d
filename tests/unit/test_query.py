"""The search language: what each form means, and that every mistake is answered with a hint instead of a crash."""

import time
from datetime import datetime

import pytest
from hypothesis import given, strategies as st

from mainstay.core.clock import DAY, HOUR, SECOND
from mainstay.core.errors import UsageError
from mainstay.core.search_terms import Term
from mainstay.query import FOREVER, MAX_TERMS, MAX_TEXT, QUALIFIERS, READERS, completed, last_word, parse, term

NOW = 1_750_000_000_000


def one(text):
    (term,) = parse(text, NOW)
    return term


@pytest.fixture
def berlin(monkeypatch):
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("type:send_email", Term("type", "=", ("send_email",))),
        ("type:mail.*,sms", Term("type", "=", ("mail.*", "sms"))),
        ("TYPE:a", Term("type", "=", ("a",))),
        ("queue:llm", Term("queue", "=", ("llm",))),
        ("-tag:eu", Term("tag", "=", ("eu",), negated=True)),
        ("id:01jq93", Term("id", "=", ("01JQ93",))),
        ("parent:olI", Term("parent", "=", ("011",))),
        ("state:dead,retrying", Term("state", "=", ("dead", "retrying"))),
        ("state:ended", Term("state", "=", ("completed", "cancelled", "dead"))),
        ("state:waiting", Term("state", "=", ("queued", "scheduled", "blocked"))),
        ("state:alive,queued", Term("state", "=", ("queued", "scheduled", "blocked", "running", "review"))),
        ("state:cancelling", Term("state", "=", ("cancelling",))),
        ("attempt:>2", Term("attempt", ">", (2,))),
        ("priority:1,-2", Term("priority", "=", (1, -2))),
        ('error:"connection refused"', Term("error", "~", ("connection refused",))),
        ("error:a,b", Term("error", "~", ("a", "b"))),
        ("text:boom", Term("text", "~", ("boom",))),
        ("boom", Term("text", "~", ("boom",))),
        ('"disk full"', Term("text", "~", ("disk full",))),
        ('-"disk full"', Term("text", "~", ("disk full",), negated=True)),
        (r'"say \"hi\" \\o"', Term("text", "~", ('say "hi" \\o',))),
        ("10:30", Term("text", "~", ("10:30",))),
        ("args.user.id:42", Term("args", "=", ("42",), path=("user", "id"))),
        ("ARGS.User:a,b", Term("args", "=", ("a", "b"), path=("User",))),
        ("args.size:>=10", Term("args", ">=", ("10",), path=("size",))),
        ('args.name:">x"', Term("args", "=", (">x",), path=("name",))),
        ("key:invoice-42", Term("key", "=", ("invoice-42",))),
        ('key:"a,b c"', Term("key", "=", ("a,b c",))),
        ("ref:profile/9", Term("ref", "=", ("profile/9",))),
        ("ref:urn:isbn:1", Term("ref", "=", ("urn:isbn:1",))),
        ("age:>1h", Term("created", "<", (NOW - HOUR,))),
        ("age:<=90s", Term("created", ">=", (NOW - 90 * SECOND,))),
        ("took:>30s", Term("took", ">", (30 * SECOND,))),
        ("finished:1h", Term("finished", "=", (NOW - HOUR, FOREVER))),
        ("created:>=2026-01-31T09:30:00Z", Term("created", ">=", (1_769_851_800_000,))),
        ("created:>2026-01-31T09:30:00Z", Term("created", ">=", (1_769_851_800_001,))),
    ],
)
def test_a_form_and_its_meaning(text, term):
    assert one(text) == term


def test_terms_are_joined_by_spaces():
    assert [term.field for term in parse("  type:a \t state:dead  boom ", NOW)] == ["type", "state", "text"]
    assert parse("", NOW) == parse("   ", NOW) == []


def test_days_are_those_of_the_place(berlin):
    def at(text):
        return round(datetime.fromisoformat(text).timestamp() * 1000)

    summer = at("2025-06-15T17:06:40+02:00")
    assert summer == NOW
    assert one("finished:today").values == (at("2025-06-15T00:00+02:00"), at("2025-06-16T00:00+02:00"))
    assert one("created:yesterday").values == (at("2025-06-14T00:00+02:00"), at("2025-06-15T00:00+02:00"))
    assert one("created:2025-03-30").values == (at("2025-03-30T00:00+01:00"), at("2025-03-31T00:00+02:00"))  # 23 hours
    assert one("created:>2025-06-01") == Term("created", ">=", (at("2025-06-02T00:00+02:00"),))
    assert one("created:>=2025-06-01") == Term("created", ">=", (at("2025-06-01T00:00+02:00"),))
    assert one("created:<2025-06-01") == Term("created", "<", (at("2025-06-01T00:00+02:00"),))
    assert one("created:<=2025-06-01") == Term("created", "<", (at("2025-06-02T00:00+02:00"),))
    assert one("created:>=2025-06-01T10:00").values == (at("2025-06-01T10:00+02:00"),)


def test_two_days_are_two_pairs():
    first, until, second, end = one("finished:2026-01-01,2026-02-01").values
    assert until - first in {23 * HOUR, DAY, 25 * HOUR}
    assert end > second > until


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tpye:a", 'did you mean "type:"?'),
        ("arg.x:1", 'did you mean "args:"?'),
        ("http://x", 'quote it: "http://x"'),
        ("type.x:a", "there is no search qualifier"),
        ("type:", "type: needs a value, e.g. type:mail.*"),
        ("type:a,,b", "a value is missing"),
        ('type:""', "a value is missing"),
        ('key:"open', "is not closed"),
        ("- x", "write it directly before the term"),
        ("state:failed", 'did you mean "dead"?'),
        ("state:runing", 'did you mean "running"?'),
        ("state:xyzzy", "and the groups waiting, ended, alive"),
        ("type:>a", "cannot be compared"),
        ("attempt:two", "whole number"),
        ("attempt:>1,2", "takes one value"),
        ("attempt:>", "needs a value"),
        ("age:1h", "age:>1h is older"),
        ("age:>soon", "is not a duration"),
        ("took:5s", "took:>5s"),
        ("args:42", "args.user.id:42"),
        ("args.a..b:42", "needs a path into the arguments"),
        ("id:nope!", "is not an id"),
        ("created:>1h", "is ambiguous"),
        ("created:noon", "is not a time"),
        ("created:>noon", "is not a time"),
        ("created:2026-01-31T09:30", "compare instead: created:>=2026-01-31T09:30"),
        ("created:2026-02-30", "is not a time"),
        ("key:a\0b", "NUL"),
        ("\ud800", "not valid Unicode"),
        ("x" * (MAX_TEXT + 1), "characters"),
        ("x " * (MAX_TERMS + 1), "terms"),
        ("id:" + "0," * 300 + "0", "values"),
    ],
)
def test_a_mistake_is_explained(text, says):
    with pytest.raises(UsageError) as error:
        parse(text, NOW)
    assert says in str(error.value)


def test_every_qualifier_has_a_reader_and_an_example_that_parses():
    assert set(QUALIFIERS) == set(READERS)
    for _, example in READERS.values():
        assert parse(example, NOW)


SNIPPETS = st.sampled_from(
    [f"{name}:" for name in QUALIFIERS]
    + [example for _, example in READERS.values()]
    + ["args.", "-", '"', ",", ">", "<=", " ", "\\"]
    + ["today", "1h", "2026-01-31", "9999-12-31", "0001-01-01", "1e9", "9" * 20]
)


@given(st.one_of(st.text(), st.lists(st.one_of(SNIPPETS, st.text(max_size=4)), max_size=8).map("".join)))
def test_no_text_raises_anything_but_a_usage_error(text):
    try:
        terms = parse(text, NOW)
    except UsageError:
        return
    for each in terms:
        assert each.values
        assert all(abs(value) <= FOREVER for value in each.values if isinstance(value, int))


@given(st.text(min_size=1).filter(lambda text: "\0" not in text and text.isprintable()))
def test_a_quoted_value_is_taken_as_it_stands(text):
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    assert one(f'key:"{quoted}"').values == (text,)


@given(
    st.lists(st.text(min_size=1).filter(lambda text: "\0" not in text and text.isprintable()), min_size=1, max_size=3)
)
def test_a_term_is_written_for_any_values(values):
    assert one(term("tag", *values)).values == tuple(values)
    assert len(parse(f"{term('tag', *values)} {term('key', *values)} -state:dead", NOW)) == 3


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("sta", ["state:"]), ("-sta", ["-state:"]), ("state:que", ["state:queued"]), ("state:dead,al", ["state:dead,alive"]),
        ("queue:", ["queue:mail", 'queue:"two words"']), ("queue:TWO", ['queue:"two words"']), ('queue:"two w', ['queue:"two words"']),
        ("-queue:mail,m", ["-queue:mail,mail"]), ("nothing:", []), ("xyz", []),
    ],
)  # fmt: skip
def test_a_word_is_completed(word, found):
    assert completed(word, lambda name, start: ("mail", "two words") if name == "queue" else ()) == found
    for each in found:
        assert each.endswith(":") or parse(each, NOW)


@pytest.mark.parametrize(
    ("text", "word"),
    [("", ""), ("type:mail ", ""), ("type:mail st", "st"), ('tag:"a b', 'tag:"a b'), ('tag:"a b" x', "x")],
)
def test_the_last_word_of_what_is_typed(text, word):
    assert last_word(text) == word
