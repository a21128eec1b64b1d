"""Search: the narrowest index names the candidates, newest first; the terms it does not cover are checked job by job.

It looks at a window of the newest candidates, so that no search reads the whole history: a page that ends at the edge of the
window says so, and its `after` continues from there. Indexes by id are read in pieces. Indexes in another order (queued,
running, scheduled jobs, by the end) are read whole while they are small, and not used otherwise.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core.search_terms import Page, possible_id, reference_range, validate
from . import header, record
from .reads import find, read
from .record import SEQ

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...core.search_terms import Term
    from .checks import Checks
    from .connect import Server
    from .store import RedisStore

WINDOW, PAGE = 20_000, 5_000
CHUNK = 500  # candidates read in one call
UNSORTED = 20_000  # entries of an index in another order that are read and sorted
TERMS = {{"tags": "tag"}.get(name, name): letter for name, letter in header.TERMS.items() if name != "parent"} | {
    "code": "c"
}
BY_ID = ("review", "dead")  # states with an index by id
EXACT = ("queued", "scheduled", "running", *BY_ID)  # labels of which the index has exactly the jobs
EDGES = {"<": ("-inf", "({}"), "<=": ("-inf", "{}"), ">": ("({}", "+inf"), ">=": ("{}", "+inf")}


class Part(NamedTuple):
    """A part of an index, between two edges. `cut` characters are before each id (-1: all up to NUL)."""

    key: str
    low: str = "-inf"
    high: str = "+inf"
    cut: int = 0
    by_id: bool = False

    def command(self, read: bool) -> tuple[str, ...]:
        """Return the command that reads or counts the part. Counting costs no more than finding both ends."""
        lexical, scored = ("ZRANGEBYLEX", "ZRANGEBYSCORE") if read else ("ZLEXCOUNT", "ZCOUNT")
        return lexical if self.low[0] == "[" else scored, self.key, self.low, self.high

    def newest(self, below: str | None, size: int) -> tuple[Any, ...]:
        """Return the command that reads the newest ids, of a part in the order of ids."""
        high = self.high if below is None else min(self.high, f"({self.low[1 : 1 + self.cut]}{below}")
        return "ZREVRANGEBYLEX", self.key, high, self.low, "LIMIT", 0, size

    def id(self, member: str) -> str:
        """Return the id in a member of the index."""
        return member[self.cut :] if self.cut >= 0 else member.rpartition("\0")[2]


class Path(NamedTuple):
    """A way to the candidates, and the terms that need no check."""

    parts: tuple[Part, ...]
    covers: tuple[Term, ...] = ()

    @property
    def by_id(self) -> bool:
        return all(part.by_id for part in self.parts)


def search(store: RedisStore, terms: Sequence[Term], limit: int, after: str | None, now: int) -> Page:
    """Return the ids of the jobs for which every term holds, newest first."""
    validate(terms, limit)
    terms = [_pasted(store, term) for term in terms]
    path = _choose(store.server, [term for term in terms if not term.negated])
    open_terms = [term for term in terms if term not in path.covers]
    if not open_terms:
        found = next(_pieces(store.server, path, after, limit + 1), [])
        return Page(tuple(found[:limit]), found[limit - 1] if len(found) > limit else None, None)
    from .checks import Checks  # needs SQLite

    with closing(Checks(open_terms, now)) as checks:
        return _checked(store.server, path, checks, limit, after)


class Typed(NamedTuple):
    """What a count reads of a job."""

    id: str
    type: str


_TYPED: record.Rows[Typed] = record.Rows(Typed)


def count(store: RedisStore, terms: Sequence[Term], now: int, after: str | None = None) -> dict[str, int]:
    """Return how many jobs match, by type: page by page, as a search finds them."""
    found: Counter[str] = Counter()
    page = search(store, terms, PAGE, after, now)
    while page.ids or page.after is not None:
        for start in range(0, len(page.ids), CHUNK):
            _, jobs = read(store, _TYPED, page.ids[start : start + CHUNK])
            found.update(job.type for job in jobs)
        page = search(store, terms, PAGE, page.after, now) if page.after is not None else Page((), None, None)
    return dict(found)


def matching(store: RedisStore, ids: Sequence[str], terms: Sequence[Term], now: int) -> dict[str, str]:
    """Return those of these jobs for which every term holds, each with the digest of what was checked."""
    from .checks import Checks

    with closing(Checks([_pasted(store, term) for term in terms], now, digests=True)) as checks:
        digests: dict[str, str] = {}
        for start in range(0, len(ids), CHUNK):
            found = store.server.run("candidates", [checks.request, *ids[start : start + CHUNK]])
            known = {row[0]: row.pop() for row in found}
            digests |= {job: known[job] for job in checks.passed(found)}
        return digests


def _pasted(store: RedisStore, term: Term) -> Term:
    """Take a word that begins the id of a job for that job, however old it is."""
    word = possible_id(term)
    return term._replace(field="id", op="=", values=(word,)) if word and find(store, word, 1) else term


def _checked(server: Server, path: Path, checks: Checks, limit: int, after: str | None) -> Page:
    """Return the page of those candidates that pass the checks."""
    found: list[str] = []
    looked = 0
    for piece in _pieces(server, path, after, CHUNK):
        found += checks.passed(server.run("candidates", [checks.request, *piece]))
        looked += len(piece)
        if len(found) > limit:
            return Page(tuple(found[:limit]), found[limit - 1], None)
        if looked >= WINDOW:
            return Page(tuple(found), piece[-1], WINDOW)
    return Page(tuple(found), None, None)


def _pieces(server: Server, path: Path, below: str | None, size: int) -> Iterator[list[str]]:
    """Return the candidates below an id, newest first, in pieces."""
    if path.by_id:
        # The newest of all parts together: each of them is among the newest of its own part.
        while piece := _ids(server, path, [part.newest(below, size) for part in path.parts])[:size]:
            yield piece
            below = piece[-1]
        return
    everything = _ids(server, path, [part.command(read=True) for part in path.parts])
    wanted = [job for job in everything if below is None or job < below]
    yield from (wanted[start : start + size] for start in range(0, len(wanted), size))


def _ids(server: Server, path: Path, commands: list[tuple[Any, ...]]) -> list[str]:
    """Return the ids that these commands find in the parts of a path, newest first."""
    found = zip(path.parts, server.on_keys(commands), strict=True)
    return sorted({part.id(member) for part, members in found for member in members}, reverse=True)


# Choosing a path ------------------------------------------------------------------------------------------------------
def _choose(server: Server, asked: Sequence[Term]) -> Path:
    """Return the path with the fewest candidates."""
    types = [term for term in asked if term.field == "type"]
    paths = [Path((_by_id("ids"),)), *(path for term in asked if (path := _path(server, term, types)))]
    if len(paths) == 1:
        return paths[0]
    counts = iter(server.on_keys([part.command(read=False) for path in paths for part in path.parts]))
    sizes = [sum(next(counts) for _ in path.parts) for path in paths]
    usable = [n for n, path in enumerate(paths) if path.by_id or sizes[n] <= UNSORTED]
    return paths[min(reversed(usable), key=sizes.__getitem__)]


def _path(server: Server, term: Term, types: Sequence[Term]) -> Path | None:
    """Return the path that a term offers."""
    values = dict.fromkeys(map(str, term.values))
    if term.field in TERMS and term.op == "=":
        return Path(tuple(_of_term(term.field, value) for value in values), (term,))
    if term.field == "id":
        return Path(tuple(_by_id("ids", "", value) for value in values), (term,))
    if term.field == "parent":
        starts = [header.term("p", value)[:-1] for value in values]
        return Path(tuple(Part("terms", f"[{start}", f"({start}~", -1) for start in starts), (term,))
    if term.field == "fingerprint":
        return Path((_by_id("dead"),))
    if term.field == "finished":
        return Path(tuple(Part(f"ended:{letter}", *span) for letter in "cxd" for span in _spans(term)), (term,))
    if term.field == "state" and {"retrying", "cancelling", *EXACT}.issuperset(values):
        parts = tuple(part for label in values for part in _of_label(server, label, types))
        return Path(parts, (term,) if {*EXACT}.issuperset(values) else ())
    return None


def _by_id(key: str, before: str = "", start: str = "") -> Part:
    """Return the part of an index by id whose ids begin so, with a text before each id."""
    return Part(key, f"[{before}{start}", f"({before}{start}~", len(before), by_id=True)


def _of_term(field: str, value: str) -> Part:
    of_type = reference_range(value) if field in {"ref", "tenant"} else None
    if of_type is None:
        return _by_id("terms", header.term(TERMS[field], value))
    low, high = (header.term(TERMS[field], text)[:-1] for text in of_type)
    return Part("terms", f"[{low}", f"({high}", -1)


def _spans(term: Term) -> list[tuple[str, str]]:
    """Return the edges of the instants of a term."""
    if term.op == "=":
        return [(str(start), f"({end}") for start, end in zip(term.values[::2], term.values[1::2], strict=True)]
    low, high = EDGES[term.op]
    return [(low.format(value), high.format(value)) for value in term.values]


def _of_label(server: Server, label: str, types: Sequence[Term]) -> list[Part]:
    """Return the parts with the jobs of a label; of queued jobs only those of these types."""
    if label in BY_ID:
        return [_by_id(label)]
    if label in ("scheduled", "retrying"):
        return [Part("due", cut=SEQ)]
    if label == "queued":
        lanes = server.read("SMEMBERS", "lanes")
        return [Part(f"queue:{lane}", cut=SEQ) for lane in lanes if all(_of_type(lane, term) for term in types)]
    registered, gone = server.on_keys([("ZRANGE", "workers", 0, -1), ("SMEMBERS", "gone")])
    return [Part(f"run:{worker}") for worker in (*registered, *gone)]


def _of_type(lane: str, term: Term) -> bool:
    """Return whether the type of a lane is one of a term's; a star at the end stands for any rest."""
    name = header.of_lane(lane)[1]
    values = map(str, term.values)
    return any(name.startswith(value[:-1]) if value.endswith("*") else name == value for value in values)
