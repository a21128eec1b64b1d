"""Live answers: callers name paths of the API, and get each answer again whenever it has changed.

One thread of a site looks whether the store has changed (`change_mark`), a few times a second and only while somebody listens. If so, it
computes each distinct answer once, however many callers listen to it, and hands what differs from before to the event loops that send it.
The thread rests at least as long as it has worked, and a millisecond for each listener: it uses half of a core at most.
"""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec
from starlette.datastructures import QueryParams
from starlette.responses import Response

from .call import Call
from .encode import encoded
from .problems import Refused
from .respond import arguments, check, failed
from .table import reading

if TYPE_CHECKING:
    from starlette.requests import Request

    from .operations import Operation
    from .roles import Access
    from .site import Site

TICK = 0.25  # seconds between two looks
AGE = 5.0  # after so many seconds an answer is computed again, whether the store has changed or not: ages grow
PATHS, LISTENERS = 10, 2_000  # paths of one listener; listeners of a site


class Question(NamedTuple):
    """A path as callers of a tenant ask it, or one caller where answers are personal: equal questions have equal answers."""

    path: str
    tenant: str | None
    who: Access | None
    base: str  # the address by which the caller reached this site: answers with addresses have it


class Listener:
    """One open stream: the answers that were not sent yet, by path. It belongs to the event loop that made it."""

    def __init__(self, questions: dict[Question, Asked]) -> None:
        self.questions, self.waiting = questions, dict[str, bytes]()
        self.news, self.loop = asyncio.Event(), asyncio.get_running_loop()

    def put(self, answers: dict[str, bytes]) -> None:
        """Keep the newest answers until they are sent; call it in the event loop."""
        self.waiting |= answers
        self.news.set()

    def take(self) -> list[bytes]:
        """Return what is to be sent now."""
        found, self.waiting = list(self.waiting.values()), {}
        self.news.clear()
        return found


class Asked(NamedTuple):
    """How a question is answered."""

    operation: Operation
    call: Call
    arguments: dict[str, Any]


class Live:
    """The listeners of a site, and the thread that answers them; it ends when nobody listens."""

    def __init__(self, site: Site) -> None:
        self._site, self._lock = site, threading.Lock()
        self._listeners: set[Listener] = set()
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()  # a new listener waits for its first answers
        self.stopping = False

    def listen(self, request: Request, who: Access, paths: list[str]) -> Listener:
        """Return a listener for these paths; its first answers come at once."""
        if not 0 < len(paths) <= PATHS:
            raise Refused(422, "not_valid", f"name 1 to {PATHS} paths: api/live?path=/api/overview")
        listener = Listener(dict(self._asked(path, request, who) for path in paths))
        with self._lock:
            if len(self._listeners) >= LISTENERS:
                raise Refused(429, "too_many", f"{LISTENERS:,} pages are open already", {"Retry-After": "5"})
            self._listeners.add(listener)
            try:
                self._start()
            except BaseException:
                self._listeners.discard(listener)
                raise
        self._wake.set()
        return listener

    def _start(self) -> None:
        """Start the thread unless it runs; call with the lock held."""
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="mainstay-live", daemon=True)
            thread.start()
            self._thread = thread

    def leave(self, listener: Listener) -> None:
        """Forget a listener whose stream has ended."""
        with self._lock:
            self._listeners.discard(listener)

    def stop(self) -> None:
        """End every stream, because the server stops."""
        self.stopping = True
        with self._lock:
            listeners = list(self._listeners)
        for each in listeners:
            _put(each, {})
        self._wake.set()

    def _asked(self, path: str, request: Request, who: Access) -> tuple[Question, Asked]:
        operation, names, query = _read_by(path)
        check(self._site, operation, request, who)
        call = Call(self._site.app, who, self._site, request)
        asked = Asked(operation, call, arguments(operation, names, QueryParams(query)))
        personal = who if operation.personal else None
        return Question(path, who.tenant, personal, str(request.base_url)), asked

    # the thread ---------------------------------------------------------------------------------------------------
    def _run(self) -> None:
        answers: dict[Question, tuple[float, bytes]] = {}
        mark, told = "", set[tuple[Listener, Question]]()
        while (listeners := self._present()) is not None:
            begun = time.monotonic()
            last, mark = mark, self._mark()
            questions = {question: asked for each in listeners for question, asked in each.questions.items()}
            answers = {question: answers[question] for question in questions if question in answers}
            changed = set[Question]()
            for question, asked in questions.items():
                at, before = answers.get(question, (0.0, b""))
                if not before or mark != last or begun - at >= AGE:
                    answers[question] = begun, _answer(question.path, asked)
                    changed |= {question} if answers[question][1] != before else set()
            told = _tell(listeners, answers, changed, told)
            self._rest(begun, len(listeners))

    def _present(self) -> list[Listener] | None:
        """Return the listeners; None when there are none, or the server stops: then the thread ends."""
        self._wake.clear()  # before it looks: who comes behind is not forgotten
        with self._lock:
            if self._listeners and not self.stopping:
                return list(self._listeners)
            self._thread = None
            return None

    def _mark(self) -> str:
        try:
            return self._site.app.reader.change_mark()
        except Exception as error:  # noqa: BLE001  (the answers say what is wrong with the store; without this thread, nobody gets any)
            return f"{type(error).__name__} {time.monotonic()}"

    def _rest(self, begun: float, listeners: int) -> None:
        """Wait for the next look; a new listener ends the wait once the thread has rested as long as it worked."""
        worked = time.monotonic() - begun
        time.sleep(min(worked, 5.0))
        self._wake.wait(max(TICK, worked + listeners / 1000) - worked)


def _read_by(path: str) -> tuple[Operation, dict[str, Any], str]:
    """Return the operation that reads a path, the parts of the path, and its parameters."""
    try:
        parts = urlsplit(path)
    except ValueError:  # "//[" is no address
        parts = urlsplit("//")
    found = None if parts.scheme or parts.netloc else reading(unquote(parts.path))
    if found is None:
        raise Refused(422, "not_valid", f"{path!r} cannot be listened to: name a path that GET reads as JSON")
    return *found, parts.query


def _answer(path: str, asked: Asked) -> bytes:
    """Return the answer to a question, as the data of an event."""
    try:
        result = asked.operation.run(asked.call, **asked.arguments)
        response = result if isinstance(result, Response) else Response(encoded(result))
    except Exception as error:  # noqa: BLE001  (told to the listener, and logged, as a response would be)
        response = failed(error, asked.operation, asked.call.who)
    status, body = response.status_code, bytes(response.body)
    return b'{"path":%b,"status":%d,"body":%b}' % (msgspec.json.encode(path), status, body)


def _tell(
    listeners: list[Listener], answers: dict[Question, tuple[float, bytes]], changed: set[Question],
    told: set[tuple[Listener, Question]],
) -> set[tuple[Listener, Question]]:  # fmt: skip
    """Hand answers to the listeners: those that have changed, and all to a new one. Return what each has been told."""
    known = set[tuple[Listener, Question]]()
    for each in listeners:
        news = {
            question.path: answers[question][1]
            for question in each.questions
            if question in changed or (each, question) not in told
        }
        known |= {(each, question) for question in each.questions}
        if news:
            _put(each, news)
    return known


def _put(listener: Listener, news: dict[str, bytes]) -> None:
    try:
        listener.loop.call_soon_threadsafe(listener.put, news)
    except RuntimeError:  # its event loop has ended, and its stream with it
        return
