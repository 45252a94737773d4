"""Names of propositionizers into objects."""

from __future__ import annotations

import pytest

from factoid.cli.options import Splitting, make_propositionizer


def test_openai_needs_a_model_and_a_key(fails, docs, monkeypatch):
    pytest.importorskip("openai")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    options = ("split", docs, "--propositionizer", "openai")
    assert "needs --model" in fails(*options)
    assert "set OPENAI_API_KEY (any value for a local server)" in fails(
        *options, "--model", "some-model"
    )
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    splitting = Splitting(
        propositionizer="openai", model="m", base_url="http://localhost:1/v1", temperature=None
    )
    chosen = make_propositionizer(splitting)
    assert str(chosen.client.base_url) == "http://localhost:1/v1/"
