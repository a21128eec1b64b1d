"""What counts as a secret, what does not, and that no text takes long."""

import json
import time

import pytest
from hypothesis import given, strategies as st

from mainstay.core import named_secrets, redaction
from mainstay.core.errors import UsageError
from mainstay.core.job import LogLine
from mainstay.core.redaction import MARK, Redactor, restored
from mainstay.core.secret_patterns import PATTERNS
from mainstay.core.updates import Line
from mainstay.job_log import redacted
from mainstay.log_values import as_text, encoded

USUAL = Redactor()
OWN = Redactor(["ssn", "card.number"])
ALL = Redactor(patterns=PATTERNS)
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc=\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("login failed for {'password': 'hun ter\\'2'}", "login failed for {'password': '[redacted:password]'}"),
        ("x password=hunter2 y", "x password=[redacted:password] y"),
        ("url?api_key=abc&page=2", "url?api_key=[redacted:apikey]&page=2"),
        ("dbPassword: abc, next", "dbPassword: [redacted:password], next"),
        ("Authorization: Digest a=1, b=2\nnext", "Authorization: [redacted:authorization]\nnext"),
        ("Set-Cookie: a=b; c=d\nnext", "Set-Cookie: [redacted:cookie]\nnext"),
        ('{"secret": {"a": ["x]y", 1]}, "b": 2}', '{"secret": [redacted:secret], "b": 2}'),
        ('"{\\"password\\": \\"hun ter\\"}"', '"{\\"password\\": \\"[redacted:password]\\"}"'),
        ("psql --password hunter2 shop", "psql --password [redacted:password] shop"),
        (
            '"{\\"password\\": \\"hun\\\\\\"ter\\", \\"a\\": 1}"',
            '"{\\"password\\": \\"[redacted:password]\\", \\"a\\": 1}"',
        ),
        (
            "Command '['psql', '--password', 'a b', '-q']'",
            "Command '['psql', '--password', '[redacted:password]', '-q']'",
        ),
        ("login(password=Secret('a', \"b\"), user=1)", "login(password=[redacted:password], user=1)"),
        (f"ENCRYPTION_KEYS=k1:{'A' * 43}=,k2:{'B' * 43}= next", "ENCRYPTION_KEYS=[redacted:mainstay] next"),
        ("encryption_keys: abc", "encryption_keys: [redacted:key]"),
        ("<password>abc</password>", "<password>[redacted:password]</password>"),
        ("User(name='a', client_secret=b'xyz')", "User(name='a', client_secret=b'[redacted:secret]')"),
        ('cut off: {"token": "abc', 'cut off: {"token": "[redacted:token]'),
        ("postgresql://u:p@ss/w@host/db", "postgresql://u:***@host/db"),
        ("at https://u:pw@h/x?m=a@b.c now", "at https://u:***@h/x?m=a@b.c now"),
        ("card 4111 1111 1111 1111, 5555-5555-5555-4444", "card [redacted:card], [redacted:card]"),
        ("amex 378282246310005.", "amex [redacted:card]."),
        ("jwt eyJhbGciOiJI.eyJzdWIiOiIx.s5g-x", "jwt [redacted:jwt]"),
        ("bearer abcdef123456", "bearer [redacted:bearer]"),
        ("basic dXNlcjpwYXNz", "basic [redacted:basic]"),
        ("AKIAIOSFODNN7EXAMPLE", "[redacted:aws]"),
        ("ghp_" + "a1" * 18, "[redacted:github]"),
        ("xoxb-1234567890-abc", "[redacted:slack]"),
        ("sk-proj-abcdefghijklmnop", "[redacted:openai]"),
        (f"key {PEM} end", "key [redacted:pem] end"),
        (PEM[:45], "[redacted:pem]"),
        (
            "[(b'authorization', b'Token abc'), (b'a', b'b')]",
            "[(b'authorization', b'[redacted:authorization]'), (b'a', b'b')]",
        ),
        ('[["x-api-key", "abc"], ["a", "b"]]', '[["x-api-key", "[redacted:apikey]"], ["a", "b"]]'),
        (
            "\x1b[36mpwd\x1b[0m=\x1b[35mhunter2\x1b[0m \x1b[36ma\x1b[0m=b",
            "\x1b[36mpwd\x1b[0m=\x1b[35m[redacted:pwd] \x1b[36ma\x1b[0m=b",
        ),
        ("password：hunter2 next", "password：[redacted:password] next"),
        ("/login?next=%2Fx%3Faccess_token%3Dabc&b=1", "/login?next=%2Fx%3Faccess_token%3D[redacted:token]&b=1"),
        ("%7B%22password%22%3A%22abc%22%7D", "%7B%22password%22%3A[redacted:password]"),
        ("?store=redis%3A%2F%2Fann%3Ahunter2%40db%2F0", "?store=redis%3A%2F%2Fann:***@db%2F0"),
        ('Authorization: Digest username="u", response="abc"\nnext', "Authorization: [redacted:authorization]\nnext"),
        ("Authorization:\n  Bearer\n abcdef123456 x", "Authorization:\n  Bearer\n [redacted:bearer] x"),
        ("Bearer\n abcdef123456 x", "Bearer\n [redacted:bearer] x"),
        ("password = '''hun'ter''' + x", "password = '''[redacted:password]''' + x"),
        ("ALTER USER ann WITH PASSWORD 'hunter2';", "ALTER USER ann WITH PASSWORD '[redacted:password]';"),
        ("smtp(user=a, pass=hunter2, pw=x)", "smtp(user=a, pass=[redacted:pass], pw=[redacted:pw])"),
        ("AccountKey=abc==;EndpointSuffix=x", "AccountKey=[redacted:key];EndpointSuffix=x"),
        (
            "https://s3.example/x?X-Amz-Signature=0123456789&b=1",
            "https://s3.example/x?X-Amz-Signature=[redacted:signature]&b=1",
        ),
        (
            "https://discord.com/api/webhooks/123456789012/" + "aB-3" * 12 + " x",
            "https://discord.com/api/webhooks/[redacted:token] x",
        ),
        ("npm_" + "a1B2" * 9, "[redacted:token]"),
    ],
)
def test_a_secret_in_a_text_is_replaced(text, shown):
    assert USUAL.text(text) == shown
    assert USUAL.text(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "token=3 max_tokens=400", 'curl --oauth2-bearer "$API_TOKEN"', 'password="${DB_PASSWORD}"', "login(user, password=password)", "login(user, token=self.api_token)", "def f(token: str):",
        "https://host:8080/path@2", "basic understanding", "Bearer authentication fails", "4111111111111112", "1700000000000",
        "monkey: a", "pinned: yes", "the password is wrong", "ann@example.com", "password=", "password=None", "01JQ93M7N78DSJ53ENQWTCSC00",
        "botocore.exceptions.NoCredentialsError: Unable to locate credentials",
        "AuthorizationError: ask the owner of the account", "unexpected token 'x' at 3", "columns ['password', 'mail'] are missing",
        "3 pass: 12, fail=1", "second pass: reading", "https://a.example/?design=1&page=12345678", "secret 'shop' is not there",
    ],
)  # fmt: skip
def test_what_is_no_secret_stays(text):
    assert USUAL.text(text) == text


@pytest.mark.parametrize(
    "name", ["password", "userPassword", "DB_PASSWORD", "x-api-key", "accessToken", "client_secret", "Cookie", "cvv"]
)
def test_the_values_of_secret_names_are_replaced_at_any_depth(name):
    (shown,) = USUAL.value([{"a": {name: "x"}}])[0]["a"].values()
    assert shown.startswith(MARK)
    assert USUAL.value({name: {"b": ["x"]}})[name].startswith(MARK)


def test_a_secret_that_is_a_key_of_a_mapping_is_replaced():
    before = {"cards": {"4111 1111 1111 1111": "Ann"}}
    shown = USUAL.value(before)
    assert shown == {"cards": {"[redacted:card]": "Ann"}}
    assert restored(shown, before, USUAL) == before
    assert restored({"cards": {"4111 1111 1111 1111": "Bob"}}, before, USUAL) == {
        "cards": {"4111 1111 1111 1111": "Bob"}
    }


def test_names_and_paths_of_the_user():
    given = {
        "ssn": 123,
        "user_ssn": "1",
        "number": 7,
        "card": {"number": 5, "kind": "x"},
        "cards": [{"card": [{"number": 1}]}],
    }
    assert OWN.value(given) == {
        "ssn": "[redacted:ssn]", "user_ssn": "[redacted:ssn]", "number": 7,
        "card": {"number": "[redacted:card.number]", "kind": "x"}, "cards": [{"card": [{"number": "[redacted:card.number]"}]}],
    }  # fmt: skip
    assert OWN.text("ssn: 123 number: 7") == "ssn: [redacted:ssn] number: 7"


def test_flags_counts_and_nothing_stay():
    given = {"password": None, "has_password": True, "secret": "", "tokens": 12, "token": 3.5, "cookies": []}
    assert USUAL.value(given) == given


def test_headers_and_settings_have_their_name_beside_the_value():
    given = [{"name": "Authorization", "value": "x"}, {"name": "Accept", "value": "y"}]
    assert USUAL.value(given) == [{"name": "Authorization", "value": "[redacted:authorization]"}, given[1]]


@pytest.mark.parametrize(
    "given",
    [
        [["Authorization", "x"], ["Accept", "y"]], [("Cookie", "x"), ("Accept", ["y"])],
        [{"key": "DB_PASSWORD", "value": "x"}], [{"Key": "api_key", "Value": "x"}], {"user": "y", "pass": "x"},
    ],
)  # fmt: skip
def test_names_that_stand_beside_their_values(given):
    shown = json.dumps(USUAL.value(given))
    assert '"x"' not in shown
    assert MARK in shown
    assert shown.count('"y"') == json.dumps(given).count('"y"')


def test_a_table_of_two_columns_stays():
    given = {"rows": [["ann", 1], ["bob", 2]], "names": [["token", 3]], "pass": 12}
    assert USUAL.value(given) == given


def test_what_is_cut_is_redacted_first():
    """What is cut in the middle of a secret, or behind its name, is not recognised any more."""
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIE0123\n" * 200 + "-----END RSA PRIVATE KEY-----"
    for text in (
        "a" * 9_000 + key + "b" * 4_000,
        "a" * 20_000 + "password='" + "s" * 30 + "hunter2' " + "b" * 4_970,
        "a" * 99_000 + "password='" + "s" * 30 + "hunter2' " + "b" * 4_970,
    ):
        found = as_text(text, 10_000)
        assert ("MIIE" in found, "hunter2" in found) == (False, False)
        assert len(found) <= 10_100
        assert "characters left out" in found


def test_a_very_long_text_costs_no_more_than_a_long_one():
    start = time.process_time()
    as_text("password=x " * 2_000_000, 10_000)
    assert time.process_time() - start < 3


def test_a_number_may_be_a_card():
    assert USUAL.value({"n": 4111111111111111, "m": 4111111111111112}) == {
        "n": "[redacted:card]",
        "m": 4111111111111112,
    }


def test_addresses_and_accounts_are_asked_for():
    assert (
        ALL.text("from ann.b+c@mail.example.com to DE89 3704 0044 0532 0130 00")
        == "from [redacted:mail] to [redacted:iban]"
    )
    assert ALL.text("DE89 3704 0044 0532 0130 01") == "DE89 3704 0044 0532 0130 01"


def test_off_is_off():
    off = Redactor(["off"])
    assert off.text("password=x") == "password=x"
    assert off.value({"password": "x"}) == {"password": "x"}
    assert off.json('{"password":"x"}') == '{"password":"x"}'


def test_json_without_secrets_stays_as_it_was_written():
    assert USUAL.json('{"a":  1, "key": "b"}') == '{"a":  1, "key": "b"}'
    assert USUAL.json('{"pass\\u0077ord": "x"}') == '{"password":"[redacted:password]"}'
    assert USUAL.json('{"password": "x') == '{"password": "[redacted:password]'


def test_rows_are_redacted_in_texts_and_json():
    line = LogLine(1, 1, "info", "s", "token=x", {"token": "x", "n": 1})
    assert USUAL.record(line) == line._replace(
        message="token=[redacted:token]", fields={"token": "[redacted:token]", "n": 1}
    )


def test_a_deep_value_ends():
    deep = json.loads("[" * 900 + "]" * 900)
    assert f"{MARK}depth]" in json.dumps(USUAL.value(deep))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a", "password", "x_token", "ssn"]), inner, max_size=4),
)  # fmt: skip


@given(JSON)
def test_twice_is_once_and_an_untouched_edit_changes_nothing(value):
    shown = OWN.value(value)
    assert OWN.value(shown) == shown
    assert restored(shown, value, OWN) == value


@given(st.text(alphabet="pas:word=\"'{}[]()\\ \n<>-tkn.eyJ@/0123456789", max_size=200))
def test_any_text_is_redacted_once(text):
    assert OWN.text(OWN.text(text)) == OWN.text(text)


SUSPICIOUS = st.text(alphabet="pas:word=- \n4123AKIAeyJ.", max_size=30) | st.sampled_from(
    ["4111 1111 1111 1111", "AKIAIOSFODNN7EXAMPLE", "password=a", "sk-proj-abcdefghijklmnop", "\\u0070"]
)


@given(st.lists(st.tuples(SUSPICIOUS, st.none() | SUSPICIOUS), min_size=1, max_size=6))
def test_lines_that_are_looked_through_at_once_lose_what_each_alone_would_lose(texts):
    lines = [Line(n, 0, "info", None, message, fields and json.dumps({"a": fields})) for n, (message, fields) in enumerate(texts)]  # fmt: skip
    assert redacted(lines) == [
        line._replace(message=USUAL.text(line.message), fields=line.fields and USUAL.json(line.fields))
        for line in lines
    ]


def test_fields_of_a_line_never_hold_a_nul():
    assert [encoded({"a": "x\0y"}) for _ in range(3)] == ['{"a":"x\N{REPLACEMENT CHARACTER}y"}'] * 3


def test_an_edit_may_change_what_is_around_a_mark():
    before = {"user": {"password": "x", "name": "a"}, "tokens": [{"token": "1"}, {"token": "2"}]}
    edited = USUAL.value(before) | {"more": 1}
    edited["user"]["name"] = "b"
    assert restored(edited, before, USUAL) == {
        "user": {"password": "x", "name": "b"},
        "tokens": before["tokens"],
        "more": 1,
    }
    with pytest.raises(UsageError, match="stands where it stood for nothing"):
        restored({"other": "[redacted:password]"}, before, USUAL)


# time: by operations, not by the clock --------------------------------------------------------------------------------
HARD = {
    "names": "password", "values": "password=x ", "open quotes": 'password="\\', "open brackets": "password=[", "urls": "://a:", "ends": "://a:@", "jwt": "eyJ",
    "jwts": "eyJ ", "digits": "4", "spaced": "4 ", "pem": "-----BEGIN A-----", "bearer": "bearer ", "iban": "AB12 ", "keys": "sk-", "at": "a@a.",
    "pairs": "('password', '", "coloured": "password\x1b[0m", "percent": "password%3D%22", "signed": "?sig=", "encoded urls": "%3A%2F%2Fa%3A", "parameters": 'cookie: ="',
    "triple quotes": "password='''", "redacted headers": "authorization:*** ", "redacted cookies": "cookie=[redacted:x] ",
}  # fmt: skip


@pytest.mark.parametrize("name", HARD)
def test_the_work_grows_with_the_length_of_the_text(name, monkeypatch):
    """Twice the text may take at most about twice the steps of the scanner; its patterns are bounded or possessive."""
    steps = []
    for function in ("_name", "_extent", "_balanced"):
        real = getattr(named_secrets, function)
        monkeypatch.setattr(
            named_secrets, function, lambda text, *more, real=real: (steps.append(1), real(text, *more))[1]
        )
    counts = []
    for size in (20_000, 40_000):
        steps.clear()
        ALL.text(HARD[name] * (size // len(HARD[name])))
        counts.append(len(steps))
    assert counts[1] <= 2.2 * counts[0] + 10


@pytest.mark.parametrize("name", HARD)
def test_no_pattern_is_slow_on_any_text(name):
    """CPU time, not wall time. A pattern that goes back and forth would need minutes for this much."""
    start = time.process_time()
    ALL.text(HARD[name] * (200_000 // len(HARD[name])))
    assert time.process_time() - start < 5


def test_the_process_has_one_redactor():
    before = redaction.in_force()
    try:
        redaction.use(OWN)
        assert redaction.in_force() is OWN
    finally:
        redaction.use(before)


def test_a_value_that_was_hidden_whole_may_be_replaced_or_stay():
    before = {"to": "ann", "credentials": {"user": "u"}, "tokens": ["a", "b"]}
    shown = USUAL.value(before)
    assert shown["credentials"].startswith(MARK)
    assert restored(shown | {"to": "bob"}, before, USUAL) == before | {"to": "bob"}
    replaced = {"credentials": {"user": "v"}, "tokens": ["c"]}
    assert restored(shown | replaced, before, USUAL) == before | replaced
    assert restored(before | {"to": "bob"}, before, USUAL) == before | {"to": "bob"}
