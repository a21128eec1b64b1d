"""The report: absolute figures, ratios to the limit in the same round, counts, targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .targets import LIMIT, TARGETS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .contenders import Contender
    from .figures import Results, Spread
    from .scale import Scale


class Column(NamedTuple):
    """A column of a table: a figure, or its ratio to the limit's figure in the same round."""

    title: str
    figure: str
    of_limit: bool = False


RATE, OF_LIMIT = Column("jobs/s", "rate"), Column("of limit", "rate", of_limit=True)
STEADY, PEAK = Column("steady jobs/s", "rate"), Column("peak MiB", "peak")
CPU = [Column("CPU µs/job", "cpu"), Column("server CPU µs/job", "server")]
STARTING = [Column("from start jobs/s", "from_start"), Column("start-up s", "startup")]
HELD = [STEADY, Column("without", "control"), Column("of that", "itself"), *CPU]
REPORTS = [*HELD, Column("CPU of that", "cpu_itself"), Column("server CPU of that", "server_itself")]
AGED = [STEADY, OF_LIMIT, Column("of itself", "itself"), *CPU, PEAK]

TABLES: dict[str, tuple[str, list[Column]]] = {
    "enqueue": ("Enqueue one, durable", [RATE, OF_LIMIT, Column("p50 ms", "p50"), Column("p95 ms", "p95")]),
    "bulk": ("Enqueue in bulk, 1,000 a call", [RATE, OF_LIMIT]),
    "drain": ("Drain, 1 process", [STEADY, OF_LIMIT, *CPU, PEAK, *STARTING]),
    "drain2": ("Drain, 2 processes", [STEADY, OF_LIMIT, Column("of one process", "itself"), *CPU, PEAK, *STARTING]),
    "waiting": ("Drain in front of {backlog:,} waiting", AGED),
    "finished": ("Drain behind {backlog:,} finished", AGED),
    "foreign": ("Drain behind {foreign:,} jobs of a type that the worker lacks", [*AGED, *STARTING]),
    "lanes": (
        "100 jobs in 100 lanes, of {lanes} queues × {lanes} types; beside one lane; and a worker at rest",
        [Column("one lane p50 ms", "one_p50"), Column("100 lanes p50 ms", "p50"), Column("slower", "slower"),
         Column("one lane: rest % core", "one_cpu"), Column("server", "one_server"), Column("all: rest % core", "idle_cpu"), Column("server", "idle_server")],
    ),
    "limited": (
        "Drain, 2 processes with 50 slots, {limited:,} jobs of 200 tenants: 5 of each at once; beside no limit",
        [STEADY, Column("without", "control"), Column("of that", "itself"), *CPU, Column("CPU of that", "cpu_itself"), Column("server CPU of that", "server_itself")],
    ),
    "blocked": ("Drain behind {blocked:,} jobs that wait for a limit", HELD),
    "rated": ("Drain behind {blocked:,} jobs that wait for a rate", HELD),
    "paused": ("Drain behind {paused:,} jobs of a paused type", HELD),
    "pausing": (
        "A pause of a type with {paused:,} waiting jobs",
        [Column("last start ms", "stops"), Column("first start after resume ms", "starts"), Column("longest write ms", "longest"),
         Column("at other times ms", "otherwise"), Column("pause() ms", "pause"), Column("resume() ms", "resume")],
    ),
    "pruning": (
        "Drain of {pruning:,} jobs while {backlog:,} finished ones are removed; beside a drain that removes none",
        [STEADY, Column("without", "control"), Column("of that", "itself"), Column("removed/s", "removed"), Column("a removal p50 ms", "hold_p50"),
         Column("p99 ms", "hold_p99"), Column("longest ms", "hold_max")],
    ),
    "fair": ("A tenant with {blocked:,} jobs and one with 10 behind them", [Column("% started when the 10 have", "before")]),
    "bulk_retry": (
        "Drain while {blocked:,} dead jobs of another queue are retried by a search",
        [STEADY, Column("without", "control"), Column("of that", "itself"), Column("retried/s", "retried"), *CPU],
    ),
    "logs": ("Drain, five log lines a job; beside none", REPORTS),
    "lines": ("Drain, a hundred log lines a job; beside none", [*REPORTS, Column("lines/s", "lines")]),
    "saves": ("Drain, one checkpoint a job; beside none", REPORTS),
    "worker_log": ("Drain with the default log level of a worker; beside warnings only", REPORTS),
    "pickup": (
        "Pickup across processes, and a worker at rest",
        [Column("p50 ms", "p50"), Column("p95 ms", "p95"), Column("p99 ms", "p99"), Column("p95 of limit", "p95", of_limit=True), Column("rest MiB", "idle_rss"),
         Column("rest % core", "idle_cpu"), Column("server % core", "idle_server")],
    ),
    "schedules": (
        "{schedules:,} schedules, a tick of each spread over {ticking:g} s: until its job is committed; and a worker at rest",
        [Column("p50 ms", "p50"), Column("p95 ms", "p95"), Column("p99 ms", "p99"), Column("longest ms", "longest"), Column("rest % core", "idle_cpu"),
         Column("without", "plain_cpu")],
    ),
    "looks": (
        "Commands that only look, on {looks:,} jobs (Redis: a fifth), interpreter included, p50 ms",
        [Column(name.replace("_", " "), name) for name in (
            "status", "stats", "dead", "stuck", "dupes", "history", "why", "health", "ls_type", "ls_state", "ls_ref", "ls_tag", "ls_finished", "text",
        )],
    ),
    "wal": (
        "Write-ahead log, {wal:,} jobs of 200 bytes, enqueued one by one",
        [Column("bytes/job", "wal"), Column("of them enqueue", "wal_enqueue"), Column("run", "wal_run"), Column("of limit", "wal", of_limit=True),
         Column("page images", "images")],
    ),
    "claimers": (
        "A claim: one claimer and 1,000 waiting; {crowd:,} claimers and {crowd_backlog:,} waiting, at the same load; then flat out",
        [Column("one, p50 ms", "alone_p50"), Column("p95 ms", "alone_p95"), Column("many, p50 ms", "p50"), Column("p95 ms", "p95"), Column("slower", "slower"),
         Column("many, flat out jobs/s", "rate")],
    ),
    "held": (
        "A claim at 200 jobs/s: before, at the end of and after a transaction held open for {hold:g} s",
        [Column("before p50 ms", "before_p50"), Column("p95", "before_p95"), Column("late p50 ms", "late_p50"), Column("p95", "late_p95"), Column("slower", "slower"),
         Column("after p50 ms", "after_p50"), Column("p95", "after_p95"), Column("enqueued/s", "rate")],
    ),
    "cold": ("Cold enqueue, interpreter included", [Column("p50 ms", "p50"), Column("p95 ms", "p95"), Column("p50 of limit", "p50", of_limit=True)]),
}  # fmt: skip


def report(results: Results, contenders: Sequence[Contender], scale: Scale, engine: str) -> Iterator[str]:
    """The lines of the report."""
    yield from settings(contenders)
    for measure, (title, columns) in TABLES.items():
        names = seen(results, measure)
        if names:
            present = [column for column in columns if has(results, measure, column)]
            yield from ["", title.format(**scale._asdict()), *table(results, measure, names, present)]
    yield from ["", "Targets" if scale.conclusive else "Targets, with too few jobs for a verdict"]
    yield from targets(results, scale.conclusive, engine)
    yield from failures(results)


def has(results: Results, measure: str, column: Column) -> bool:
    """Whether any contender has this figure: SQLite has no server."""
    return any(row.get(column.figure) is not None for row in results.rows if row["measure"] == measure)


def seen(results: Results, measure: str) -> list[str]:
    """The contenders of a measure, in the order of the first round."""
    return list(dict.fromkeys(row["contender"] for row in results.rows if row["measure"] == measure))


def settings(contenders: Sequence[Contender]) -> Iterator[str]:
    """How each contender is set up."""
    for contender in contenders:
        why = contender.missing()
        yield f"{contender.name:15} {contender.durability}{f' ({why})' * bool(why)}: {contender.about}"


def table(results: Results, measure: str, names: Sequence[str], columns: Sequence[Column]) -> Iterator[str]:
    """One measure: a row a contender, the cells `median (low–high)`."""
    titles = ["", *(column.title for column in columns), "counted"]
    rows = [
        [name, *(cell(results, measure, name, column) for column in columns), tally(results, measure, name)]
        for name in names
    ]
    widths = [max(len(row[n]) for row in [titles, *rows]) for n in range(len(titles))]
    for row in [titles, *rows]:
        yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()


def cell(results: Results, measure: str, name: str, column: Column) -> str:
    own = (measure, name, column.figure)
    value = results.ratio(own, (measure, LIMIT, column.figure)) if column.of_limit else results.spread(*own)
    return "–" if value is None else shown(value)


def tally(results: Results, measure: str, name: str) -> str:
    """The counts of the rounds; equal counts are printed once."""
    return " · ".join(dict.fromkeys(filter(None, results.counts(measure, name))))


def shown(value: Spread) -> str:
    """A median with its spread; one round has no spread."""
    if value.low == value.high:
        return number(value.median)
    return f"{number(value.median)} ({number(value.low)}–{number(value.high)})"


def number(value: float) -> str:
    """About three significant digits, with separators between thousands."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def targets(results: Results, conclusive: bool, engine: str) -> Iterator[str]:
    """Each target that was measured, with its figure."""
    for target in TARGETS[engine]:
        value = target.measured(results)
        if value is not None:
            bound = f"{target.sign} {target.bound:g}{target.unit}"
            yield f"  {verdict(target.met(results), conclusive)} {target.text}: {shown(value)}{target.unit}, wanted {bound}"
    for row in results.rows:
        if "unwanted" in row and row["round"] == 1:
            found = ", ".join(row["unwanted"]) or "none"
            yield f"  {verdict(not row['unwanted'], True)} `import mainstay`: third-party or heavy modules: {found}"


def verdict(met: bool | None, conclusive: bool) -> str:
    return f"{('met' if met else 'NOT MET') if conclusive else '':8}"


def failures(results: Results) -> Iterator[str]:
    """Every run that failed."""
    for row in results.failures():
        yield f"FAILED {row['measure']} {row['contender']} round {row['round']}: {row.get('failure', 'counts differ')}"
