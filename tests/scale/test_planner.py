"""What docs/scale.md says of PostgreSQL: without statistics it compares all rows, whatever index there is."""

from __future__ import annotations

import re

import pytest

KIND = "(cmetadata ->> 'factoid_granularity') IN ('proposition')"
UNDER = "(cmetadata ->> 'factoid_passage') IN ('p7', 'p8', 'p9')"
ROWS = 12_000
# That of all tests: langchain_postgres declares its table once in a process, dimension included.
DIM = 64


@pytest.fixture
def connection(postgres):
    psycopg = pytest.importorskip("psycopg", reason="needs psycopg, of the group `stores`")
    pytest.importorskip("langchain_postgres", reason="needs langchain-postgres")
    from langchain_postgres import PGVector

    from factoid.testing import HashEncoder
    from langchain_factoid import EncoderEmbeddings

    with psycopg.connect(postgres, autocommit=True) as admin:
        admin.execute("CREATE DATABASE planner")
    address = postgres.replace("/postgres?", "/planner?")
    vectors = PGVector(
        EncoderEmbeddings(HashEncoder(DIM)),
        connection=address.replace("postgresql://", "postgresql+psycopg://"),
        embedding_length=DIM,
    )
    vectors._engine.dispose()
    with psycopg.connect(address, autocommit=True) as opened:
        opened.execute(
            """INSERT INTO langchain_pg_embedding (id, collection_id, embedding, cmetadata)
            SELECT n::text, (SELECT uuid FROM langchain_pg_collection LIMIT 1),
                (SELECT array_agg(random()) FROM generate_series(1, %s + 0 * n))::vector,
                jsonb_build_object('factoid_passage', 'p' || n / 6, 'factoid_granularity',
                    CASE n %% 6 WHEN 0 THEN 'passage' ELSE 'proposition' END)
            FROM generate_series(1, %s) AS n""",
            [DIM, ROWS],
        )
        opened.execute(
            "CREATE INDEX hnsw ON langchain_pg_embedding USING hnsw (embedding vector_cosine_ops)"
        )
        opened.execute("SET hnsw.iterative_scan = 'strict_order'")
        opened.execute("ANALYZE langchain_pg_embedding")
        yield opened


def scan(connection, condition):
    """Return how PostgreSQL reads the rows for a search with a condition."""
    sql = f"""EXPLAIN SELECT id FROM langchain_pg_embedding
        WHERE collection_id = (SELECT uuid FROM langchain_pg_collection LIMIT 1) AND {condition}
        ORDER BY embedding <=> array_fill(0.5, ARRAY[{DIM}])::vector LIMIT 200"""
    return "\n".join(line for (line,) in connection.execute(sql).fetchall())


def test_filters_leave_the_index_aside_without_statistics(connection):
    assert "Seq Scan on langchain_pg_embedding" in scan(connection, KIND)
    assert "Seq Scan on langchain_pg_embedding" in scan(connection, f"{KIND} AND {UNDER}")
    connection.execute(
        "CREATE INDEX passages ON langchain_pg_embedding ((cmetadata ->> 'factoid_passage'))"
    )
    connection.execute(
        "CREATE STATISTICS facts ON (cmetadata ->> 'factoid_granularity') "
        "FROM langchain_pg_embedding"
    )
    connection.execute("ANALYZE langchain_pg_embedding")
    assert "Index Scan using hnsw" in scan(connection, KIND)
    # A bitmap of the index, or the index itself: that depends on how many rows a page holds.
    plan = scan(connection, f"{KIND} AND {UNDER}")
    assert re.search(r"Index Scan (on|using) passages", plan), plan
