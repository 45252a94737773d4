"""A server that speaks OpenAI's interface, and ways to ask it."""

from __future__ import annotations

import pytest

from tests.propositions.prompting.server import Server, running


@pytest.fixture
def server():
    with running(Server()) as made:
        yield made


@pytest.fixture(params=["sync", "async", "sync in async"])
def ask(request, server):
    """Returns a function that asks through the real client: with OpenAI, AsyncOpenAI, and OpenAI
    behind `await`.
    """
    openai = pytest.importorskip("openai")
    from factoid.propositions.prompting.prompted import PromptPropositionizer

    async def run(passages, *, timeout=5, base_url=server.url, **settings):
        """Return the results; `run.propositionizer` is then the one that gave them."""
        kind = openai.AsyncOpenAI if request.param == "async" else openai.OpenAI
        client = kind(timeout=timeout, base_url=base_url, api_key="sk-test")
        run.propositionizer = PromptPropositionizer(client, "m", **{"max_retries": 0, **settings})
        try:
            if request.param == "sync":
                return run.propositionizer.propositionize(passages)
            return await run.propositionizer.apropositionize(passages)
        finally:
            if request.param == "async":
                await client.close()
            else:
                client.close()

    return run


@pytest.fixture(scope="session")
def tiny_t5(tmp_path_factory):
    """The folder of a T5 that has learned by heart what `tests.propositions.tiny_t5` asks it."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from tests.propositions import tiny_t5

    folder = tmp_path_factory.mktemp("models") / "tiny-t5"
    tiny_t5.train(folder)
    return folder
