"""Errors of clients other than openai's, by what they carry."""

from __future__ import annotations

import json
from http import HTTPStatus
from types import SimpleNamespace

import pytest

from factoid.propositions.prompting.failures import Failure, judge, retry_after


def error(name, bases=(Exception,), **attributes):
    made = type(name, bases, {})("some words")
    for key, value in attributes.items():
        setattr(made, key, value)
    return made


NEVER = ("connection failed", True)


def caused(made, cause):
    made.__cause__ = cause
    return made


def response(status, **headers):
    return SimpleNamespace(status_code=status, headers={key.replace("_", "-"): value for key, value in headers.items()})


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (error("ResourceExhausted", code=HTTPStatus.TOO_MANY_REQUESTS), ("HTTP error 429", True)),
        (error("ClientResponseError", status=502), ("HTTP error 502", True)),
        (error("HTTPStatusError", response=response(503)), ("HTTP error 503", True)),
        (error("OverloadedError", status_code=529), ("HTTP error 529", True)),
        (error("ClientError", response={"ResponseMetadata": {"HTTPStatusCode": 500}}), ("HTTP error 500", True)),
        (error("ReadTimeout"), ("request timed out", True)),
        (error("DeadlineExceeded"), ("request timed out", True)),
        (TimeoutError(), ("request timed out", True)),
        (ConnectionResetError(), ("connection lost", True)),
        (caused(error("APIConnectionError"), error("ConnectError")), NEVER),
        (caused(error("APITimeoutError", (error("APIConnectionError").__class__,)), error("ConnectTimeout")), NEVER),
        (caused(error("APIConnectionError"), error("ReadError")), ("connection lost", True)),
        (ConnectionRefusedError(), NEVER),
        (error("ConnectError", (error("TransportError").__class__,)), NEVER),
        (error("OutputParserException", (ValueError,)), ("unreadable output", False)),
        (error("ContextOverflowError", status_code=400), ("passage too long", False)),
        (json.JSONDecodeError("bad", "{", 1), ("unreadable response", True)),
    ],
)
def test_of_one_passage(given, expected):
    failure = judge(given)
    assert (failure.reason, failure.transient) == expected
    assert not failure.fatal


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 422])
def test_of_every_passage(status):
    assert judge(error("ApiError", status_code=status)).fatal


def test_an_exhausted_quota_is_no_rate_limit():
    assert judge(error("RateLimitError", status_code=429, code="insufficient_quota")).fatal
    body = {"error": {"code": "insufficient_quota"}}
    assert judge(error("RateLimitError", status_code=429, body=body)).fatal
    said = error("ResourceExhausted", status_code=429, body={"error": {"code": 429, "message": "exceeded your quota"}})
    assert judge(said) == Failure("HTTP error 429", True, everybody=True)


@pytest.mark.parametrize("given", [ValueError("x"), KeyError("x"), error("SomeError", code=7), error("E", code=True)])
def test_faults_of_a_program_are_none_of_a_request(given):
    assert judge(given) is None


def test_headers_are_found_where_clients_keep_them():
    assert retry_after(error("E", response=response(429, Retry_After="3"))) == 3
    assert retry_after(error("E", headers={"RETRY-AFTER": "4"})) == 4
    assert retry_after(error("E")) is None
    assert retry_after(error("E", response=response(429, Retry_After="1e9"))) is None
