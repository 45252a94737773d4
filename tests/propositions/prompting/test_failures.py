"""Errors of clients other than openai's, by what they carry."""

from __future__ import annotations

import json
from http import HTTPStatus
from types import SimpleNamespace

import pytest

from factoid.propositions.prompting.failures import Failure, judge, retry_after


def error(name, bases=(Exception,), cause=None, **attributes):
    made = type(name, bases, attributes)("some words")
    made.__cause__ = cause
    return made


def response(status, **headers):
    return SimpleNamespace(status_code=status, headers={key.replace("_", "-"): value for key, value in headers.items()})


ROOT = type(error("APIConnectionError"))


@pytest.mark.parametrize(
    ("raised", "reason"),
    [
        (error("ResourceExhausted", code=HTTPStatus.TOO_MANY_REQUESTS), "HTTP error 429"),
        (error("ClientResponseError", status=502), "HTTP error 502"),
        (error("HTTPStatusError", response=response(503)), "HTTP error 503"),
        (error("OverloadedError", status_code=529), "HTTP error 529"),
        (error("ClientError", response={"ResponseMetadata": {"HTTPStatusCode": 500}}), "HTTP error 500"),
        (error("DeadlineExceeded"), "request timed out"),
        (TimeoutError(), "request timed out"),
        (ConnectionResetError(), "connection lost"),
        (error("APIConnectionError", cause=error("ReadError")), "connection lost"),
        (error("APITimeoutError", (ROOT,), error("ConnectTimeout")), "connection failed"),
        (ConnectionRefusedError(), "connection failed"),
        (json.JSONDecodeError("bad", "{", 1), "unreadable response"),
        (error("OutputParserException", (ValueError,)), "unreadable output"),
        (error("ContextOverflowError", status_code=400), "passage too long"),
        (error("ContentFilterFinishReasonError"), "refusal"),
    ],
)
def test_of_one_passage(raised, reason):
    failure = judge(raised)
    assert (failure.reason, failure.remedy) == (reason, "")
    assert failure.transient == (reason not in {"unreadable output", "passage too long", "refusal"})


@pytest.mark.parametrize("status", [400, 401, 402, 405, 422])
def test_of_every_passage(status):
    assert judge(error("ApiError", status_code=status)).remedy


def test_an_exhausted_quota_is_no_rate_limit():
    assert judge(error("RateLimitError", status_code=429, code="insufficient_quota")).remedy
    body = {"error": {"code": "insufficient_quota"}}
    assert judge(error("RateLimitError", status_code=429, body=body)).remedy
    body = {"error": {"code": 429, "message": "exceeded your quota"}}
    limited = error("ResourceExhausted", status_code=429, body=body)
    assert judge(limited) == Failure("HTTP error 429", True, everybody=True)


@pytest.mark.parametrize("raised", [ValueError("x"), error("SomeError", code=7), error("E", code=True)])
def test_faults_of_a_program_are_none_of_a_request(raised):
    assert judge(raised) is None


def test_headers_are_found_where_clients_keep_them():
    assert retry_after(error("E", response=response(429, Retry_After="3"))) == 3
    assert retry_after(error("E", headers={"RETRY-AFTER": "4"})) == 4
    assert retry_after(error("E")) is None
    assert retry_after(error("E", response=response(429, Retry_After="1e9"))) is None
