"""Job ids: 26 characters, unique without asking anyone, in the order in which they were made."""

import os

import pytest
from hypothesis import given, strategies as st

from mainstay.core.draft import Draft
from mainstay.core.ids import ALPHABET, IDS, LENGTH, Ids, encode, normal

NOW = 1_750_000_000_000


def created_at(job_id):
    """The millisecond in which an id was made."""
    value = 0
    for character in job_id[:10]:
        value = value << 5 | ALPHABET.index(character)
    return value


def test_an_id_is_26_characters_that_nobody_confuses():
    made = Ids().new(NOW)
    assert len(made) == LENGTH == 26
    assert set(made) <= set(ALPHABET)
    assert not set("ILOU") & set(ALPHABET)


def test_ids_rise_within_a_millisecond_and_never_repeat():
    ids = Ids()
    made = [ids.new(NOW) for _ in range(5_000)]
    assert made == sorted(set(made))


@given(st.lists(st.tuples(st.integers(0, (1 << 48) - 1), st.integers(0, 2_500)), max_size=5))
def test_many_ids_are_those_that_would_have_been_made_one_by_one(wanted):
    one_by_one, together = Ids(lambda count: b"x" * count), Ids(lambda count: b"x" * count)
    for now, count in wanted:
        assert together.many(now, count) == [one_by_one.new(now) for _ in range(count)]
        assert together.new(now) == one_by_one.new(now)


def test_many_ids_begin_anew_where_the_count_would_overflow():
    ids = Ids()
    last = ids.new(NOW)
    ids._count = (1 << 30) - 10
    made = ids.many(NOW, 20)
    assert [last, *made] == sorted({last, *made})
    assert created_at(made[0]) == NOW + 1


def test_drafts_keep_the_ids_that_they_have():
    drafts = [Draft("work", "{}"), Draft("work", "{}", id="kept", created_at=5), Draft("work", "{}")]
    assert Ids().give(drafts, NOW) == 2
    assert [(draft.id == "kept", draft.created_at) for draft in drafts] == [(False, NOW), (True, 5), (False, NOW)]


@given(st.lists(st.integers(min_value=0, max_value=(1 << 48) - 1), min_size=2, max_size=50))
def test_ids_rise_whatever_the_clock_does(instants):
    ids = Ids()
    made = [ids.new(now) for now in instants]
    assert made == sorted(set(made))


def test_ids_sort_by_time_across_processes():
    assert Ids().new(NOW) < Ids().new(NOW + 1)


@given(st.integers(min_value=0, max_value=(1 << 48) - 1))
def test_an_id_tells_when_it_was_made(now):
    assert created_at(Ids().new(now)) == now


def test_a_clock_that_steps_back_does_not_date_ids_back():
    ids = Ids()
    ids.new(NOW)
    assert created_at(ids.new(NOW - 3_600_000)) == NOW


def test_two_makers_do_not_meet_in_the_same_millisecond():
    first, second = Ids(), Ids()
    assert not {first.new(NOW) for _ in range(100)} & {second.new(NOW) for _ in range(100)}


def test_a_full_counter_starts_over_one_millisecond_later():
    ids = Ids()
    before = ids.new(NOW)
    ids._count = (1 << 30) - 2
    last, over = ids.new(NOW), ids.new(NOW)
    assert before < last < over
    assert (created_at(last), created_at(over)) == (NOW, NOW + 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_does_not_count_on_from_its_parent():
    far = NOW + 10**9  # later than any id made before, so that parent and child would share a prefix
    IDS.new(far)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, "".join(IDS.new(far) for _ in range(100)).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    theirs = {text[place : place + LENGTH] for place in range(0, len(text), LENGTH)}
    ours = {IDS.new(far) for _ in range(100)}
    assert len(theirs) == len(ours) == 100
    assert not theirs & ours
    assert not {made[:20] for made in theirs} & {made[:20] for made in ours}


def test_numbers_in_base_32_keep_their_order():
    assert encode(0, 3) == "000"
    assert encode(32 * 32 - 1, 3) == "0ZZ"
    assert [encode(n, 2) for n in range(1024)] == sorted(encode(n, 2) for n in range(1024))


def test_an_id_as_people_type_it():
    made = Ids().new(NOW)
    assert normal(f" {made.lower()} ") == made
    assert normal("o1il") == "0111"


def test_an_exception_while_a_sequence_is_drawn_repeats_no_id():
    def interrupted(_):
        raise KeyboardInterrupt

    ids = Ids()
    made = [ids.new(NOW) for _ in range(3)]
    drawing, ids._entropy = ids._entropy, interrupted
    with pytest.raises(KeyboardInterrupt):
        ids.new(NOW + 1)
    ids._entropy = drawing
    made += [ids.new(NOW + 1) for _ in range(3)]
    assert made == sorted(set(made))
