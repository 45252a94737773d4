"""`factoid estimate` and `factoid batch`."""

from __future__ import annotations

import pytest

from tests.propositions.prompting.batch_server import BatchServer
from tests.propositions.prompting.server import running


def test_estimate(run, report, docs, fails, tmp_path):
    command = ("estimate", docs, "--model", "m")
    priced = (*command, "--price-in", "1", "--price-out", "2", "--cache", tmp_path / "cache")
    found = report(*priced)
    assert found["passages"] == found["usage"]["requests"] == 3
    assert found["cost"] == pytest.approx(2 * found["batch_cost"])
    assert {path.name for path in tmp_path.iterdir()} == {"docs"}  # no cache is made
    _, out, _ = run(*priced)
    assert "3 passages, 0 of them need no request" in out
    assert "through the Batch API" in out
    assert "Batch" not in run(*command)[1]
    assert "go together" in fails(*command, "--price-in", "1")


@pytest.fixture
def server(monkeypatch):
    openai = pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setattr("factoid.propositions.prompting.batches._POLL", 0.0)
    make, clients = openai.OpenAI, []
    monkeypatch.setattr(
        openai, "OpenAI", lambda **options: clients.append(make(**options)) or clients[-1]
    )
    with running(BatchServer()) as made:
        yield made
        for client in clients:
            client.close()


def test_submit_collect_and_index(run, report, fails, docs, server, tmp_path):
    cache = tmp_path / "cache"
    options = ("--model", "m", "--cache", cache, "--base-url", server.url)
    assert "takes files" in fails("batch", "submit", *options)
    assert "takes no files" in fails("batch", "status", docs, *options)
    assert "name the --cache of factoid batch submit" in fails("batch", "status", *options)
    assert {path.name for path in tmp_path.iterdir()} == {"docs"}
    assert "batch0  validating  0 of 3 requests" in run("batch", "submit", docs, *options)[1]
    assert "batch0  in_progress" in run("batch", "status", *options)[1]
    assert "3 passages answered" in run("batch", "collect", "--wait", *options)[1]
    assert "no batches" in run("batch", "status", *options)[1]
    server.requests.clear()
    assert report("estimate", docs, "--model", "m", "--cache", cache)["usage"]["requests"] == 0
    assert (
        run("index", docs, "--store", tmp_path / "store", "--propositionizer", "openai", *options)[
            0
        ]
        == 0
    )
    assert server.requests == []


def test_what_comes_back_is_sent_again(run, report, docs, server, tmp_path):
    options = ("--model", "m", "--cache", tmp_path / "cache", "--base-url", server.url)
    server.endings = ["in_progress", "expired"]
    run("batch", "submit", docs, *options)
    run("batch", "cancel", *options)
    _, out, _ = run("batch", "collect", *options)
    assert "2 came back without an answer (batch cancelled)" in out
    assert "sent again by: factoid batch submit" in out
    run("batch", "submit", docs, *options)
    assert "not ended yet: 1" in run("batch", "collect", *options)[1]
    found = report("batch", "collect", *options)
    assert (found["answered"], found["returned"]) == (1, {"batch expired": 1})
