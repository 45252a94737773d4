"""Training, for real and at tiny scale: a T5 of one layer learns ten passages by heart."""

from __future__ import annotations

import json
import sys

import pytest

from factoid import Document, FlanT5Propositionizer, split_passages
from factoid.errors import InvalidInputError, MissingDependencyError, PropositionizerError
from factoid.propositions.prompting.prompt import passage_input
from factoid.propositions.score import TokenF1
from factoid.training.propositionizers import train
from factoid.training.propositionizers.seeds import SeedPair
from factoid.training.propositionizers.settings import TrainingSettings
from factoid.training.propositionizers.train import (
    evaluate_propositionizer,
    split_held_out,
    train_propositionizer,
)

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")

from tests.tiny_t5 import write_untrained  # noqa: E402 - imports torch

pytestmark = pytest.mark.filterwarnings("ignore")  # those of the trainer

CITIES = "Pisa Oslo Lima Cairo Kyoto Rome Bonn Graz Riga Baku".split()
THINGS = "tower fjord coast river temple forum garden clock market flame".split()


def pair(city: str, thing: str) -> SeedPair:
    (passage,) = split_passages(Document(f"{city} has a {thing}. It is old.", city, id=city))
    return SeedPair(passage, (f"{city} has a {thing}.", f"{city} is old."), "scripted")


PAIRS = [pair(city, thing) for city, thing in zip(CITIES, THINGS, strict=True)]


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # so small a model gains nothing from more
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    texts = [
        text
        for seed in PAIRS
        for text in (passage_input(seed.passage), json.dumps(seed.propositions))
    ]
    return write_untrained(tmp_path_factory.mktemp("models") / "untrained", texts, limit=64)


def settings(start, **changes):
    small = {
        "epochs": 60,
        "batch_size": 4,
        "device_batch_size": 2,
        "learning_rate": 1e-2,
        "max_tokens": 64,
    }
    return TrainingSettings(**{"model": str(start), **small, **changes})


@pytest.fixture(scope="module")
def trained(start, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained") / "model"
    options = {"settings": settings(start), "held_out": 2, "use_cpu": True}
    return folder, train_propositionizer(PAIRS, folder, **options, dropped={"low coverage": 3})


def test_what_was_learned_is_written_with_how_it_came_about(trained, start):
    folder, record = trained
    losses = [entry["loss"] for entry in record["log"] if "loss" in entry]
    assert losses[-1] < losses[0] / 3
    assert (record["training_pairs"], record["held_out_pairs"], record["steps"]) == (
        9,
        1,
        180,
    )  # a tenth is held out
    assert len([entry for entry in record["log"] if "eval_loss" in entry]) == 60
    model = FlanT5Propositionizer(folder, engine="transformers", device="cpu")
    training, held_out = split_held_out(PAIRS, 2)
    assert evaluate_propositionizer(model, training, TokenF1()).f1 > 0.9
    assert evaluate_propositionizer(model, held_out, TokenF1()).f1 == record["score"]["f1"]
    assert json.loads((folder / "training.json").read_text()) == json.loads(json.dumps(record))
    assert (record["settings"]["weight_decay"], record["dropped"]) == (1e-4, {"low coverage": 3})
    assert (record["similarity"], record["propositionizers"]) == ("TokenF1", ["scripted"])
    assert json.loads((folder / "config.json").read_text())["use_cache"] is True
    assert not [
        path
        for path in folder.iterdir()
        if path.is_dir() or path.suffix in {".bin", ".pt", ".pth", ".part"}
    ]
    with pytest.raises(InvalidInputError, match="holds a finished model: choose another"):
        train_propositionizer(PAIRS, folder, settings=settings(start))


def weights(folder):
    return transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).state_dict()


class Interrupted(Exception):
    pass


def test_an_interrupted_training_goes_on_to_the_same_weights(start, tmp_path, monkeypatch, capsys):
    options = {
        "settings": settings(start, epochs=4, checkpoint_steps=3),
        "held_out": 2,
        "use_cpu": True,
    }
    whole = train_propositionizer(PAIRS, tmp_path / "whole", **options)
    assert capsys.readouterr().out == ""

    from factoid.training.propositionizers.fine_tune import Progress

    steps = []

    def interrupt(self, args, state, control, **kwargs):
        steps.append(state.global_step)
        if steps == [*range(6)]:
            raise Interrupted

    monkeypatch.setattr(Progress, "on_step_begin", interrupt)
    with pytest.raises(Interrupted):
        train_propositionizer(PAIRS, tmp_path / "parts", **options, progress=True)
    [run] = (tmp_path / "parts" / "checkpoints").iterdir()
    broken = run / "checkpoint-6"  # as a kill leaves it
    broken.mkdir()
    (broken / "trainer_state.json").write_text("{")

    def stop(*_):
        raise Interrupted

    with monkeypatch.context() as patched:  # after the training, before its record
        patched.setattr(train, "evaluate_propositionizer", stop)
        with pytest.raises(Interrupted):
            train_propositionizer(PAIRS, tmp_path / "parts", **options, progress=True)
    smaller = {
        **options,
        "settings": settings(start, epochs=4, checkpoint_steps=3, device_batch_size=1),
    }
    parts = train_propositionizer(PAIRS, tmp_path / "parts", **smaller, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "loss=" in err
    assert steps == [*range(6), *range(3, 12)]
    assert parts["steps"] == whole["steps"] == 12
    for name, value in weights(tmp_path / "whole").items():
        torch.testing.assert_close(weights(tmp_path / "parts")[name], value)


def test_pairs_that_the_model_cannot_read_or_write_are_counted(start, tmp_path):
    (long,) = split_passages(Document("Pisa has a tower. " * 30, id="long"), words=1000)
    pairs = [
        *PAIRS,
        SeedPair(long, ("Pisa has a tower.",)),
        SeedPair(PAIRS[0].passage, ("Ψ has a tower.",)),
    ]
    options = {"held_out": 0, "use_cpu": True}
    record = train_propositionizer(
        pairs, tmp_path / "model", settings=settings(start, epochs=1), **options
    )
    assert record["dropped"] == {
        "characters that the tokenizer lacks": 1,
        "longer than the model reads or writes": 1,
    }
    assert (record["training_pairs"], record["score"]) == (len(PAIRS), None)
    with pytest.raises(InvalidInputError, match="no pair is left to train on"):
        train_propositionizer(pairs[-2:], tmp_path / "none", settings=settings(start), **options)


def test_models_and_packages_that_are_missing(start, tmp_path, monkeypatch):
    with pytest.raises(PropositionizerError, match="cannot load the seq2seq model 'nowhere/none'"):
        train_propositionizer(PAIRS, tmp_path, settings=settings("nowhere/none"), use_cpu=True)
    monkeypatch.setitem(sys.modules, "accelerate", None)
    with pytest.raises(MissingDependencyError, match=r"factoid\[train\]"):
        train_propositionizer(PAIRS, tmp_path)
