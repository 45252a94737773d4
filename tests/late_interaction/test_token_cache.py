"""Stored token vectors: what comes back, how far it is off, and that nothing wrong is ever
scored.
"""

from __future__ import annotations

import multiprocessing
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from factoid import AnyGranularityRanker, Document, Granularity, UnitStore
from factoid.errors import InvalidInputError, StoreFormatError
from factoid.files import sqlite
from factoid.late_interaction import (
    LateInteractionEncoder,
    TokenVectorCache,
    TokenVectors,
    span_scores,
)
from factoid.store.token_cache import TOKENS
from factoid.testing import HashEncoder
from tests.late_interaction.test_rank import OSLO, PARIS, PASSAGES, VASA
from tests.late_interaction.word_vectors import WordVectors

QUERY = "where was anna born"
DTYPES = ["float32", "float16", "int8"]


def cached(path: Path, dtype="float16", **options) -> AnyGranularityRanker:
    return AnyGranularityRanker(WordVectors(), cache=TokenVectorCache(path, dtype=dtype), **options)


def sources(ranker: AnyGranularityRanker) -> tuple[int, int]:
    return ranker.last_report.encoded, ranker.last_report.stored


def change(file: Path, sql: str) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(sql)


def count(cache: TokenVectorCache) -> int:
    with closing(sqlite3.connect(cache.file)) as connection:
        return connection.execute("SELECT count(*) FROM token_vectors").fetchone()[0]


def test_a_full_disk_costs_the_cache_and_not_the_ranking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    expected = cached(tmp_path / "other").rank(QUERY, PASSAGES)

    def full(connection: sqlite3.Connection) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr("factoid.store.token_cache.sqlite.committing", full)
    ranker = cached(tmp_path / "tokens")
    assert ranker.rank(QUERY, PASSAGES) == expected
    assert sources(ranker) == (3, 0)
    assert "3 passages are not kept" in caplog.text


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_known_passage_is_not_encoded_again(tmp_path: Path, dtype) -> None:
    ranker = cached(tmp_path / "tokens", dtype)
    first = ranker.rank(QUERY, PASSAGES)
    assert sources(ranker) == (3, 0)
    assert ranker.encoder.encoded == PASSAGES
    assert ranker.rank(QUERY, PASSAGES) == first  # rounded on the first call, too
    assert sources(ranker) == (0, 3)
    again = cached(tmp_path / "tokens", dtype)
    again.rank(QUERY, [*PASSAGES, "A new one."])
    assert sources(again) == (1, 3)
    assert again.encoder.encoded == ["A new one."]
    assert count(again.cache) == 4


TOKENS_OF = st.tuples(st.integers(0, 6), st.integers(1, 9)).flatmap(
    lambda shape: st.tuples(
        arrays(np.float32, shape, elements=st.floats(-50, 50, width=32, allow_subnormal=False)),
        arrays(
            np.float32, (3, shape[1]), elements=st.floats(-50, 50, width=32, allow_subnormal=False)
        ),
    )
)


@given(case=TOKENS_OF, dtype=st.sampled_from(DTYPES))
def test_scores_are_within_the_stated_bound(
    tmp_path_factory: pytest.TempPathFactory, case, dtype
) -> None:
    """MaxSim moves by no more than its products: float16 rounds by 1/2048 of a component, int8 by
    1/254 of the largest.
    """
    vectors, query = case
    cache = TokenVectorCache(tmp_path_factory.mktemp("cache") / "tokens", dtype=dtype)
    spans = np.arange(2 * len(vectors)).reshape(-1, 2)
    text = "a passage of some words"
    cache.put("model", {text: (text, TokenVectors(vectors, spans, 3))})
    stored = cache.get("model", [text])[text]
    assert stored.windows == 3
    np.testing.assert_array_equal(stored.spans, spans)
    largest = np.abs(vectors).max(axis=1, initial=0, keepdims=True)
    bound = {
        "float32": 0 * largest,
        "float16": np.abs(vectors) / 2048 + 2.0**-25,
        "int8": largest / 254,
    }[dtype]
    errors = np.abs(stored.vectors.astype(float) - vectors)
    assert (errors <= bound * (1 + 1e-4)).all()
    if len(vectors):
        product = (np.abs(query) @ np.broadcast_to(bound, vectors.shape).T).max(axis=1).sum()
        slack = 1e-4 * (1 + np.abs(query @ vectors.T).max())
        everything = [np.ones(len(vectors), bool)]
        [rounded], [exact] = (
            span_scores(query @ tokens.T, everything) for tokens in (stored.vectors, vectors)
        )
        assert abs(rounded - exact) <= product + slack


def test_values_that_a_dtype_cannot_hold_are_refused(tmp_path: Path) -> None:
    huge = TokenVectors(np.full((1, 2), 1e6, np.float32), np.zeros((1, 2), np.int64), 1)
    with pytest.raises(InvalidInputError, match=r"up to 1e\+06 cannot be stored as float16"):
        TokenVectorCache(tmp_path / "a").put("model", {"text": ("text", huge)})
    broken = replace(huge, vectors=np.full((1, 2), np.nan, np.float32))
    with pytest.raises(InvalidInputError, match="cannot be stored as int8"):
        TokenVectorCache(tmp_path / "b", dtype="int8").put("model", {"text": ("text", broken)})


def test_headings_models_and_dtypes_have_their_own_entries(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    ranker = cached(path)
    plain, titled = Document(OSLO), Document(OSLO, title="People")
    ranker.rank(QUERY, [plain])
    [hit] = ranker.rank(QUERY, [titled], k=1)
    assert sources(ranker) == (1, 0)
    assert OSLO[hit.unit.start : hit.unit.end] == hit.unit.text
    assert cached(path).rank(QUERY, [titled], k=1) == [
        hit
    ]  # spans of stored tokens, too, count from the text
    exact = cached(path, "float32")
    exact.rank(QUERY, [plain])
    assert sources(exact) == (1, 0)
    other = cached(path)
    other.encoder.fingerprint = lambda: "other words"
    other.rank(QUERY, [plain])
    assert sources(other) == (1, 0)
    assert count(other.cache) == 4


def test_a_model_is_known_by_what_it_is(colbert: Path, tmp_path: Path) -> None:
    """A copy is the same model under another name, other weights in the same folder are not, nor is
    another limit.
    """
    import torch
    from sentence_transformers import MultiVectorEncoder

    copy = shutil.copytree(colbert, tmp_path / "copy")
    one, same = (
        LateInteractionEncoder(colbert, device="cpu"),
        LateInteractionEncoder(copy, device="cpu"),
    )
    one.encode_passages([VASA])
    assert one.fingerprint() == same.fingerprint()
    assert (
        LateInteractionEncoder(copy, device="cpu", max_tokens=20).fingerprint() != one.fingerprint()
    )
    model = MultiVectorEncoder(str(copy), device="cpu")
    with torch.no_grad():
        next(model.parameters()).view(-1)[7] += 1e-3
    assert LateInteractionEncoder(model).fingerprint() != one.fingerprint()
    model = MultiVectorEncoder(str(copy), device="cpu")
    model.prompts["document"] = "[unused2] "
    assert LateInteractionEncoder(model).fingerprint() != one.fingerprint()


def test_other_files_are_refused_and_left_alone(tmp_path: Path) -> None:
    text, foreign = tmp_path / "text", tmp_path / "foreign"
    text.write_text("no database, but long enough to have a header of its own" * 20)
    change(foreign, "CREATE TABLE things (name TEXT)")
    before = [file.read_bytes() for file in (text, foreign)]
    with pytest.raises(StoreFormatError, match="Delete it, and passages are encoded again"):
        cached(text).rank(QUERY, PASSAGES)
    with pytest.raises(StoreFormatError, match="is not a cache of token vectors of format 1"):
        cached(foreign).rank(QUERY, PASSAGES)
    assert [file.read_bytes() for file in (text, foreign)] == before


def test_dtypes_that_are_unknown() -> None:
    with pytest.raises(InvalidInputError, match="dtype must be one of"):
        TokenVectorCache("tokens", dtype="float64")


def test_a_file_that_cannot_be_written_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "tokens"
    expected = cached(file).rank(QUERY, PASSAGES[:2])
    monkeypatch.setattr(sqlite, "is_writable", lambda _: False)  # modes do not bind every user
    ranker = cached(file)
    assert ranker.rank(QUERY, PASSAGES[:2]) == expected
    assert sources(ranker) == (0, 2)
    ranker.rank(QUERY, PASSAGES)
    assert sources(ranker) == (1, 2)
    assert count(ranker.cache) == 2
    absent = cached(tmp_path / "absent")
    assert len(absent.rank(QUERY, PASSAGES)) == 6
    assert not absent.cache.file.exists()


def test_a_cache_is_filled_before_anything_is_asked(tmp_path: Path) -> None:
    ranker = cached(tmp_path / "tokens")
    texts = [f"Ship {number} sank." for number in range(300)]
    report = ranker.encode_passages(iter(texts), progress=True)
    assert (report.passages, report.encoded, report.stored) == (300, 300, 0)
    ranker.rank("ship", texts)
    assert sources(ranker) == (0, 300)
    with pytest.raises(InvalidInputError, match="no cache to fill"):
        AnyGranularityRanker(WordVectors()).encode_passages(texts)


def _fill(path: Path, first: int) -> None:
    cached(path).encode_passages([f"Ship {number} sank." for number in range(first, first + 40)])


def test_processes_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_fill, args=(path, first)) for first in (0, 20, 40)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert count(TokenVectorCache(path)) == 80


# In the folder of a store


def test_upkeep_of_a_store_with_token_vectors(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    with UnitStore(folder, encoder=HashEncoder()) as store:
        store.add_documents(
            [Document(text, id=str(place)) for place, text in enumerate(PASSAGES)], min_words=0
        )
        passages = [
            unit for unit in store.get(store.ids()) if unit.granularity is Granularity.PASSAGE
        ]
        assert store.stats()["token_bytes"] == 0
        ranker = AnyGranularityRanker(WordVectors(), cache=folder)
        ranker.encode_passages(passages)
        ranker.rank(QUERY, ["No passage of the store."])
        assert (count(ranker.cache), store.stats()["token_bytes"] > 0) == (4, True)
        assert store.verify() == []

        store.copy_to(tmp_path / "copy")
        assert not (tmp_path / "copy" / TOKENS).exists()

        store.delete(["1"])
        store.compact()
        assert count(ranker.cache) == 2
        ranker.rank(QUERY, [unit for unit in passages if unit.text != OSLO])
        assert sources(ranker) == (0, 2)
        assert PARIS in {unit.text for unit in passages}
        store.clear()
        assert count(ranker.cache) == 0
