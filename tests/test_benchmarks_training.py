"""What benchmarks/late_interaction measures of training: articles do not mix, labels are right, rates equal counts by hand."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("bm25s")
pytest.importorskip("sentence_transformers")
pytest.importorskip("datasets")

from sentence_transformers import MultiVectorEncoder

from benchmarks.late_interaction import training, training_data
from factoid import AnyGranularityRanker
from tests.late_interaction.tiny_colbert import add_marker, write_colbert

TOWNS = "oslo berlin paris rome pisa stockholm".split()


@pytest.fixture
def squad(tmp_path):
    articles = []
    for town in TOWNS:
        context = f"The town {town} is old. Anna moved there in 1{len(town)}."
        other = f"A museum of {town} was closed."
        qas = [{"question": f"When did Anna move to {town}?", "answers": [{"text": f"1{len(town)}"}]}]
        articles.append(
            {"title": town, "paragraphs": [{"context": context, "qas": qas}, {"context": other, "qas": []}]}
        )
    file = tmp_path / "squad.json"
    file.write_text(json.dumps({"data": articles}))
    return file


def test_training_and_test_have_no_article_in_common(squad):
    learned, held_out = training_data.read_splits(squad, test_articles=2)
    assert sorted([*learned.articles, *held_out.articles]) == sorted(TOWNS)
    assert (len(learned.articles), len(held_out.articles)) == (4, 2)
    assert not set(learned.paragraphs) & set(held_out.paragraphs)
    assert learned == training_data.read_splits(squad, test_articles=2)[0]


def test_examples_have_the_right_paragraph_first_and_negatives_without_an_answer(squad, monkeypatch):
    class Everything:
        def __init__(self, paragraphs):
            self.places = list(range(len(paragraphs)))

        def search(self, questions):
            return [self.places for _ in questions]

    monkeypatch.setattr(training_data, "Candidates", Everything)
    learned, _ = training_data.read_splits(squad, test_articles=2)
    examples = training_data.make_examples(learned, count=3, ways=3, rounds=2, most_words=50)
    assert len(examples) == 6
    assert len({example.passages for example in examples}) == 6  # other negatives in each round
    for example in examples:
        town = example.query.split()[-1].rstrip("?")
        assert town in example.passages[0]
        assert example.sentence_scores == ((0.0, training_data.SCORE), None, None)
        assert example.scores == (training_data.SCORE, 0.0, 0.0)
        assert not any(example.answers[0] in passage for passage in example.passages[1:])


def test_rates_equal_counts_by_hand(tmp_path):
    model = MultiVectorEncoder(str(add_marker(write_colbert(tmp_path / "tiny"), tmp_path / "marked")), device="cpu")
    passages = tuple(
        f"The {thing} is in {town}. It was old." for thing, town in zip("ship tower river".split(), TOWNS, strict=False)
    )
    cases = [
        training.Case("Where is the ship?", ("oslo",), passages),
        training.Case("Where is the tower?", ("paris",), passages),
        training.Case("Where is the river?", ("nowhere",), passages),
    ]
    measures = training.rates(training.judge(model, cases))
    assert model.prompts["query_sentence"]
    ranker = AnyGranularityRanker(model, template="{text}")
    for kind in ("sentence", "passage"):
        ranked = [[hit.unit.text for hit in ranker.rank(case.question, passages, kind, k=5)] for case in cases]
        first = sum(case.answers[0] in texts[0] for case, texts in zip(cases, ranked, strict=True))
        five = sum(any(case.answers[0] in text for text in texts) for case, texts in zip(cases, ranked, strict=True))
        assert measures[f"{kind} P@1"] == pytest.approx(100 * first / 3)
        assert measures[f"{kind} R@5"] == pytest.approx(100 * five / 3)
    assert measures["passage R@5"] == pytest.approx(200 / 3)


def test_the_table_shows_what_was_measured(tmp_path):
    loss = [{"step": 1, "passage": 0.25, "sentence": 0.5}, {"step": 2, "passage": 0.75, "sentence": 0.25}]
    points = [{"step": step, "sentence P@1": 50 + step, "passage P@1": 80} for step in (0, 2)]
    result = {"measures": {"sentence P@1": 61.25, "passage P@1": 80}, "record": {"loss": loss, "measures": points}}
    right = {name: [True, True] for name in ("sentence P@1", "sentence R@5", "passage P@1", "passage R@5")}
    (tmp_path / "both-0.0003-0.json").write_text(json.dumps(result | {"rights": right}))
    wrong = {name: [False, False] for name in right}
    alone = {"measures": {}, "record": {"loss": [], "measures": []}, "rights": wrong}
    (tmp_path / "passages-0.0003-0.json").write_text(json.dumps(alone))
    lines = training.table(tmp_path).splitlines()
    assert "| both-0.0003-0 | 61.2 |  | 80.0 |  |  |" in lines
    [gain] = [line for line in lines if line.startswith("both-0.0003-0 over passages alone")]
    assert "sentence P@1 +100.0 [+100.0, +100.0]" in gain
    assert lines[-2:] == [
        "| both-0.0003-0 | 0 |  |  | 50.0 | 80.0 |",
        "| both-0.0003-0 | 2 | 0.500 | 0.375 | 52.0 | 80.0 |",
    ]
