"""Classify errors of chat models' clients: for this passage, for all passages, or transient.

Clients have different error classes, and frameworks pass on those of many clients. So errors are
recognised by what clients have in common: an HTTP status, and their words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from factoid.errors import FactoidError

# The words of OpenAI, Azure, Anthropic, vLLM and llama.cpp, and of integrations that do not raise
# HTTP errors.
_TOO_LONG = re.compile(
    r"context.?(?:length|size|window|overflow)|string_above_max_length|too long", re.IGNORECASE
)
_REFUSED = re.compile(
    r"content.?(?:filter|policy|management)|\bblock(?:ed|list)|\bsafety\b|\brecitation\b"
    r"|\bprohibited|\bmoderation\b",
    re.IGNORECASE,
)
_TRANSIENT = re.compile(
    r"connect|time.?out|timed out|deadline|rate.?limit|too many requests|overloaded|unavailable"
    r"|decod|ReadError|NoCompletion",
    re.IGNORECASE,
)
# Bugs of the code around the model: they would be raised again for every passage.
_BUGS = (
    FactoidError, TypeError, AttributeError, NameError, ImportError, NotImplementedError,
    AssertionError, ArithmeticError,
    MemoryError, RecursionError, SyntaxError,
)  # fmt: skip


class NoCompletionError(Exception):
    """An answer that is not a chat completion."""

    status: int | None = None  # if it is known


@dataclass(frozen=True, slots=True)
class Failure:
    """How one request failed."""

    reason: str  # a few words, by which reports count
    transient: bool = False  # whether another try may succeed
    remedy: str = ""  # if every passage would fail in the same way; may have the field {arguments}
    answered: bool = True  # whether the server or the model has answered, if only with an error


def judge(error: Exception) -> Failure | None:
    """Return the failure that an error means; None for a bug."""
    if isinstance(error, _BUGS):
        return None
    name = type(error).__name__
    status = _status(error)
    text = words(error)
    if not status and _TRANSIENT.search(text):
        return Failure(name, transient=True, answered=False)
    if status in {0, 400, 413, 422} and _REFUSED.search(text):
        return Failure("refusal")
    if status == 413 or (status in {0, 400, 422} and _TOO_LONG.search(text)):
        return Failure("passage too long")
    if not status:
        return Failure(f"the model raised {name}", answered=False)
    if "insufficient_quota" in text:
        return Failure(
            "quota exhausted",
            remedy="Check the quota of the account that the client's key belongs to",
        )
    if status in {408, 409, 425, 429} or status >= 500:
        return Failure(f"HTTP error {status}", transient=True)
    remedy = (
        "Check the client's key and base_url, the name of the model, and whether it takes these "
        "arguments: {arguments}"
    )
    return Failure(f"HTTP error {status}", remedy=remedy)


def words(error: Exception) -> str:
    """Return all text of an error, with the body of the response, which some clients leave out."""
    return f"{type(error).__name__} {error} {getattr(getattr(error, 'response', None), 'text', '')}"


def _status(error: Exception) -> int:
    """Return the HTTP status of an error, 0 if it has none."""
    holders = (error, getattr(error, "response", None))
    for holder in holders:
        for name in ("status_code", "http_status", "status", "code"):
            value = getattr(holder, name, 0)
            if isinstance(value, int) and 400 <= value <= 599:
                return int(value)
    return 0
