"""The SDKs of Anthropic and OpenAI. The queue retries, so they must not; what they raise becomes an error of ours."""

from __future__ import annotations

import json
import os
from functools import cache
from typing import TYPE_CHECKING, Any

from mainstay import Permanent

from .answer import Answer, BadAnswer, Unavailable, hidden, refusal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

ADDRESSES = {"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com/v1"}
VARIABLES = {"anthropic": "ANTHROPIC", "openai": "OPENAI"}


def address(provider: str, base_url: str | None) -> str:
    """Return where requests go: what is given, what the environment says, or the service itself."""
    return base_url or os.environ.get(f"{VARIABLES[provider]}_BASE_URL") or ADDRESSES[provider]


def load(provider: str) -> Any:
    """Import an SDK, and read the certificates; it takes a second or more the first time."""
    trusted()
    if provider == "anthropic":
        import anthropic

        return anthropic
    import openai

    return openai


@cache
def trusted() -> Any:
    """Return the certificates that are trusted. To read them takes ten times as long as the rest of a request."""
    import httpx2

    return httpx2.create_ssl_context()


async def ask(
    provider: str, sdk: Any, url: str, key: str | None, seconds: float, request: dict[str, Any], schema: Any
) -> Answer:
    """Send one request and return the answer."""
    key = key or os.environ.get(f"{VARIABLES[provider]}_API_KEY")
    if not key:
        raise Permanent(
            f"there is no key for {provider}: set {VARIABLES[provider]}_API_KEY where the workers run, then retry the dead jobs with "
            "this code",
            code="no-key",
        )
    client = sdk.AsyncAnthropic if provider == "anthropic" else sdk.AsyncOpenAI
    http = sdk.DefaultAsyncHttpxClient(verify=trusted(), base_url=url, timeout=seconds)
    async with client(api_key=key, base_url=url, max_retries=0, timeout=seconds, http_client=http) as opened:
        reply = await _sent(sdk, provider, key, lambda: _ASK[provider](opened, request, schema))
    try:
        return _READ[provider](reply)
    except (AttributeError, IndexError, KeyError, TypeError):
        raise BadAnswer(f"{provider} answered with something else than a message", "shape") from None


async def _sent(sdk: Any, provider: str, key: str, send: Callable[[], Awaitable[Any]]) -> Any:
    try:
        return await send()
    except sdk.APIStatusError as error:
        from mainstay.senders.post import seconds_of

        wait = seconds_of(error.response.headers.get("retry-after", ""))
        raise refusal(error.status_code, hidden(_said(error), [key]), provider, wait) from None
    except sdk.APITimeoutError:
        raise Unavailable(f"{provider} has not answered in time", "timeout") from None
    except sdk.APIConnectionError as error:
        why = error.__cause__ or error
        raise Unavailable(f"{provider} cannot be reached: {type(why).__name__}: {why}", "connection") from None
    except (json.JSONDecodeError, sdk.APIResponseValidationError) as error:
        raise BadAnswer(f"{provider} sent no valid JSON: {error}", "json") from None


def _said(error: Any) -> str:
    """Return the message in the body of an error, or the body."""
    body = error.body
    inner = body.get("error", body) if isinstance(body, dict) else None
    message = inner.get("message") if isinstance(inner, dict) else None
    return message if isinstance(message, str) else error.response.text


def _anthropic(client: Any, request: dict[str, Any], schema: Any) -> Awaitable[Any]:
    if schema is not None:
        request = {**request, "output_config": {"format": {"type": "json_schema", "schema": schema}}}
    sent: Awaitable[Any] = client.messages.create(**request)
    return sent


def _openai(client: Any, request: dict[str, Any], schema: Any) -> Awaitable[Any]:
    request = dict(request)
    system, most = request.pop("system", None), request.pop("max_tokens")
    if system is not None:
        request["messages"] = [{"role": "system", "content": system}, *request["messages"]]
    if schema is not None:
        request["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    sent: Awaitable[Any] = client.chat.completions.create(**request, max_completion_tokens=most)
    return sent


def _read_anthropic(reply: Any) -> Answer:
    usage = reply.usage
    read = (usage.input_tokens, usage.cache_creation_input_tokens, usage.cache_read_input_tokens)
    text = "".join(block.text for block in reply.content if block.type == "text")
    return Answer(text, reply.model, reply.stop_reason, sum(each or 0 for each in read), usage.output_tokens)


def _read_openai(reply: Any) -> Answer:
    choice, usage = reply.choices[0], reply.usage
    refused = getattr(choice.message, "refusal", None)
    text, reason = choice.message.content or "", "refusal" if refused else choice.finish_reason
    return Answer(text, reply.model, reason, usage and usage.prompt_tokens, usage and usage.completion_tokens)


_ASK = {"anthropic": _anthropic, "openai": _openai}
_READ = {"anthropic": _read_anthropic, "openai": _read_openai}
