from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.indexing import InMemoryRecordManager, index

from factoid import Granularity
from factoid.errors import InvalidInputError
from factoid.testing import ScriptedPropositionizer
from langchain_factoid import MultiGranularFAISS
from tests.langchain.documents import GRANULARITIES, KAKAPO, OLM, SENTENCES, TITAN


@pytest.mark.parametrize("granularity", GRANULARITIES)
def test_documents_come_back_unchanged(filled: MultiGranularFAISS, granularity: str) -> None:
    assert filled.similarity_search("Which parrot cannot fly?", k=1, granularity=granularity) == [KAKAPO]
    assert filled.similarity_search("seas of methane", k=1, granularity=granularity) == [TITAN]
    assert filled.get_by_ids(["olm", "none", "kakapo"]) == [OLM, KAKAPO]


def test_ids(store: MultiGranularFAISS) -> None:
    plain = Document(page_content="Ice floats.", metadata={"page": 1})
    other = Document(page_content="Ice floats.", metadata={"page": 2})
    ids = store.add_documents([KAKAPO, plain, other, plain], ids=["given", None, None, None])
    assert ids[0] == "given"
    assert ids[1] == ids[3] != ids[2]
    assert store.get_by_ids(ids[1:3]) == [
        plain.model_copy(update={"id": ids[1]}),
        other.model_copy(update={"id": ids[2]}),
    ]
    assert store.add_documents([OLM]) == ["olm"]
    assert plain.id is None


def test_of_equal_ids_the_last_document_counts(store: MultiGranularFAISS) -> None:
    assert store.add_texts(["Ice floats.", "Lead sinks."], ids=["a", "a"]) == ["a", "a"]
    assert [document.page_content for document in store.similarity_search("Ice floats.", k=9)] == ["Lead sinks."]


def test_metadata_that_is_handed_out_is_the_callers_own(filled: MultiGranularFAISS) -> None:
    filled.similarity_search("parrot", k=1)[0].metadata["tags"].append("changed")
    assert filled.get_by_ids(["kakapo"]) == [KAKAPO]


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_blank_documents_are_kept_but_not_embedded(store: MultiGranularFAISS, embedding: Any, text: str) -> None:
    blank = Document(id="blank", page_content=text, metadata={"a": 1})
    store.add_documents([blank, OLM])
    assert store.get_by_ids(["blank"]) == [blank]
    assert all(text.strip() for text in embedding.embedded)
    for granularity in GRANULARITIES:
        assert store.similarity_search("olm", k=9, granularity=granularity) == [OLM]


@pytest.mark.parametrize(
    "text", ["---\ntitle: Ice\n---\n", "...", "a\x00b c.", "Eis.\r\nWasser.", "日本語。猫 🐈 cat.", "x" * 9000]
)
def test_documents_without_sentences_are_found_all_the_same(store: MultiGranularFAISS, text: str) -> None:
    odd = Document(id="odd", page_content=text)
    store.add_documents([odd])
    for granularity in GRANULARITIES:
        assert store.similarity_search("anything", k=9, granularity=granularity) == [odd]


def test_long_documents_stay_whole(store: MultiGranularFAISS, propositionizer: ScriptedPropositionizer) -> None:
    text = " ".join(f"Fact number {n} stands in line {n}." for n in range(300))
    store.add_texts([text], ids=["long"])
    assert len(propositionizer.calls[-1]) > 10
    (found,) = store.similarity_search("fact number 217", k=9)
    assert found.page_content == text
    assert len(store.similarity_search_units("fact", k=1000, granularity="sentence")) == 300


def test_replacing_a_document_replaces_its_units(filled: MultiGranularFAISS) -> None:
    changed = Document(id="kakapo", page_content="Tungsten melts late and is heavy.", metadata={"year": 1783})
    filled.add_documents([changed])
    assert filled.get_by_ids(["kakapo"]) == [changed]
    for granularity in GRANULARITIES:
        units = filled.similarity_search_units("parrot", k=99, granularity=granularity)
        own = [unit for unit in units if unit.metadata["parent_id"] == "kakapo"]
        assert own
        assert all("parrot" not in unit.page_content for unit in own)
        assert filled.similarity_search("tungsten", k=1, granularity=granularity) == [changed]


def test_delete(filled: MultiGranularFAISS) -> None:
    filled.delete(["kakapo", "unknown"])
    assert filled.get_by_ids(["kakapo"]) == []
    for granularity in GRANULARITIES:
        found = filled.similarity_search("Which parrot cannot fly?", k=9, granularity=granularity)
        assert {document.id for document in found} == {"olm", "titan"}
    filled.delete()
    filled.delete([])
    assert len(filled.similarity_search("olm", k=9)) == 2
    (unit,) = filled.similarity_search_units("no eyes", k=1)
    filled.delete([str(unit.id)])
    assert unit not in filled.similarity_search_units("no eyes", k=99)
    assert filled.get_by_ids(["olm"]) == [OLM]


def test_added_again_after_deletion(filled: MultiGranularFAISS) -> None:
    filled.delete(["olm"])
    filled.add_documents([OLM])
    assert filled.similarity_search("no eyes", k=1) == [OLM]


def test_a_store_is_there_again_when_it_is_opened(embedding: Any, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    with MultiGranularFAISS(embedding, propositionizer=SENTENCES, path=folder) as store:
        store.add_documents([KAKAPO, OLM])
        before = store.similarity_search_with_score("parrot", k=9)
    unclosed = MultiGranularFAISS(embedding, propositionizer=SENTENCES, path=folder)
    assert unclosed.similarity_search_with_score("parrot", k=9) == before
    unclosed.add_documents([TITAN])
    with MultiGranularFAISS(embedding, propositionizer=SENTENCES, path=str(folder)) as store:
        assert store.similarity_search("methane", k=1) == [TITAN]
    unclosed.close()
    assert not list(folder.glob("*.pkl"))


def test_langchains_index_api(store: MultiGranularFAISS) -> None:
    records = InMemoryRecordManager(namespace="test")
    records.create_schema()
    documents = [document.model_copy(update={"metadata": {"source": document.id}}) for document in (KAKAPO, OLM)]
    options: dict[str, Any] = {"cleanup": "full", "source_id_key": "source", "key_encoder": "sha256"}
    assert index(documents, records, store, **options)["num_added"] == 2
    assert index(documents, records, store, **options)["num_skipped"] == 2
    assert index(documents[:1], records, store, **options)["num_deleted"] == 1
    assert len(store.similarity_search("olm", k=9)) == 1


@pytest.mark.parametrize("size", [1, 2, 100])
def test_batches(store: MultiGranularFAISS, propositionizer: ScriptedPropositionizer, size: int) -> None:
    assert store.add_documents([KAKAPO, OLM, TITAN], batch_size=size) == ["kakapo", "olm", "titan"]
    assert len(propositionizer.calls) == -(-3 // size)
    assert len(store.similarity_search("it", k=9)) == 3


def test_only_the_granularities_wanted(embedding: Any) -> None:
    with MultiGranularFAISS(embedding, granularities=("sentence",)) as store:
        store.add_documents([OLM])
        assert store.similarity_search("eyes", granularity="sentence") == [OLM]
        assert embedding.embedded == [OLM.page_content]
        assert store.similarity_search("eyes") == [OLM]  # the finest that there is
        with pytest.raises(InvalidInputError, match="no index of propositions"):
            store.similarity_search("eyes", granularity="proposition")


def test_the_default_propositionizer_needs_nothing(embedding: Any) -> None:
    with MultiGranularFAISS.from_documents([KAKAPO, OLM], embedding) as store:
        assert store.similarity_search("Which parrot cannot fly?", k=1) == [KAKAPO]
        olms = store.similarity_search_units("olm", k=9, filter={"year": 1768})
        assert [unit.page_content for unit in olms] == [OLM.page_content]  # its clauses are too short to split


def test_failed_decompositions_fall_back_and_are_reported(embedding: Any) -> None:
    with MultiGranularFAISS(embedding, propositionizer=ScriptedPropositionizer({})) as store:
        assert store.last_report is None
        store.add_documents([OLM])
        assert store.last_report is not None
        assert store.last_report.failures == {"not in the script": 1}
        (unit,) = store.similarity_search_units("eyes", k=9)
        assert (unit.page_content, unit.metadata["fallback"]) == (OLM.page_content, "not in the script")
        assert store.similarity_search("eyes") == [OLM]


def test_ways_to_make_a_store(embedding: Any) -> None:
    options: dict[str, Any] = {"propositionizer": SENTENCES, "granularities": ("sentence", "proposition")}
    with MultiGranularFAISS.from_documents([KAKAPO, OLM], embedding, **options) as store:
        assert store.similarity_search("eyes", k=1) == [OLM]
        assert store.embeddings is embedding
        assert store.granularities == (Granularity.SENTENCE, Granularity.PROPOSITION)
    with MultiGranularFAISS.from_texts(["Ice."], embedding, [{"a": 1}], ids=["i"], **options) as store:
        assert store.get_by_ids(["i"]) == [Document(id="i", page_content="Ice.", metadata={"a": 1})]
        assert store.add_texts(text for text in ("Lead.", "Tin.")) != []
        assert len(store.similarity_search("tin", k=9)) == 3
