"""Errors of clients other than openai's, by what they carry."""

from __future__ import annotations

from http import HTTPStatus
from types import SimpleNamespace

import pytest

from factoid.propositions.prompting.failures import judge


def error(name, words="some words", **attributes):
    return type(name, (Exception,), attributes)(words)


@pytest.mark.parametrize(
    ("raised", "reason"),
    [
        (error("ResourceExhausted", code=HTTPStatus.TOO_MANY_REQUESTS), "HTTP error 429"),
        (error("ClientResponseError", status=502), "HTTP error 502"),
        (error("HTTPStatusError", response=SimpleNamespace(status_code=503)), "HTTP error 503"),
        (error("DeadlineExceeded"), "DeadlineExceeded"),
        (error("ThrottlingException", "Too many requests"), "ThrottlingException"),
        (TimeoutError(), "TimeoutError"),
        (ConnectionResetError(), "ConnectionResetError"),
    ],
)
def test_transient_failures(raised, reason):
    failure = judge(raised)
    assert (failure.reason, failure.transient, failure.remedy) == (reason, True, "")


@pytest.mark.parametrize(
    ("raised", "reason"),
    [
        (error("ContextOverflowError", status_code=400), "passage too long"),
        (error("E", status_code=413), "passage too long"),
        (
            error("E", status_code=400, response=SimpleNamespace(text="context size exceeded")),
            "passage too long",
        ),
        (error("ContentFilterFinishReasonError"), "refusal"),
        (ValueError("The prompt was blocked"), "refusal"),
        (ValueError("x"), "the model raised ValueError"),
        (error("SomeError", code=7), "the model raised SomeError"),
    ],
)
def test_lasting_failures(raised, reason):
    failure = judge(raised)
    assert (failure.reason, failure.transient, failure.remedy) == (reason, False, "")


@pytest.mark.parametrize("status", [400, 401, 402, 405, 422])
def test_failures_of_every_passage(status):
    assert judge(error("ApiError", status_code=status)).remedy


def test_an_exhausted_quota_is_no_rate_limit():
    assert judge(error("RateLimitError", "{'code': 'insufficient_quota'}", status_code=429)).remedy
    assert judge(error("ResourceExhausted", "exceeded your quota", status_code=429)).transient


def test_bugs_are_not_failures():
    assert judge(TypeError("x")) is None
