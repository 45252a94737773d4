"""Results as they come, kept in a cache, and calls that end early."""

from __future__ import annotations

import threading
from contextlib import aclosing

import pytest

from factoid.errors import PropositionizerError
from factoid.propositions import CachedPropositionizer, PropositionCache
from factoid.propositions.prompting.prompted import PromptPropositionizer
from tests.propositions.prompting.server import refused, unit

openai = pytest.importorskip("openai")

TEXTS = [f"{number}." for number in range(8)]
PASSAGES = [unit(text) for text in TEXTS]


@pytest.fixture
def client(server):
    with openai.OpenAI(base_url=server.url, api_key="k") as made:
        yield made
        server.closing.set()  # requests under way end before their client is closed
        check_that_workers_end()


def check_that_workers_end():
    for worker in threading.enumerate():
        if worker.name.startswith("propositions"):
            worker.join(5)
            assert not worker.is_alive()


@pytest.fixture
async def async_client(server):
    async with openai.AsyncOpenAI(base_url=server.url, api_key="k") as made:
        yield made


async def test_what_is_done_comes_first(async_client, client, server):
    server.answers["0."] = 200, "hang"
    expected = [(number, [f"{number}."]) for number in range(1, 8)]
    propositionizer = PromptPropositionizer(client, "m", max_retries=0)
    results = propositionizer.stream(PASSAGES)
    assert sorted(next(results) for _ in range(7)) == expected
    results.close()
    for sender in (async_client, client):
        propositionizer = PromptPropositionizer(sender, "m", max_retries=0)
        async with aclosing(propositionizer.astream(PASSAGES)) as stream:
            assert sorted([await anext(stream) for _ in range(7)]) == expected


def test_answers_that_came_before_a_fatal_error_are_kept(client, server, tmp_path):
    server.answers["7."] = refused(401, "The key was revoked.")
    cache = PropositionCache(tmp_path / "cache")
    propositionizer = PromptPropositionizer(client, "m", max_concurrency=1)
    with pytest.raises(PropositionizerError, match="revoked"):
        CachedPropositionizer(propositionizer, cache).propositionize(PASSAGES)
    assert cache.get(propositionizer.name, PASSAGES) == [*([text] for text in TEXTS[:7]), None]
