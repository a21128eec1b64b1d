"""Search: the narrowest index names the candidates, newest first; what it does not answer is checked job by job.

Only in a window of the newest candidates, so that no search reads the whole history: a page that ends at the window's edge
says so, and its `after` goes on from there. Indexes by id are walked in pieces; those in another order (queued, running,
scheduled jobs, by the end) are read whole while they are small, and not used where they are not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ...core.search_terms import Page, possible_id, validate
from . import header
from .checks import Candidate, check, names
from .claim import SEQ
from .reads import find
from .state_codes import LETTERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...core.search_terms import Term
    from .checks import Check
    from .connect import Server

    Command = tuple[Any, ...]

WINDOW = 20_000
CHUNK = 500  # candidates looked at in one call
VALUES = 11  # of each in its answer
BAG = 20_000  # entries of an index in another order that are read and sorted
KINDS = {"key": "k", "ref": "r", "tenant": "t", "tag": "#"}
BY_ID = {"review": "review", "dead": "dead"}
IN_BAGS = ("queued", "scheduled", "retrying", "running", "cancelling")
EXACT = ("queued", "scheduled", "running", "review", "dead")  # labels of which the index is the whole truth


class Range(NamedTuple):
    """A part of an index by id: the key, what stands before each id, and the start of the ids that are wanted."""

    key: str
    before: str = ""
    start: str = ""

    def lowest(self) -> str:
        return f"[{self.before}{self.start}"

    def highest(self, below: str | None) -> str:
        edge = f"{self.before}{self.start}~"
        return f"({edge if below is None else min(edge, self.before + below)}"


class Bag(NamedTuple):
    """A part of an index in another order: how to count it, to read it, and what stands before each id (or up to a mark)."""

    size: Command
    read: Command
    cut: int = 0


class Path(NamedTuple):
    """A way to the candidates, and the terms that need no further check."""

    ranges: tuple[Range, ...]
    bags: tuple[Bag, ...]
    covers: tuple[Term, ...]


def search(server: Server, terms: Sequence[Term], limit: int, after: str | None, now: int) -> Page:
    """Ids of the jobs for which every term holds, newest first."""
    validate(terms, limit)
    terms = [_pasted(server, term) for term in terms]
    checks = {term: check(term, now) for term in terms}
    path = _choose(server, terms)
    open_terms = [term for term in terms if term not in path.covers]
    if not open_terms:
        found = next(_pieces(server, path, after, limit + 1), [])
        return Page(tuple(found[:limit]), found[limit - 1] if len(found) > limit else None, None)
    return _filtered(server, path, [checks[term] for term in open_terms], _wanted(open_terms), limit, after)


def _wanted(terms: Sequence[Term]) -> list[Any]:
    """What the server is to answer of the candidates, and which it can leave out by state and type."""
    fields = {term.field for term in terms}
    what = "p" * ("args" in fields) + "a" * bool(fields & {"worker", "error", "text"})
    asked = {term.field: [str(value) for value in term.values] for term in terms if not term.negated}
    letters = "".join({LETTERS[_LABELS.get(label, label)] for label in asked.get("state", ())})
    types = asked.get("type", [])
    return [what, letters, len(types), *types]


_LABELS = {"retrying": "scheduled", "cancelling": "running"}


def _filtered(
    server: Server, path: Path, checks: list[Check], wanted: list[Any], limit: int, after: str | None
) -> Page:
    """The page of those candidates for which every check holds."""
    found: list[str] = []
    looked = 0
    for piece in _pieces(server, path, after, CHUNK):
        values = server.run("candidates", [*wanted, *piece])
        jobs = (Candidate(values[n : n + VALUES]) for n in range(0, len(values), VALUES))
        found += [job.id for job in jobs if all(holds(job) for holds in checks)]
        looked += len(piece)
        if len(found) > limit:
            return Page(tuple(found[:limit]), found[limit - 1], None)
        if looked >= WINDOW:
            return Page(tuple(found), piece[-1], WINDOW)
    return Page(tuple(found), None, None)


def _pasted(server: Server, term: Term) -> Term:
    """A word that begins the id of a job means that job, however old it is."""
    word = possible_id(term)
    return term._replace(field="id", op="=", values=(word,)) if word and find(server, word, 1) else term


# Reading a path -------------------------------------------------------------------------------------------------------
def _pieces(server: Server, path: Path, below: str | None, size: int) -> Iterator[list[str]]:
    """The candidates below an id, newest first, in pieces."""
    if path.bags:
        everything = sorted((job for job in _emptied(server, path.bags) if below is None or job < below), reverse=True)
        yield from (everything[start : start + size] for start in range(0, len(everything), size))
        return
    while piece := _piece(server, path.ranges, below, size):
        yield piece
        below = piece[-1]


def _piece(server: Server, ranges: tuple[Range, ...], below: str | None, size: int) -> list[str]:
    """The newest of all ranges together: none of them can lie beyond the newest of its own range."""
    commands = [
        ("ZREVRANGEBYLEX", server.prefix + each.key, each.highest(below), each.lowest(), "LIMIT", 0, size)
        for each in ranges
    ]
    found = server.commands(commands)
    if len(ranges) == 1:
        return [member[len(ranges[0].before) :] for member in found[0]]
    jobs = {member[len(each.before) :] for each, members in zip(ranges, found, strict=True) for member in members}
    return sorted(jobs, reverse=True)[:size]


def _emptied(server: Server, bags: Sequence[Bag]) -> set[str]:
    """Every id in the bags."""
    found = server.commands([bag.read for bag in bags])
    return {
        member[bag.cut :] if bag.cut >= 0 else member.rpartition("\0")[2]
        for bag, members in zip(bags, found, strict=True)
        for member in members
    }


# Choosing one ---------------------------------------------------------------------------------------------------------
def _choose(server: Server, terms: Sequence[Term]) -> Path:
    """The path with the fewest candidates. Counting costs no more than finding both ends of a range."""
    paths = [Path((Range("ids"),), (), ()), *_paths(server, [term for term in terms if not term.negated])]
    if len(paths) == 1:
        return paths[0]
    commands = [command for path in paths for command in _counts(server, path)]
    answers = iter(server.commands(commands))
    sizes = [sum(next(answers) for _ in _counts(server, path)) for path in paths]
    usable = [n for n, path in enumerate(paths) if not path.bags or sizes[n] <= BAG]
    return paths[min(reversed(usable), key=sizes.__getitem__)]


def _counts(server: Server, path: Path) -> list[Command]:
    counts = [("ZLEXCOUNT", server.prefix + each.key, each.lowest(), each.highest(None)) for each in path.ranges]
    return counts + [bag.size for bag in path.bags]


def _paths(server: Server, asked: Sequence[Term]) -> list[Path]:
    """Every path that a term offers."""
    paths = []
    types = [term for term in asked if term.field == "type"]
    for term in asked:
        if term.field in KINDS and term.op == "=":
            values = dict.fromkeys(str(value) for value in term.values)
            ranges = tuple(Range("terms", header.term(KINDS[term.field], value)) for value in values)
            paths.append(Path(ranges, (), (term,)))
        elif term.field == "id":
            paths.append(Path(tuple(Range("ids", "", str(value)) for value in dict.fromkeys(term.values)), (), (term,)))
        elif term.field == "parent":
            paths.append(Path((), tuple(_of_parent(server, str(value)) for value in term.values), (term,)))
        elif term.field == "finished":
            paths.append(Path((), tuple(_of_instants(server, term)), (term,)))
        elif term.field == "state":
            paths += _of_states(server, term, types)
    return paths


def _of_parent(server: Server, value: str) -> Bag:
    start = header.term("p", value)[:-1]
    edges = server.prefix + "terms", f"[{start}", f"({start}~"
    return Bag(("ZLEXCOUNT", *edges), ("ZRANGEBYLEX", *edges), -1)


def _of_instants(server: Server, term: Term) -> Iterator[Bag]:
    """The ended jobs within the instants of a term."""
    edges = {"<": ("-inf", "({}"), "<=": ("-inf", "{}"), ">": ("({}", "+inf"), ">=": ("{}", "+inf")}
    if term.op == "=":
        spans = [(str(start), f"({end}") for start, end in zip(term.values[::2], term.values[1::2], strict=True)]
    else:
        low, high = edges[term.op]
        spans = [(low.format(value), high.format(value)) for value in term.values]
    for letter in "cxd":
        for span in spans:
            key = f"{server.prefix}ended:{letter}"
            yield Bag(("ZCOUNT", key, *span), ("ZRANGEBYSCORE", key, *span))


def _of_states(server: Server, term: Term, types: Sequence[Term]) -> list[Path]:
    """Jobs in these states, where each has an index."""
    labels = dict.fromkeys(str(value) for value in term.values)
    covers = (term,) if all(label in EXACT for label in labels) else ()
    if all(label in BY_ID for label in labels):
        return [Path(tuple(Range(BY_ID[label]) for label in labels), (), covers)]
    if not all(label in IN_BAGS or label in BY_ID for label in labels):
        return []
    bags = [bag for label in labels for bag in _of_label(server, label, types)]
    return [Path((), tuple(bags), covers)]


def _of_label(server: Server, label: str, types: Sequence[Term]) -> Iterator[Bag]:
    if label in ("scheduled", "retrying"):
        yield _whole(server, "due", SEQ)
    elif label in BY_ID:
        yield _whole(server, BY_ID[label])
    elif label == "queued":
        for lane in server.read("SMEMBERS", "lanes"):
            if all(names(header.of_lane(lane)[1], term) for term in types):
                yield _whole(server, f"queue:{lane}", SEQ)
    else:
        registered, gone = server.commands(
            [("ZRANGE", server.prefix + "workers", 0, -1), ("SMEMBERS", server.prefix + "gone")]
        )
        yield from (_whole(server, f"run:{worker}") for worker in (*registered, *gone))


def _whole(server: Server, key: str, cut: int = 0) -> Bag:
    return Bag(("ZCARD", server.prefix + key), ("ZRANGE", server.prefix + key, 0, -1), cut)
