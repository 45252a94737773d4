"""`rerank="tokens"`: the best passages are compared with the question token by token, by the store's own encoder."""

import numpy as np
import pytest

from factoid import AnyGranularityRanker, Document, UnitStore
from factoid.encode import SentenceTransformerEncoder, TokenVectorEncoder
from factoid.heading_template import encoded_text
from factoid.errors import InvalidInputError
from factoid.store import GRANULARITIES
from factoid.testing import HashEncoder

PLACES = "Bergen Cork Dresden Esbjerg Faro Ghent Hamar Izmir".split()
DOCUMENTS = [
    Document(
        f"The ferry to {place} sails at {hour}. It carries {10 * hour} cars and a bus.\n\nDogs travel to {place} for free.",
        id=place,
        title=f"{place} ferry",
        metadata={"even": hour % 2 == 0},
    )
    for hour, place in enumerate(PLACES, 6)
]
QUESTION = "Do dogs travel free on the ferry to Faro?"


@pytest.fixture
def store():
    with UnitStore(encoder=HashEncoder(), granularities=GRANULARITIES) as store:
        store.add_documents(DOCUMENTS, min_words=0)
        yield store


def similarity(store, question, passage):
    """MaxSim in plain loops."""
    [query] = store.encoder.encode_query_tokens([question])
    [tokens] = store.encoder.encode_unit_tokens([encoded_text(passage)])
    return sum(max(float(word @ token) for token in tokens) for word in query) / len(query)


def test_a_hit_scores_by_the_search_and_by_tokens_half_and_half(store):
    before = store.search(QUESTION, 50)
    similarities = np.array([similarity(store, QUESTION, hit.unit) for hit in before])
    scores = np.array([hit.score for hit in before])
    scaled = (
        scores.mean() + (similarities - similarities.mean()) * scores.std() / similarities.std()
    )
    expected = dict(zip([hit.unit.id for hit in before], (scores + scaled) / 2, strict=True))
    hits = store.search(QUESTION, 50, rerank="tokens")
    assert {hit.unit.id: hit.score for hit in hits} == pytest.approx(expected, abs=1e-5)
    assert [hit.score for hit in hits] == pytest.approx(
        sorted(expected.values(), reverse=True), abs=1e-5
    )
    first = {hit.unit.id: hit for hit in before}
    for hit in hits:
        assert hit.score == pytest.approx((first[hit.unit.id].score + hit.parts["tokens"]) / 2)
        assert first[hit.unit.id].parts.items() <= hit.parts.items()
        assert hit.matches == first[hit.unit.id].matches


@pytest.mark.parametrize("parents", ["passage", "unit", "document"])
@pytest.mark.parametrize(
    "options", [{}, {"granularity": "mixed"}, {"granularity": "sentence"}, {"lexical": 1}]
)
def test_k_distinct_hits_whatever_is_asked_for(store, parents, options):
    whole = store.search(QUESTION, 6, parents=parents, rerank="tokens", **options)
    assert len({hit.unit.id for hit in whole}) == len(whole) == 6
    assert [hit.score for hit in whole] == sorted((hit.score for hit in whole), reverse=True)
    for k in (1, 3):
        assert store.search(QUESTION, k, parents=parents, rerank="tokens", **options) == whole[:k]
    few = store.search(QUESTION, 6, parents=parents, rerank="tokens", candidates=2, **options)
    assert len({hit.unit.id for hit in few}) == 6


def test_the_word_of_the_question_that_decides_comes_first(store):
    [hit] = store.search(QUESTION, 1, rerank="tokens")
    assert hit.unit.text == "Dogs travel to Faro for free."
    [hit] = store.search(QUESTION, 1, rerank="tokens", parents="document")
    assert (hit.unit.id, hit.unit.granularity) == ("Faro", "document")


def test_what_a_filter_excludes_is_not_read(store, monkeypatch):
    read = []

    def encode(texts):
        read.extend(texts)
        return HashEncoder().encode_unit_tokens(texts)

    monkeypatch.setattr(store.encoder, "encode_unit_tokens", encode)
    dogs = [
        unit.id for unit in store.get(store.ids()) if unit.text.startswith("It carries 100 cars")
    ]
    store.update_metadata({"secret": True}, unit_ids=dogs)
    for parents in ("passage", "unit", "document"):
        hits = store.search(
            "cars to Faro", 50, parents=parents, filter={"secret": {"$ne": True}}, rerank="tokens"
        )
        assert hits
        assert not any("100 cars" in hit.unit.text for hit in hits)
    assert read
    assert not any("100 cars" in text for text in read)


def test_other_options_hold(store):
    hits = store.search(QUESTION, 4, rerank="tokens", filter={"even": True}, expand=1)
    assert {hit.unit.metadata["even"] for hit in hits} == {True}
    assert any(hit.neighbours or any(match.neighbours for match in hit.matches) for hit in hits)
    plain = store.search(QUESTION, 50, rerank="tokens", filter={"even": True})
    least = plain[1].score
    good = [hit for hit in plain if hit.score >= least]
    assert len(good) < len(plain)
    assert (
        store.search(QUESTION, 50, rerank="tokens", filter={"even": True}, min_score=least) == good
    )
    questions = [QUESTION, "When does the ferry to Cork sail?", ""]
    alone = [store.search(question, 3, rerank="tokens") for question in questions]
    assert store.search_batch(questions, 3, rerank="tokens") == alone


def test_an_empty_store_has_no_hits():
    with UnitStore(encoder=HashEncoder(), granularities=GRANULARITIES) as store:
        assert store.search(QUESTION, 3, rerank="tokens") == []


class WithoutTokens:
    encode_units = encode_queries = HashEncoder().encode_units


def test_an_encoder_without_token_vectors_is_told_what_to_do():
    with UnitStore(encoder=WithoutTokens(), granularities=GRANULARITIES) as store:
        store.add_documents(DOCUMENTS)
        with pytest.raises(
            InvalidInputError, match=r"WithoutTokens does not give.*SentenceTransformerEncoder"
        ):
            store.search(QUESTION, 1, rerank="tokens")


def test_a_wrong_word_and_a_missing_text_are_told(store):
    with pytest.raises(InvalidInputError, match="'tokens'"):
        store.search(QUESTION, 1, rerank="token")
    with pytest.raises(InvalidInputError, match="needs the text"):
        store.search_by_vector(np.ones(256, np.float32), 1, rerank="tokens")
    with pytest.raises(InvalidInputError, match="candidates"):
        store.search(QUESTION, 1, rerank="tokens", candidates=0)


def test_sentence_transformers_and_the_fake_give_tokens():
    assert isinstance(SentenceTransformerEncoder(), TokenVectorEncoder)
    assert isinstance(HashEncoder(), TokenVectorEncoder)
    assert not isinstance(WithoutTokens(), TokenVectorEncoder)
    assert not isinstance("tokens", AnyGranularityRanker)
