"""The experiments on a corpus so small that every number is found by brute force."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from factoid import AnyGranularityRanker, Document
from factoid.entities import AnnotatedLinker, build_own_articles
from factoid.errors import InvalidInputError
from factoid.evaluate.answers import exact_match, has_answer_dpr
from factoid.evaluate.atomic_facts import Fact, FactCorpus, score_atomic_facts
from factoid.evaluate.citations import CitedText
from factoid.evaluate.datasets import DatasetQuestion
from factoid.evaluate.granularities import AskedPassages, score_levels
from factoid.evaluate.reproduce.agrame import (
    reproduce_citations,
    reproduce_facts,
    reproduce_rankings,
)
from factoid.evaluate.reproduce.corpus import PaperCorpus, popularity
from factoid.evaluate.reproduce.dense_x import reproduce_dense_x
from factoid.evaluate.reproduce.entity_retrieval import reproduce_entity_retrieval
from factoid.testing import HashEncoder, ScriptedPropositionizer
from tests.late_interaction.word_vectors import WordVectors

PLACES = ["Pisa", "Oslo", "Bern", "Rome", "Kyiv", "Riga", "Lima", "Cairo"]
DOCUMENTS = [
    Document(
        f"{place} is a town of {n} hills. It lies at the sea {n + 40} miles away.\n\n"
        f"The mayor of {place} is Mr {n}x.",
        place,
    )
    for n, place in enumerate(PLACES, start=2)
]
QUESTIONS = [
    DatasetQuestion(f"How many miles is {place} from the sea?", (str(n + 40),), entities=(place,))
    for n, place in enumerate(PLACES, start=2)
] + [
    DatasetQuestion(f"Who is the mayor of {place}?", (f"{n}x",), entities=(place,))
    for n, place in enumerate(PLACES, start=2)
]
FACTS = ScriptedPropositionizer(
    lambda unit: [f"{unit.title}: {part.strip()}" for part in unit.text.split(".") if part.strip()]
)


class Words(HashEncoder):
    """Counts of letters, so that vectors are neither of length 1 nor free of ties with other
    texts.
    """

    name = "letters"

    def encode_units(self, texts):
        return np.array(
            [
                [text.lower().count(letter) + 0.01 * len(text) for letter in "abcdehilmoprstx02468"]
                for text in texts
            ],
            np.float32,
        )

    encode_queries = encode_units


class Echo:
    """Answers with the last word that it reads."""

    def read(self, question: str, context: Any = ()) -> str:
        texts = [context] if isinstance(context, str) else list(context)
        words = " ".join(texts).replace(".", " ").split()
        return words[-1] if words else "yes"


def value(tables, name, row, column):
    [table] = [table for table in tables if table.name == name]
    [ours] = [other.ours for other in table.rows if other.name == row]
    return ours[table.columns.index(column)]


@pytest.fixture(scope="module")
def dense_x():
    return reproduce_dense_x(
        DOCUMENTS,
        {"SQuAD": QUESTIONS},
        {"letters": Words(), "contriever": Words()},
        propositionizer=FACTS,
        reader=Echo(),
    )


def units_by_passage(kind):
    """Cut the corpus by hand: (passage, the unit's text)."""
    for document in DOCUMENTS:
        for paragraph in document.text.split("\n\n"):
            sentences = [sentence.strip().rstrip(".") + "." for sentence in paragraph.split(". ")]
            if kind == "passage":
                yield paragraph, paragraph, document.title
            elif kind == "sentence":
                for sentence in sentences:
                    yield paragraph, sentence, document.title
            else:
                for sentence in sentences:
                    yield paragraph, f"{document.title}: {sentence.rstrip('.')}", document.title


def ranked(question, kind):
    [query] = Words().encode_queries([question.text])
    rows = []
    for passage, text, title in units_by_passage(kind):
        headed = text if text.startswith(title) else f"{title} {text}"  # the preset's template
        [vector] = Words().encode_units([headed])
        rows.append((float(query @ vector), passage, text))
    return sorted(rows, key=lambda row: -row[0])


@pytest.mark.parametrize("kind", ["passage", "sentence", "proposition"])
def test_recall_and_exact_match_by_brute_force(dense_x, kind):
    recall = {5: [], 20: []}
    within, matches = [], []
    for question in QUESTIONS:
        rows = ranked(question, kind)
        passages = list(dict.fromkeys(passage for _, passage, _ in rows))
        for depth in recall:
            recall[depth].append(
                any(has_answer_dpr(passage, question.answers) for passage in passages[:depth])
            )
        words = " ".join(text for *_, text in rows).split()
        within.append(has_answer_dpr(" ".join(words[:25]), question.answers))
        matches.append(
            exact_match(" ".join(words[:100]).replace(".", " ").split()[-1], question.answers)
        )
    row = f"Contriever, {kind}"
    for depth, found in recall.items():
        assert value(dense_x, "Table 2", row, f"SQuAD R@{depth}") == pytest.approx(
            100 * np.mean(found)
        )
    assert value(dense_x, "Figures 4 and 7", row, "SQuAD 25 words") == pytest.approx(
        100 * np.mean(within)
    )
    assert value(dense_x, "Table 3", row, "SQuAD EM@100") == pytest.approx(100 * np.mean(matches))
    assert value(dense_x, "Section 5.2", row, "unseen R@5") == value(
        dense_x, "Table 2", row, "SQuAD R@5"
    )


def test_a_reader_gets_the_ranked_texts_one_by_one():
    seen = []

    class Recording:
        def read_batch(self, questions, contexts):
            seen.extend(contexts)
            return [""] * len(questions)

    reproduce_dense_x(
        DOCUMENTS,
        {"SQuAD": QUESTIONS[:1]},
        {"contriever": Words()},
        propositionizer=FACTS,
        reader=Recording(),
    )
    assert len(seen) == 6  # three granularities, two budgets
    for context, kind in zip(seen[::2], ("passage", "sentence", "proposition"), strict=True):
        texts = [text for *_, text in ranked(QUESTIONS[0], kind)]
        assert context[:3] == texts[:3]
        assert len(" ".join(context).split()) == 100
        assert set(context[:-1]) < set(texts)
        assert any(text.startswith(context[-1]) for text in texts)


def test_statistics_and_published_numbers(dense_x):
    for kind in ("passage", "sentence", "proposition"):
        texts = [text for _, text, _ in units_by_passage(kind)]
        assert value(dense_x, "Table 1", kind.title(), "# units") == len(texts)
        words = sum(len(text.split()) for text in texts)
        assert value(dense_x, "Table 1", kind.title(), "Avg. # words") == pytest.approx(
            words / len(texts)
        )
    [split] = [table for table in dense_x if table.name == "Section 5.2"]
    published = {row.name: row.published for row in split.rows}
    assert published["Contriever, passage"] == [
        pytest.approx(43.0, abs=0.05)
    ]  # the mean of all five
    assert not any(
        row.name.startswith("letters") for row in split.rows
    )  # nobody knows what it has seen


def test_popularity_counts_the_name_in_its_best_passages():
    corpus = PaperCorpus(DOCUMENTS, propositionizer=FACTS)
    asked = [
        QUESTIONS[0],
        DatasetQuestion("x?", ("y",)),
        DatasetQuestion("x?", ("y",), entities=("Nowhere",), popularity=7.0),
    ]
    with corpus.store(None, kinds=["passage"]) as store:
        assert popularity(store, asked) == [
            2.0,
            None,
            7.0,
        ]  # of Pisa: one in each paragraph that names it


def test_runs_go_on_from_their_cache(tmp_path):
    first = Words()
    options = {"propositionizer": FACTS, "cache": tmp_path}
    tables = reproduce_dense_x(DOCUMENTS, {"SQuAD": QUESTIONS[:2]}, {"letters": first}, **options)

    class Refusing(Words):
        def encode_units(self, texts):
            raise AssertionError("encoded again")

    again = reproduce_dense_x(
        DOCUMENTS, {"SQuAD": QUESTIONS[:2]}, {"letters": Refusing()}, **options
    )
    assert [table.to_json() for table in again] == [table.to_json() for table in tables]
    with pytest.raises(InvalidInputError, match="at least one retriever, and one question"):
        reproduce_dense_x(DOCUMENTS, {"SQuAD": []}, {"letters": first})
    with pytest.raises(InvalidInputError, match="the corpus holds no text"):
        reproduce_dense_x([], {"SQuAD": QUESTIONS}, {"letters": first})


# -- AGRaME --


def test_rankings_are_those_of_the_first_stage():
    ranker = AnyGranularityRanker(WordVectors())
    questions = QUESTIONS[:4]
    tables = reproduce_rankings(
        DOCUMENTS, {"NQ": questions}, {"Ours": ranker, "letters": Words()}, first=Words()
    )
    asked = []
    for question in questions:
        [query] = Words().encode_queries([question.text])
        rows = []
        for passage, _, title in units_by_passage("passage"):
            headed = (
                passage
                if passage.startswith(title)
                else f"{title} — : {passage}".replace(" — : ", ": ")
            )
            rows.append((float(query @ Words().encode_units([headed])[0]), passage, title))
        rows.sort(key=lambda row: -row[0])
        asked.append(
            AskedPassages(
                question.text, [Document(text, title) for _, text, title in rows], question.answers
            )
        )
    for level in score_levels(ranker, asked):
        row = f"Ours, {level.encoding}s encoded"
        assert value(tables, "Table 3", row, "NQ sentence P@1") == pytest.approx(
            100 * level.sentence_p1
        )
        assert value(tables, "Table 3", row, "NQ passage R@5") == pytest.approx(
            100 * level.passage_r5
        )
    assert value(tables, "Table 3", "letters, passages encoded", "NQ sentence P@1") is None
    with pytest.raises(InvalidInputError, match="at least one model"):
        reproduce_rankings(DOCUMENTS, {"NQ": questions}, {}, first=Words())


def test_facts_and_citations():
    facts = [
        Fact("a_0", "a", "Anna Berg was born in Oslo.", ((0, 9),), ("b_0",)),
        Fact("b_0", "b", "Anna Berg sang.", ((0, 15),), ()),
    ]
    ranker = AnyGranularityRanker(WordVectors())
    scores = score_atomic_facts(ranker.encoder, FactCorpus(facts[:1], facts))
    table = reproduce_facts(FactCorpus(facts[:1], facts), {"Ours": ranker})
    assert value([table], "Table 7", "Ours", "proposition P@1") == 100 * scores.proposition_p1

    passages = [
        "Anna Berg was born in Oslo.",
        "The Vasa sank in Stockholm.",
        "Berlin lies in the north.",
    ]
    answer = CitedText(
        ["Anna Berg was born in Oslo.", "The Vasa sank."], passages, [[0], [2]], [[0], [1]]
    )
    options = {"propositionizer": ScriptedPropositionizer(lambda unit: [unit.text])}
    table = reproduce_citations([answer], ranker, **options)
    assert value([table], "Table 9", "Generate", "precision") == 50.0
    assert value([table], "Table 9", "PropCite", "recall") == 100.0
    assert value([table], "Table 9", "(iii) Sentence as query (top 2)", "precision") == 50.0
    assert value([table], "Table 9", "(iii) Sentence as query (top 2)", "recall") == 100.0

    class Yes:
        def entails(self, premises, hypotheses):
            return [True] * len(premises)

    judged = reproduce_citations([answer], ranker, judge=Yes(), **options)
    assert value([judged], "Table 9", "Generate", "precision") == 100.0
    uncited = CitedText(answer.sentences, passages, [[], []], [[0], [1]])
    assert "Generate" not in [
        row.name for row in reproduce_citations([uncited], ranker, **options).rows if any(row.ours)
    ]
    with pytest.raises(InvalidInputError, match="at least one answer"):
        reproduce_citations([], ranker)


# -- Entity Retrieval --


def test_an_answer_that_begins_with_yes_counts_as_yes():
    class Wordy:
        def read(self, question, context=()):
            return "Yes, it is" if question.startswith("is") else "No. 5"

    asked = [
        DatasetQuestion("Is it?", ("Yes.",)),
        DatasetQuestion("Is it?", ("no",)),
        DatasetQuestion("Which?", ("No. 5",)),
        DatasetQuestion("What?", ("Norway",)),
    ]
    with build_own_articles(DOCUMENTS) as articles:
        tables = reproduce_entity_retrieval([], {"FactoidQA": asked}, articles, reader=Wordy())
    assert value(tables, "Table 2", "Closed-book", "FactoidQA EM") == 50.0


def test_entity_retrieval_by_hand():
    wrong = AnnotatedLinker(lambda text: ["Oslo"])
    yes_no = [
        DatasetQuestion("Is Pisa a town?", truth=True),
        DatasetQuestion("Is Oslo a hill?", truth=False),
    ]
    with build_own_articles(DOCUMENTS) as articles:
        tables = reproduce_entity_retrieval(
            DOCUMENTS,
            {"FactoidQA": QUESTIONS, "train": yes_no},
            articles,
            linkers={"ERSp": wrong},
            retrievers={"ance": Words()},
            reader=Echo(),
        )
    right = {words: [] for words in (50, 1000)}
    for question in QUESTIONS:
        [document] = [document for document in DOCUMENTS if document.title == question.entities[0]]
        for words, found in right.items():
            found.append(question.answers[0] in " ".join(document.text.split()[:words]).lower())
    for words, found in right.items():
        assert value(tables, "Table 1", f"ER{words}w", "FactoidQA") == pytest.approx(np.mean(found))
        assert value(tables, "Figure 4", f"ER{words}w", "FactoidQA top-1") == pytest.approx(
            100 * np.mean(found)
        )
    assert value(tables, "Table 1", "ERSp1000w", "FactoidQA") == pytest.approx(
        2 / 16
    )  # of Oslo alone
    assert value(tables, "Table 3", "FactoidQA", "Linked %") == 100.0
    assert value(tables, "Table 2", "Closed-book", "FactoidQA EM") == 0.0
    assert value(tables, "Table 5", "Closed-book", "train Acc.") == 50.0
    assert value(tables, "Table 5", "ERSp50w", "train Inv #") == 2.0  # the last word of an article
    mrr, ndcg = [], []
    for question in QUESTIONS:
        [query] = Words().encode_queries([question.text[0].lower() + question.text[1:]])
        rows = []
        for passage, _, title in units_by_passage("passage"):
            headed = passage if passage.startswith(title) else f"{title}: {passage}"
            rows.append(
                (
                    float(query @ Words().encode_units([headed])[0]),
                    question.answers[0] in passage.lower(),
                )
            )
        hits = [hit for _, hit in sorted(rows, key=lambda row: -row[0])]
        mrr.append(1 / (hits.index(True) + 1))
        gain = sum(hit / math.log2(rank + 1) for rank, hit in enumerate(hits[:5], start=1))
        ndcg.append(gain / sum(1 / math.log2(rank + 1) for rank in range(1, min(5, sum(hits)) + 1)))
    assert value(tables, "Table 1", "ANCE", "FactoidQA") == pytest.approx(np.mean(mrr))
    assert value(tables, "Figure 3", "ANCE", "FactoidQA nDCG@5") == pytest.approx(np.mean(ndcg))
