"""Batches whose program is killed, or whose server is not there, at the worst moments."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from factoid.errors import PropositionizerError
from factoid.propositions import PropositionCache
from factoid.propositions.prompting.batches import PropositionBatch
from factoid.propositions.prompting.prompted import PromptPropositionizer
from tests.propositions.prompting.batch_server import BatchServer
from tests.propositions.prompting.server import refused, running, unit

openai = pytest.importorskip("openai")

PASSAGES = [unit(f"{number}.") for number in range(10)]

PROGRAM = """
import sys, openai
from factoid.propositions.prompting.batches import PropositionBatch
from factoid.propositions.prompting.prompted import PromptPropositionizer
from tests.propositions.prompting.server import unit
client = openai.OpenAI(base_url=sys.argv[1], api_key="k", timeout=10, max_retries=0)
batch = PropositionBatch(PromptPropositionizer(client, "m"), sys.argv[2], max_requests=4)
batch._sleep = lambda seconds: None
batch.submit([unit(f"{number}.") for number in range(10)])
batch.wait()
"""


@pytest.fixture
def server():
    with running(BatchServer()) as made:
        yield made


@pytest.fixture
def batch(server, tmp_path):
    client = openai.OpenAI(base_url=server.url, api_key="k", timeout=5, max_retries=0)
    with client, PropositionCache(tmp_path / "cache") as cache:
        made = PropositionBatch(PromptPropositionizer(client, "m"), cache, max_requests=4)
        made._sleep = lambda seconds: None
        yield made


@pytest.mark.parametrize("name", ["files", "batches"])
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("turn", [1, 3])
def test_a_kill_submits_nothing_twice_and_forgets_nothing(server, batch, tmp_path, name, moment, turn):
    """The kill comes before or after the server has carried out an upload or the creation of a batch."""
    seen = []
    carried_out = threading.Event()  # which the server does to the end, whether or not anyone waits for its answer

    def before(asked):
        seen.append(asked)
        if moment == "before":
            kill(asked)

    def after(asked):
        if moment == "after":
            kill(asked)
        if asked == name and seen.count(name) == turn:
            carried_out.set()

    def kill(asked):
        if asked == name and seen.count(name) == turn:
            os.kill(program.pid, signal.SIGKILL)
            program.wait(10)

    server.before, server.after = before, after
    arguments = [sys.executable, "-c", PROGRAM, server.url, str(tmp_path / "cache")]
    program = subprocess.Popen(arguments, env={**os.environ, "PYTHONPATH": os.pathsep.join(["shared", "."])})
    assert program.wait(60) == -signal.SIGKILL
    assert carried_out.wait(10)
    server.before = server.after = lambda _: None
    batch.submit(PASSAGES)
    assert sorted(server.submitted) == sorted(set(server.submitted))
    assert len(server.submitted) == 10
    assert len(server.batches) == 3
    batch.wait()
    assert batch.cache.get("m@dense-x-figure-8/1", PASSAGES) == [[f"{number}."] for number in range(10)]
    if (name, moment) != ("files", "before"):
        assert len(server.files) - 3 == 3  # the upload before the kill was found again; three are outputs


def test_a_kill_while_results_are_collected(batch, server, monkeypatch):
    batch.submit(PASSAGES)
    put, calls = batch.cache.put, []

    def stop(*arguments):
        calls.append(put(*arguments))
        if len(calls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(batch.cache, "put", stop)
    with pytest.raises(KeyboardInterrupt):
        batch.wait()
    batch.wait()
    assert batch.cache.count() == 10
    assert len(server.submitted) == 10


@pytest.mark.parametrize("answer", [(0, "hang up"), (500, {}), (200, "close in the body"), refused(429, "Slow down.")])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_creation_whose_answer_is_lost(batch, server, moment, answer):
    """The server may have created the batch or not."""
    left = [answer] * 2
    setattr(server, moment, lambda name: left.pop() if name == "batches" and left else None)
    batch.submit(PASSAGES)
    assert len(server.batches) == 3
    assert len(set(server.submitted)) == len(server.submitted) == 10
    batch.wait()
    assert batch.cache.count() == 10


def test_a_server_that_goes_away(batch, server):
    server.before = lambda name: (0, "hang up") if name == "batches" else None
    with pytest.raises(PropositionizerError, match="call again"):
        batch.submit(PASSAGES)
    server.before = lambda name: None
    batch.submit(PASSAGES)
    assert len(server.submitted) == 10


def test_a_creation_that_is_refused(batch, server):
    server.before = lambda name: refused(400, "Billing hard limit reached.") if name == "batches" else None
    with pytest.raises(PropositionizerError, match="Billing hard limit"):
        batch.submit(PASSAGES)
    server.before = lambda name: None
    batch.submit(PASSAGES)
    assert len(server.submitted) == 10


def test_a_wait_outlives_a_server_that_is_away_for_a_while(batch, server):
    batch.submit(PASSAGES)
    get, rounds = server.get, []

    def away(path):
        rounds.append(path)
        return (0, "hang up") if len(rounds) <= 20 else get(path)

    server.get = away
    assert batch.wait().answered == 10
    server.get = lambda path: (0, "hang up")
    batch.submit([unit("Another.")])
    with pytest.raises(PropositionizerError, match="call again"):
        batch.wait()
