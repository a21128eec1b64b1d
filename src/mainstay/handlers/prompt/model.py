"""`Model`: who is asked, and how. Settings are checked when it is made, and nothing is imported before the first question."""

from __future__ import annotations

import asyncio
import os
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlsplit

from mainstay import ConfigError, Permanent

from ...core.clock import milliseconds
from ...core.suggest import did_you_mean
from ..extras import needed
from . import sdk
from .answer import Answer, checked
from .command import REPLIES, Command

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...core.clock import Duration

PROVIDERS = tuple(sdk.ADDRESSES)
MILLION = 1_000_000
DEFAULT_SYSTEM = "You are a helpful assistant."  # of a command that would use a long text of its own


class Model:
    """A model that can be asked: `await model.answer("…")`.

    `provider` is "anthropic", "openai", or a command (`claude()`, a `Command`, or a list of words). `prices` are US dollars per
    million tokens, read and written, by model: `{"claude-x": (3, 15)}`. `temperature` is for "openai" only.
    """

    def __init__(
        self, provider: str | Command | Sequence[str], model: str, *, base_url: str | None = None, api_key: str | None = None,
        max_tokens: int = 1024, prices: Mapping[str, tuple[float, float]] | None = None, timeout: Duration = "2m",
        temperature: float | None = None,
    ) -> None:  # fmt: skip
        self.provider = _provider(provider)
        self.temperature = _temperature(temperature, self.provider)
        self.name, self.base_url, self.max_tokens = _text("model", model), _url(base_url), _whole(max_tokens)
        self._key, self._prices, self.seconds = api_key, _prices(prices or {}), _seconds(timeout)

    @property
    def address(self) -> str | None:
        """Where requests go; None for a command without `base_url`."""
        return self.base_url if isinstance(self.provider, Command) else sdk.address(self.provider, self.base_url)

    async def answer(
        self, prompt: str, *, system: str | None = None, schema: dict[str, Any] | None = None, model: str | None = None
    ) -> Answer:
        """Ask. With a JSON schema, the answer's `value` is JSON that fits it.

        Raises `Permanent` if no other attempt can succeed, else `Limited`, `Unavailable` or `BadAnswer`, each with a `code`.
        """
        name = model or self.name
        if isinstance(self.provider, Command):
            given = {"model": name, "system": system or DEFAULT_SYSTEM, "max_tokens": self.max_tokens}
            found = await self.provider.ask(_with(prompt, schema), self.seconds, given | {"base_url": self.base_url})
        else:
            request = {"model": name, "max_tokens": self.max_tokens, "messages": [{"role": "user", "content": prompt}]}
            request |= {"system": system} if system else {}
            request |= {} if self.temperature is None else {"temperature": self.temperature}
            found = await sdk.ask(
                self.provider, await asyncio.to_thread(sdk.load, self.provider), str(self.address), self._secret(),
                self.seconds, request, schema,
            )  # fmt: skip
        return self._priced(checked(found, schema), name)

    def require_loopback(self) -> None:
        """Raise unless requests stay on this machine: under the test fixture nothing is asked elsewhere."""
        if self.address is not None and not _is_loopback(self.address):
            raise Permanent(
                f"under the test fixture a model is asked on this machine only, not at {self.address}: give base_url= of a server "
                "that the test starts",
                code="not-loopback",
            )

    def _secret(self) -> str | None:
        key = self._key
        return os.environ.get(key[1:]) if key and key.startswith("$") else key

    def _priced(self, answer: Answer, name: str) -> Answer:
        price = self._prices.get(name)
        if price is None or answer.tokens_in is None or answer.tokens_out is None:
            return answer
        cost = (answer.tokens_in * price[0] + answer.tokens_out * price[1]) / MILLION
        return Answer(**{**vars(answer), "cost": round(cost, 9)})

    def __repr__(self) -> str:
        return f"<Model {self.name} of {self.provider if isinstance(self.provider, str) else self.provider.argv[0]}>"


def _with(prompt: str, schema: dict[str, Any] | None) -> str:
    """Return the prompt for a command, which has no other place for a schema."""
    if schema is None:
        return prompt
    import json

    return f"{prompt}\n\nAnswer with JSON only, which fits this JSON Schema:\n{json.dumps(schema, ensure_ascii=False)}"


def _provider(given: Any) -> str | Command:
    if isinstance(given, (list, tuple)):
        given = Command(tuple(given))
    if isinstance(given, Command):
        return _command(given)
    if given not in PROVIDERS:
        near, known = did_you_mean(str(given), PROVIDERS), ", ".join(map(repr, PROVIDERS))
        _refuse(
            f"provider={given!r:.60}: there is no such service{near}; give {known}, prompt.claude() for the command `claude`, or another command as a list of words"
        )
    needed(given, given, "prompt")
    return str(given)


def _command(given: Command) -> Command:
    words: tuple[Any, ...] = given.argv
    if not words or not all(isinstance(word, str) and "\0" not in word for word in words):
        _refuse(f"provider={list(words)!r:.80}: a command is a list of words, the program first")
    return given if given.reply in REPLIES else _refuse(f"reply={given.reply!r:.40}: one of {', '.join(REPLIES)}")


def _refuse(text: str) -> NoReturn:
    raise ConfigError(text)


def _text(name: str, given: Any) -> str:
    return given if isinstance(given, str) and given.strip() else _refuse(f"{name}={given!r:.60}: give a name")


def _url(given: Any) -> str | None:
    if given is None or (
        isinstance(given, str) and urlsplit(given).scheme in ("http", "https") and urlsplit(given).hostname
    ):
        return None if given is None else str(given)
    return _refuse(f"base_url={given!r:.80}: write http://host:port or https://host")


def _whole(given: Any) -> int:
    return (
        given if type(given) is int and given > 0 else _refuse(f"max_tokens={given!r:.40}: a whole number above zero")
    )


def _temperature(given: Any, provider: str | Command) -> float | None:
    if given is None:
        return None
    if provider != "openai":
        _refuse(f"temperature={given!r:.40}: only provider='openai' takes one; leave it out")
    if type(given) not in (int, float) or not 0 <= given <= 2:
        _refuse(f"temperature={given!r:.40}: a number from 0 to 2")
    return float(given)


def _prices(given: Any) -> dict[str, tuple[float, float]]:
    for name, pair in dict(given).items():
        numbers = (
            isinstance(pair, (tuple, list)) and len(pair) == 2 and all(type(n) in (int, float) and n >= 0 for n in pair)
        )
        if not numbers:
            _refuse(
                f"prices: {name!r:.60}: {pair!r:.60}: give two numbers, US dollars per million tokens read and written"
            )
    return {name: (float(pair[0]), float(pair[1])) for name, pair in dict(given).items()}


def _seconds(given: Any) -> float:
    try:
        seconds = milliseconds(given) / 1000
    except ValueError as error:
        return _refuse(f"timeout: {error}")
    return seconds if seconds > 0 else _refuse("timeout: give a duration above zero, such as '2m'")


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
