"""The bus: listeners are told in order, and whoever has left is not told."""

import threading

import pytest

from mainstay.core.events import NAMES, Events


def test_a_listener_gets_the_fields():
    events, heard = Events(), []
    events.on("claimed", lambda **fields: heard.append(fields))
    events.emit("claimed", jobs=[1, 2])
    events.emit("ended", job=1)
    assert heard == [{"jobs": [1, 2]}]


def test_listeners_are_told_in_the_order_in_which_they_came():
    events, heard = Events(), []
    for n in range(5):
        events.on("beat", lambda n=n, **_: heard.append(n))
    events.emit("beat", worker="w")
    assert heard == [0, 1, 2, 3, 4]


def test_a_listener_that_left_is_not_told():
    events, heard = Events(), []
    leave = events.on("beat", lambda **_: heard.append("left"))
    events.on("beat", lambda **_: heard.append("stayed"))
    leave()
    events.emit("beat", worker="w")
    assert heard == ["stayed"]


def test_a_listener_may_leave_while_it_is_told_and_the_others_are_told_still():
    events, heard = Events(), []

    def once(**_):
        heard.append("once")
        leave()

    leave = events.on("beat", once)
    events.on("beat", lambda **_: heard.append("always"))
    events.emit("beat", worker="w")
    events.emit("beat", worker="w")
    assert heard == ["once", "always", "always"]


def test_hot_paths_see_in_a_list_they_hold_whether_anyone_listens():
    events = Events()
    listeners = events.listeners("started")
    assert not listeners
    leave = events.on("started", print)
    assert listeners == [print]
    leave()
    assert not listeners


@pytest.mark.parametrize("name", NAMES)
def test_every_event_can_be_told_to_nobody(name):
    Events().emit(name)


def test_an_event_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match=r"no event 'begun'.*claimed"):
        Events().on("begun", print)


def test_two_buses_do_not_hear_each_other():
    one, other, heard = Events(), Events(), []
    one.on("beat", lambda **_: heard.append(1))
    other.emit("beat", worker="w")
    assert heard == []


def test_names_are_unique():
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("error", [SystemExit(1), ValueError("no")])
def test_a_listener_that_exits_ends_no_thread_of_a_worker(error, capsys):
    events, came = Events(), threading.Event()

    def exits(**_):
        raise error

    events.on("beat", exits)
    events.on("beat", lambda worker: came.set())
    thread = threading.Thread(target=events.emit, args=("beat",), kwargs={"worker": "w"})
    thread.start()
    thread.join()
    assert came.is_set()
    assert type(error).__name__ in capsys.readouterr().err


def test_a_signal_in_a_listener_on_the_main_thread_ends_the_program():
    events = Events()

    def signalled(**_):
        raise SystemExit(128 + 15)

    events.on("beat", signalled)
    with pytest.raises(SystemExit):
        events.emit("beat", worker="w")
