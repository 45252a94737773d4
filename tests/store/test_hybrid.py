"""Searches that weigh units, the passage and the words of the query: the store's part, from texts to hits."""

import logging
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from factoid import Document, UnitStore, Weights
from factoid.errors import InvalidInputError
from factoid.testing import HashEncoder

NAMES = "Heron Tern Kestrel Swift Plover Curlew Osprey Wren".split()
DOCUMENTS = [
    Document(
        f"""The {name} sensor weighs {number} kg and runs at {number * 10} volts.

<!-- -->

Its warranty lasts {number} months.""",
        title=name,
        id=name.lower(),
        metadata={"odd": number % 2},
    )
    for number, name in enumerate(NAMES, 2)
]


@pytest.fixture
def store(store):
    store.add_documents(DOCUMENTS)
    return store


def titles(hits):
    return [hit.unit.title for hit in hits]


def test_words_alone_need_no_encoder(tmp_path):
    with UnitStore(tmp_path, encoder=HashEncoder()) as store:
        store.add_documents(DOCUMENTS)
    with UnitStore(tmp_path, encoder=None) as store:
        hit = store.search("what is the warranty of the Swift?", 2, lexical=1)[0]
        assert (hit.unit.text, hit.parts) == (
            "Its warranty lasts 5 months.",
            {"lexical": hit.score},
        )
        assert 0.75 < hit.score < 1  # it has all words of the question
        assert titles(store.search("Swift", 2, lexical=1, filter={"odd": 0})) == []
        assert titles(store.search("Swift", 1, lexical=1, mmr=0.5)) == ["Swift"]
        assert (
            titles(store.search("warranty", 9, lexical=1, parents="document", filter={"odd": 1}))
            == NAMES[1::2]
        )


class LongVectors(HashEncoder):
    def encode_units(self, texts):
        return 3 * super().encode_units(texts)

    def encode_queries(self, texts):
        return HashEncoder().encode_queries(texts)


@pytest.mark.parametrize(("similarity", "length"), [("inner_product", 3), ("cosine", 1)])
def test_words_are_weighed_on_the_scale_of_the_vectors(similarity, length):
    question = "warranty of the Swift"
    with UnitStore(encoder=LongVectors(), similarity=similarity) as store:
        store.add_documents(DOCUMENTS)
        hit = store.search(question, 1, weights=Weights(passage=0, lexical=0.5))[0]
        scores = [
            other.score
            for other in store.search(question, 99, weights=Weights(0, 0), parents="unit")
        ]
        share = store.search(question, 1, lexical=1)[0].score
    parts = dict(hit.parts)
    assert parts["lexical"] == pytest.approx(
        share * (length - np.mean(scores)), rel=1e-5
    )  # a query of length 1
    assert hit.score == pytest.approx(0.5 * parts.pop("proposition") + 0.5 * parts.pop("lexical"))


def test_words_count_less_where_no_passage_has_many_of_them(store):
    """A chance word in common would otherwise count as much as all of them."""
    shares = [
        store.search(question, 1)[0].parts["lexical"]
        for question in (
            "warranty of the Swift",
            "warranty of the Swift for blue elephants",
            "blue elephants, a warranty",
        )
    ]
    assert 1 > shares[0] > shares[1] > 2 * shares[2] > 0


@pytest.mark.parametrize("parents", ["passage", "document", "unit"])
@pytest.mark.parametrize("granularity", ["proposition", "passage", "mixed"])
def test_scores_are_sums_of_their_parts(store, parents, granularity):
    weights = Weights(passage=0.4, lexical=0.3)
    hits = store.search(
        "warranty of the Swift", 4, weights=weights, parents=parents, granularity=granularity
    )
    assert len(hits) == 4
    for hit in hits:
        parts = dict(hit.parts)
        words, passage = parts.pop("lexical", 0), parts.pop("passage")
        best = (
            parts.values()
            if parents == "unit"
            else [max(score, passage) for score in parts.values()]
        )
        units = np.mean(list(best)) if parts else passage
        assert hit.score == pytest.approx(
            0.7 * (0.6 * units + 0.4 * passage) + 0.3 * words, abs=1e-5
        )


def test_a_batch_and_vectors_with_their_texts_find_the_same(store):
    questions = ["warranty of the Swift", "volts of the Plover sensor", ""]
    single = [store.search(question, 3, lexical=0.5) for question in questions]
    vectors = store.encoder.encode_queries(questions)
    assert store.search_batch(questions, 3, lexical=0.5) == single
    assert store.search_batch_by_vector(vectors, 3, texts=questions, lexical=0.5) == single
    assert store.search_by_vector(vectors[0], 3, text=questions[0], lexical=0.5) == single[0]


def test_changes_reach_the_words(store):
    assert titles(store.search("Kestrel", 1, lexical=1)) == ["Kestrel"]
    store.delete(["kestrel"])
    store.add_documents([Document("The gannet dives.", title="Gannet", id="gannet")])
    assert store.search("Kestrel", 1, lexical=1) == []
    assert titles(store.search("gannet", 1, lexical=1)) == ["Gannet"]
    store.update_metadata({"odd": 7}, ids=["gannet"])
    assert titles(store.search("gannet", 1, lexical=1, filter={"odd": 7})) == ["Gannet"]
    store.clear()
    assert store.search("gannet", 1, lexical=1) == []


def test_files_are_copied_read_again_and_built_anew_where_damaged(tmp_path, monkeypatch, caplog):
    with UnitStore(tmp_path / "first", encoder=HashEncoder()) as store:
        store.add_documents(DOCUMENTS)
        store.search("Heron", 1, lexical=1)
        store.copy_to(tmp_path / "copy")
    tmp_path /= "copy"
    with UnitStore(tmp_path, encoder=None) as store, monkeypatch.context() as patch:
        patch.setattr("factoid.store.indexes.build._texts", None)  # nothing is indexed again
        assert titles(store.search("Heron", 1, lexical=1)) == ["Heron"]
        assert store.verify() == []
        assert store.stats()["index_bytes"]["lexical"] > 0
    (files,) = tmp_path.glob("lexical-*")
    files.write_bytes(files.read_bytes()[:-9])
    with UnitStore(tmp_path, encoder=None) as store, caplog.at_level(logging.WARNING):
        assert "the index lexical is damaged" in store.verify()[0]
        assert titles(store.search("Heron", 1, lexical=1)) == ["Heron"]
        assert "cannot be trusted" in caplog.text
    with UnitStore(tmp_path, encoder=None) as store:
        assert store.verify() == []


def change_counts(folder):
    """Change how often a text has a word, at the end of the file of the index of words."""
    (file,) = folder.glob("lexical-*")
    content = bytearray(file.read_bytes())
    content[-20:] = bytes(20)
    file.write_bytes(content)


def add_more(store):
    store.add_documents([Document("A heron and a tern.", title="Both", id="both")])


def remove_most(store):
    store.delete(document_ids=[document.id for document in DOCUMENTS[1:]])


@pytest.mark.parametrize("change", [None, add_more, remove_most])
@pytest.mark.parametrize("searched", [False, True])
def test_postings_that_changed_are_noticed_by_the_search_that_reads_them(
    tmp_path, caplog, change, searched
):
    with UnitStore(tmp_path, encoder=HashEncoder()) as store:
        store.add_documents(DOCUMENTS)
        store.search("Heron", 1, lexical=1)
    change_counts(tmp_path)
    with UnitStore(tmp_path, encoder=HashEncoder()) as store, caplog.at_level(logging.WARNING):
        if searched:  # for a word that no text has: the file is in use, and nothing was read of it
            assert store.search("xylophone", 1, lexical=1) == []
            assert caplog.text == ""
        if change is not None:
            change(store)
        found = [
            [hit.unit.id, hit.score]
            for hit in store.search(" ".join([*NAMES, "warranty"]), 20, lexical=1)
        ]
        assert "lexical-" in caplog.text
        assert "built again" in caplog.text
        documents = store.documents([*map(str.lower, NAMES), "both"])
    with UnitStore(encoder=HashEncoder()) as fresh:
        fresh.add_documents(documents)
        expected = [
            [hit.unit.id, hit.score]
            for hit in fresh.search(" ".join([*NAMES, "warranty"]), 20, lexical=1)
        ]
    assert sorted(found) == sorted(expected)
    caplog.clear()
    with UnitStore(tmp_path, encoder=None) as store:
        assert store.verify() == []
        store.search("warranty", 1, lexical=1)
    assert caplog.text == ""


def test_a_damaged_index_of_words_is_not_written_again_as_sound(tmp_path):
    with UnitStore(tmp_path, encoder=HashEncoder()) as store:
        store.add_documents(DOCUMENTS)
        store.search("Heron", 1, lexical=1)
    change_counts(tmp_path)
    with UnitStore(tmp_path, encoder=HashEncoder()) as store:
        store.search("xylophone", 1, lexical=1)
        store.delete(document_ids=["heron"])
        store.search("xylophone", 1, lexical=1)
    with UnitStore(tmp_path, encoder=None) as store:
        hits = store.search("warranty", 20, lexical=1)
        assert sorted(titles(hits)) == sorted(NAMES[1:])
        assert "the index lexical is damaged" in store.verify()[0]
    with UnitStore(tmp_path, encoder=None) as store:
        assert store.verify() == []


def test_several_searches_notice_changed_postings_at_once(tmp_path, caplog):
    with UnitStore(tmp_path, encoder=HashEncoder()) as store:
        store.add_documents(DOCUMENTS)
        expected = store.search("warranty", 20, lexical=1)
    change_counts(tmp_path)
    with (
        UnitStore(tmp_path, encoder=None, read_only=True) as store,
        ThreadPoolExecutor(4) as threads,
    ):
        store.search("xylophone", 1, lexical=1)
        answers = list(threads.map(lambda _: store.search("warranty", 20, lexical=1), range(16)))
    assert answers == [expected] * 16
    assert caplog.text.count("is built again") == 1


def test_another_language_builds_the_words_anew(tmp_path):
    text = Document("Er sprach von Wärmetauschern.", title="Rede")
    for language, expected in ((None, []), ("de", ["Rede"]), (None, ["Rede"])):  # it is kept
        with UnitStore(tmp_path, encoder=HashEncoder(), language=language) as store:
            store.add_documents([text])
            assert titles(store.search("Wärmetauscher", 1, lexical=1)) == expected
    with pytest.raises(InvalidInputError, match="unknown language"):
        UnitStore(encoder=None, language="tlh")


def test_the_default_weighs_passage_and_words(store):
    question = "warranty of the Swift"
    assert store.search(question, 5) == store.search(question, 5, weights=Weights())
    (vector,) = store.encoder.encode_queries([question])
    assert store.search_by_vector(vector, 5) == store.search(question, 5, lexical=0)


@pytest.mark.parametrize(
    "granularities", [["passage"], ["sentence"], ["proposition"], ["passage", "sentence"]]
)
def test_the_default_compares_the_finest_that_there_is_and_the_words_of_passages(granularities):
    with UnitStore(encoder=HashEncoder(), granularities=granularities) as store:
        store.add_documents(DOCUMENTS)
        (hit,) = store.search("warranty of the Swift", 1)
        assert (hit.unit.title, set(hit.parts)) == ("Swift", {*granularities, "lexical"})
        assert titles(store.search("Swift", 1, lexical=1)) == ["Swift"]


def test_words_need_the_text(store):
    with pytest.raises(InvalidInputError, match="needs the text"):
        store.search_by_vector(np.ones(256), 1, lexical=0.2)
