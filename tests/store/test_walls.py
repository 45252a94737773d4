"""What a filter excludes is in no answer in any form: random metadata for every unit, every option of a search."""

from __future__ import annotations

import numpy as np
import pytest

from factoid import UnitStore, Weights
from factoid.store import SearchOptions
from factoid.store.search import _granularities_with_vectors
from factoid.units import Granularity
from tests.faults.injected import CAMPAIGN
from tests.store.walls import (
    COMMON,
    KINDS,
    PASSAGE,
    Oracle,
    Recorder,
    agrame,
    allowed_words,
    asked,
    change,
    condition,
    filled,
    made_of,
    roll,
    vector,
    words_of,
)

pytest.importorskip("faiss")

INDEXES = ["Flat", "Flat", "HNSW8", "IVF2,Flat", "SQ8", "HNSW8,SQ8", "IVF1,RaBitQfs"]
SEARCHED = [KINDS, KINDS, ("sentence",), ("proposition",), ("passage", "proposition"), ("passage",)]


def options_of(dice, store, texts):
    """Return random options of a search, without filter."""
    kinds = list(store.granularities)
    granularity = dice.choice(
        [None, "mixed", dice.choice(kinds), dice.sample(kinds, dice.randrange(1, len(kinds) + 1))]
    )
    options = {
        "granularity": granularity,
        "parents": dice.choice(["auto", "passage", "document", "unit"]),
    }
    options["expand"] = dice.choice([0, 0, 1, 3])
    options["weights"] = dice.choice(
        [Weights(0, 0), Weights(0.4, 0), Weights(1, 0), Weights(0.4, 0.3)]
    )
    if dice.random() < 0.15:
        options["min_score"] = dice.uniform(-3, 3)
    extra = dice.random()
    if extra < 0.2:
        options["mmr"] = dice.random()
    elif extra < 0.4 and texts is not None:
        options["granularity"] = dice.choice([None, *kinds, "sentence", "proposition"])
        options["rerank"], options["candidates"] = Recorder(), dice.choice([1, 100])
    if texts is None:
        options["weights"] = Weights(options["weights"].passage, 0)
    elif dice.random() < 0.1:
        options["lexical"] = dice.choice([0.5, 1])
    return options


def check(store, chosen, dice):
    """Search with a filter and random options, and compare every answer with the oracle."""
    oracle = Oracle.of(store, chosen)
    allowed = allowed_words(oracle)
    expected_ids = [unit.id for unit in oracle.units.values() if oracle.is_open(unit)]
    assert store.ids(chosen) == expected_ids
    assert [unit.id for unit in store.get(list(oracle.units), filter=chosen)] == expected_ids
    for _ in range(4):
        forbidden = sorted(words_of(list(oracle.units.values())) - allowed)
        words = [*dice.sample(COMMON, 2), *dice.sample(forbidden, min(len(forbidden), 2))]
        texts = None if dice.random() < 0.3 else [" ".join(words)]
        options, k, query = (
            options_of(dice, store, texts),
            dice.choice([1, 2, 5, 100]),
            vector(dice),
        )
        present = {unit.granularity for unit in oracle.units.values() if unit.id in oracle.vectors}
        searched = (
            _granularities_with_vectors(store.opened)
            if options["granularity"] is None
            else list(store.granularities)
        )
        kinds = SearchOptions(**options).compared_granularities(searched)
        if not {*kinds} & present:
            continue
        ranker, read = agrame()
        if "rerank" in options and dice.random() < 0.5:
            options["rerank"] = Recorder(ranker)
        [hits] = store.search_batch_by_vector([query], k, texts=texts, filter=chosen, **options)
        context = (chosen, options, k, texts)
        # Nothing excluded, in any unit, text, neighbour, match or score, or before the reranker, or in what is made of hits.
        assert words_of(hits) <= allowed, context
        assert words_of(read) <= allowed, context
        assert words_of(made_of(hits)) <= allowed, context
        recorder = options.get("rerank")
        assert recorder is None or words_of(recorder.given) <= allowed, context
        for hit in hits:
            for part in (hit, *hit.matches):
                units = [part.unit, *part.neighbours]
                for unit in units:
                    if unit.granularity is Granularity.DOCUMENT:
                        assert oracle.is_open_document(unit.id), context
                    elif (
                        unit.id in oracle.units
                    ):  # others were cut by the reranker from what it was given
                        assert oracle.is_open(unit), context
        if recorder is None:
            check_answer(oracle, store, hits, kinds, options, k, query, context)
        elif (
            options["granularity"] in (None, *kinds)
            and options.get("lexical") != 1
            and recorder.ranker is None
        ):
            count = len({*groups(oracle, kinds, options["parents"])})
            least = options.get("min_score")
            assert len(hits) == min(k, count) or (least is not None and len(hits) < k), context


def groups(oracle, kinds, parents):
    """The parents that a search may return."""
    key = {
        "unit": lambda unit: unit.id,
        "passage": lambda unit: oracle.passage(unit).id,
        "auto": lambda unit: oracle.passage(unit).id,
        "document": lambda unit: unit.document_id,
    }[parents]
    return [key(unit) for unit in oracle.found(kinds)]


def check_answer(oracle, store, hits, kinds, options, k, query, context):
    """Compare the number of hits, their scores and their units with brute force."""
    weights, parents, least = options["weights"], options["parents"], options.get("min_score")
    kinds = [kind for kind in kinds if store.opened.indexes.states[kind].index is not None]
    words = options.get("lexical", weights.lexical)
    if words == 1:
        for hit in hits:
            assert hit.unit.granularity in (PASSAGE, Granularity.DOCUMENT), context
        return
    similarity = str(store.similarity)
    has_context = PASSAGE in store.granularities and (weights.passage > 0 or PASSAGE in kinds)
    scored = oracle.passage_scores(
        query, kinds, weights.passage, similarity, has_context=has_context
    )
    count = len({*groups(oracle, kinds, parents)})
    assert len({hit.unit.id for hit in hits}) == len(hits)
    assert len(hits) == min(k, count) or (least is not None and len(hits) < k), context
    for hit in hits:
        best = oracle.units[(hit.matches or (hit,))[0].unit.id]
        passage = oracle.passage(best)
        if parents != "document" and not oracle.is_open(
            passage
        ):  # no vector and no words of a closed passage
            assert "passage" not in hit.parts, context
            assert "lexical" not in hit.parts, context
        is_document = hit.unit.granularity is Granularity.DOCUMENT
        if parents == "auto" and is_document:  # in place of its only passage
            assert hit.unit.id == best.document_id, context
        elif parents in ("auto", "passage"):
            if oracle.is_open(passage):
                assert hit.unit.id == passage.id, context
            else:
                assert hit.unit.id in scored[passage.id][1], context
        if parents == "document":
            check_document(oracle, hit, scored, words, context)
    if words or least is not None or "mmr" in options:
        return
    if parents in ("auto", "passage"):
        totals = [score for score, _ in scored.values()]
    elif parents == "document":
        by_document = {}
        for key, (score, _) in scored.items():
            by_document.setdefault(oracle.units[key].document_id, []).append(score)
        totals = [max(scores) for scores in by_document.values()]
    else:
        totals = [
            unit_score(oracle, unit, query, kinds, weights.passage, similarity, has_context)
            for unit in oracle.found(kinds)
        ]
    expected = sorted(totals, reverse=True)[:k]
    np.testing.assert_allclose(
        [hit.score for hit in hits], expected, rtol=1e-4, atol=1e-4, err_msg=str(context)
    )


def check_document(oracle, hit, scored, words, context):
    """The document if it is open, else its best open passage, else its best unit."""
    document_id = hit.unit.document_id
    if oracle.is_open_document(document_id):
        assert hit.unit.granularity is Granularity.DOCUMENT, context
        return
    keys = [key for key in scored if oracle.units[key].document_id == document_id]
    open_keys = [
        key
        for key in keys
        if oracle.is_open(oracle.units[key]) and oracle.passage(oracle.units[key]).id == key
    ]
    if not open_keys:
        assert any(hit.unit.id in scored[key][1] for key in keys), context
    elif words:
        assert hit.unit.id in open_keys, context
    else:
        best = max(scored[key][0] for key in open_keys)
        assert scored[hit.unit.id][0] > best - 1e-4, context


def unit_score(oracle, unit, query, kinds, alpha, similarity, has_context):
    own, above = oracle.score(query, unit, similarity), oracle.passage(unit)
    if unit.granularity is PASSAGE or not has_context or [*kinds] == [PASSAGE]:
        return own
    known = above.granularity is PASSAGE and above.id in oracle.vectors and oracle.is_open(above)
    return (1 - alpha) * own + alpha * (oracle.score(query, above, similarity) if known else own)


def campaign(seed, filters):
    """Ask one store some filters, and change it after every few of them; return how many were asked."""
    dice = roll(seed)
    options = {"granularities": dice.choice(SEARCHED), "index": dice.choice(INDEXES)}
    options["similarity"] = dice.choice(["inner_product", "cosine"])
    with filled(dice, **options) as store:
        for number in range(filters):
            if not store.ids():
                return number
            check(store, condition(dice), dice)
            if number % 3 == 2:
                change(dice, store)
        return filters


@pytest.mark.parametrize("seed", range(20))
def test_nothing_that_a_filter_excludes_is_in_an_answer(seed):
    campaign(seed, 15)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_nothing_excluded_in_three_thousand_filters(part):
    filters = max(CAMPAIGN, 3000) // 10
    assert asked(campaign, 1000 * (1 + part), filters, each=20) == filters


@pytest.mark.parametrize("seed", range(4))
def test_readers_follow_what_another_store_changes(tmp_path, seed):
    dice = roll(seed)
    with (
        filled(dice, tmp_path / "s") as writer,
        UnitStore(tmp_path / "s", encoder=None, read_only=True) as reader,
    ):
        for _ in range(6):
            check(reader, condition(dice), dice)
            change(dice, writer)
            if not writer.ids():
                return
