from __future__ import annotations

import pytest

from tests.entities.spel import tiny_spel


@pytest.fixture(scope="session")
def spel_folder(tmp_path_factory):
    """A checkpoint that has learned three entities, its vocabulary files and its tokenizer."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("spel")
    tiny_spel.write_checkpoint(folder)
    return folder


@pytest.fixture(scope="session")
def linker(spel_folder):
    from factoid.entities.spel.linker import SpELLinker

    return SpELLinker(spel_folder, device="cpu")
