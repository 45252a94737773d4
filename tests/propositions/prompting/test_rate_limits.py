from __future__ import annotations

from factoid.propositions.prompting import requests
from factoid.propositions.prompting.requests import Pace


def test_requests_and_tokens_are_spread_evenly(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(requests.time, "monotonic", lambda: now[0])
    pace = Pace(60, None)
    assert [pace.take(5) for _ in range(3)] == [0, 1, 2]
    now[0] = 110.0  # nothing is saved up
    assert [pace.take(5) for _ in range(2)] == [0, 1]
    pace = Pace(600, 6000)
    assert [pace.take(tokens) for tokens in (200, 100, 1)] == [0, 2, 3]
    pace.correct(99)  # the last one had 100 tokens
    assert pace.take(1) == 4
    assert [Pace(None, None).take(10**6) for _ in range(2)] == [0, 0]
