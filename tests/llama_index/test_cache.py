"""What a propositionizer returned is kept by node parsers with a cache, in pipelines and their worker processes, too."""

from __future__ import annotations

import pickle

import pytest
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.ingestion.pipeline import get_transformation_hash
from llama_index.core.schema import Document

from factoid.propositions import PropositionCache, Report
from llama_index_factoid import MultiGranularNodeParser, PropositionNodeParser
from tests.propositions.passages import AwaitingStream, Batching, Logging, passages


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


def test_worker_processes_share_the_cache(tmp_path):
    inner = Logging(tmp_path / "log")
    pipeline = IngestionPipeline(transformations=[PropositionNodeParser(inner, cache=tmp_path / "cache")])
    nodes = pipeline.run(documents=documents(20), num_workers=2)
    assert len(nodes) == 40
    assert sorted((tmp_path / "log").read_text().splitlines()) == sorted(map(str, range(20)))
    cache = PropositionCache(tmp_path / "cache")
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
