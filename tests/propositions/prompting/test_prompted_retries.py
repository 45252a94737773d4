"""Failures that another try mends, through the real client, with a clock on which waiting takes no time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

pytest.importorskip("openai")

from tests.propositions.prompting.server import completion, refused, unit

BUSY = refused(429, "Slow down.", "rate_limit_exceeded")
MENDED = {
    "HTTP error 503": (503, "<html>busy</html>"),
    "HTTP error 429": BUSY,
    "request timed out": (0, "hang"),
    "connection lost": (0, "hang up"),
    "connection lost, in the body": (200, "close in the body"),
    "unreadable response": (200, '{"id": '),
    "unreadable response, not UTF-8": (200, b'{"id": "\xff"}'),
    "unreadable response, an error": (200, {"error": {"message": "Slow down.", "code": 429}}),
    "unreadable response, no choices": (200, {**completion(""), "choices": []}),
    "unreadable response, no message": (200, {**completion(""), "choices": [{"index": 0}]}),
    "unreadable response, a number for text": (200, completion(5)),
    "unreadable response, numbers for parts": (200, completion([5])),
}


@pytest.mark.parametrize("case", MENDED)
async def test_another_try_mends_it(ask, server, clock, case):
    server.answers["A."] = [MENDED[case]] * 2
    timeout = 0.2 if "hang" in MENDED[case] else 5
    assert await ask([unit("A."), unit("B.")], max_concurrency=1, timeout=timeout) == [["A."], ["B."]]
    assert server.asked == ["A."] * 3 + ["B."]
    assert len(clock.slept) >= 2


@pytest.mark.parametrize("case", ["HTTP error 503", "HTTP error 429", "connection lost", "unreadable response"])
async def test_tries_end(ask, server, case):
    server.answers = {"A.": MENDED[case]}
    results = await ask([unit("A."), unit("B.")], max_retries=2)  # of a client that would itself try three times
    assert [getattr(texts, "reason", texts) for texts in results] == [case.split(",")[0], ["B."]]
    assert results[0].transient
    assert server.asked.count("A.") == 3


async def test_backoff_is_jittered_doubles_up_to_a_minute_and_is_bounded(ask, server, clock, monkeypatch):
    monkeypatch.setattr("random.uniform", lambda low, high: high - low)
    server.answers = {"A.": (500, {}), "B.": (500, {})}
    await ask([unit("A.")], max_retries=9)
    assert clock.slept == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    [failed] = await ask([unit("B.")], max_retries=99, retry_seconds=100)
    assert failed.transient
    assert server.asked.count("B.") == 7  # after 1 + 2 + 4 + 8 + 16 + 32 = 63 seconds the next would be at 123


@pytest.mark.parametrize(
    ("headers", "low", "high"),
    [
        ({"Retry_After": "17"}, 17, 17),
        ({"retry_after_ms": "1500", "retry_after": "2"}, 1.5, 1.5),
        ({"Retry_After": datetime.now(UTC) + timedelta(hours=3)}, 7200, 10800),
        ({"Retry_After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0, 0),
        ({"Retry_After": "soon"}, 0.0001, 1),
        ({"Retry_After": "-5"}, 0.0001, 1),
    ],
)
async def test_the_server_says_how_long(ask, server, clock, headers, low, high):
    headers = {key: value if isinstance(value, str) else format_datetime(value, True) for key, value in headers.items()}
    for status, text in ((429, "A."), (503, "B.")):
        server.answers[text] = [refused(status, "Slow down.", **headers)]
        assert await ask([unit(text)], retry_seconds=20000) == [[text]]
        assert low <= sum(clock.slept) <= high
        clock.slept.clear()


async def test_a_wait_beyond_the_total_time_fails_at_once_and_for_all(ask, server, clock):
    limit = refused(429, "Requests per day.", "rate_limit_exceeded", Retry_After="40000")
    server.answers = {f"{number}.": limit for number in range(50)}
    results = await ask([unit(text) for text in server.answers], max_concurrency=2)
    assert {(texts.reason, texts.transient) for texts in results} <= {("HTTP error 429", True), ("rate limit", True)}
    assert len(server.requests) <= 2
    assert clock.slept == []


async def test_a_rate_limit_holds_everybody_back(ask, server, clock):
    server.answers["1."] = [refused(429, "Slow down.", Retry_After="30")]
    sent_at = []
    answer = server.answer
    server.answer = lambda request: sent_at.append(clock.now) or answer(request)
    results = await ask([unit(f"{number}.") for number in range(1, 9)], max_concurrency=2)
    assert results == [[f"{number}."] for number in range(1, 9)]
    assert len([moment for moment in sent_at if moment < 30]) <= 4  # those under way when the limit was met
    assert len(server.asked) == 9


@pytest.mark.parametrize("limits", [{"requests_per_minute": 60}, {"tokens_per_minute": 1000 * 60}])
async def test_limits_are_kept(ask, server, clock, limits):
    server.usage = {"prompt_tokens": 900, "completion_tokens": 100, "total_tokens": 1000}
    await ask([unit(f"{number}.") for number in range(10)], max_concurrency=1, **limits)
    assert clock.now == pytest.approx(9, abs=0.5)  # the first starts at once; each takes a second


async def test_a_server_that_goes_down_does_not_cost_hours(ask, server):
    texts = [f"{number}." for number in range(120)]
    server.answers = {text: (503, {}) for text in texts[1:]}
    del server.answers["119."]  # what comes back is taken
    results = await ask([unit(text) for text in texts], max_concurrency=4)
    assert [texts.reason for texts in results[1:119]] == ["HTTP error 503"] * 118
    assert results[119] == ["119."]
    assert len(server.requests) < 300  # and not 7 * 120
