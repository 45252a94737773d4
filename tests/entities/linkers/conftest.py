from __future__ import annotations

import pytest


@pytest.fixture
def count_as_large(monkeypatch):
    """Let small stores count as large ones, in which a name needs its capitals."""
    monkeypatch.setattr("factoid.entities.linkers.titles._GLOSSARY", 0)
