from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def colbert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny checkpoint in Stanford's format."""
    pytest.importorskip("sentence_transformers")
    from tests.late_interaction.tiny_colbert import write_colbert

    return write_colbert(tmp_path_factory.mktemp("colbert"))


@pytest.fixture(scope="session")
def marked(colbert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model with a marker for finer units."""
    from tests.late_interaction.tiny_colbert import add_marker

    return add_marker(colbert, tmp_path_factory.mktemp("marked"))
