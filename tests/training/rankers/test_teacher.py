"""The teacher of sentences, at tiny scale: it learns which sentences hold an answer, and scores
those that count.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from factoid.errors import InvalidInputError
from factoid.training.rankers import teacher as room
from factoid.training.rankers.examples import TrainingExample, mark_sentence
from factoid.training.rankers.teacher import score_sentences, train_teacher
from factoid.training.rankers.settings import FitSettings
from factoid.sentences import sentence_spans

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")  # those of the trainer


def settings(model, **changes):
    small = {
        "epochs": 25,
        "batch_size": 4,
        "device_batch_size": 4,
        "learning_rate": 3e-3,
        "checkpoint_steps": 50,
    }
    return FitSettings(**{"model": str(model), **small, **changes})


@pytest.fixture(scope="module")
def bare(examples):
    return [replace(example, sentence_scores=None) for example in examples]


@pytest.fixture(scope="module")
def taught(plain, bare, tmp_path_factory):
    folder = tmp_path_factory.mktemp("teacher") / "model"
    train_teacher(bare, folder, settings=settings(plain), use_cpu=True)
    return folder


def test_sentences_with_an_answer_score_higher(taught, bare, tmp_path):
    for example in score_sentences(bare, taught, tmp_path / "scores.jsonl", use_cpu=True):
        [first, second], other = example.sentence_scores
        assert second > first + 1
        assert other is not None


def test_scores_are_the_logits_of_marked_sentences(taught, bare, tmp_path):
    from sentence_transformers import CrossEncoder

    [example] = score_sentences(bare[:1], taught, tmp_path / "scores.jsonl", use_cpu=True)
    text = example.passages[0]
    pairs = [(example.query, mark_sentence(text, span)) for span in sentence_spans(text)]
    model = CrossEncoder(str(taught), device="cpu")
    with torch.no_grad():
        features = model.tokenizer(
            [q for q, _ in pairs], [p for _, p in pairs], padding=True, return_tensors="pt"
        )
        logits = model[0].auto_model(**features).logits[:, 0]
    np.testing.assert_allclose(example.sentence_scores[0], logits.numpy(), rtol=1e-3, atol=1e-4)


def test_passages_of_one_sentence_or_beyond_the_ways_are_not_scored(taught, tmp_path):
    example = TrainingExample(
        "town?", ("One town. Two towns.", "One sentence", "A ship. A river."), (9.0, 0.0, 9.0)
    )
    for ways, scored in ((None, [True, False, True]), (1, [True, False, False])):
        [found] = score_sentences(
            [example], taught, tmp_path / "scores.jsonl", ways=ways, batch_size=1, use_cpu=True
        )
        assert [row is not None for row in found.sentence_scores] == scored


def test_scores_that_are_there_stay_and_others_are_made_once(
    taught, examples, bare, tmp_path, monkeypatch
):
    file = tmp_path / "scores.jsonl"
    whole = score_sentences(bare, taught, file, use_cpu=True)
    lines = file.read_text().strip().split("\n")
    assert len(lines) == len(bare)
    file.write_text("\n".join(lines[:4]) + "\n" + lines[4][:20])  # killed while writing
    asked = []
    logits = room._logits
    monkeypatch.setattr(
        room,
        "_logits",
        lambda model, pairs, *size: asked.extend(pairs) or logits(model, pairs, *size),
    )
    again = score_sentences(bare, taught, file, use_cpu=True)
    assert {query for query, _ in asked} == {example.query for example in bare[4:]}
    for first, second in zip(whole, again, strict=True):
        assert np.allclose(first.sentence_scores[0], second.sentence_scores[0], atol=1e-5)
    asked.clear()
    assert score_sentences(bare, taught, file, use_cpu=True) == again
    assert score_sentences(examples, taught, file, use_cpu=True) == examples
    assert asked == []


def test_a_trained_teacher_is_not_trained_again(taught, plain, bare, monkeypatch):
    monkeypatch.setattr(
        "factoid.training.propositionizers.fine_tune.run_trainer",
        lambda *_, **__: pytest.fail("trained again"),
    )
    train_teacher(bare, taught, settings=settings(plain, device_batch_size=2), use_cpu=True)
    for others, changes in ((bare[1:], {}), (bare, {"epochs": 3})):
        with pytest.raises(InvalidInputError, match="trained with other examples or settings"):
            train_teacher(others, taught, settings=settings(plain, **changes), use_cpu=True)


def test_a_teacher_needs_answers(plain, tmp_path):
    example = TrainingExample("town?", ("One town.", "Two."), (1.0, 0.0), ("Rome",))
    with pytest.raises(InvalidInputError, match="answers in one of their passages"):
        train_teacher([example], tmp_path / "teacher", settings=settings(plain), use_cpu=True)


def test_a_teacher_that_is_not_there_is_told(bare, tmp_path):
    with pytest.raises(InvalidInputError, match="cannot load the cross-encoder"):
        score_sentences(bare, tmp_path / "nowhere", tmp_path / "scores.jsonl", use_cpu=True)


def test_the_passage_with_the_best_score_is_learned_from():
    passages = ("The museum is in Rome.", "A tower. A museum.")
    example = TrainingExample("what?", passages, (0.0, 2.0), ("museum",))
    assert list(room._labelled(example)) == [
        {"query": "what?", "passage": "$A tower.$ A museum.", "label": 0.0},
        {"query": "what?", "passage": "A tower. $A museum.$", "label": 1.0},
    ]
