"""Training, for real and at tiny scale: a model of one layer learns which sentence answers."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from factoid import AnyGranularityRanker
from factoid.errors import InvalidInputError, MissingDependencyError
from factoid.late_interaction import LateInteractionEncoder
from factoid.late_interaction.encoder import FINER_PROMPT
from factoid.training.rankers.examples import TrainingExample
from factoid.training.rankers.fit import training_rows
from factoid.training.rankers.loss import collator
from factoid.training.rankers.model import add_marker, load_model
from factoid.training.rankers.settings import RankerSettings
from factoid.training.rankers.train import train_ranker

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")  # those of the trainer


def settings(model, **changes):
    small = {
        "epochs": 12,
        "batch_size": 6,
        "device_batch_size": 3,
        "learning_rate": 1e-2,
        "checkpoint_steps": 5,
    }
    return RankerSettings(**{"model": str(model), **small, **changes})


@pytest.fixture(scope="module")
def trained(colbert, examples, tmp_path_factory):
    from sentence_transformers.base.evaluation import BaseEvaluator

    class Prompts(BaseEvaluator):
        def __call__(self, model, **_):
            return {"finer": float(FINER_PROMPT in model.prompts)}

    folder = tmp_path_factory.mktemp("trained") / "model"
    options = {"settings": settings(colbert), "evaluator": Prompts(), "use_cpu": True}
    return folder, train_ranker(examples, folder, **options)


def losses(record):
    return [entry for entry in record["log"] if "loss" in entry]


def test_the_losses_fall(trained):
    folder, record = trained
    assert [record[name] for name in ("steps", "training_examples", "ways", "sentences")] == [
        12,
        6,
        2,
        12,
    ]
    assert [entry["step"] for entry in losses(record)] == list(range(1, 13))
    first, last = losses(record)[0], losses(record)[-1]
    assert last["sentence"] < first["sentence"] / 2
    assert last["loss"] == pytest.approx(last["passage"] + last["sentence"], abs=1e-3)
    assert json.loads((folder / "training.json").read_text()) == json.loads(json.dumps(record))


def test_the_log_holds_what_an_evaluator_returns(trained):
    _, record = trained
    assert [entry["step"] for entry in record["log"] if entry.get("eval_finer") == 1] == [
        0,
        5,
        10,
        12,
    ]


def test_the_checkpoint_ranks_by_its_path_alone(trained, examples):
    folder, *_ = trained
    ranker = AnyGranularityRanker(folder)
    for example in examples:
        [best] = ranker.rank(example.query, example.passages, k=1)
        assert example.answers[0] in best.unit.text
    encoder = LateInteractionEncoder(folder)
    coarse, finer = (
        encoder.encode_query("What stands in Oslo?", finer=finer) for finer in (False, True)
    )
    assert coarse.vectors.shape == finer.vectors.shape
    assert np.abs(coarse.vectors - finer.vectors).max() > 0.01
    assert encoder.has_finer_marker()
    without = LateInteractionEncoder(folder, finer_marker=False)  # setting A2
    assert not without.has_finer_marker()
    np.testing.assert_array_equal(
        without.encode_query("What stands in Oslo?", finer=True).vectors, coarse.vectors
    )


def test_nothing_but_data_is_written(trained):
    folder, *_ = trained
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} <= {".json", ".safetensors", ".txt"}
    assert not (folder / "checkpoints").exists()


def test_passages_alone_make_no_marker(colbert, examples, tmp_path):
    chosen = settings(colbert, sentence_weight=0.0, epochs=1)
    record = train_ranker(examples, tmp_path / "model", settings=chosen, use_cpu=True)
    assert not LateInteractionEncoder(tmp_path / "model").has_finer_marker()
    assert "sentence" not in losses(record)[0]
    assert record["sentences"] == 0


def test_one_marker_learns_sentences_with_the_query_of_passages(
    colbert, examples, tmp_path, trained
):
    """Setting A3 of AGRaME's Table 5."""
    chosen = settings(colbert, second_marker=False)
    record = train_ranker(examples, tmp_path / "model", settings=chosen, use_cpu=True)
    first, last = losses(record)[0], losses(record)[-1]
    assert last["sentence"] < first["sentence"] / 2
    encoder = LateInteractionEncoder(tmp_path / "model")
    assert not encoder.has_finer_marker()
    np.testing.assert_array_equal(
        encoder.encode_query("What sank?").vectors,
        encoder.encode_query("What sank?", finer=True).vectors,
    )
    model = load_model(str(trained[0]), device="cpu")
    rows = training_rows(examples[:2], 2, "query")
    for prompt, is_same in (("query", True), (FINER_PROMPT, False)):  # of the trained tokens
        batch = collator(model, finer_prompt=prompt, ways=2)(rows)
        assert torch.equal(batch["query_input_ids"], batch["finer_input_ids"]) is is_same


def test_a_finished_training_is_not_done_again(trained, colbert, examples):
    with pytest.raises(InvalidInputError, match="holds a finished model: choose another"):
        train_ranker(examples, trained[0], settings=settings(colbert))


def weights(folder):
    return load_model(str(folder), device="cpu").state_dict()


def test_an_interrupted_training_goes_on_to_the_same_weights(colbert, examples, tmp_path, trained):
    from sentence_transformers.base.evaluation import BaseEvaluator

    class Interrupting(BaseEvaluator):
        calls = 0

        def __call__(self, model, **_):
            self.calls += 1
            if self.calls == 3:  # at step 10, of which there is no checkpoint yet
                raise KeyboardInterrupt
            return {}

    options = {"settings": settings(colbert), "evaluator": Interrupting(), "use_cpu": True}
    folder = tmp_path / "model"
    with pytest.raises(KeyboardInterrupt):
        train_ranker(examples, folder, **options)
    assert [path.name for path in folder.rglob("checkpoint-*")] == ["checkpoint-5"]
    record = train_ranker(examples, folder, **options)
    assert losses(record)[-1]["loss"] == losses(trained[1])[-1]["loss"]
    before, after = weights(trained[0]), weights(folder)
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_a_plain_encoder_needs_a_projection_that_is_asked_for(plain, examples, tmp_path):
    with pytest.raises(
        InvalidInputError, match=r"not a late-interaction checkpoint.*--projection 128"
    ):
        train_ranker(examples, tmp_path / "model", settings=settings(plain), use_cpu=True)
    first, second, other = (
        load_model(str(plain), projection=16, seed=seed, device="cpu") for seed in (5, 5, 6)
    )
    matrices = [model[1].linear.weight.detach() for model in (first, second, other)]
    assert torch.equal(matrices[0], matrices[1])
    assert not torch.equal(matrices[0], matrices[2])
    assert torch.allclose(matrices[0] @ matrices[0].T, torch.eye(16), atol=1e-5)
    chosen = settings(plain, projection=16, epochs=2)
    train_ranker(examples, tmp_path / "model", settings=chosen, use_cpu=True)
    tokens = LateInteractionEncoder(tmp_path / "model").encode_passages(
        ["The ship sank, at last."]
    )[0]
    assert tokens.vectors.shape[1] == 16
    assert ["The ship sank, at last."[start:end] for start, end in tokens.spans if end][:3] == [
        "The",
        "ship",
        "sank",
    ]
    assert "," not in {"The ship sank, at last."[start:end] for start, end in tokens.spans}
    with pytest.raises(InvalidInputError, match="projection from 1 to 64"):
        load_model(str(plain), projection=65)


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
    add_marker(model, FINER_PROMPT)  # it has one
    assert [model.prompts[name] for name in ("query", "document", FINER_PROMPT)] == [
        "[Q] ",
        "[D] ",
        "[S] ",
    ]
    assert (
        model.tokenizer("[S] ship", add_special_tokens=False)["input_ids"][0] == len(vocabulary) + 2
    )
    model.save_pretrained(str(tmp_path / "model"))
    again = load_model(str(tmp_path / "model"), device="cpu")
    assert np.array_equal(again.encode_query("the ship"), model.encode_query("the ship"))


def test_examples_with_too_few_passages_are_counted(colbert, examples, tmp_path):
    three = TrainingExample("a ship?", ("One.", "Two.", "Three."), (1.0, 0.0, 0.0))
    chosen = settings(colbert, epochs=1, ways=3, sentence_weight=0.0)
    record = train_ranker([*examples, three], tmp_path / "model", settings=chosen, use_cpu=True)
    assert [record[name] for name in ("training_examples", "ways", "dropped")] == [1, 3, 6]
    chosen = settings(colbert, ways=4)
    with pytest.raises(InvalidInputError, match="no example is left"):
        train_ranker(examples, tmp_path / "other", settings=chosen, use_cpu=True)


def test_sentences_need_scores(colbert, tmp_path):
    bare = TrainingExample("a ship?", ("One. Two.", "Three."), (1.0, 0.0))
    with pytest.raises(
        InvalidInputError, match=r"no example has sentence_scores.*sentence_weight=0"
    ):
        train_ranker([bare], tmp_path / "model", settings=settings(colbert), use_cpu=True)


def test_models_and_packages_that_are_missing(examples, tmp_path, monkeypatch):
    with pytest.raises(InvalidInputError, match="cannot load the late-interaction model"):
        train_ranker(
            examples, tmp_path / "model", settings=settings(tmp_path / "nowhere"), use_cpu=True
        )
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingDependencyError, match=r"factoid\[train\]"):
        train_ranker(examples, tmp_path / "model", settings=settings("any"))
