"""Batch types: `@app.job(batch=32, wait="50ms")`. What a handler that takes several jobs at once must look like and return."""

from __future__ import annotations

from collections.abc import Sequence
from functools import update_wrapper
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Any, NamedTuple, get_args, get_origin

from .clock import span
from .errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

MOST = 1_000  # jobs of one batch: a round of the worker stores as many
WAIT, LONGEST = "50ms", 10_000  # the default, and the longest in milliseconds: jobs that wait are held under a lease
ITEM = "item"  # the name of a job's only argument


class Batch(NamedTuple):
    """How the jobs of a type are put together, and how its handler takes them."""

    size: int
    wait: int  # milliseconds, from the claim of the first job
    parameter: str  # of the handler: it takes the list
    returns: bool  # the handler declares that it returns a list
    one: Callable[..., Any]  # a function with the handler's types for one job: it takes an item and returns a result


def batch_of(function: Callable[..., Any], name: str, size: Any, wait: Any, process: bool) -> Batch:
    """Return what these options mean for a handler; raise `UsageError` if it cannot take a list of jobs."""
    if type(size) is not int or not 1 <= size <= MOST:
        raise UsageError(f"batch={size!r}: how many jobs one call of {name} takes at most, a number from 1 to {MOST:,}")
    if process:
        raise UsageError(f"{name}: a batch handler cannot run in a process slot; leave out batch= or process=True")
    taken, returned = _annotations(function, name)
    item = _of_list(taken.annotation)
    if item is None:
        raise _misshapen(name)
    result = _of_list(returned)
    one = _for_one(function, item, returned if result is None else result)
    return Batch(size, _milliseconds(wait), taken.name, result is not None, one)


def results(batch: Batch, returned: Any, count: int) -> Sequence[Any]:
    """Return what a handler returned for each of its jobs; raise `UsageError` if that is not one entry per job."""
    if returned is None and not batch.returns:
        return [None] * count
    if not isinstance(returned, Sequence) or isinstance(returned, (str, bytes)):
        raise UsageError(
            f"a batch handler returns a list with one entry per job, but this one returned {type(returned).__name__}; an "
            "entry is the job's result, or an exception if the job failed"
        )
    if len(returned) != count:
        raise UsageError(
            f"the batch has {count} jobs, but the handler returned a list of {len(returned)}: return one entry per job, in "
            "the order of the items; None for a job without a result, an exception for one that failed"
        )
    return returned


def _milliseconds(wait: Any) -> int:
    limit = span("wait", wait)
    if limit > LONGEST:
        raise UsageError(f"wait={wait!r}: at most {LONGEST // 1000} seconds; give delay= to jobs that are to run later")
    return limit


def _annotations(function: Callable[..., Any], name: str) -> tuple[Parameter, Any]:
    try:
        found = signature(function)
    except NameError as error:  # from Python 3.14 on, annotations are evaluated when asked for
        raise UsageError(f"{name}: an annotation cannot be resolved ({error}): define it above the function") from error
    parameters = list(found.parameters.values())
    if len(parameters) != 1 or parameters[0].kind != Parameter.POSITIONAL_OR_KEYWORD:
        raise _misshapen(name)
    return parameters[0], found.return_annotation


def _misshapen(name: str) -> UsageError:
    return UsageError(
        f"{name}: a batch handler has one parameter, a list with one item per job: def {name}(items: list[Item]). Give Item, "
        "a dataclass for instance, a field for each argument of a job"
    )


def _of_list(annotation: Any) -> Any:
    """Return X of `list[X]` or `Sequence[X]`, None of anything else; a text if the annotation is a text."""
    if isinstance(annotation, str):
        return _of_list_text(annotation)
    parts = get_args(annotation)
    return parts[0] if parts and get_origin(annotation) in (list, Sequence) else None


def _of_list_text(annotation: str) -> str | None:
    import ast

    try:
        found = ast.parse(annotation.strip(), mode="eval").body
    except SyntaxError:
        return None
    if not isinstance(found, ast.Subscript):
        return None
    name = ast.unparse(found.value).rpartition(".")[2]
    return ast.unparse(found.slice) if name in ("list", "List", "Sequence") else None


def _for_one(function: Callable[..., Any], item: Any, result: Any) -> Callable[..., Any]:
    def one(item: Any) -> Any: ...

    update_wrapper(one, function)
    parameter = Parameter(ITEM, Parameter.POSITIONAL_OR_KEYWORD, annotation=item)
    one.__signature__ = Signature([parameter], return_annotation=result)  # type: ignore[attr-defined]
    return one
