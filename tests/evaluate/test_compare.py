from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from factoid import Document, Granularity, UnitStore, Weights, split_passages
from factoid.errors import InvalidInputError, UnreadableFileError
from factoid.evaluate.bench import Bench, fuse_ranks
from factoid.evaluate.questions import Question
from factoid.evaluate.settings import Setting, check_settings, chunks, default_settings
from factoid.evaluate.vector_cache import VectorCache
from factoid.testing import HashEncoder
from factoid.units import Hit, Unit
from factoid.words import count_words
from tests.evaluate.small_corpus import DOCUMENTS, QUESTIONS, compared, propositionizer

OURS = [
    Setting(name="passages", units="passage", weights=Weights(0, 0.33)),
    Setting(name="facts"),
    Setting(name="words", units="passage", weights=Weights(0, 1)),
]


class Counting(HashEncoder):
    """An encoder that counts its texts, and is killed at one of them."""

    def __init__(self, until=None):
        super().__init__()
        self.texts = []
        self.until = until

    def encode_units(self, texts):
        if self.until is not None and len(self.texts) + len(texts) > self.until:
            raise KeyboardInterrupt
        self.texts += texts
        return super().encode_units(texts)


def values(comparison):
    return {
        name: [(answer.ranks, answer.words, answer.top) for answer in answers]
        for name, answers in comparison.answers.items()
    }


def test_ranks_against_a_search_by_hand():
    comparison = compared(settings=OURS[:1])
    encoder = HashEncoder()
    passages = [
        unit for document in DOCUMENTS for unit in split_passages(document, words=30, min_words=15)
    ]
    with UnitStore(encoder=encoder, granularities=["passage"]) as store:
        store.add(passages)
        for question, answer in zip(QUESTIONS, comparison.answers["passages"], strict=False):
            hits = store.search(question.text, 20, granularity="passage", weights=Weights(0, 0.33))
            expected = [
                rank for rank, hit in enumerate(hits, 1) if question.quotes[0].text in hit.unit.text
            ]
            assert answer.ranks == (expected[0],)
            assert answer.top.text == hits[0].unit.search_text


def test_defaults_find_the_facts():
    pytest.importorskip("langchain_text_splitters")
    comparison = compared()
    assert [tried.name for tried in comparison.tried] == [
        setting.name for setting in default_settings()
    ]
    assert comparison.baseline == "chunks of 500 characters"
    assert [question.id for question in comparison.asked] == [f"q{n}" for n in range(12)]
    assert any(check.name == "gold not found" for check in comparison.checks)
    rows = {row.tried.name: row for row in comparison.rows}
    assert rows["words only"].tried.vectors == 0
    assert rows["passages"].tried.bytes == rows["passages"].tried.vectors * 256 * 4
    assert rows["all three"].tried.vectors > rows["passages + propositions"].tried.vectors
    # A fact needs fewer words than its passage.
    needed = {
        name: np.mean([answer.words or 500 for answer in answers])
        for name, answers in comparison.answers.items()
    }
    assert needed["passages + propositions"] < needed["passages"]
    assert (
        "keep passages + propositions, the default" in comparison.sentence
    )  # with so few questions


def test_the_same_numbers_from_a_cache_and_without(tmp_path):
    plain = compared(settings=OURS)
    encoder = Counting()
    first = compared(settings=OURS, cache=tmp_path, encoder=encoder)
    count = len(encoder.texts)
    again = compared(settings=OURS, cache=tmp_path, encoder=encoder)
    assert len(encoder.texts) == count  # nothing was encoded
    assert values(plain) == values(first) == values(again)
    assert again.to_json() == first.to_json()  # times, too, are those of the first run


def test_without_the_splitter_the_page_says_what_is_missing(monkeypatch):
    monkeypatch.setattr("factoid.evaluate.settings.find_spec", lambda name: None)
    comparison = compared(settings=default_settings()[:2])
    assert not any(setting.is_foreign for setting in default_settings())
    assert 'pip install "factoid[langchain]"' in comparison.checks[-1].message


def test_each_text_is_encoded_once():
    encoder = Counting()
    compared(settings=OURS[1:2], encoder=encoder)
    # All but the first pair, with which truncation is looked for.
    assert len(encoder.texts[2:]) == len(set(encoder.texts[2:]))


def test_a_killed_run_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr("factoid.evaluate.vector_cache._BLOCK", 8)
    killed = Counting(until=40)
    with pytest.raises(KeyboardInterrupt):
        compared(settings=OURS, cache=tmp_path, encoder=killed)
    resumed = Counting()
    comparison = compared(settings=OURS, cache=tmp_path, encoder=resumed)
    whole = Counting()
    assert values(comparison) == values(compared(settings=OURS, encoder=whole))
    assert 0 < len(killed.texts) <= len(whole.texts) - len(resumed.texts)


def test_doubts_and_cost_come_before_the_run(tmp_path):
    seen = []

    def before(checks, estimate):
        seen.append((checks, estimate))
        raise InterruptedError

    encoder = Counting()
    with pytest.raises(InterruptedError):
        compared(settings=OURS, encoder=encoder, before=before, price=0.02, cache=tmp_path)
    [(checks, estimate)] = seen
    assert "few questions" in {check.name for check in checks}
    assert estimate.texts == pytest.approx(5 * 12 + 2 * 12, abs=30)
    assert estimate.money == pytest.approx(0.02 * estimate.tokens / 1e6)
    assert "texts of" in str(estimate)
    assert str(estimate).endswith(f"for {estimate.money:.2f}")


def test_json_and_back(tmp_path):
    comparison = compared(settings=OURS)
    comparison.save(tmp_path / "c.json")
    loaded = type(comparison).load(tmp_path / "c.json")
    assert loaded.to_json() == comparison.to_json()
    assert loaded.sentence == comparison.sentence
    (tmp_path / "other.json").write_text("[]")
    with pytest.raises(UnreadableFileError, match=r"other.json: not the JSON of a comparison"):
        type(comparison).load(tmp_path / "other.json")


def test_the_manifest_names_what_changed():
    first = compared(settings=OURS, command="factoid compare ships").manifest
    assert first["command"] == "factoid compare ships"
    other = compared(settings=OURS, documents=[*DOCUMENTS, Document("More.")]).manifest
    assert {key for key in first if first[key] != other[key]} == {"corpus", "documents", "command"}


def test_a_table_for_notebooks_escapes_names():
    html = compared(settings=[Setting(name="<b>", units="passage")])._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<td><b>" not in html


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"documents": []}, "the corpus holds no text"),
        ({"questions": []}, "expected at least one question, got none"),
        (
            {"questions": [Question(text="Why?", answers=("gold",))]},
            "holds the gold of none of 1 questions",
        ),
        ({"baseline": "chunks of stone"}, "the baseline must be one of passages, facts"),
        ({"measure": "Success@21"}, "expected a measure such as"),
        ({"settings": []}, "at least one setting"),
        ({"settings": [OURS[0], OURS[0]]}, "two settings are called 'passages'"),
        ({"settings": [Setting(name="other", encoder="e5")]}, "names the encoder 'e5'"),
    ],
)
def test_errors_come_before_the_run(options, message):
    encoder = Counting(until=0)
    with pytest.raises(InvalidInputError, match=message):
        compared(**{"settings": OURS, "encoder": encoder, **options})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"units": "chapter"}, "units of 'x' must be one of"),
        ({"fuse": True, "weights": Weights()}, "fuses ranks"),
        ({"units": "chunk", "rerank": "tokens"}, "which rerank does not rank"),
        ({"size": 0}, "size of 'x'"),
        ({"name": " "}, "has no name"),
        ({"rerank": 3}, "rerank must be"),
    ],
)
def test_settings_that_do_not_go_together(fields, message):
    with pytest.raises(InvalidInputError, match=message):
        Setting(**{"name": "x", **fields})


def test_several_encoders():
    settings = [Setting(name="small", encoder="a"), Setting(name="large", encoder="b")]
    small, large = compared(
        settings=settings, encoder={"a": HashEncoder(64), "b": HashEncoder(512)}
    ).tried
    assert (small.bytes * 8, small.vectors) == (large.bytes, large.vectors)


def test_reranked_settings_are_dearer():
    settings = [
        Setting(name="all", units="mixed"),
        Setting(name="again", units="passage", rerank="tokens"),
    ]
    plain, reranked = compared(settings=settings).tried
    assert reranked.bytes < plain.bytes
    assert reranked.cost > plain.cost


def test_every_piece_has_its_place():
    pytest.importorskip("langchain_text_splitters")
    for units in ("chunk", "section"):
        pieces = chunks(DOCUMENTS, units, 80)
        by_id = {document.id: document.text for document in DOCUMENTS}
        assert all(
            by_id[piece.document_id][piece.start : piece.end] == piece.text for piece in pieces
        )
        covered = "".join(
            "".join(piece.text.split()) for piece in pieces if piece.document_id == DOCUMENTS[0].id
        )
        assert "nearTheIsland".lower() in covered.lower()
    check_settings([Setting(name="x", units="section")], [""])


def test_fusion_is_that_of_langchain():
    classic = pytest.importorskip("langchain_classic.retrievers.ensemble")
    documents = pytest.importorskip("langchain_core.documents")
    retrievers = pytest.importorskip("langchain_core.retrievers")

    class Fixed(retrievers.BaseRetriever):
        names: list[str]

        def _get_relevant_documents(self, query, *, run_manager):
            return [documents.Document(page_content=name) for name in self.names]

    rankings = [list("abcdef"), list("fbgah")]
    hits = [
        [Hit(Unit(name, name, Granularity.PASSAGE, "d", "d", 0, 1), 0.0) for name in names]
        for names in rankings
    ]
    ensemble = classic.EnsembleRetriever(retrievers=[Fixed(names=names) for names in rankings])
    expected = [found.page_content for found in ensemble.invoke("x")]
    assert [hit.unit.text for hit in fuse_ranks(*hits)] == expected


def test_a_damaged_cache_says_what_to_do(tmp_path):
    VectorCache(HashEncoder(), tmp_path).encode_units(["one"])
    [file] = tmp_path.glob("*.npz")
    file.write_bytes(b"PK")
    with pytest.raises(UnreadableFileError, match="delete it"):
        VectorCache(HashEncoder(), tmp_path)


def test_a_setting_without_vectors_encodes_nothing():
    encoder = Counting(until=0)
    bench = Bench(
        DOCUMENTS,
        QUESTIONS,
        OURS[2:],
        encoder=encoder,
        propositionizer=propositionizer(),
        progress=False,
    )
    tried, answers = bench.run(OURS[2])
    assert (tried.vectors, tried.bytes, len(answers)) == (0, 0, 12)


def test_code_applies_a_setting():
    assert 'granularity="proposition", weights=Weights(0.25, 0.33)' in Setting(name="x").code()
    assert "lexical=1" in OURS[2].code()
    assert Setting(name="x", units="chunk").code() == ""
    json.dumps([setting.record() for setting in default_settings()])


# -- A reader --


class FirstWord:
    """A reader that answers with the first word after "of" or "of" itself, and counts its
    contexts.
    """

    name = "first word"

    def __init__(self, until=None):
        self.contexts = []
        self.until = until

    def read(self, question, context=()):
        if len(self.contexts) == self.until:
            raise KeyboardInterrupt
        self.contexts.append(context)
        match = re.search(r"Lund\d+", context)
        return match[0] if match else "nowhere"


def test_a_reader_gets_the_first_words_that_are_counted():
    reader = FirstWord()
    comparison = compared(settings=OURS, reader=reader, read=(5, 40), measure="EM@40")
    assert comparison.words_read == [5, 40]
    assert comparison.measures[0] == "EM@40"
    assert {"F1@5", "EM@5", "F1@40"} <= set(comparison.measures)
    for name, answers in comparison.answers.items():
        for question, answer in zip(comparison.asked, answers, strict=True):
            [expected] = re.findall(r"Lund\d+", question.gold)
            short, long = answer.readings
            assert long.exact_match == (long.text == expected)
            # The first answer in the context is right if nothing else stands before it.
            if answer.words is not None and answer.words <= 5:
                assert "Lund" in short.text
        assert comparison.mean(name, "EM@40") >= comparison.mean(name, "EM@5")
    # Beside those that the cost is measured with.
    assert all(count_words(context) <= 40 for context in reader.contexts)
    assert comparison.manifest["reader"] == "first word, from 5, 40 words"


def test_no_context_is_read_twice_though_a_run_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr("factoid.evaluate.reader_cache._BLOCK", 4)
    with pytest.raises(KeyboardInterrupt):
        compared(settings=OURS, reader=FirstWord(until=10), read=(40,), cache=tmp_path)
    resumed, fresh = FirstWord(), FirstWord()
    comparison = compared(settings=OURS, reader=resumed, read=(40,), cache=tmp_path)
    plain = compared(settings=OURS, reader=fresh, read=(40,))
    assert len(resumed.contexts) == len(fresh.contexts) - 8
    assert comparison.values("facts", "EM@40") == plain.values("facts", "EM@40")
    again = FirstWord()
    compared(settings=OURS, reader=again, read=(40,), cache=tmp_path)
    assert again.contexts == []
    # Without the reader the answers are others.
    assert compared(settings=OURS, cache=tmp_path).words_read == []


def test_the_cost_of_a_reader_is_named_before():
    costs = []
    compared(
        settings=OURS, reader=FirstWord(), read=(5, 40), before=lambda _, cost: costs.append(cost)
    )
    assert (costs[0].readings, costs[0].words_read) == (3 * 12 * 2, 3 * 12 * 45)
    assert "72 answers of the reader from 1,620 words" in str(costs[0])


def test_readers_need_answers():
    with pytest.raises(InvalidInputError, match="'EM@100' needs a reader"):
        compared(settings=OURS, measure="EM@100")
    with pytest.raises(InvalidInputError, match="'EM@200' needs a reader"):
        compared(settings=OURS, measure="EM@200", reader=FirstWord())
    with pytest.raises(InvalidInputError, match="from 1 to 500, got"):
        compared(settings=OURS, reader=FirstWord(), read=(501,))
    quotes = [replace(question, answers=()) for question in QUESTIONS if question.quotes]
    with pytest.raises(InvalidInputError, match="no question has a short answer"):
        compared(settings=OURS, reader=FirstWord(), questions=quotes)
    comparison = compared(
        settings=OURS, reader=FirstWord(), questions=[*quotes[:4], *QUESTIONS[4:]]
    )
    [check] = [check for check in comparison.checks if check.name == "no short answers"]
    assert check.message.startswith("4 of 12 questions have quotes but no short answers")
    assert check.is_serious
    assert comparison.values("facts", "F1@500")[:4] == [0, 0, 0, 0]


def test_a_reader_that_returns_no_text():
    class Silent:
        def read(self, question, context=()):
            return None

    with pytest.raises(InvalidInputError, match="expected a string from the reader"):
        compared(settings=OURS[:1], reader=Silent())


# -- Passages in context --


class Hints:
    """Writes into the context of each passage that tells of a loss the question about its ship."""

    name = "hints"

    def __init__(self):
        self.passages = []

    def contextualize(self, document, passages):
        self.passages += passages
        number = re.search(r"(\d+)\.md", document.metadata["source"])[1]
        hint = f"riddle{number} quagga{number}"
        return [hint if "sank" in passage.text else "" for passage in passages]


RIDDLES = [
    replace(question, text=f"riddle{number} quagga{number}")
    for number, question in enumerate(QUESTIONS[:12])
]
IN_CONTEXT = [
    Setting(name="facts"),
    Setting(name="in context", contexts=True, weights=Weights(1, 0.5)),
    Setting(name="words in context", units="passage", contexts=True, weights=Weights(0, 1)),
]


def test_contexts_are_searched_by_vectors_and_words_and_written_once(tmp_path):
    hints = Hints()
    options = {"questions": RIDDLES, "contextualizer": hints, "cache": tmp_path}
    costs = []
    comparison = compared(settings=IN_CONTEXT, before=lambda _, cost: costs.append(cost), **options)
    assert sum(comparison.values("facts", "Success@1")) < 6
    for name in ("in context", "words in context"):
        assert comparison.values(name, "Success@1") == [1.0] * 12
        assert all("riddle" not in answer.top.text for answer in comparison.answers[name])
    rows = {row.tried.name: row for row in comparison.rows}
    assert rows["in context"].tried.vectors == rows["facts"].tried.vectors
    assert comparison.manifest["contextualizer"] == "hints"
    assert f"{costs[0].contexts} sentences of context to write" in str(costs[0])
    assert costs[0].contexts == len({passage.id for passage in hints.passages})
    assert len(hints.passages) == costs[0].contexts
    again = compared(settings=IN_CONTEXT[:2], **options)
    assert len(hints.passages) == costs[0].contexts
    assert again.values("in context", "Success@1") == [1.0] * 12


def test_contexts_equal_those_of_a_store():
    weights = Weights(0, 0.33)
    setting = Setting(name="in context", units="passage", weights=weights, contexts=True)
    comparison = compared(settings=[setting], questions=RIDDLES, contextualizer=Hints())
    with UnitStore(encoder=HashEncoder(), embed_metadata=["context"]) as store:
        store.add_documents(DOCUMENTS, words=30, min_words=15, contextualizer=Hints())
        for question, answer in zip(RIDDLES, comparison.answers[setting.name], strict=True):
            [hit] = store.search(question.text, 1, granularity="passage", weights=weights)
            assert answer.top.text == hit.unit.search_text


def test_contexts_need_something_that_writes_them():
    with pytest.raises(InvalidInputError, match="'in context' needs contexts: give compare a"):
        compared(settings=IN_CONTEXT[:2])
    with pytest.raises(InvalidInputError, match="contexts are of passages"):
        Setting(name="chunks", units="chunk", contexts=True)
