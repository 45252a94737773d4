"""What a propositionizer returned is kept by node parsers with a cache, in pipelines and their worker processes, too."""

from __future__ import annotations

import pickle

import pytest
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.ingestion.pipeline import get_transformation_hash
from llama_index.core.schema import Document

from factoid.errors import StoreFormatError
from factoid.propositions import NoPropositions, PropositionCache, Report
from llama_index_factoid import MultiGranularFaissVectorStore, MultiGranularNodeParser, PropositionNodeParser
from tests.propositions.passages import AwaitingStream, Batching, Noting, passages


def documents(count):
    return [Document(id_=unit.id, text=unit.text) for unit in passages(count)]


def said(nodes):
    return [(node.node_id, node.text, node.metadata) for node in nodes]


@pytest.mark.parametrize("kind", [Batching, AwaitingStream])
@pytest.mark.parametrize("parser_class", [PropositionNodeParser, MultiGranularNodeParser])
async def test_a_parser_with_one_more_document_asks_for_one_more(tmp_path, kind, parser_class):
    inner = kind()
    parser = parser_class(inner, cache=tmp_path / "cache")
    nodes = parser(documents(100))
    assert parser.last_report == Report(100, 200)
    again = parser_class(inner, cache=str(tmp_path / "cache"))
    assert said(again(documents(101)))[: len(nodes)] == said(nodes)
    assert again.last_report == Report(101, 202, cached=100)
    assert said(await again.acall(documents(102)))[: len(nodes)] == said(nodes)
    assert again.last_report == Report(102, 204, cached=101)
    assert len(inner.asked) == 102


def test_a_pipeline_with_one_more_document_asks_for_one_more(tmp_path):
    inner = Batching()
    for count in (100, 101):
        IngestionPipeline(transformations=[PropositionNodeParser(inner, cache=tmp_path / "cache")]).run(
            documents=documents(count)
        )
    assert len(inner.asked) == 101


def test_worker_processes_share_the_cache(tmp_path):
    inner = Noting(tmp_path / "log")
    pipeline = IngestionPipeline(transformations=[PropositionNodeParser(inner, cache=tmp_path / "cache")])
    nodes = pipeline.run(documents=documents(20), num_workers=2)
    assert len(nodes) == 40
    assert sorted((tmp_path / "log").read_text().splitlines()) == sorted(unit.text for unit in passages(20))
    with PropositionCache(tmp_path / "cache") as cache:
        assert cache.count() == 20
    assert len(pipeline.run(documents=documents(20))) == 40
    assert len((tmp_path / "log").read_text().splitlines()) == 20


def test_a_parser_with_a_cache_is_saved_pickled_and_hashed_as_without(tmp_path):
    parser = PropositionNodeParser(Batching(), cache=tmp_path / "cache")
    plain = PropositionNodeParser(Batching())
    assert pickle.loads(pickle.dumps(parser)).cache == str(tmp_path / "cache")
    assert parser.to_dict() == plain.to_dict()
    assert get_transformation_hash(documents(1), parser) == get_transformation_hash(documents(1), plain)
    again = PropositionNodeParser.from_dict(parser.to_dict(), propositionizer=Batching(), cache=tmp_path / "cache")
    assert again.cache == parser.cache
    assert plain.cache is None


def test_a_store_may_be_the_cache(tmp_path):
    store = MultiGranularFaissVectorStore(tmp_path / "store")
    inner = Batching()
    for count in (5, 6):
        PropositionNodeParser(inner, cache=tmp_path / "store")(documents(count))
    store.close()
    assert len(inner.asked) == 6


async def test_what_failed_for_a_time_is_asked_again_and_told(tmp_path, caplog):
    parser = PropositionNodeParser(
        AwaitingStream(lambda _: NoPropositions("timed out", transient=True)), cache=tmp_path / "cache"
    )
    parser(documents(3))
    await parser.acall(documents(3))
    assert parser.last_report == Report(3, 6, {"timed out": 3}, transient=3)
    assert "3 passages fell back to sentences (3 timed out; another try may mend 3)" in caplog.text


def test_what_is_no_cache_is_refused_before_any_work(tmp_path):
    (tmp_path / "notes.txt").write_text("no cache " * 99)
    inner = Batching()
    with pytest.raises(StoreFormatError, match=r"notes\.txt cannot be read as a cache"):
        PropositionNodeParser(inner, cache=tmp_path / "notes.txt")(documents(1))
    assert inner.asked == []
