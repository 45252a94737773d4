"""Search with `rerank="tokens"`.

The best passages are compared with the query token by token, by the store's own encoder. A
passage's similarity is MaxSim (Khattab and Zaharia, 2020): the mean, over the query's tokens, of
the largest inner product with a token of the passage. It is brought to the mean and the spread of
the candidates' scores by the search, and counts as much as these. Alone it would lose what words
and propositions know.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import compress

import numpy as np

from factoid.encode import TokenVectorEncoder, Vectors, token_vector_encoder
from factoid.errors import InvalidInputError
from factoid.heading_template import encoded_text
from factoid.inner_products import products
from factoid.store.database.snapshot import Snapshot
from factoid.store.filter_wall import Wall
from factoid.store.indexes.state import IndexState
from factoid.store.opened import OpenedStore
from factoid.store.options import BY_TOKENS
from factoid.store.rerank import with_expansion
from factoid.store.search import Queries, search_snapshot, wall_of
from factoid.units import Granularity, Hit, Unit

TOKEN_CANDIDATES = 50  # fewer passages, since the tokens of each are encoded
UNITS_EACH = 3  # candidates of a search for units, for each passage that is read
_REMEMBERED = 1000  # passages whose token vectors are kept during a call, for its other queries

Candidate = tuple[Hit, Unit]
"""A hit of the search, and the passage that is compared for it."""


def token_reranked_search(store: OpenedStore, queries: Queries) -> list[list[Hit]]:
    """Return the k best hits for each query.

    Their score is half that of the search, and half the similarity of tokens. The model runs after
    the search has ended, so neither writes nor other searches wait for it.

    Raises:
        InvalidInputError: There is no text, or the encoder gives no vectors of tokens.
    """
    if queries.texts is None:
        raise InvalidInputError(
            "rerank needs the text of the query: give text, or leave rerank out"
        )
    encoder = queries.options.rerank
    if not isinstance(encoder, TokenVectorEncoder):
        encoder = token_vector_encoder(store.encoder)
    template = store.template
    candidates = store.indexes.with_current(queries.indexes, partial(_candidates, queries))
    tokens: OrderedDict[str, Vectors] = OrderedDict()
    results = []
    for text, pairs in zip(queries.texts, candidates, strict=True):
        hits = ranked_by_tokens(encoder, text, pairs, template, tokens)
        least = queries.options.min_score
        if least is not None:
            hits = [hit for hit in hits if hit.score >= least]
        results.append(hits[: queries.k])
    return with_expansion(store, queries, results)


def _candidates(
    queries: Queries, snapshot: Snapshot, states: Sequence[IndexState]
) -> list[list[Candidate]]:
    """Return the best hits of the search for each query, each with its passage.

    There are as many hits as have so many passages.
    """
    wall = wall_of(queries, snapshot, states)
    most = max(queries.k, queries.options.candidates or TOKEN_CANDIDATES)
    count = most
    if queries.options.parents == "unit":
        count = most * UNITS_EACH
    options = replace(queries.options, min_score=None, expand=0, rerank=None)
    wider = replace(queries, k=count, options=options)
    results = search_snapshot(wider, wall, snapshot, states)

    above: set[str] = set()
    for hits in results:
        for hit in hits:
            unit = compared_unit(hit)
            if unit.granularity is not Granularity.PASSAGE:
                above.add(unit.parent_id)
    passages = {unit.id: unit for unit in _open_units(snapshot, wall, sorted(above))}

    return [with_passages(hits, passages, most, queries.k) for hits in results]


def with_passages(
    hits: Sequence[Hit], passages: Mapping[str, Unit], most: int, k: int
) -> list[Candidate]:
    """Return hits with the passages that are read for them: at most so many, of at least k hits.

    Passages come by id; a hit whose passage is not there is read itself.
    """
    pairs: list[Candidate] = []
    read: set[str] = set()
    for hit in hits:
        unit = compared_unit(hit)
        passage = passages.get(unit.parent_id, unit)
        if passage.document_id != unit.document_id:
            passage = unit  # the passage that a unit names may be of another document
        if passage.id in read or len(read) < most or len(pairs) < k:
            read.add(passage.id)
            pairs.append((hit, passage))
    return pairs


def compared_unit(hit: Hit) -> Unit:
    """Return the unit of a hit; for a document, the one that matched best."""
    if hit.unit.granularity is Granularity.DOCUMENT:
        return hit.matches[0].unit
    return hit.unit


def _open_units(snapshot: Snapshot, wall: Wall | None, ids: Sequence[str]) -> list[Unit]:
    """Return those of some units that a wall leaves open."""
    if wall is None:
        return snapshot.units_by_id(ids)
    names, rows, metadata = snapshot.unit_metadata(ids)
    allowed = compress(names, wall.allowed(rows, metadata).tolist())
    return wall.shown(snapshot, snapshot.units_by_id(list(allowed)))


def ranked_by_tokens(
    encoder: TokenVectorEncoder,
    query: str,
    pairs: Sequence[Candidate],
    template: str,
    tokens: OrderedDict[str, Vectors],
) -> list[Hit]:
    """Return hits by the mean of their score and the similarity of their passage, best first.

    `tokens` keeps the vectors of the latest texts.
    """
    texts = [encoded_text(passage, template) for _, passage in pairs]
    return _mixed([hit for hit, _ in pairs], _similarities(encoder, query, texts, tokens))


def _similarities(
    encoder: TokenVectorEncoder, query: str, texts: Sequence[str], tokens: OrderedDict[str, Vectors]
) -> Vectors:
    """Return the MaxSim of the query with each text.

    `tokens` keeps the vectors of the latest texts. Shape: (texts,).
    """
    [of_query] = encoder.encode_query_tokens([query])
    missing = [text for text in dict.fromkeys(texts) if text not in tokens]
    if missing:
        tokens.update(zip(missing, encoder.encode_unit_tokens(missing), strict=True))
    similarities = np.zeros(len(texts), np.float32)
    for place, text in enumerate(texts):
        tokens.move_to_end(text)
        if len(of_query) and len(tokens[text]):
            similarities[place] = products(of_query, tokens[text].T).max(axis=1).mean()
    while len(tokens) > _REMEMBERED:
        tokens.popitem(last=False)
    return similarities


def _mixed(hits: Sequence[Hit], similarities: Vectors) -> list[Hit]:
    """Return hits by the mean of their score and their similarity, best first.

    Similarities are brought to the scale of the scores.
    """
    if not hits:
        return []
    scores = np.array([hit.score for hit in hits])
    spread = float(similarities.std())
    factor = float(scores.std()) / spread if spread > 0 else 0.0
    scaled = scores.mean() + factor * (similarities - similarities.mean(dtype=np.float64))
    averaged = []
    for hit, similarity in zip(hits, scaled.tolist(), strict=True):
        parts = {**hit.parts, BY_TOKENS: similarity}
        averaged.append(replace(hit, score=(hit.score + similarity) / 2, parts=parts))
    return sorted(averaged, key=lambda hit: -hit.score)
