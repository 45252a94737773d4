"""Traps of real stores, each shown to be there, and that the loop does not fall into it."""

from __future__ import annotations

import logging
from typing import ClassVar

import pytest

pytest.importorskip("langchain_core")

from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from factoid import Weights
from factoid.errors import InvalidInputError
from factoid.existing import ExistingStore
from factoid.existing.conditions import CLAUSES, DOLLARS, EXPRESSION, Form
from factoid.filters import All, Comparison, Operator
from langchain_factoid import EncoderEmbeddings, MultiGranularRetriever
from langchain_factoid.embeddings import LangChainEncoder
from langchain_factoid.existing import collection_of
from tests.existing.abilities import UNITS, ids
from tests.existing.corpus import DIM, ENCODER, PROPOSITIONIZER, QUESTION, documents, oracle

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
]

EMBEDDINGS = EncoderEmbeddings(ENCODER)
VECTOR = EMBEDDINGS.embed_query(QUESTION)


def over(store, **options) -> ExistingStore:
    encoder = LangChainEncoder(EMBEDDINGS)
    return ExistingStore(
        collection_of(store),
        encoder,
        propositionizer=PROPOSITIONIZER,
        unsupported="keep",
        **options,
    )


def wide_searches(store, count: int, **options) -> list[str]:
    """Return the documents of a plain search."""
    found = store.similarity_search_with_score_by_vector(VECTOR, k=count, **options)
    return [document.metadata["factoid_document"] for document, _ in found]


class TestAnHNSWIndexOfPgvector:
    """It returns 40 rows whatever it is asked for, and none behind a filter."""

    @pytest.fixture(scope="class")
    def engine(self, postgres):
        pytest.importorskip(
            "langchain_postgres", reason="needs langchain-postgres, of the group `stores`"
        )
        import sqlalchemy

        address = postgres.replace("postgresql://", "postgresql+psycopg://").replace(
            "/postgres?", "/traps?"
        )
        server = sqlalchemy.create_engine(
            postgres.replace("postgresql://", "postgresql+psycopg://")
        )
        with server.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(sqlalchemy.text("CREATE DATABASE traps"))
        server.dispose()
        engine = sqlalchemy.create_engine(address)
        yield engine
        engine.dispose()

    @pytest.fixture(scope="class")
    def filled(self, engine):
        import sqlalchemy
        from langchain_postgres import PGVector

        store = PGVector(
            EMBEDDINGS, connection=engine, collection_name="facts", embedding_length=DIM
        )
        over(store).add_documents(documents(60))
        with engine.begin() as connection:
            table = "langchain_pg_embedding"
            connection.execute(
                sqlalchemy.text(f"CREATE INDEX ON {table} USING hnsw (embedding vector_cosine_ops)")
            )
            connection.execute(sqlalchemy.text(f"ANALYZE {table}"))
        return store

    @pytest.fixture
    def only_index(self, engine):
        """Have the planner use the index, as it does by itself for a table of any size."""
        yield from self._settings(engine, "enable_seqscan = off", "enable_sort = off")

    @pytest.fixture
    def iterative(self, engine):
        settings = (
            "enable_seqscan = off",
            "enable_sort = off",
            "hnsw.iterative_scan = strict_order",
            "hnsw.ef_search = 200",
        )
        yield from self._settings(engine, *settings)

    def _settings(self, engine, *settings):
        import sqlalchemy

        with engine.begin() as connection:
            for setting in settings:
                connection.execute(sqlalchemy.text(f"ALTER DATABASE traps SET {setting}"))
        engine.dispose()
        yield
        with engine.begin() as connection:
            for setting in settings:
                connection.execute(
                    sqlalchemy.text(f"ALTER DATABASE traps RESET {setting.split(' ')[0]}")
                )
        engine.dispose()

    def test_a_plain_search_finds_one_parent_and_stops_at_forty(self, filled, only_index):
        # 40 vectors, of which some are those of several rows.
        assert 40 <= len(wide_searches(filled, 480)) < 100
        assert {*wide_searches(filled, 480)} == {"crowd"}
        excluded = {"factoid_document": {"$nin": ["crowd"]}}
        assert wide_searches(filled, 30, filter=excluded) == []

    def test_the_answer_says_that_it_is_not_complete(self, filled, only_index, caplog):
        store = over(filled)
        with caplog.at_level(logging.WARNING):
            for _ in range(2):
                answer = store.search(QUESTION, 10, weights=UNITS)
        assert not answer.complete
        assert ids(answer) == ["crowd"]
        assert "hnsw.iterative_scan = 'strict_order'" in answer.note
        assert caplog.text.count("strict_order") == 1

    def test_the_retriever_passes_it_on(self, filled, only_index):
        retriever = MultiGranularRetriever(vectorstore=filled, k=10)
        found = retriever.invoke(QUESTION, lexical=0)
        assert found
        assert {document.metadata["complete"] for document in found} == {False}
        assert "iterative_scan" in found[0].metadata["note"]

    def test_the_remedy_mends_it(self, filled, iterative):
        answer = over(filled).search(QUESTION, 10, weights=UNITS)
        expected = oracle(documents(60)).search(QUESTION, 10, weights=UNITS)
        assert answer.complete
        # The index stays approximate: of the crowd it may miss the very best.
        assert ids(answer)[0] == expected[0].unit.document_id == "crowd"
        others = [hit.score for hit in answer.hits[1:]]
        assert others == pytest.approx([hit.score for hit in expected[1:]], abs=1e-4)
        blended = over(filled).search(QUESTION, 10, filter={"tenant": "b"})
        assert len(blended.hits) == 10

    def test_all_that_there_is_is_known_to_be_all(self, filled, only_index):
        answer = over(filled).search(QUESTION, 10, weights=UNITS, document_ids=["crowd"])
        assert answer.complete
        assert ids(answer) == ["crowd"]


class TestPages:
    """PGVectorStore and InMemoryVectorStore accept an offset, and return the first page again."""

    def test_a_loop_over_offsets_would_not_end(self):
        store = InMemoryVectorStore(EMBEDDINGS)
        over(store).add_documents(documents())
        assert wide_searches(store, 5, offset=0) == wide_searches(store, 5, offset=5)
        assert len(over(store).search(QUESTION, 10, weights=UNITS).hits) == 10


class TestFilteringAfterwards:
    """FAISS of the community filters 20 rows, unless it is told otherwise."""

    def test_what_a_filter_leaves_is_found(self):
        faiss = pytest.importorskip("faiss")
        pytest.importorskip("langchain_community", reason="needs langchain-community")
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from langchain_community.docstore.in_memory import InMemoryDocstore
            from langchain_community.vectorstores import FAISS

        store = FAISS(EMBEDDINGS, faiss.IndexFlatL2(DIM), InMemoryDocstore(), {})
        over(store).add_documents(documents())
        assert wide_searches(store, 5, filter={"tenant": "b"}) == []
        assert len(over(store).search(QUESTION, 5, filter={"tenant": "b"}, weights=UNITS).hits) == 5


class TestLimits:
    """A store that returns so many rows and no more."""

    def test_no_search_asks_for_more_than_the_store_returns(self, monkeypatch):
        store = InMemoryVectorStore(EMBEDDINGS)
        existing = over(store)
        existing.add_documents(documents())
        known = existing.collection.known
        asked = []
        search = store.similarity_search_with_score_by_vector

        def recorded(embedding, k, **options):
            asked.append(k)
            return search(embedding, k=k, **options)

        monkeypatch.setattr(store, "similarity_search_with_score_by_vector", recorded)
        from dataclasses import replace

        form = replace(known.form, excludes=False)
        existing.collection.known = replace(
            known, most=100, form=form, is_exact=lambda _store: False
        )
        answer = existing.search(QUESTION, 10, weights=UNITS)
        assert max(asked) == 100
        assert not answer.complete
        assert ids(answer) == ["crowd"]

    def test_no_list_in_a_filter_is_empty(self, monkeypatch):
        store = InMemoryVectorStore(EMBEDDINGS)
        existing = over(store)
        existing.add_documents(documents())
        trees = []
        nearest = existing.collection.nearest

        def recorded(question, limit, condition):
            trees.append(condition)
            return nearest(question, limit, condition)

        monkeypatch.setattr(existing.collection, "nearest", recorded)
        for options in (
            {},
            {"weights": UNITS},
            {"filter": {"number": {"$in": []}}},
            {"weights": Weights(lexical=1)},
        ):
            existing.search(QUESTION, 10, **options)
        assert len(trees) > 6
        for tree in trees:
            assert "[]" not in str(DOLLARS.filter(tree))


class TestForms:
    """Filters in the forms of stores that cannot be run here, as their documentation has them."""

    TREE = All(
        (
            Comparison("factoid_granularity", Operator.IN, ["proposition"]),
            Comparison("tenant", Operator.EQ, 'a"b'),
            Comparison("factoid_passage", Operator.NIN, ["p1", "p2"]),
        )
    )

    def test_milvus(self):
        assert EXPRESSION.filter(self.TREE) == (
            '(factoid_granularity in ["proposition"]) and (tenant == "a\\"b") and (factoid_passage not in ["p1", "p2"])'
        )

    def test_elasticsearch(self):
        assert CLAUSES.filter(self.TREE) == [
            {"terms": {"metadata.factoid_granularity.keyword": ["proposition"]}},
            {"terms": {"metadata.tenant.keyword": ['a"b']}},
            {"bool": {"must_not": [{"terms": {"metadata.factoid_passage.keyword": ["p1", "p2"]}}]}},
        ]

    def test_what_a_store_does_not_understand_is_left_to_us(self):
        tree = All((Comparison("tenant", Operator.NE, "a"), Comparison("tenant", Operator.EQ, "b")))
        assert DOLLARS.filter(tree) == {"tenant": {"$eq": "b"}}
        assert (
            Form("none", dict, joins=False).filter(Comparison("tags", Operator.CONTAINS, "x"))
            is None
        )


class TestElasticsearch:
    """Without num_candidates no search finds more than 50; its score is (1 + cosine) / 2. A stand-in for the class records calls."""

    class ElasticsearchStore(InMemoryVectorStore):
        __module__ = "langchain_elasticsearch.vectorstores"
        calls: ClassVar[list] = []

        class _store:
            retrieval_strategy = None
            index = "facts"

        class client:
            """An index that nobody has made yet, as far as listing goes."""

            class indices:
                @staticmethod
                def exists(index):
                    return False

        def similarity_search_by_vector_with_relevance_scores(
            self,
            embedding,
            k,
            *,
            filter=None,  # noqa: A002
            custom_query=None,
        ):
            self.calls.append((k, filter, custom_query({"knn": {"k": k}}, None)))
            names = {"proposition"}
            for clause in filter:
                names = {
                    *clause.get("terms", {}).get("metadata.factoid_granularity.keyword", names)
                }
            found = super().similarity_search_with_score_by_vector(
                embedding, k, lambda document: document.metadata["factoid_granularity"] in names
            )
            return [(document, (1 + score) / 2) for document, score in found]

        similarity_search_with_score_by_vector = property()  # that it has not

        def add_embeddings(self, texts, embeddings, metadatas, ids):
            for text, vector, metadata, name in zip(texts, embeddings, metadatas, ids, strict=True):
                self.store[name] = {
                    "id": name,
                    "text": text,
                    "vector": vector,
                    "metadata": metadata,
                }

    def test_it_compares_as_many_as_it_returns(self, monkeypatch):
        from langchain_factoid.existing import _Elasticsearch

        monkeypatch.setattr(_Elasticsearch, "get", lambda self, ids: [])
        store = over(self.ElasticsearchStore(EMBEDDINGS))
        assert store.collection.known.name == "Elasticsearch"
        store.add_documents(documents())
        answer = store.search(QUESTION, 3, parents="unit", weights=UNITS)
        expected = oracle(documents()).search(QUESTION, 3, parents="unit", weights=UNITS)
        assert [hit.score for hit in answer.hits] == pytest.approx(
            [hit.score for hit in expected], abs=1e-4
        )
        for k, condition, body in self.ElasticsearchStore.calls:
            assert body["knn"]["num_candidates"] == k
            assert condition[0] == {
                "terms": {"metadata.factoid_granularity.keyword": ["proposition"]}
            }


class TestWhatIsRefused:
    def test_options_that_need_a_store_of_ours(self):
        store = InMemoryVectorStore(EMBEDDINGS)
        for option in ({"unit_ids": ["a"]}, {"parameters": {"nprobe": 3}}):
            with pytest.raises(ValueError, match="it needs a store of factoid"):
                MultiGranularRetriever(vectorstore=store, **option)

    def test_both_or_neither(self):
        with pytest.raises(ValueError, match="takes store="):
            MultiGranularRetriever()

    def test_something_else(self):
        with pytest.raises(ValueError, match="must be a LangChain VectorStore, got str"):
            MultiGranularRetriever(vectorstore="chroma")

    def test_milvus_with_fixed_fields(self):
        pytest.importorskip(
            "langchain_milvus", reason="needs langchain-milvus, of the group `stores`"
        )
        from factoid.existing import LANGCHAIN, known_store
        from langchain_factoid.existing import _Milvus

        class Milvus:
            auto_id = False
            enable_dynamic_field = False
            _metadata_field = None

        Milvus.__module__ = "langchain_milvus.vectorstores"
        with pytest.raises(InvalidInputError, match="enable_dynamic_field=True"):
            _Milvus(Milvus(), known_store(Milvus(), LANGCHAIN))

    def test_a_table_without_a_column_for_metadata(self, postgres):
        pytest.importorskip(
            "langchain_postgres", reason="needs langchain-postgres, of the group `stores`"
        )
        from langchain_postgres import PGEngine, PGVectorStore

        engine = PGEngine.from_connection_string(
            postgres.replace("postgresql://", "postgresql+psycopg://")
        )
        engine.init_vectorstore_table("narrow", DIM, store_metadata=False)
        store = PGVectorStore.create_sync(engine, EMBEDDINGS, "narrow")
        with pytest.raises(InvalidInputError, match="store_metadata=True"):
            collection_of(store)


class TestTheRetriever:
    def test_a_collection_without_units_says_what_to_do(self, caplog):
        store = InMemoryVectorStore(EMBEDDINGS)
        store.add_texts(["The old ferry crossed the strait."])
        retriever = MultiGranularRetriever(vectorstore=store)
        assert retriever.invoke("ferry") == []
        assert "add_existing makes them of the rows that it holds" in caplog.text
        retriever.add_existing()
        assert retriever.invoke("ferry")[0].page_content == "The old ferry crossed the strait."

    def test_documents_by_their_facts(self):
        retriever = MultiGranularRetriever(
            vectorstore=InMemoryVectorStore(EMBEDDINGS),
            k=2,
            indexing={"propositionizer": PROPOSITIONIZER, "unsupported": "keep"},
        )
        name = retriever.add_documents(
            [Document(page_content="Ledger page 3 about rain.", metadata={"tenant": "a"})]
        )
        again = retriever.add_documents(
            [Document(page_content="Ledger page 4 about snow.", id="four")]
        )
        assert again == ["four"]
        [first, second] = retriever.invoke("the snow of page 4")
        assert first == Document(page_content="Ledger page 4 about snow.", id="four")
        assert [match["text"] for match in first.metadata["matches"]]
        assert second.id == name[0]
        assert retriever.invoke("snow", filter={"tenant": "a"}) == [second]
        retriever.delete(name)
        assert retriever.invoke("snow") == [first]

    async def test_awaited(self):
        retriever = MultiGranularRetriever(
            vectorstore=InMemoryVectorStore(EMBEDDINGS),
            indexing={"propositionizer": PROPOSITIONIZER},
        )
        await retriever.aadd_documents(
            [Document(page_content="Ledger page 4 about snow.", id="four")]
        )
        assert await retriever.ainvoke("snow") == retriever.invoke("snow")
