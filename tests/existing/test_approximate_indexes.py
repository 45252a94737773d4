"""An answer that an approximate index of pgvector may have cut says so, over the three classes of stores."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest

pytest.importorskip("langchain_core")

from factoid.existing import ExistingStore
from factoid.existing.pgvector import EF_SEARCH as ENOUGH
from tests.existing.abilities import UNITS
from tests.existing.corpus import DIM, ENCODER, PROPOSITIONIZER, QUESTION, documents

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
]

# Have the planner use the index, as it does by itself for a table of any size.
BY_INDEX = ("enable_seqscan = off", "enable_sort = off", "hnsw.iterative_scan = strict_order")
HNSW = "USING hnsw (embedding vector_cosine_ops)"
IVFFLAT = "USING ivfflat (embedding vector_cosine_ops) WITH (lists = 10)"
WHOLE = [(True, "")] * 2  # whether two answers are complete, and their notes


def run_sql(address, *statements):
    import sqlalchemy

    engine = sqlalchemy.create_engine(
        address.replace("postgresql://", "postgresql+psycopg://"), isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        for statement in statements:
            connection.execute(sqlalchemy.text(statement))
    engine.dispose()


# -- The classes: each search opens a connection, so that settings hold at once --


def unpooled():
    from sqlalchemy.pool import NullPool

    return {"poolclass": NullPool}


def langchain_collection(store):
    from langchain_factoid.existing import collection_of

    return collection_of(store)


class OfPGVector:
    table = "langchain_pg_embedding"
    collection = staticmethod(langchain_collection)

    def open(self, address):
        module = pytest.importorskip("langchain_postgres", reason="needs the group `stores`")
        from langchain_factoid import EncoderEmbeddings

        return module.PGVector(
            EncoderEmbeddings(ENCODER),
            connection=address.replace("postgresql://", "postgresql+psycopg://"),
            collection_name="facts",
            embedding_length=DIM,
            engine_args=unpooled(),
        )


class OfPGVectorStore:
    table = "facts"
    collection = staticmethod(langchain_collection)

    def open(self, address, **options):
        module = pytest.importorskip("langchain_postgres", reason="needs the group `stores`")
        from langchain_factoid import EncoderEmbeddings

        engine = module.PGEngine.from_connection_string(
            address.replace("postgresql://", "postgresql+psycopg://"), **unpooled()
        )
        if not options:
            run_sql(address, "CREATE EXTENSION vector")
            engine.init_vectorstore_table("facts", DIM)
        return module.PGVectorStore.create_sync(
            engine, EncoderEmbeddings(ENCODER), "facts", **options
        )


class OfLlamaIndex:
    table = "data_facts"

    def open(self, address, **options):
        module = pytest.importorskip(
            "llama_index.vector_stores.postgres", reason="needs the group `stores`"
        )
        store = module.PGVectorStore(
            connection_string=address.replace("postgresql://", "postgresql+psycopg2://"),
            async_connection_string=address.replace("postgresql://", "postgresql+asyncpg://"),
            table_name="facts",
            schema_name="public",
            embed_dim=DIM,
            create_engine_kwargs=unpooled(),
            **options,
        )
        store._initialize()
        return store

    def collection(self, store):
        from llama_index_factoid.existing import collection_of

        return collection_of(store)


class Filled:
    """A store with documents, in a database of its own."""

    def __init__(self, of, server):
        self.of = of
        self.name = f"approximate_{uuid4().hex}"
        self.address = server.replace("/postgres?", f"/{self.name}?")
        run_sql(server, f"CREATE DATABASE {self.name}")
        self.existing = self.over(of.open(self.address))
        self.existing.add_documents(documents())

    def over(self, store):
        return ExistingStore(
            self.of.collection(store),
            ENCODER,
            propositionizer=PROPOSITIONIZER,
            unsupported="keep",
            read_words=False,
        )

    def index(self, how):
        run_sql(
            self.address,
            f"CREATE INDEX approximate ON {self.of.table} {how}",
            f"ANALYZE {self.of.table}",
        )

    def configure(self, *settings):
        run_sql(
            self.address, *[f"ALTER DATABASE {self.name} SET {setting}" for setting in settings]
        )

    def reset(self):
        run_sql(
            self.address,
            f"ALTER DATABASE {self.name} RESET ALL",
            "DROP INDEX IF EXISTS approximate",
            f"DROP INDEX IF EXISTS {self.of.table}_embedding_idx",  # which LlamaIndex makes
        )

    def notes(self):
        """Return whether answers of both kinds are complete, and their notes."""
        answers = [
            self.existing.search(QUESTION, 3),
            self.existing.search(QUESTION, 3, weights=UNITS),
        ]
        assert all(answer.hits for answer in answers)
        return [(answer.complete, answer.note) for answer in answers]


@pytest.fixture(
    scope="module", params=[OfPGVector, OfPGVectorStore, OfLlamaIndex], ids=lambda of: of.__name__
)
def each(request, postgres):
    return Filled(request.param(), postgres)


@pytest.fixture
def filled(each):
    yield each
    each.reset()


# -- What the answers say --


def test_without_an_index_all_vectors_are_compared(filled):
    filled.configure(*BY_INDEX, "hnsw.ef_search = 40")
    assert filled.notes() == WHOLE


def test_an_index_that_the_planner_leaves_out_loses_nothing(filled):
    filled.index(HNSW)
    assert filled.notes() == WHOLE  # so small a table is sorted whole


def test_the_default_width_of_hnsw_is_too_small_and_the_note_mends_it(filled):
    filled.index(HNSW)
    filled.configure(*BY_INDEX)
    notes = filled.notes()
    for complete, note in notes:
        assert not complete
        assert "hnsw.ef_search = 40" in note
    remedy = re.search(r"(ALTER ROLE CURRENT_USER SET hnsw.ef_search = \d+);", notes[0][1])[1]
    try:
        run_sql(filled.address, remedy)
        assert filled.notes() == WHOLE
    finally:
        run_sql(filled.address, "ALTER ROLE CURRENT_USER RESET hnsw.ef_search")
    assert filled.notes() == notes


@pytest.mark.parametrize(("width", "is_complete"), [(ENOUGH - 1, False), (ENOUGH, True)])
async def test_awaited_and_filtered_searches_say_the_same(filled, width, is_complete):
    filled.index(HNSW)
    filled.configure(*BY_INDEX, f"hnsw.ef_search = {width}")
    for answer in (
        await filled.existing.asearch(QUESTION, 3),
        await filled.existing.asearch(QUESTION, 3, weights=UNITS),
        filled.existing.search(QUESTION, 3, filter={"tenant": "b"}),
    ):
        assert answer.complete == is_complete
        assert (f"hnsw.ef_search = {width} " in answer.note) != is_complete


@pytest.mark.parametrize(("probes", "is_complete"), [(1, False), (4, False), (5, True)])
def test_few_probes_of_ivfflat_are_too_few(filled, probes, is_complete):
    filled.index(IVFFLAT)
    settings = [*BY_INDEX, "ivfflat.iterative_scan = relaxed_order"]
    if probes > 1:  # which is the default
        settings.append(f"ivfflat.probes = {probes}")
    filled.configure(*settings)
    for complete, note in filled.notes():
        assert complete == is_complete
        assert ("SET ivfflat.probes = 5;" in note) != is_complete


@pytest.mark.parametrize(("width", "is_complete"), [(40, False), (ENOUGH, True)])
def test_an_option_of_the_store_comes_before_the_role(filled, width, is_complete):
    other = ENOUGH + 40 - width
    filled.index(HNSW)
    filled.configure(*BY_INDEX, f"hnsw.ef_search = {other}")
    match filled.of:
        case OfPGVectorStore():
            from langchain_postgres.v2.indexes import HNSWQueryOptions

            options = {"index_query_options": HNSWQueryOptions(ef_search=width)}
            remedy = f"HNSWQueryOptions(ef_search={ENOUGH})"
        case OfLlamaIndex():
            hnsw = {"hnsw_m": 16, "hnsw_ef_construction": 64, "hnsw_ef_search": width}
            options = {"hnsw_kwargs": {**hnsw, "hnsw_dist_method": "vector_cosine_ops"}}
            remedy = f"'hnsw_ef_search': {ENOUGH}}}"
        case _:
            pytest.skip("this class has no such option")
    answer = filled.over(filled.of.open(filled.address, **options)).search(QUESTION, 3)
    assert answer.complete == is_complete
    assert (remedy in answer.note) != is_complete
    assert "ALTER ROLE" not in answer.note


def test_the_retrievers_pass_it_on(filled):
    filled.index(HNSW)
    filled.configure(*BY_INDEX)
    store = filled.existing.collection.store
    if isinstance(filled.of, OfLlamaIndex):
        from llama_index_factoid import EncoderEmbedding, MultiGranularRetriever

        retriever = MultiGranularRetriever(
            vectorstore=store, embed_model=EncoderEmbedding(ENCODER), k=3
        )
        found = retriever.retrieve(QUESTION)
    else:
        from langchain_factoid import MultiGranularRetriever

        found = MultiGranularRetriever(vectorstore=store, k=3).invoke(QUESTION)
    assert found
    for passage in found:
        assert passage.metadata["complete"] is False
        assert "hnsw.ef_search = 40" in passage.metadata["note"]
