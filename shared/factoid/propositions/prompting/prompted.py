"""Propositions by prompting a chat model with OpenAI's interface (Dense X, §3)."""

from __future__ import annotations

import inspect
import logging
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from factoid.errors import InvalidInputError
from factoid.propositions.prompting.cost import Usage
from factoid.propositions.prompting.failures import NoCompletionError, words
from factoid.propositions.prompting.prompt import as_object
from factoid.propositions.prompting.requests import ChatPropositionizer, Reply, with_retries

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI

logger = logging.getLogger(__name__)

_SCHEMA = {  # strict schemas need an object at the top
    "type": "object",
    "properties": {"propositions": {"type": "array", "items": {"type": "string"}}},
    "required": ["propositions"],
    "additionalProperties": False,
}
_RESPONSE_FORMAT = {
    "type": "json_schema",
    "json_schema": {"name": "propositions", "strict": True, "schema": _SCHEMA},
}
# Arguments that can be left out, and the words with which servers refuse them.
_OPTIONAL = {
    "response_format": re.compile(
        r"response.?format|json.?schema|structured.?output|guided.?(?:json|decoding)", re.I
    ),
    "temperature": re.compile(r"\btemperature\b", re.I),
}


class PromptPropositionizer(ChatPropositionizer):
    """Decompose passages with a chat model, one request for each passage, several at a time.

    The client's key, address (`base_url`) and time-out are used. The client itself tries again
    after rate limits (429), server errors (5xx), time-outs and lost connections, and waits as long
    as the server says, up to two minutes. A passage that finally fails, or whose answer holds no
    list, gets `NoPropositions` with the reason; the others continue.

    Args:
        client: `openai.OpenAI`, which async methods use in threads; `openai.AsyncOpenAI`, which
            only they can use; or an object with the same `chat.completions.create`, which may
            return a dict.
        model: Name of the model on the server.
        structured: Whether to request JSON by a schema (`response_format`), until the server
            refuses one; None does so except in batches. Answers are parsed in the same way in any
            case.
        max_concurrency: Maximum number of concurrent requests of a call.
        temperature: 0 for the likeliest answer; None to send none. If the server refuses it, as
            those of reasoning models do, none is sent any more.
        max_tokens: Maximum number of tokens of an answer; None to send no limit. If an answer is
            cut off, its complete propositions are kept.
        prompt: Instructions before the passage, with or without examples; None for Figure 8 of the
            paper.
        options: Further arguments of `chat.completions.create`, such as `{"max_completion_tokens":
            2000, "seed": 1}`.
        max_retries: Maximum number of further tries of one request, by the client.
        requests_per_minute: Maximum number of requests, which are spread evenly. None for no limit.
        tokens_per_minute: Maximum tokens of prompts and answers, estimated before a request and
            corrected by its answer.
        progress: Whether to show a bar when there is more than one passage.

    Raises:
        InvalidInputError: The client has no `chat.completions.create`, or a number is out of range.
    """

    def __init__(
        self,
        client: OpenAI | AsyncOpenAI | Any,
        model: str,
        *,
        structured: bool | None = None,
        max_concurrency: int = 8,
        temperature: float | None = 0.0,
        max_tokens: int | None = None,
        prompt: str | None = None,
        options: Mapping[str, Any] | None = None,
        max_retries: int = 6,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        progress: bool = False,
    ) -> None:
        super().__init__(
            max_concurrency=max_concurrency,
            prompt=prompt,
            requests_per_minute=requests_per_minute,
            tokens_per_minute=tokens_per_minute,
            progress=progress,
        )
        options = dict(options or {})
        self.client: Any = client
        self.model = model
        self.structured = False if "response_format" in options else structured
        self._can_asend = _is_async(client)
        self._can_send = not self._can_asend
        self._client = with_retries(client, max_retries)
        self._address = str(getattr(client, "base_url", "the server"))
        schema = None if self.structured is False else _RESPONSE_FORMAT
        arguments = {
            "temperature": temperature,
            "max_tokens": max_tokens,
            "response_format": schema,
        }
        self._arguments: dict[str, Any] = {
            key: value for key, value in arguments.items() if value is not None
        } | options

    def request_for(self, passage_prompt: str, *, schema: bool = True) -> dict[str, Any]:
        """Return the arguments of `chat.completions.create` for a whole prompt.

        `prompt_for` makes the prompt. With our schema, which needs an object at the top, it asks
        for an object too.

        Args:
            passage_prompt: The prompt.
            schema: False leaves out our schema.
        """
        arguments = dict(self._arguments)
        if arguments.get("response_format") is _RESPONSE_FORMAT:
            if schema:
                passage_prompt = as_object(passage_prompt)
            else:
                del arguments["response_format"]
        messages = [{"role": "user", "content": passage_prompt}]
        return {"model": self.model, "messages": messages, **arguments}

    def _send(self, request: Mapping[str, Any]) -> Reply:
        return read_completion(self._client.chat.completions.create(**request))

    async def _asend(self, request: Mapping[str, Any]) -> Reply:
        return read_completion(await self._client.chat.completions.create(**request))

    def _adapts(self, request: Mapping[str, Any], error: Exception) -> bool:
        """Return whether the server refuses an argument that can be left out.

        It is left out from now on.
        """
        if getattr(error, "status_code", None) not in {400, 422}:
            return False
        names = _OPTIONAL.keys() & request.keys()
        refused = next((name for name in names if _OPTIONAL[name].search(words(error))), None)
        if refused and self._arguments.pop(refused, None) is not None:  # once, in whichever thread
            logger.warning(
                "the server accepts no %s for %r: sending none from now on", refused, self.model
            )
        return refused is not None


def _is_async(client: Any) -> bool:
    create = getattr(getattr(getattr(client, "chat", None), "completions", None), "create", None)
    if not callable(create):
        kind = type(client).__name__
        raise InvalidInputError(
            f"expected a client with chat.completions.create, such as openai.OpenAI, got {kind}"
        )
    # the openai package wraps its methods
    return inspect.iscoroutinefunction(inspect.unwrap(create))


def read_completion(response: Any) -> Reply:
    """Return the answer in a chat completion, given as the client's object or its JSON.

    Raises `NoCompletionError` for anything else, such as an error under status 200, or the page of
    a website.
    """
    body = response.model_dump(warnings=False) if hasattr(response, "model_dump") else response
    try:
        choice = body["choices"][0]
        # a filter may leave out the message
        message = choice.get("message") or {}
        usage = body.get("usage") or {}
        text = _text(message.get("content") or "")
        used = Usage(1, usage.get("prompt_tokens") or 0, usage.get("completion_tokens") or 0)
        return Reply(text, choice.get("finish_reason"), bool(message.get("refusal")), used)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise NoCompletionError(str(body)[:200]) from error


def _text(content: Any) -> str:
    """Return the text of a message's content.

    A string, or parts, of which those that are reasoning are left out.
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise TypeError("content is neither a text nor a list of parts")
    texts = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif part.get("type") in ("text", "output_text"):
            texts.append(part["text"])
    return "".join(texts)
