"""What a propositionizer returned is kept by node parsers with a cache, in pipelines and their
worker processes, too.
"""

from __future__ import annotations

import pickle

from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.ingestion.pipeline import get_transformation_hash
from llama_index.core.schema import Document

from factoid.propositions import PropositionCache
from llama_index_factoid import PropositionNodeParser
from tests.propositions.passages import Batching, Logging, passages


def documents(count):
    return [Document(id_=unit.id, text=unit.text) for unit in passages(count)]


def test_worker_processes_share_the_cache(tmp_path):
    inner = Logging(tmp_path / "log")
    pipeline = IngestionPipeline(
        transformations=[PropositionNodeParser(inner, cache=tmp_path / "cache")]
    )
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
    assert get_transformation_hash(documents(1), parser) == get_transformation_hash(
        documents(1), plain
    )
