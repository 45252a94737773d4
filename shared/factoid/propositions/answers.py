"""Chat completions as OpenAI's interface returns them: what they say, and the form in which they are asked to say it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from factoid.errors import PropositionizerError
from factoid.propositions.cost import Usage
from factoid.propositions.failures import words
from factoid.propositions.parse import read_propositions
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


@dataclass(frozen=True, slots=True)
class Reply:
    """What one request brought: propositions (or `NoPropositions`), and what they cost."""

    texts: list[str]
    usage: Usage = field(default_factory=lambda: Usage(requests=1))


def read_completion(response: Any) -> Reply:
    """Return the propositions and the usage of a chat completion.

    Raises:
        PropositionizerError: It is text, not a completion.
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
    texts = read_propositions(text, cut_off=finish in {"length", "max_tokens", "MAX_TOKENS"})
    refused = refused or finish in {"content_filter", "refusal", "SAFETY"}
    return NoPropositions("refusal") if refused and not texts else texts


def refuses_format(error: Exception) -> bool:
    """Tell whether a server refuses the request because of its `response_format`."""
    status = getattr(error, "status_code", None)
    return status in {400, 422} and _NAMES_FORMAT.search(words(error)) is not None


def _texts(response: Any) -> list[str]:
    choice = next(iter(getattr(response, "choices", None) or ()), None)
    if choice is None or choice.message is None:
        return NoPropositions("empty output")
    refused = bool(getattr(choice.message, "refusal", None))
    return read_answer(choice.message.content or "", finish=getattr(choice, "finish_reason", None), refused=refused)


def _usage(usage: Any) -> Usage:
    details = getattr(usage, "prompt_tokens_details", None)
    counts = (
        getattr(usage, "prompt_tokens", 0),
        getattr(usage, "completion_tokens", 0),
        getattr(details, "cached_tokens", 0),
    )
    return Usage(1, *(count if isinstance(count, int) else 0 for count in counts))
