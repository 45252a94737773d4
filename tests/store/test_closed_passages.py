"""A passage or document of which a filter excludes a part: what is returned in its place, and what is not compared."""

from __future__ import annotations

from dataclasses import replace

import pytest

from factoid import Document, Granularity, UnitStore, Weights
from factoid.store import GRANULARITIES
from factoid.testing import HashEncoder, ScriptedPropositionizer
from factoid.units import Unit
from tests.late_interaction.word_vectors import WordVectors

pytest.importorskip("faiss")

TEXT = (
    "The tower leans. Its vault holds gold.\n\n# Keys\n\nThe keys are with Ann. She lives in Pisa."
)
SPLIT = ScriptedPropositionizer(
    lambda passage: [part + "." for part in passage.text.rstrip(".").split(". ")]
)
OPEN = {"secret": {"$ne": True}}


@pytest.fixture
def store():
    with UnitStore(encoder=HashEncoder(), granularities=GRANULARITIES) as store:
        store.add_documents(
            [Document(TEXT, id="pisa"), Document("The sea is far.", id="sea")],
            propositionizer=SPLIT,
        )
        yield store


def unit_of(store, text, kind=Granularity.SENTENCE):
    [unit] = [
        unit for unit in store.get(store.ids()) if unit.text == text and unit.granularity is kind
    ]
    return unit


def hide(store, *texts):
    """Make the sentences and propositions of some texts secret."""
    ids = [unit.id for unit in store.get(store.ids()) if unit.text in texts]
    store.update_metadata({"secret": True}, unit_ids=ids)


def test_a_secret_passage_is_no_neighbour_and_in_no_document(store):
    """The example of the report: sentences of the passage came as neighbours, and its text with the document."""
    passage = unit_of(store, "The keys are with Ann. She lives in Pisa.", Granularity.PASSAGE)
    store.update_metadata({"secret": True}, ids=[passage.id])
    for parents in ("passage", "document", "unit"):
        for granularity in (None, "passage", "mixed"):
            hits = store.search(
                "Where are the keys?",
                9,
                granularity=granularity,
                parents=parents,
                filter=OPEN,
                expand=5,
            )
            assert {hit.unit.document_id for hit in hits} == {"pisa", "sea"}
            assert "Ann" not in str(hits)
    [best, _] = store.search("vault", 2, parents="document", filter=OPEN)
    assert best.unit == unit_of(
        store, "The tower leans. Its vault holds gold.", Granularity.PASSAGE
    )
    assert store.search("Ann", 9, lexical=1, filter=OPEN) == []


def test_the_best_allowed_unit_stands_for_a_closed_passage(store):
    hide(store, "Its vault holds gold.")
    [hit, *_] = store.search("tower vault gold", 3, granularity="mixed", filter=OPEN)
    assert hit.unit.text == "The tower leans."
    assert [match.unit.text for match in hit.matches] == ["The tower leans."]
    assert not {"passage", "lexical"} & hit.parts.keys()
    [document, *_] = store.search("tower vault gold", 3, parents="document", filter=OPEN)
    assert (
        document.unit.text == "The keys are with Ann. She lives in Pisa."
    )  # its best open passage
    assert document.matches[0].unit.text == "The tower leans."
    hide(store, "She lives in Pisa.")
    [document, *_] = store.search("tower vault gold", 3, parents="document", filter=OPEN)
    assert document.unit.text == "The tower leans."  # no passage is open


def test_k_passages_although_some_are_closed(store):
    hide(store, "Its vault holds gold.", "She lives in Pisa.")
    for k, texts in ((1, 1), (2, 2), (9, 3)):
        hits = store.search("tower keys sea", k, filter=OPEN)
        assert len({hit.unit.id for hit in hits}) == len(hits) == texts
    assert {hit.unit.text for hit in hits} == {
        "The tower leans.",
        "The keys are with Ann.",
        "The sea is far.",
    }


def test_a_documents_own_metadata_count(store):
    store.update_metadata({"secret": True}, document_ids=["pisa"])
    for unit in store.get(store.ids()):
        if unit.document_id == "pisa":
            vectors = [store.vectors([unit.id])[unit.id]]
            store.add([replace(unit, metadata={})], vectors=vectors, keep_children=True)
    assert store.documents(["pisa"])[0].metadata == {"secret": True}
    [hit] = store.search("tower", 1, parents="document", filter=OPEN)
    assert hit.unit.granularity is Granularity.PASSAGE


@pytest.mark.parametrize(
    "condition",
    [{"granularity": "passage"}, {"granularity": {"$ne": "sentence"}}, {"fallback": {"$exists": False}},
     {"passage_id": None}, lambda metadata: metadata.get("granularity", "passage") == "passage"],
)  # fmt: skip
def test_what_a_unit_is_closes_no_passage(store, condition):
    """Filters on the keys that parsers add choose kinds of units, and hide no content."""
    kinds = {
        Granularity.PASSAGE: {"granularity": "passage"},
        Granularity.SENTENCE: {
            "granularity": "sentence",
            "passage_id": "p",
            "fallback": "time-out",
        },
        Granularity.PROPOSITION: {"granularity": "proposition"},
    }
    for unit in store.get(store.ids()):
        vectors = [store.vectors([unit.id])[unit.id]]
        store.add(
            [replace(unit, metadata=kinds[unit.granularity])], vectors=vectors, keep_children=True
        )
    hits = store.search("tower", 9, granularity="passage", filter=condition)
    assert len(hits) == 3
    assert {unit.granularity for unit in store.get(store.ids(condition))} >= {Granularity.PASSAGE}
    # Content that differs as well closes it.
    hide(store, "The tower leans.")
    both = {"$and": [condition, OPEN]} if isinstance(condition, dict) else OPEN
    assert len(store.search("tower", 9, granularity="passage", filter=both)) == 2


def test_a_reranker_reads_the_allowed_units_alone(store):
    from factoid import AnyGranularityRanker

    hide(store, "Its vault holds gold.", "She lives in Pisa.")
    read: list[str] = []

    class Reading(WordVectors):
        def encode_passages(self, texts):
            read.extend(texts)
            return super().encode_passages(texts)

    for kind in ("sentence", "proposition", "passage"):
        for parents in ("passage", "document", "unit"):
            options = {
                "granularity": kind,
                "parents": parents,
                "rerank": AnyGranularityRanker(Reading()),
                "expand": 3,
            }
            hits = store.search("vault gold Pisa tower", 9, filter=OPEN, **options)
            assert "gold" not in str(hits)
            assert "Pisa" not in str(hits).replace("pisa", "")
            assert len(hits) == {"passage": 1, "document": 1}.get(
                kind, 2 if parents == "document" else 3
            )
    assert read
    assert not [text for text in read if "gold" in text or "Pisa" in text]


def test_a_unit_that_is_not_searched_closes_its_passage():
    with UnitStore(encoder=HashEncoder(), granularities=["proposition"]) as store:
        store.add_documents([Document(TEXT, id="pisa")], propositionizer=SPLIT)
        passage = unit_of(store, "The keys are with Ann. She lives in Pisa.", Granularity.PASSAGE)
        note = Unit(
            "n", "A note.", Granularity.SENTENCE, "pisa", passage.id, passage.start, passage.end
        )
        store.add([replace(note, metadata={"secret": True})], keep_children=True)
        [hit, *_] = store.search("Where are the keys?", 2, filter=OPEN)
        assert hit.unit.text == "The keys are with Ann."
        store.delete(unit_ids=["n"])
        assert store.search("Where are the keys?", 1, filter=OPEN)[0].unit == passage
        store.add([replace(note, metadata={"secret": True})], keep_children=True)
        store.add([passage])  # replaced with all units under it, as they were forgotten
        assert store.get(["n"]) == []


def test_documents_and_units_by_id_are_no_walls(store):
    sentence = unit_of(store, "The tower leans.")
    [hit] = store.search(
        "tower",
        9,
        granularity="sentence",
        unit_ids=[sentence.id],
        expand=1,
        weights=Weights(0.4, 0),
    )
    assert hit.unit.text == "The tower leans. Its vault holds gold."
    assert [match.unit for match in hit.matches] == [sentence]
    assert "Its vault holds gold." in [unit.text for unit in hit.matches[0].neighbours]


def test_ids_and_units_by_filter(store):
    hide(store, "Its vault holds gold.")
    texts = [unit.text for unit in store.get(store.ids(OPEN))]
    assert not [text for text in texts if "gold" in text]
    assert store.get(store.ids(), filter=OPEN) == store.get(store.ids(OPEN))
    assert store.delete(filter={"secret": True}) == 2
    store.search("vault", filter=OPEN)
    assert [unit.text for unit in store.get(store.ids(OPEN))] == [
        unit.text for unit in store.get(store.ids())
    ]


def units_that_say_what_they_are(number):
    """Return a passage and its sentence, with the metadata that node parsers write."""
    text = f"Tower {number} leans."
    passage = Unit(
        f"p{number}", text, Granularity.PASSAGE, f"d{number}", f"d{number}", 0, len(text)
    )
    sentence = replace(
        passage, id=f"s{number}", granularity=Granularity.SENTENCE, parent_id=passage.id
    )
    place = {"page": number % 2}
    yield replace(passage, metadata=place | {"granularity": "passage"})
    yield replace(sentence, metadata=place | {"granularity": "sentence", "passage_id": passage.id})


@pytest.mark.parametrize(
    "condition",
    [
        {"granularity": "sentence"},
        {"granularity": "passage"},
        {"granularity": {"$ne": "passage"}, "page": 1},
        {"passage_id": {"$exists": True}},
        lambda metadata: metadata["granularity"] == "sentence",
    ],
)
def test_passages_that_come_later_are_judged_as_those_before(condition):
    units = [unit for number in range(8) for unit in units_that_say_what_they_are(number)]
    options = {"encoder": HashEncoder(), "granularities": ["passage", "sentence"]}
    with UnitStore(**options) as at_once, UnitStore(**options) as step_by_step:
        at_once.add(units)
        for start in range(0, len(units), 4):
            step_by_step.add(units[start : start + 4])
            step_by_step.search("tower", 9, filter=condition)
        step_by_step.update_metadata({"page": 1}, ids=["p2", "s2"])
        at_once.update_metadata({"page": 1}, ids=["p2", "s2"])
        for granularity in ("passage", "sentence", "mixed"):
            for store in (at_once, step_by_step):
                store.search(
                    "tower", 9, filter={"granularity": "passage"}
                )  # reads the passages' metadata
            answers = [
                store.search("tower", 9, filter=condition, granularity=granularity)
                for store in (at_once, step_by_step)
            ]
            assert answers[0] == answers[1]
