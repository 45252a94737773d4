"""BERTScore against loops over single tokens, and against the package where it is installed."""

from __future__ import annotations

import importlib.util
import math
import warnings

import numpy as np
import pytest

from factoid.errors import InvalidInputError
from factoid.propositions.bert_score import BertScore
from factoid.propositions.score import corpus_f1, proposition_f1

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("sentence_transformers")

from tests.test_dual_encoders import write_ance, write_bert  # noqa: E402

PREDICTED = ["The tower leans at four degrees.", "Pisa is a town."]
REFERENCES = ["The tower of Pisa leans.", "It leans at 3.99 degrees.", "Bread is baked"]


@pytest.fixture(scope="module", params=["bert", "roberta"])
def folder(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param) / "model"
    if request.param == "bert":
        return write_bert(folder)
    return write_ance(folder, seed=1)[0]


def by_hand(folder, candidate, reference, layer):
    model = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    space = " " if model.config.model_type == "roberta" else ""

    def tokens(text):
        ids = tokenizer(space + text)["input_ids"]
        with torch.no_grad():
            states = model(input_ids=torch.tensor([ids]), output_hidden_states=True).hidden_states[
                layer
            ][0]
        return states.tolist()

    def cosine(a, b):
        dot = math.fsum(x * y for x, y in zip(a, b, strict=True))
        return dot / math.sqrt(math.fsum(x * x for x in a) * math.fsum(y * y for y in b))

    ours, theirs = tokens(candidate), tokens(reference)
    # [CLS] and [SEP] are not matched, but others may be nearest to them.
    precision = sum(max(cosine(token, other) for other in theirs) for token in ours[1:-1]) / len(
        ours[1:-1]
    )
    recall = sum(max(cosine(token, other) for token in ours) for other in theirs[1:-1]) / len(
        theirs[1:-1]
    )
    return 2 * precision * recall / (precision + recall)


@pytest.mark.parametrize("layer", [1, 2])
def test_each_token_is_matched_with_the_nearest(folder, layer):
    expected = [[by_hand(folder, a, b, layer) for b in REFERENCES] for a in PREDICTED]
    score = BertScore(folder, layer=layer, device="cpu", batch_size=2)
    np.testing.assert_allclose(score(PREDICTED, REFERENCES), expected, atol=1e-5)
    np.testing.assert_allclose(np.diag(score(PREDICTED, PREDICTED)), 1, atol=1e-5)


def test_it_equals_the_package(folder):
    if importlib.util.find_spec("bert_score") is None:
        pytest.skip(
            "needs the package bert-score, which fits no other test: pip install bert-score"
        )
    if folder.parent.name.startswith("roberta"):
        pytest.skip(
            "with transformers 5 the package no longer puts the space before a text that it asks for"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from bert_score import score

        # Below 0, which trained models do not give, the package takes padding for the nearest
        # token.
        candidates = PREDICTED[:1] * len(REFERENCES)
        _, _, f1 = score(
            candidates, REFERENCES, model_type=str(folder), num_layers=2, use_fast_tokenizer=True
        )
    [scores] = BertScore(folder, layer=2, device="cpu")(PREDICTED[:1], REFERENCES)
    np.testing.assert_allclose(scores, f1, atol=1e-5)


def test_the_papers_f1_of_sets_of_propositions(folder):
    similarity = BertScore(folder, layer=2, device="cpu")
    scores = similarity(PREDICTED, REFERENCES)
    result = proposition_f1(PREDICTED, REFERENCES, similarity)
    assert result.precision == pytest.approx(scores.max(axis=1).mean())
    assert result.recall == pytest.approx(scores.max(axis=0).mean())
    assert corpus_f1([PREDICTED], [PREDICTED], similarity).f1 == pytest.approx(1, abs=1e-5)


def test_texts_without_tokens_and_long_ones(folder):
    score = BertScore(folder, layer=1, device="cpu")
    assert score(["", " "], ["The tower."]).tolist() == [[0.0], [0.0]]
    assert score([], ["The tower."]).shape == (0, 1)
    assert score(["tower " * 500], ["tower"]).shape == (1, 1)


def test_what_is_wrong_is_said(folder, tmp_path):
    with pytest.raises(InvalidInputError, match=r"no layer is known for .*: give layer"):
        BertScore(folder)
    with pytest.raises(InvalidInputError, match="has 2 layers, got layer=3"):
        BertScore(folder, layer=3)(["a"], ["b"])
    with pytest.raises(InvalidInputError, match="cannot load the model of BERTScore"):
        BertScore(tmp_path, layer=3)(["a"], ["b"])
    assert (BertScore().model, BertScore().layer) == ("roberta-large", 17)
