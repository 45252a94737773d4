"""Training, for real and at tiny scale: a T5 of one layer learns ten passages by heart."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from factoid import Document, FlanT5Propositionizer, split_passages
from factoid.errors import InvalidInputError, MissingDependencyError, PropositionizerError, UnreadableFileError
from factoid.propositions.prompting.prompt import passage_input
from factoid.propositions.score import EncoderSimilarity, TokenF1
from factoid.propositions.training import train
from factoid.propositions.training.seeds import SeedPair, write_pairs
from factoid.propositions.training.train import (
    TrainingSettings,
    evaluate_propositionizer,
    read_record,
    split_held_out,
    train_propositionizer,
)
from factoid.testing import HashEncoder

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")

from tests.tiny_t5 import write_untrained  # noqa: E402 - imports torch

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
    texts = [text for seed in PAIRS for text in (passage_input(seed.passage), json.dumps(seed.propositions))]
    return write_untrained(tmp_path_factory.mktemp("models") / "untrained", texts, limit=64)


def settings(start, **changes):
    small = {"epochs": 60, "batch_size": 4, "device_batch_size": 2, "learning_rate": 1e-2, "max_tokens": 64}
    return TrainingSettings(**{"model": str(start), **small, **changes})


@pytest.fixture(scope="module")
def trained(start, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained") / "model"
    options = {"settings": settings(start), "held_out": 2, "use_cpu": True}
    return folder, train_propositionizer(PAIRS, folder, **options, dropped={"low coverage": 3})


def test_what_was_learned_is_written_with_how_it_came_about(trained):
    folder, record = trained
    assert record.loss[-1][1] < record.loss[0][1] / 3
    assert (record.training_pairs, record.held_out_pairs, record.steps) == (9, 1, 180)  # a tenth is held out
    assert len(record.held_out_loss) == 60
    model = FlanT5Propositionizer(folder, device="cpu")
    training, held_out = split_held_out(PAIRS, 2)
    assert evaluate_propositionizer(model, training, TokenF1()).f1 > 0.9
    assert evaluate_propositionizer(model, held_out, TokenF1()) == record.score == read_record(folder).score
    assert record.similarity == "TokenF1"
    values = json.loads((folder / "training.json").read_text())
    assert (values["settings"]["weight_decay"], values["dropped"]) == (1e-4, {"low coverage": 3})
    assert json.loads((folder / "config.json").read_text())["use_cache"] is True
    assert not [path for path in folder.iterdir() if path.is_dir() or path.suffix in {".bin", ".pt", ".pth", ".part"}]


def test_a_finished_training_is_not_done_again(trained, start, monkeypatch):
    folder, record = trained

    def refuse(*_, **__):
        pytest.fail("trained again")

    monkeypatch.setattr("factoid.propositions.training.fine_tune.fine_tune", refuse)
    options = {"held_out": 2, "use_cpu": True, "settings": settings(start, device_batch_size=1, checkpoint_steps=7)}
    assert train_propositionizer(PAIRS, folder, **options).score == record.score
    monkeypatch.setattr(train, "_write_record", lambda *_: None)
    other = train_propositionizer(PAIRS, folder, **options, similarity=EncoderSimilarity(HashEncoder()))
    assert other.similarity == "EncoderSimilarity"
    for pairs, epochs in ((PAIRS[1:], 60), (PAIRS, 61)):
        with pytest.raises(InvalidInputError, match="trained with other pairs or settings"):
            train_propositionizer(pairs, folder, settings=settings(start, epochs=epochs), held_out=2)


def weights(folder):
    return transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).state_dict()


def test_an_interrupted_training_goes_on_to_the_same_weights(start, tmp_path, monkeypatch, capfd):
    chosen = settings(start, epochs=4, checkpoint_steps=100)
    options = {"settings": chosen, "held_out": 2, "use_cpu": True}
    whole = train_propositionizer(PAIRS, tmp_path / "whole", **options)
    assert capfd.readouterr() == ("", "")

    from factoid.propositions.training.fine_tune import Stop

    steps = []

    def interrupt(self, args, state, control, **kwargs):
        steps.append(state.global_step)
        if state.global_step == 5 and len(steps) == 6:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Stop, "on_step_begin", interrupt, raising=False)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        train_propositionizer(PAIRS, tmp_path / "parts", **options)
    assert signal.getsignal(signal.SIGINT) is before
    assert [path.name for path in (tmp_path / "parts" / "checkpoints").glob("*/checkpoint-*")] == ["checkpoint-6"]
    parts = train_propositionizer(PAIRS, tmp_path / "parts", **options, show_progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "loss=" in err
    assert steps == [*range(12)]
    assert parts.steps == whole.steps == 12
    for name, value in weights(tmp_path / "whole").items():
        torch.testing.assert_close(weights(tmp_path / "parts")[name], value)


SCRIPT = """
import sys
from factoid.propositions.training.seeds import read_pairs
from factoid.propositions.training.train import TrainingSettings, train_propositionizer
_, pairs, model, start = sys.argv
settings = TrainingSettings(model=start, epochs=100_000, batch_size=4, device_batch_size=2, checkpoint_steps=3)
train_propositionizer(read_pairs(pairs), model, held_out=2, use_cpu=True, settings=settings)
"""


@pytest.mark.slow
def test_sigterm_and_a_kill_lose_no_checkpoint(start, tmp_path):
    write_pairs(tmp_path / "pairs.jsonl", PAIRS)
    folder = tmp_path / "model" / "checkpoints"

    def newest():
        states = folder.glob("*/checkpoint-*/trainer_state.json")
        return max((int(path.parent.name.rpartition("-")[2]) for path in states), default=0)

    def run_until_checkpoint(number):
        before = newest()
        arguments = [sys.executable, "-c", SCRIPT, tmp_path / "pairs.jsonl", tmp_path / "model", start]
        process = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 120
        while newest() == before and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(number)
        _, error = process.communicate(timeout=60)
        return process.returncode, error

    code, error = run_until_checkpoint(signal.SIGTERM)
    assert code != 0
    assert error.rstrip().endswith("KeyboardInterrupt")
    first = newest()
    code, _ = run_until_checkpoint(signal.SIGKILL)
    assert code == -signal.SIGKILL
    assert newest() > first
    (run,) = folder.iterdir()
    broken = run / f"checkpoint-{newest() + 3}"  # as a kill leaves it
    broken.mkdir()
    (broken / "trainer_state.json").write_text("{")

    from factoid.propositions.training.fine_tune import last_checkpoint

    assert Path(last_checkpoint(run)).name == f"checkpoint-{newest() - 3}"


def test_pairs_that_the_model_cannot_read_or_write_are_counted(start, tmp_path):
    (long,) = split_passages(Document("Pisa has a tower. " * 30, id="long"), words=1000)
    pairs = [*PAIRS, SeedPair(long, ("Pisa has a tower.",)), SeedPair(PAIRS[0].passage, ("Ψ has a tower.",))]
    options = {"held_out": 0, "use_cpu": True}
    record = train_propositionizer(pairs, tmp_path / "model", settings=settings(start, epochs=1), **options)
    assert record.dropped == {"characters that the tokenizer lacks": 1, "longer than the model reads or writes": 1}
    assert (record.training_pairs, record.score) == (len(PAIRS), None)
    with pytest.raises(InvalidInputError, match="no pair is left to train on"):
        train_propositionizer(pairs[-2:], tmp_path / "none", settings=settings(start), **options)


@pytest.mark.parametrize(
    ("changes", "error", "problem"),
    [
        ({"epochs": 0}, InvalidInputError, "epochs of at least 1, got 0"),
        ({"learning_rate": 0.0}, InvalidInputError, "learning_rate > 0"),
        ({"weight_decay": -1.0}, InvalidInputError, "weight_decay >= 0"),
        ({"batch_size": 5, "device_batch_size": 2}, InvalidInputError, "multiple of device_batch_size"),
        ({"model": "nowhere/none"}, PropositionizerError, "cannot load the seq2seq model 'nowhere/none'"),
    ],
)
def test_settings_are_checked(start, tmp_path, changes, error, problem):
    with pytest.raises(error, match=problem):
        train_propositionizer(PAIRS, tmp_path, settings=settings(start, **changes), use_cpu=True)


def test_records_and_packages_that_are_missing_or_damaged(tmp_path, monkeypatch):
    (tmp_path / "training.json").write_text('{"settings": {}}')
    with pytest.raises(UnreadableFileError, match=r"training.json is not a record of a training"):
        train_propositionizer(PAIRS, tmp_path)
    monkeypatch.setitem(sys.modules, "accelerate", None)
    with pytest.raises(MissingDependencyError, match=r"factoid\[train\]"):
        train_propositionizer(PAIRS, tmp_path)
