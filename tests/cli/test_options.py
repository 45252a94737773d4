"""Names of propositionizers into objects."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from factoid.cli.options import Splitting, make_propositionizer


def test_openai_needs_a_model_a_key_and_an_address(fails, docs, monkeypatch):
    pytest.importorskip("openai")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    options = ("split", docs, "--propositionizer", "openai")
    assert "needs --model" in fails(*options)
    message = fails(*options, "--model", "some-model")
    assert "set OPENAI_API_KEY (any value for a local server)" in message
    assert "workload" not in message
    for address in ("foo", "localhost:8000/v1", "ftp://localhost/v1"):
        message = fails(*options, "--model", "m", "--base-url", address)
        assert f"must begin with http:// or https://, got '{address}'" in message


def test_openai_client_is_made_here_with_the_address_given(monkeypatch):
    openai = pytest.importorskip("openai")
    made = {}
    client = SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=lambda **_given: None)))
    monkeypatch.setattr(openai, "OpenAI", lambda **given: made.update(given) or client)
    arguments = Splitting(propositionizer="openai", model="m", base_url="http://localhost:1/v1", max_concurrency=3)
    assert make_propositionizer(arguments).max_concurrency == 3
    assert made == {"base_url": "http://localhost:1/v1"}


def test_flan_t5_gets_the_model_named():
    assert make_propositionizer(Splitting(propositionizer="flan-t5"))
    chosen = make_propositionizer(Splitting(propositionizer="flan-t5", model="some/folder", engine="transformers"))
    assert (chosen.model, chosen.engine) == ("some/folder", "transformers")
