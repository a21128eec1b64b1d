"""Keys, and the values that they seal."""

import base64

import pytest
from hypothesis import given, strategies as st

from mainstay.core.errors import ConfigError
from mainstay.core.keyring import MARK, SEALED, Unreadable, new_key, parse

ONE, TWO, INDEX = (
    f"{name}:{base64.b64encode(byte * 32).decode()}" for name, byte in (("k1", b"1"), ("k2", b"2"), ("index", b"i"))
)
RING = parse(ONE)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_what_was_sealed_is_opened(text):
    sealed = RING.seal(text, "payload 1")
    assert SEALED.fullmatch(sealed)
    assert RING.open(sealed, "other", "payload 1") == text
    assert RING.opened_within(f"a {sealed} b", "payload 1") == f"a {text} b"


def test_no_two_values_are_the_same_and_a_key_has_its_own_values():
    assert RING.seal("a", "p") != RING.seal("a", "p")
    assert parse(f"{TWO},{ONE}").open(RING.seal("a", "p"), "p") == "a"
    assert parse(f"{TWO},{ONE}").seal("a", "p").startswith(f"{MARK}k2:")


def test_a_text_that_is_not_sealed_stays():
    assert RING.open("plain", "p") == "plain"


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-8],
        lambda text: text.replace("k1:", "k1:A"),
        lambda text: f"{MARK}k1:",
        lambda text: text + "\n",
    ],
)
def test_a_damaged_value_names_its_key(change):
    with pytest.raises(Unreadable, match="'k1'") as caught:
        RING.open(change(RING.seal("a" * 40, "p")), "p")
    assert not caught.value.missing


def test_another_place_does_not_open_it():
    with pytest.raises(Unreadable):
        RING.open(RING.seal("a", "payload 1"), "payload 2", "result 1")


def test_a_missing_key_is_named():
    with pytest.raises(Unreadable, match="the key 'k1'") as caught:
        parse(TWO).open(RING.seal("a", "p"), "p")
    assert caught.value.missing


def test_hashes_stay_with_the_key_for_them():
    before, after = parse(f"{ONE},{INDEX}"), parse(f"{TWO},{INDEX}")
    assert before.hashed("a") == after.hashed("a") != before.hashed("b")
    assert parse(f"{TWO},{ONE}").hashed("a") == RING.hashed("a")


@pytest.mark.parametrize(
    "text",
    ["k1", "k1:abc", "k1:!!!", f"{ONE},{ONE}", INDEX, ":" + ONE.partition(":")[2], f"a b:{ONE.partition(':')[2]}"],
)
def test_a_mistake_is_told_without_the_key(text):
    with pytest.raises(ConfigError, match="MAINSTAY_ENCRYPTION_KEYS") as caught:
        parse(text)
    assert ONE.partition(":")[2] not in str(caught.value)


def test_a_new_key_is_one():
    assert parse(f"{new_key('k9')},{ONE}").first == "k9"
    with pytest.raises(ConfigError):
        new_key("a:b")
