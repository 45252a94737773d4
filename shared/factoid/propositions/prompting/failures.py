"""Classify errors of chat models' clients: for this passage, for all passages, or transient.

Clients have different error classes, and frameworks pass on those of many clients. So errors are recognised by what clients have
in common: an HTTP status, a code, a response with headers, and the names of their classes.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

from factoid.errors import FactoidError

UNREACHED = "connection failed"
RAISED = "the model raised"

_CHECK_KEY = "Check the client's key, its base_url, and whether the key is for this model"
_CHECK_ADDRESS = "The client's base_url must begin with http:// or https:// and name a server, got {address!r}"
_CHECK_REQUEST = "Check the client's base_url, the name of the model, and whether it takes these arguments: {arguments}"

# The words of OpenAI, Azure, Anthropic, vLLM and llama.cpp for a refused passage.
_TOO_LONG = re.compile(r"context.?(?:length|size|window)|string_above_max_length|too long", re.IGNORECASE)
_FILTERED = re.compile(r"content.?(?:filter|policy|management)", re.IGNORECASE)
# The words of integrations that do not raise HTTP errors.
_BLOCKED = re.compile(r"\bblock(?:ed|list)|\bsafety\b|\brecitation\b|\bprohibited|\bmoderation\b", re.IGNORECASE)
# Bugs of the code around the model: they would be raised again for every passage.
_BUGS = (
    FactoidError, TypeError, AttributeError, NameError, ImportError, NotImplementedError, AssertionError, ArithmeticError,
    MemoryError, RecursionError, SyntaxError,
)  # fmt: skip
_TIMED_OUT = re.compile(r"Time(?:d)?[oO]ut(?:Error|Exception)?$|^DeadlineExceeded$")
# The roots of connection errors in openai and anthropic, httpx, requests and Python, aiohttp.
_DISCONNECTED = {"APIConnectionError", "TransportError", "ConnectionError", "ClientConnectionError"}
# Among those or their causes, errors without any connection: in httpx, Python, requests, urllib3, aiohttp and botocore.
_NEVER_CONNECTED = {
    *("ConnectError", "ConnectTimeout", "ProxyError", "ConnectionRefusedError", "gaierror", "NewConnectionError"),
    *("ConnectTimeoutError", "ClientConnectorError", "EndpointConnectionError"),
}
_BAD_ADDRESS = {"UnsupportedProtocol", "InvalidURL", "MissingSchema", "InvalidSchema"}  # in httpx, requests, aiohttp
_UNREADABLE = {"OpenAIError", "DecodingError", "ClientPayloadError", "JSONDecodeError", "UnicodeDecodeError"}
_TRANSIENT = {408, 409, 425, 429}  # and all from 500 on


class NoCompletionError(Exception):
    """JSON that is not a chat completion, whatever its status."""


@dataclass(frozen=True, slots=True)
class Failure:
    """How one request failed."""

    reason: str  # a few words, by which reports count
    transient: bool = False  # whether another try may succeed
    remedy: str = ""  # if every passage would fail in the same way; may have the fields {address} and {arguments}
    wait: float | None = None  # seconds that the server asks to wait
    everybody: bool = False  # whether no other request should be sent before then


def judge(error: Exception) -> Failure | None:
    """Return the failure that an error means; None if it is not an error of a request."""
    names = {kind.__name__ for kind in type(error).__mro__}
    status = _status(error)
    if status in {400, 413, 422} or "ContextOverflowError" in names:
        text = words(error)
        if _FILTERED.search(text):
            return Failure("refusal")
        if status == 413 or "ContextOverflowError" in names or _TOO_LONG.search(text):
            return Failure("passage too long")
    if _code(error) == "insufficient_quota":
        return Failure("quota exhausted", remedy="Check the quota of the account that the client's key belongs to")
    if status and (status in _TRANSIENT or status >= 500):
        wait = retry_after(error)
        return Failure(f"HTTP error {status}", True, wait=wait, everybody=status == 429 or wait is not None)
    if status and status >= 400:
        return Failure(f"HTTP error {status}", remedy=_CHECK_REQUEST if status in {400, 404, 422} else _CHECK_KEY)
    causes = {kind.__name__ for cause in _chain(error) for kind in type(cause).__mro__}
    timed_out = any(_TIMED_OUT.search(name) for name in names)
    if causes & _BAD_ADDRESS:
        return Failure("invalid address", remedy=_CHECK_ADDRESS)
    if (timed_out or names & _DISCONNECTED) and causes & _NEVER_CONNECTED:
        return Failure(UNREACHED, True)
    if timed_out:
        return Failure("request timed out", True)
    if names & _DISCONNECTED:  # during the request or the response, so there is a server
        return Failure("connection lost", True)
    if "ContentFilterFinishReasonError" in names:
        return Failure("refusal")
    if "OutputParserException" in names:  # from a chain that ends in a parser
        return Failure("unreadable output")
    if isinstance(error, NoCompletionError) or names & _UNREADABLE:
        return Failure("unreadable response", True)
    return None


def judge_raised(error: Exception) -> Failure | None:
    """Return the failure that another error of a model means, such as a ValueError; None if it is a bug."""
    if isinstance(error, _BUGS):
        return None
    is_refusal = _BLOCKED.search(str(error)) or _FILTERED.search(str(error))
    return Failure("refusal" if is_refusal else f"{RAISED} {type(error).__name__}")


def words(error: Exception) -> str:
    """Return all text of an error, with the body of the response, which some clients leave out."""
    body = getattr(getattr(error, "response", None), "text", "")  # a method in aiohttp
    return f"{_code(error)} {error} {body if isinstance(body, str) else ''}"


def retry_after(error: Exception) -> float | None:
    """Return the seconds that a server asks to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date."""
    headers = getattr(getattr(error, "response", None), "headers", None) or getattr(error, "headers", None)
    if not isinstance(headers, Mapping):
        return None
    values = {str(key).lower(): str(value).strip() for key, value in headers.items()}
    for key, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        if re.fullmatch(r"\d{1,9}(?:\.\d+)?", values.get(key, "")):
            return float(values[key]) / unit
    try:
        date = parsedate_to_datetime(values.get("retry-after", ""))
    except ValueError:
        return None
    return max(0.0, (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - time.time())


def _chain(error: BaseException) -> list[BaseException]:
    """Return an error and its causes; clients that hide a cause (`from None`) still have it as context."""
    chain = [error]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) is not None and cause not in chain:
        chain.append(cause)
    return chain


def _status(error: Exception) -> int | None:
    response: Any = getattr(error, "response", None)
    values = [getattr(error, name, None) for name in ("status_code", "http_status", "status", "code")]
    values.append(getattr(response, "status_code", None))
    if isinstance(response, Mapping):  # botocore
        values.append(response.get("ResponseMetadata", {}).get("HTTPStatusCode"))
    return next((int(value) for value in values if isinstance(value, int) and 100 <= value <= 599), None)


def _code(error: Exception) -> str:
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, Mapping) else None
    return str(getattr(error, "code", None) or (inner.get("code") if isinstance(inner, Mapping) else None) or "")
