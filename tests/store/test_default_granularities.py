"""What a store embeds unless it is told, and what it makes of a search for another granularity."""

from __future__ import annotations

import pytest

from factoid import Document, Granularity, UnitStore, split_passages, split_sentences
from factoid.errors import InvalidInputError
from factoid.store import GRANULARITIES
from factoid.testing import HashEncoder, ScriptedPropositionizer

pytest.importorskip("faiss")

PASSAGE, SENTENCE, PROPOSITION = GRANULARITIES
DOCUMENT = Document("Anna sang in Rome. Bob slept at home. Carla cooked a soup.", id="evening")
FACTS = ScriptedPropositionizer(
    lambda _: ["Anna sang.", "Anna was in Rome.", "Bob slept.", "Carla cooked."]
)


def opened(path=None, **options):
    return UnitStore(path, **({"encoder": HashEncoder()} | options))


def embedded(store):
    return {unit.granularity for unit in store.get(list(store.vectors(store.ids())))}


def test_an_empty_store_embeds_what_the_default_score_compares():
    with opened() as store:
        report = store.add_documents([DOCUMENT], propositionizer=FACTS)
        assert report.units == {PASSAGE: 1, SENTENCE: 0, PROPOSITION: 4}
        assert embedded(store) == {PASSAGE, PROPOSITION}
        [hit] = store.search("Who sang?", 1)
        assert set(hit.parts) >= {"passage", "proposition"}


@pytest.mark.parametrize(
    "chosen", [[PASSAGE], [PASSAGE, SENTENCE], [PROPOSITION], list(GRANULARITIES)]
)
@pytest.mark.parametrize("encoder", [HashEncoder(), None])
def test_a_store_is_searched_and_filled_on_as_it_was_filled(tmp_path, chosen, encoder):
    with opened(tmp_path / "store", granularities=chosen) as store:
        store.add_documents([DOCUMENT], propositionizer=FACTS)
    with opened(tmp_path / "store", encoder=encoder) as store:
        assert store.granularities == tuple(chosen)
    with opened(tmp_path / "store") as store:
        store.add_documents([Document("Dora swam. Emil ran.", id="morning")], propositionizer=FACTS)
        assert embedded(store) == set(chosen)


def test_what_others_bring_is_searched():
    [passage] = split_passages(DOCUMENT)
    sentences = split_sentences(passage)
    with opened() as store:
        store.add([passage, *sentences])
        [hit] = store.search(
            "Bob slept at home.", 1, granularity=SENTENCE, parents="unit", lexical=0
        )
        assert hit.unit == sentences[1]
    with opened() as store:
        vectors = HashEncoder().encode_units([unit.text for unit in sentences])
        store.add(sentences, vectors=list(vectors))
        assert (
            store.search("Bob slept at home.", 1, granularity=SENTENCE, parents="unit")[0].unit
            == sentences[1]
        )


@pytest.mark.parametrize("way", ["merge", "import"])
def test_what_another_store_brings_is_searched(tmp_path, way):
    with opened(granularities=[PASSAGE, SENTENCE]) as other, opened() as store:
        other.add_documents([DOCUMENT])
        if way == "merge":
            store.merge(other)
        else:
            other.export(tmp_path / "units.jsonl")
            store.import_from(tmp_path / "units.jsonl")
        [hit] = store.search("Bob slept at home.", 1, granularity=SENTENCE, parents="unit")
        assert hit.unit.granularity is SENTENCE
        assert hit.unit.text == "Bob slept at home."


@pytest.mark.parametrize("parents", ["passage", "document", "unit"])
def test_what_is_embedded_stands_for_what_is_not(parents):
    with opened() as store:
        store.add_documents([DOCUMENT, Document("Dora swam.", id="morning")], propositionizer=FACTS)
        by_sentence = store.search("Who slept?", 5, granularity=SENTENCE, parents=parents)
        assert by_sentence == store.search(
            "Who slept?", 5, granularity=PROPOSITION, parents=parents
        )
        mixed = store.search("Who slept?", 5, granularity=[SENTENCE, PROPOSITION], parents=parents)
        assert mixed == by_sentence
    with opened(granularities=GRANULARITIES[:1]) as store:
        store.add_documents([DOCUMENT])
        with pytest.raises(
            InvalidInputError, match="this store searches passage: it has no index of sentences"
        ):
            store.search("Who slept?", granularity=SENTENCE, parents=parents)


def test_neighbours_are_cut_where_no_sentences_are_stored():
    long = Document(
        " ".join(f"In year {n} the river rose by {n} feet." for n in range(60)), id="river"
    )
    with opened() as lean, opened(granularities=GRANULARITIES) as full:
        for store in (lean, full):
            store.add_documents([long], propositionizer=FACTS, words=40, min_words=10)
            assert len(store.units_of(["river"])) > 12
        for question in ("river rose by 0 feet", "river rose by 31 feet", "river rose by 59 feet"):
            [hits, expected] = [
                store.search(question, 2, granularity=PROPOSITION, parents="unit", expand=3)
                for store in (lean, full)
            ]
            assert [hit.neighbours for hit in hits] == [hit.neighbours for hit in expected]
            assert all(len(hit.neighbours) >= 4 for hit in hits)


def test_a_damaged_record_is_one_error(tmp_path):
    with opened(tmp_path / "store") as store:
        store.add_documents([DOCUMENT], propositionizer=FACTS)
        with store.opened.connections.raw_transaction() as connection:
            connection.execute("UPDATE meta SET value = 'passage,word' WHERE key = 'granularities'")
    with pytest.raises(Exception, match="granularities"):
        opened(tmp_path / "store")


def test_names_of_granularities_are_checked():
    for names in ([], ["word"], ["document"], [Granularity.DOCUMENT, PASSAGE]):
        with pytest.raises((InvalidInputError, ValueError)):
            opened(granularities=names)
