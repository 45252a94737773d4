"""Names of propositionizers into objects."""

from __future__ import annotations

import pytest

from factoid.cli.options import Splitting, make_propositionizer


def test_openai_needs_a_model_a_key_and_an_address(fails, docs, monkeypatch):
    pytest.importorskip("openai")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    options = ("split", docs, "--propositionizer", "openai")
    assert "needs --model" in fails(*options)
    assert "set OPENAI_API_KEY (any value for a local server)" in fails(*options, "--model", "some-model")
    message = fails(*options, "--model", "m", "--base-url", "localhost:8000/v1")
    assert "must begin with http:// or https://, got 'localhost:8000/v1'" in message


def test_openai_gets_the_address_and_the_options(monkeypatch):
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    splitting = Splitting(propositionizer="openai", model="m", base_url="http://localhost:1/v1", max_concurrency=3)
    chosen = make_propositionizer(splitting)
    assert (chosen.model, chosen.max_concurrency) == ("m", 3)
    assert str(chosen.client.base_url) == "http://localhost:1/v1/"


def test_flan_t5_gets_the_model_named():
    chosen = make_propositionizer(Splitting(propositionizer="flan-t5", model="some/folder", engine="transformers"))
    assert (chosen.model, chosen.engine) == ("some/folder", "transformers")
