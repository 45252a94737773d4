from __future__ import annotations

from pathlib import Path

import pytest

from factoid.training.rankers.examples import TrainingExample

pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")
pytest.importorskip("accelerate")
pytest.importorskip("datasets")

import torch

from tests.late_interaction.tiny_colbert import add_marker, write_colbert

PLACES = {
    "oslo": "berg",
    "berlin": "anna",
    "paris": "river",
    "rome": "tower",
    "pisa": "bridge",
    "stockholm": "museum",
}


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # so small a model gains nothing from more
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def examples() -> list[TrainingExample]:
    """Which sentence answers cannot be told from common words: both hold the town."""
    made = []
    for town, thing in PLACES.items():
        passages = (
            f"The town {town} is old. The {thing} is in {town}.",
            "The ship sank. It was raised years later.",
        )
        made.append(
            TrainingExample(
                f"What stands in {town}?", passages, (4.0, 0.0), (thing,), ((0.0, 4.0), None)
            )
        )
    return made


@pytest.fixture(scope="session")
def colbert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny checkpoint in Stanford's format."""
    return write_colbert(tmp_path_factory.mktemp("colbert"))


@pytest.fixture(scope="session")
def marked(colbert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model with a marker for finer units."""
    return add_marker(colbert, tmp_path_factory.mktemp("marked"))


@pytest.fixture(scope="session")
def plain(colbert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT without a projection."""
    import transformers

    folder = tmp_path_factory.mktemp("plain")
    transformers.BertTokenizer.from_pretrained(colbert).save_pretrained(folder)
    config = transformers.BertConfig.from_pretrained(colbert)
    config.architectures = ["BertModel"]
    torch.manual_seed(3)
    transformers.BertModel(config).save_pretrained(folder)
    return folder
