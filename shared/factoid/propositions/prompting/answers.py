"""Chat completions as OpenAI's interface returns them: what they say, and the form in which they are asked to say it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from factoid.errors import PropositionizerError
from factoid.propositions.parse import read_propositions
from factoid.propositions.prompting.cost import Usage
from factoid.propositions.prompting.failures import NoCompletionError, words
from factoid.propositions.protocol import NoPropositions

# An object around the list, because strict schemas want one at the top.
RESPONSE_FORMAT: dict[str, Any] = {
    "type": "json_schema",
    "json_schema": {
        "name": "propositions",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"propositions": {"type": "array", "items": {"type": "string"}}},
            "required": ["propositions"],
            "additionalProperties": False,
        },
    },
}

_NAMES_FORMAT = re.compile(r"response.?format|json.?schema|structured.?output|guided.?(?:json|decoding)", re.IGNORECASE)

_REFUSALS = ("content_filter", "refusal", "SAFETY")  # no set: servers send lists too


@dataclass(frozen=True, slots=True)
class Reply:
    """What one request brought: propositions (or `NoPropositions`), and what they cost."""

    texts: list[str]
    usage: Usage = field(default_factory=lambda: Usage(requests=1))


def read_completion(response: Any) -> Reply:
    """Return the propositions and the usage of a chat completion.

    Raises:
        PropositionizerError: It is text, not a completion.
        NoCompletionError: It is other JSON, such as an error under status 200.
    """
    if isinstance(response, str):
        message = (
            f"expected a chat completion from the server, got text, {response[:80]!r}: check the client's "
            "base_url, which for most servers ends in /v1"
        )
        raise PropositionizerError(message)
    return Reply(_texts(response), _usage(getattr(response, "usage", None)))


def read_answer(text: str, *, finish: str | None = None, refused: bool = False) -> list[str]:
    """Return the propositions of an answer.

    Args:
        text: The answer.
        finish: Why the model stopped, in OpenAI's words: "length" at its limit, "content_filter" by a filter.
        refused: Whether it is marked as a refusal.
    """
    texts = read_propositions(text, cut_off=finish in ("length", "max_tokens", "MAX_TOKENS"))
    refused = refused or finish in _REFUSALS
    return NoPropositions("refusal") if refused and not texts else texts


def refuses_format(error: Exception) -> bool:
    """Tell whether a server refuses the request because of its `response_format`."""
    status = getattr(error, "status_code", None)
    return status in {400, 422} and _NAMES_FORMAT.search(words(error)) is not None


def _texts(response: Any) -> list[str]:
    choices = getattr(response, "choices", None)
    choice = choices[0] if isinstance(choices, list) and choices else None
    message: Any = getattr(choice, "message", None)
    finish = getattr(choice, "finish_reason", None)
    if finish in _REFUSALS and message is None:  # a filter that leaves out the message
        return NoPropositions("refusal")
    if not hasattr(message, "content"):
        _refuse("a chat completion", response)
    text = _text(message.content)
    return read_answer(text, finish=finish, refused=bool(getattr(message, "refusal", None)))


def _text(content: Any) -> str:
    """Return the text of a message, which some servers send in parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        _refuse("the text of a message", content)
    return "".join(_part(part) for part in content)


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping):
        kind, text = part.get("type"), part.get("text")
    else:
        kind, text = getattr(part, "type", None), getattr(part, "text", None)
    if kind in ("text", "output_text") and isinstance(text, str):
        return text
    if not isinstance(kind, str) or kind == "text":
        _refuse("a part of a message", part)
    return ""  # what the model thought, a picture


def _refuse(expected: str, got: Any) -> NoReturn:
    message = f"expected {expected} from the server, got {str(got)[:200]!r}"
    raise NoCompletionError(message)


def _usage(usage: Any) -> Usage:
    details = getattr(usage, "prompt_tokens_details", None)
    counts = (
        getattr(usage, "prompt_tokens", 0),
        getattr(usage, "completion_tokens", 0),
        getattr(details, "cached_tokens", 0),
    )
    return Usage(1, *(count if isinstance(count, int) else 0 for count in counts))
