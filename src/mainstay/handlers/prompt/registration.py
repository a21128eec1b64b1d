"""The job type `prompt`: a frozen prompt, asked once for each hash, its answer kept in the result and in a file."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from mainstay import ConfigError, InvalidPayload, Limit, Permanent, Retry, by, ctx

from .answer import Answer, Limited
from .model import Model

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Literal, Unpack

    from mainstay import Draft, Handle, Job, Mainstay

    from ...core.clock import Duration
    from ...options import JobOptions
    from ...registry import Bound, JobType
    from .command import Command

MOST = 400_000  # characters of a prompt


def register(
    app: Mainstay, *, provider: str | Command | Sequence[str], model: str, base_url: str | None = None, api_key: str | None = None,
    max_tokens: int = 1024, max_prompt: int = MOST, prices: Mapping[str, tuple[float, float]] | None = None,
    timeout: Duration = "2m", folder: str | os.PathLike[str] | None = None, rate: str = "10/s", burst: int = 10,
    running: int | None = None, retry: Retry | int | None = None, unique: Literal["alive", "start", "forever"] = "alive",
    name: str = "prompt", queue: str = "default", temperature: float | None = None,
) -> Prompts:  # fmt: skip
    """Register the job type `prompt`, which asks this model, and return it: `prompts.ask("…")` enqueues a job.

    `folder` is where targets are written. `rate`, `burst` and `running` limit the jobs; a busy service pushes the rate back.
    """
    asked = Model(
        provider, model, base_url=base_url, api_key=api_key, max_tokens=max_tokens, prices=prices, timeout=timeout,
        temperature=temperature,
    )  # fmt: skip
    if type(max_prompt) is not int or max_prompt < 1:
        raise ConfigError(f"max_prompt={max_prompt!r:.40}: a whole number of characters above zero")
    options: dict[str, Any] = {
        "name": name, "queue": queue, "unique": unique, "key": by("prompt_hash"), "timeout": asked.seconds + 30,
        "retry": retry if retry is not None else Retry(5, base="10s", cap="10m"),
        "limit": Limit(running=running, rate=rate, burst=burst),
    }  # fmt: skip
    return Prompts(app, asked, max_prompt, None if folder is None else os.path.abspath(folder), options)


class Question(NamedTuple):
    """All that decides what a job does."""

    prompt: str
    model: str
    system: str | None = None
    schema: dict[str, Any] | None = None
    target_path: str | None = None

    def hash(self) -> str:
        """Return the SHA-256 of all of it."""
        return hashlib.sha256(json.dumps(self._asdict(), sort_keys=True).encode()).hexdigest()


class Prompts:
    """The job type and ways to enqueue it: `prompts.ask("…", target="a.json", requirement="R-7")`."""

    def __init__(self, app: Mainstay, model: Model, most: int, folder: str | None, options: dict[str, Any]) -> None:
        self.model, self._most, self._folder = model, most, folder

        async def prompt(
            prompt: str, prompt_hash: str, model: str | None = None, system: str | None = None, schema: dict[str, Any] | None = None,
            target_path: str | None = None, requirement_id: str | None = None,
        ) -> Answer:  # fmt: skip
            """Ask a language model, and write the answer to a file if there is a target."""
            question = Question(prompt, model or self.model.name, system, schema, target_path)
            self._check(question)
            _check_hash(question, prompt_hash)
            if app.kit is not None:
                self.model.require_loopback()
            answer = await self._answered(question)
            return answer if target_path is None else await asyncio.to_thread(self._written, answer, target_path)

        self.prompt: JobType[..., Answer, Any] = app.job(verify=self._holds, subject=self._subject, **options)(prompt)

    def ask(
        self, prompt: str, *, target: str | None = None, requirement: str | None = None, system: str | None = None,
        schema: dict[str, Any] | None = None, tx: object = None, **options: Unpack[JobOptions],
    ) -> Handle[Answer]:  # fmt: skip
        """Enqueue a job that asks this. While an equal one is there, its handle is returned instead.

        The prompt, the model and the system text are stored now; a later change of the settings does not alter the job.
        """
        question = Question(prompt, self.model.name, system, schema, target)
        return self._bound(requirement, tx, options).enqueue(**self._payload(question, requirement))

    def draft(
        self, prompt: str, *, target: str | None = None, requirement: str | None = None, system: str | None = None,
        schema: dict[str, Any] | None = None, **options: Unpack[JobOptions],
    ) -> Draft:  # fmt: skip
        """Return the job as a draft: for `ctx.enqueue` and `app.enqueue_many`."""
        question = Question(prompt, self.model.name, system, schema, target)
        return self._bound(requirement, None, options).prepare(**self._payload(question, requirement))

    def _bound(self, requirement: str | None, tx: object, options: JobOptions) -> Bound[..., Answer]:
        if requirement is not None:
            options = {"ref": requirement, **options}
        return self.prompt.options(tx=tx, **options)

    def _payload(self, question: Question, requirement: str | None) -> dict[str, Any]:
        _check_texts(question)
        try:
            self._check(question)
        except Permanent as error:
            raise InvalidPayload(str(error)) from None
        return {**question._asdict(), "prompt_hash": question.hash(), "requirement_id": requirement}

    def _check(self, question: Question) -> None:
        """Raise `Permanent` for a prompt or a target that this registration does not take."""
        length = len(question.prompt)
        if length > self._most:
            raise Permanent(
                f"the prompt has {length:,} characters, at most {self._most:,} are allowed: shorten it, or raise max_prompt",
                code="too-long",
            )
        if not question.prompt.strip():
            raise Permanent("the prompt is empty", code="empty-prompt")
        if question.target_path is not None and self._folder is None:
            raise Permanent(
                "target_path needs a folder to write to: register(app, folder='answers', …)", code="no-folder"
            )
        if question.target_path is not None:
            self._file(question.target_path)

    async def _answered(self, question: Question) -> Answer:
        """Return the answer that an earlier attempt saved, or ask: a job that is killed later does not pay twice."""
        saved = (await asyncio.to_thread(lambda: ctx.checkpoint)).get("answer")
        if saved is not None:
            return Answer(**saved)
        try:
            answer = await self.model.answer(
                question.prompt, system=question.system, schema=question.schema, model=question.model
            )
        except Limited as error:
            await ctx.arate_limited(error.retry_after, str(error))
        ctx.save(answer=vars(answer))
        return answer

    def _holds(self, job: Job) -> str | None:
        """Return what is wrong with the file of an answer; None if it is as it was written, or there is none."""
        from ..files import FolderMissing, digest, place

        path, expected = job.args["target_path"], (job.result or {}).get("sha256")
        if path is None or expected is None:
            return None
        with suppress(FolderMissing), place({"": str(self._folder)}, path) as target:
            found = digest(target, path)
            return "is missing" if found is None else None if found == expected else "has other content"
        return "is missing"

    def _subject(self, job: Job) -> str:
        path = job.args["target_path"]
        return job.id if path is None else self._file(path)

    def _file(self, path: str) -> str:
        """Return the whole path of a target; raise `Permanent` if it is not inside the folder."""
        from ..files import where

        return where({"": str(self._folder)}, path)

    def _written(self, answer: Answer, path: str) -> Answer:
        from ..files import create, place

        with place({"": str(self._folder)}, path, make=True) as target:
            written = create(target, path, answer.text.encode(), overwrite=True)
        return Answer(**{**vars(answer), "path": path, "sha256": written["sha256"]})


def _check_texts(question: Question) -> None:
    """Raise `InvalidPayload` for what is no text, before it is measured and hashed."""
    for name, value in (
        ("prompt", question.prompt),
        ("system", question.system or ""),
        ("target", question.target_path or ""),
    ):
        if not isinstance(value, str):
            raise InvalidPayload(f"{name}={value!r:.80}: give a text (str), not {type(value).__name__}")


def _check_hash(question: Question, given: str) -> None:
    if given != question.hash():
        raise Permanent(
            f"prompt_hash is {given[:80]!r}, but that of this prompt is {question.hash()}: enqueue it with ask(), which computes it",
            code="hash",
        )
