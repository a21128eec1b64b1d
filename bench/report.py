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
    """A column of a table: a figure, or its ratio to the limit's in the same round."""

    title: str
    figure: str
    of_limit: bool = False


RATE, OF_LIMIT = Column("jobs/s", "rate"), Column("of limit", "rate", of_limit=True)
STEADY, CPU, PEAK = Column("steady jobs/s", "rate"), Column("CPU µs/job", "cpu"), Column("peak MiB", "peak")
STARTING = [Column("from start jobs/s", "from_start"), Column("start-up s", "startup")]
AGED = [STEADY, OF_LIMIT, Column("of itself", "itself"), CPU, PEAK]

TABLES: dict[str, tuple[str, list[Column]]] = {
    "enqueue": ("Enqueue one, durable", [RATE, OF_LIMIT, Column("p50 ms", "p50"), Column("p95 ms", "p95")]),
    "bulk": ("Enqueue in bulk, 1,000 a call", [RATE, OF_LIMIT]),
    "drain": ("Drain, 1 process", [STEADY, OF_LIMIT, CPU, PEAK, *STARTING]),
    "drain2": ("Drain, 2 processes", [STEADY, OF_LIMIT, Column("of one process", "itself"), CPU, PEAK, *STARTING]),
    "waiting": ("Drain in front of {backlog:,} waiting", AGED),
    "finished": ("Drain behind {backlog:,} finished", AGED),
    "pickup": (
        "Pickup across processes, and a worker at rest",
        [Column("p50 ms", "p50"), Column("p95 ms", "p95"), Column("p99 ms", "p99"), Column("p95 of limit", "p95", of_limit=True), Column("rest MiB", "idle_rss"),
         Column("rest % core", "idle_cpu")],
    ),
    "cold": ("Cold enqueue, interpreter included", [Column("p50 ms", "p50"), Column("p95 ms", "p95"), Column("p50 of limit", "p50", of_limit=True)]),
}  # fmt: skip


def report(results: Results, contenders: Sequence[Contender], scale: Scale) -> Iterator[str]:
    """Every line of it."""
    yield from settings(contenders)
    for measure, (title, columns) in TABLES.items():
        names = seen(results, measure)
        if names:
            yield from ["", title.format(backlog=scale.backlog), *table(results, measure, names, columns)]
    yield from ["", "Targets" if scale.judges else "Targets, with too few jobs to judge by"]
    yield from targets(results, scale.judges)
    yield from failures(results)


def seen(results: Results, measure: str) -> list[str]:
    """The contenders of a measure, as the first round took them."""
    return list(dict.fromkeys(row["contender"] for row in results.rows if row["measure"] == measure))


def settings(contenders: Sequence[Contender]) -> Iterator[str]:
    """How each contender is set up."""
    for contender in contenders:
        state = " (not installed)" if contender.missing() else ""
        yield f"{contender.name:15} synchronous={contender.durability}{state}: {contender.about}"


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
    """What was counted in each round: said once where the rounds agree."""
    return " · ".join(dict.fromkeys(filter(None, results.counts(measure, name))))


def shown(value: Spread) -> str:
    """A median with its spread; one round has no spread."""
    if value.low == value.high:
        return number(value.median)
    return f"{number(value.median)} ({number(value.low)}–{number(value.high)})"


def number(value: float) -> str:
    """Three significant places, thousands apart."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def targets(results: Results, judges: bool) -> Iterator[str]:
    """Each target with what was measured; those that were not measured are left out."""
    for target in TARGETS:
        value = target.measured(results)
        if value is not None:
            bound = f"{target.sign} {target.bound:g}{target.unit}"
            yield f"  {verdict(target.met(results), judges)} {target.text}: {shown(value)}{target.unit}, wanted {bound}"
    for row in results.rows:
        if "unwanted" in row and row["round"] == 1:
            found = ", ".join(row["unwanted"]) or "none"
            yield f"  {verdict(not row['unwanted'], True)} `import mainstay`: third-party or heavy modules: {found}"


def verdict(met: bool | None, judges: bool) -> str:
    return f"{('met' if met else 'NOT MET') if judges else '':8}"


def failures(results: Results) -> Iterator[str]:
    """Every run whose counts do not agree, said once more at the end."""
    for row in results.failures():
        yield f"FAILED {row['measure']} {row['contender']} round {row['round']}: {row.get('failure', 'counts differ')}"
