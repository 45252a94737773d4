"""What an error of a chat model's client means: for this passage, for all passages, or for a while.

Clients differ in their classes of errors, and frameworks hand on those of many clients. So errors are known by what
they carry, as far as clients agree: an HTTP status, a code, a response with headers, and the names of their classes.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

UNREACHED = "connection failed"
BAD_ADDRESS = "invalid address"
QUOTA = "quota exhausted"
UNREADABLE = "unreadable response"

# About one passage, in the words of OpenAI, Azure, Anthropic, vLLM and llama.cpp.
_TOO_LONG = re.compile(r"context.?(?:length|size|window)|string_above_max_length|too long", re.IGNORECASE)
_FILTERED = re.compile(r"content.?(?:filter|policy|management)", re.IGNORECASE)
_TIMED_OUT = re.compile(r"Time(?:d)?[oO]ut(?:Error|Exception)?$|^DeadlineExceeded$")
# The roots of connection errors in openai and anthropic, httpx, requests and Python, aiohttp.
_DISCONNECTED = {"APIConnectionError", "TransportError", "ConnectionError", "ClientConnectionError"}
# Of those, or of what caused them, where there was no connection at all: in httpx, Python, requests, urllib3, aiohttp and
# botocore.
_NEVER_CONNECTED = {"ConnectError", "ConnectTimeout", "ProxyError", "ConnectionRefusedError", "gaierror"} | {
    "NewConnectionError",
    "ConnectTimeoutError",
    "ClientConnectorError",
    "EndpointConnectionError",
}
_BAD_ADDRESS = {"UnsupportedProtocol", "InvalidURL", "MissingSchema", "InvalidSchema"}  # in httpx, requests, aiohttp
_UNREADABLE = {"OpenAIError", "DecodingError", "ClientPayloadError"}
_OF_THE_REQUEST = {400, 404, 422}  # what is asked for may be wrong, not only who asks
_TRANSIENT = {408, 409, 425, 429}  # and all from 500 on


class NoCompletionError(Exception):
    """A response that is JSON, but no chat completion, whatever its status says. It is tried again, never raised."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What became of one request.

    Attributes:
        reason: In a few words, as reports count it.
        transient: Whether another try may succeed.
        fatal: Whether every other passage would fail in the same way: a wrong key, an unknown model, no more quota.
        wait: Seconds that the server asks to wait; None if it does not say.
        everybody: Whether no other request should be sent before that.
        status: The HTTP status of a fatal failure, if it has one.
    """

    reason: str
    transient: bool = False
    fatal: bool = False
    wait: float | None = None
    everybody: bool = False
    status: int | None = None


def judge(error: Exception) -> Failure | None:
    """Return what an error means; None if it is no error of a request, but a fault of the program."""
    names = {kind.__name__ for kind in type(error).__mro__}
    status, code = _status(error), _code(error)
    if status in {400, 413, 422} or "ContextOverflowError" in names:
        text = words(error)
        if _FILTERED.search(text):
            return Failure("refusal")
        if status == 413 or "ContextOverflowError" in names or _TOO_LONG.search(text):
            return Failure("passage too long")
    if code == "insufficient_quota":
        return Failure(QUOTA, fatal=True)
    if status and 400 <= status < 500 and status not in _TRANSIENT:
        return Failure(f"HTTP error {status}", fatal=True, status=status)
    if status and (status in _TRANSIENT or status >= 500):
        wait = retry_after(error)
        return Failure(f"HTTP error {status}", True, wait=wait, everybody=status == 429 or wait is not None)
    causes = {kind.__name__ for cause in _chain(error) for kind in type(cause).__mro__}
    timed_out = any(_TIMED_OUT.search(name) for name in names)
    if causes & _BAD_ADDRESS:
        return Failure(BAD_ADDRESS, fatal=True)
    if (timed_out or names & _DISCONNECTED) and causes & _NEVER_CONNECTED:
        return Failure(UNREACHED, True)
    if timed_out:
        return Failure("request timed out", True)
    if names & _DISCONNECTED:  # after the request was sent, or in the midst of the response: there is a server
        return Failure("connection lost", True)
    if "ContentFilterFinishReasonError" in names:
        return Failure("refusal")
    if "OutputParserException" in names:  # of a chain that ends in a parser
        return Failure("unreadable output")
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError | NoCompletionError) or names & _UNREADABLE:
        return Failure(UNREADABLE, True)
    return None


def advice(failure: Failure, *, address: str, arguments: Mapping[str, Any]) -> str:
    """Return what to do about a failure of every passage."""
    if failure.reason == BAD_ADDRESS:
        return f"The client's base_url must begin with http:// or https:// and name a server, got {address!r}"
    if failure.reason == QUOTA:
        return "Check the quota of the account that the client's key belongs to"
    if failure.status in _OF_THE_REQUEST:
        return (
            "Check the client's base_url, the name of the model, and whether it takes these arguments: "
            f"{dict(arguments) or 'none'}"
        )
    return "Check the client's key, its base_url, and whether the key is for this model"


def words(error: Exception) -> str:
    """Return all that an error says; what a client makes of it leaves out the body of some servers."""
    said = getattr(getattr(error, "response", None), "text", "")  # a method in aiohttp
    return f"{_code(error)} {error} {said if isinstance(said, str) else ''}"


def retry_after(error: Exception) -> float | None:
    """Return the seconds that a server asks to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date."""
    headers = getattr(getattr(error, "response", None), "headers", None) or getattr(error, "headers", None)
    if not isinstance(headers, Mapping):
        return None
    given = {str(key).lower(): str(value).strip() for key, value in headers.items()}
    for key, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        if re.fullmatch(r"\d{1,9}(?:\.\d+)?", given.get(key, "")):
            return float(given[key]) / unit
    try:
        date = parsedate_to_datetime(given.get("retry-after", ""))
    except ValueError:
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, date.timestamp() - time.time())


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and what caused it; clients that hide the cause (`from None`) still have it as context."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__


def _status(error: Exception) -> int | None:
    response: Any = getattr(error, "response", None)
    found = [getattr(error, name, None) for name in ("status_code", "http_status", "status", "code")]
    found.append(getattr(response, "status_code", None))
    if isinstance(response, Mapping):  # botocore
        found.append(response.get("ResponseMetadata", {}).get("HTTPStatusCode"))
    return next((int(value) for value in found if isinstance(value, int) and 100 <= value <= 599), None)


def _code(error: Exception) -> str:
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, Mapping) else None
    code = getattr(error, "code", None) or (inner.get("code") if isinstance(inner, Mapping) else None)
    return str(code or "")
