"""Training, for real and at tiny scale: a model of one layer learns which sentence answers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from factoid import AnyGranularityRanker
from factoid.errors import InvalidInputError, MissingDependencyError, UnreadableFileError
from factoid.late_interaction import LateInteractionEncoder
from factoid.late_interaction.encoder import FINER_PROMPT
from factoid.late_interaction.training.examples import TrainingExample, write_examples
from factoid.late_interaction.training.model import add_marker, load_model
from factoid.late_interaction.training.train import RankerSettings, read_record, train_ranker

torch = pytest.importorskip("torch")
ROOT = Path(__file__).parents[3]


def settings(model, **changes):
    small = {"epochs": 12, "batch_size": 6, "device_batch_size": 3, "learning_rate": 1e-2, "checkpoint_steps": 5}
    return RankerSettings(**{"model": str(model), **small, **changes})


@pytest.fixture(scope="module")
def trained(colbert, examples, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained") / "model"
    seen = []

    def measure(model):
        seen.append(FINER_PROMPT in model.prompts)
        return {"calls": len(seen)}

    return folder, train_ranker(examples, folder, settings=settings(colbert), measure=measure, use_cpu=True), seen


def test_the_losses_fall(trained):
    folder, record, _ = trained
    assert (record.steps, record.training_examples, record.ways, record.sentences) == (12, 6, 2, 12)
    assert [entry["step"] for entry in record.loss] == list(range(1, 13))
    first, last = record.loss[0], record.loss[-1]
    assert last["sentence"] < first["sentence"] / 2
    assert last["loss"] == pytest.approx(last["passage"] + last["sentence"], abs=1e-3)
    assert read_record(folder) == record


def test_measures_make_a_curve(trained):
    _, record, seen = trained
    assert [entry["step"] for entry in record.measures] == [0, 5, 10, 12]
    assert [entry["calls"] for entry in record.measures] == [1, 2, 3, 4]
    assert all(seen)


def test_the_checkpoint_ranks_by_its_path_alone(trained, examples):
    folder, *_ = trained
    ranker = AnyGranularityRanker(folder)
    for example in examples:
        [best] = ranker.rank(example.query, example.passages, k=1)
        assert example.answers[0] in best.unit.text
    encoder = LateInteractionEncoder(folder)
    coarse, finer = (encoder.encode_query("What stands in Oslo?", finer=finer) for finer in (False, True))
    assert coarse.vectors.shape == finer.vectors.shape
    assert np.abs(coarse.vectors - finer.vectors).max() > 0.01
    assert encoder.has_finer_marker()


def test_nothing_but_data_is_written(trained):
    folder, *_ = trained
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} <= {".json", ".safetensors", ".txt"}
    assert not (folder / "checkpoints").exists()


def test_passages_alone_make_no_marker(colbert, examples, tmp_path):
    chosen = settings(colbert, sentence_weight=0.0, epochs=1)
    record = train_ranker(examples, tmp_path / "model", settings=chosen, use_cpu=True)
    assert not LateInteractionEncoder(tmp_path / "model").has_finer_marker()
    assert "sentence" not in record.loss[0]
    assert record.sentences == 0


def test_a_finished_training_is_not_done_again(trained, colbert, examples, monkeypatch):
    folder, record, _ = trained

    def refuse(*_, **__):
        pytest.fail("trained again")

    monkeypatch.setattr("factoid.late_interaction.training.fit.fit", refuse)
    assert train_ranker(examples, folder, settings=settings(colbert, device_batch_size=6)) == record
    for others, changes in ((examples[1:], {}), (examples, {"seed": 1}), (examples, {"sentence_weight": 0.0})):
        with pytest.raises(InvalidInputError, match="trained with other examples or settings"):
            train_ranker(others, folder, settings=settings(colbert, **changes))


def weights(folder):
    return load_model(str(folder), device="cpu").state_dict()


def test_an_interrupted_training_goes_on_to_the_same_weights(colbert, examples, tmp_path, trained):
    folder = tmp_path / "model"
    stop = []

    def interrupt(_model):
        stop.append(1)
        if len(stop) == 2:  # at step 5
            os.kill(os.getpid(), signal.SIGINT)
        return {}

    with pytest.raises(KeyboardInterrupt):
        train_ranker(examples, folder, settings=settings(colbert), measure=interrupt, use_cpu=True)
    assert list(folder.rglob("checkpoint-*"))
    assert read_record(folder) is None
    record = train_ranker(examples, folder, settings=settings(colbert), measure=interrupt, use_cpu=True)
    assert record.loss[-1] == trained[1].loss[-1]
    before, after = weights(trained[0]), weights(folder)
    assert all(torch.equal(before[name], after[name]) for name in before)


@pytest.mark.slow
def test_a_killed_training_goes_on(colbert, examples, tmp_path):
    write_examples(tmp_path / "data.jsonl", examples)
    options = ["data.jsonl", "--output", "model", "--model", colbert, "--epochs", "400", "--batch-size", "6"]
    command = [sys.executable, "-m", "factoid", "train-agrame", *options, "--checkpoint-steps", "3", "--cpu"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'shared'}:{os.environ.get('PYTHONPATH', '')}"}
    process = subprocess.Popen([str(part) for part in command], cwd=tmp_path, env=environment)
    try:
        deadline = time.monotonic() + 120
        while not list((tmp_path / "model").rglob("trainer_state.json")) and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait()
    assert list((tmp_path / "model").rglob("trainer_state.json"))
    done = subprocess.run(
        [str(part) for part in command], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert read_record(tmp_path / "model").steps == 400


def test_a_plain_encoder_needs_a_projection_that_is_asked_for(plain, examples, tmp_path):
    with pytest.raises(InvalidInputError, match=r"not a late-interaction checkpoint.*--projection 128"):
        train_ranker(examples, tmp_path / "model", settings=settings(plain), use_cpu=True)
    first, second, other = (load_model(str(plain), projection=16, seed=seed, device="cpu") for seed in (5, 5, 6))
    matrices = [model[1].linear.weight.detach() for model in (first, second, other)]
    assert torch.equal(matrices[0], matrices[1])
    assert not torch.equal(matrices[0], matrices[2])
    assert torch.allclose(matrices[0] @ matrices[0].T, torch.eye(16), atol=1e-5)
    chosen = settings(plain, projection=16, epochs=2)
    train_ranker(examples, tmp_path / "model", settings=chosen, use_cpu=True)
    tokens = LateInteractionEncoder(tmp_path / "model").encode_passages(["The ship sank, at last."])[0]
    assert tokens.vectors.shape[1] == 16
    assert ["The ship sank, at last."[start:end] for start, end in tokens.spans if end][:3] == ["The", "ship", "sank"]
    assert "," not in {"The ship sank, at last."[start:end] for start, end in tokens.spans}
    with pytest.raises(InvalidInputError, match="projection from 1 to 64"):
        load_model(str(plain), projection=65)


def test_the_new_marker_differs_from_the_start(colbert):
    model = load_model(str(colbert), device="cpu")
    add_marker(model, FINER_PROMPT)
    assert model.prompts[FINER_PROMPT] == "[unused2] "
    coarse, finer = (model.encode_query("the old ship", prompt_name=name) for name in ("query", FINER_PROMPT))
    assert (coarse - finer).abs().max() > 0.01
    add_marker(model, FINER_PROMPT)  # it has one
    assert list(model.prompts) == ["query", "document", FINER_PROMPT]


def test_a_tokenizer_without_unused_words_gets_new_ones(plain, tmp_path):
    import transformers

    ids = transformers.BertTokenizer.from_pretrained(plain).get_vocab()
    vocabulary = [word for word in sorted(ids, key=ids.get) if not word.startswith("[unused")]
    (tmp_path / "vocab.txt").write_text("\n".join(vocabulary))
    bare = transformers.BertTokenizer(str(tmp_path / "vocab.txt"), model_max_length=64)
    bare.save_pretrained(tmp_path)
    config = transformers.BertConfig.from_pretrained(plain, vocab_size=len(vocabulary))
    transformers.BertModel(config).save_pretrained(tmp_path)
    model = load_model(str(tmp_path), projection=8, device="cpu")
    add_marker(model, FINER_PROMPT)
    assert [model.prompts[name] for name in ("query", "document", FINER_PROMPT)] == ["[Q] ", "[D] ", "[S] "]
    assert model.tokenizer("[S] ship", add_special_tokens=False)["input_ids"][0] == len(vocabulary) + 2
    model.save_pretrained(str(tmp_path / "model"))
    again = load_model(str(tmp_path / "model"), device="cpu")
    assert np.array_equal(again.encode_query("the ship"), model.encode_query("the ship"))


def test_examples_with_too_few_passages_are_counted(colbert, examples, tmp_path):
    three = TrainingExample("a ship?", ("One.", "Two.", "Three."), (1.0, 0.0, 0.0))
    chosen = settings(colbert, epochs=1, ways=3, sentence_weight=0.0)
    record = train_ranker([*examples, three], tmp_path / "model", settings=chosen, use_cpu=True)
    assert (record.training_examples, record.ways) == (1, 3)
    assert record.dropped == 6
    chosen = settings(colbert, ways=4)
    with pytest.raises(InvalidInputError, match="no example is left"):
        train_ranker(examples, tmp_path / "other", settings=chosen, use_cpu=True)


def test_sentences_need_scores(colbert, tmp_path):
    bare = TrainingExample("a ship?", ("One. Two.", "Three."), (1.0, 0.0))
    with pytest.raises(InvalidInputError, match=r"no example has sentence_scores.*sentence_weight=0"):
        train_ranker([bare], tmp_path / "model", settings=settings(colbert), use_cpu=True)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"epochs": 0}, "epochs of at least 1"),
        ({"projection": 0}, "projection of at least 1"),
        ({"ways": 1}, "ways of at least 2"),
        ({"learning_rate": 0}, "learning_rate > 0"),
        ({"learning_rate": float("nan")}, "learning_rate > 0"),
        ({"warmup": 1.0}, "warmup from 0"),
        ({"weight_decay": -1}, "weight_decay of at least 0"),
        ({"sentence_weight": -0.5}, "sentence_weight of at least 0"),
        ({"batch_size": 8, "device_batch_size": 3}, "multiple of device_batch_size"),
        ({"max_tokens": 0}, "max_tokens of at least 1"),
    ],
)
def test_settings_are_checked(changes, expected):
    with pytest.raises(InvalidInputError, match=expected):
        RankerSettings(**{"model": "any", **changes})


def test_a_model_that_is_not_there_and_a_foreign_record_are_told(examples, tmp_path, monkeypatch):
    with pytest.raises(InvalidInputError, match="cannot load the late-interaction model"):
        train_ranker(examples, tmp_path / "model", settings=settings(tmp_path / "nowhere"), use_cpu=True)
    (tmp_path / "training.json").write_text(json.dumps({"steps": 3}))
    with pytest.raises(UnreadableFileError, match="not a record of a training"):
        read_record(tmp_path)
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingDependencyError, match=r"factoid\[train\]"):
        train_ranker(examples, tmp_path / "model", settings=settings("any"))
