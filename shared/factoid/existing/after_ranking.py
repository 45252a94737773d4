"""Choose among the hits of a search, order them again, and add what stands around them.

What models read is in the rows of the store; vectors are made again from it, by the encoder that
made those in the store. Neighbours come by a filter on the document, or by the ids that the
document's own row names.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from factoid.encode import Encoder, TokenVectorEncoder, to_matrix, token_vector_encoder
from factoid.existing.collection import Get, Steps
from factoid.existing.contract import DOCUMENT, PASSAGE, PASSAGES, Row, is_unit, row_id, to_unit
from factoid.existing.loop import PER_CALL, every_row
from factoid.existing.plan import Plan
from factoid.existing.search import Answer, search, stored_documents
from factoid.filters import Comparison, Operator
from factoid.heading_template import EMBED_TEMPLATE, encoded_text
from factoid.ranking import diverse_places
from factoid.store import rerank, token_rerank
from factoid.store.rerank import RerankCandidates, ranked_hits
from factoid.store.search import cut_sentences
from factoid.store.token_rerank import compared_unit, ranked_by_tokens, with_passages
from factoid.units import Granularity, Hit, Unit, document_unit


def refined_search(
    plan: Plan, encoder: Encoder | None, available: Sequence[Granularity]
) -> Steps[Answer]:
    """Return the k best parents, as the options of the plan order and show them.

    Args:
        plan: The search.
        encoder: That of the store.
        available: The granularities that the store searches.
    """
    options = plan.options
    if options.mmr is not None and encoder is not None:
        answer = yield from _diverse(plan, options.mmr, encoder)
    elif options.by_tokens:
        answer = yield from _by_tokens(plan, encoder)
    elif options.rerank is not None:
        answer = yield from _reranked(plan, available)
    else:
        answer = yield from search(plan)
    if options.expand:
        hits = yield from _expanded(plan, answer.hits, options.expand, available)
        answer = replace(answer, hits=hits)
    return answer


# -- Maximal marginal relevance --


def _diverse(plan: Plan, lambda_mult: float, encoder: Encoder) -> Steps[Answer]:
    """Return k of the `fetch_k` best hits that are near the question, and far from one another."""
    answer = yield from search(replace(plan, k=max(plan.k, plan.options.fetch_k)))
    if not answer.hits or plan.question.vector is None:
        return answer
    texts = []
    for hit in answer.hits:
        unit = hit.unit
        if hit.matches:
            unit = hit.matches[0].unit
        texts.append(encoded_text(unit, EMBED_TEMPLATE))
    vectors = to_matrix(encoder.encode_units(texts), len(texts))
    places = diverse_places(vectors, plan.question.vector, plan.k, lambda_mult=lambda_mult)
    return replace(answer, hits=[answer.hits[place] for place in places])


# -- Rerankers --


def _by_tokens(plan: Plan, encoder: Encoder | None) -> Steps[Answer]:
    """Return the k best hits by their score and the similarity of their passage's tokens."""
    options = plan.options
    by_token = options.rerank
    if not isinstance(by_token, TokenVectorEncoder):
        by_token = token_vector_encoder(encoder)
    most = max(plan.k, options.candidates or token_rerank.TOKEN_CANDIDATES)
    count = most
    if plan.ranked == "unit":
        count = most * token_rerank.UNITS_EACH
    answer = yield from search(replace(plan, k=count, min_score=None))
    passages = yield from _passages_above(map(compared_unit, answer.hits))
    pairs = with_passages(answer.hits, passages, most, plan.k)
    hits = ranked_by_tokens(by_token, plan.question.text, pairs, EMBED_TEMPLATE, OrderedDict())
    if plan.min_score is not None:
        hits = [hit for hit in hits if hit.score >= plan.min_score]
    return replace(answer, hits=hits[: plan.k])


def _passages_above(units: Iterable[Unit]) -> Steps[dict[str, Unit]]:
    """Return the passages of units that are finer, by id."""
    names = []
    for unit in units:
        if unit.granularity not in (Granularity.PASSAGE, Granularity.DOCUMENT):
            names.append(unit.parent_id)
    rows: list[Row] = yield Get([row_id(name) for name in dict.fromkeys(names)])
    return {str(row.metadata[PASSAGE]): to_unit(row) for row in rows}


def _reranked(plan: Plan, available: Sequence[Granularity]) -> Steps[Answer]:
    """Return the k best hits by a reranker, of the best passages of the search."""
    options = plan.options
    granularity = options.ranked_granularity(available)
    most = max(plan.k, options.candidates or rerank.RERANKER_CANDIDATES)
    first = replace(plan, k=most, parents="passage", min_score=None)
    if plan.parents == "auto":
        first = replace(first, parents="auto")
    answer = yield from search(first)
    hits = answer.hits
    if plan.parents == "document":
        others = yield from search(replace(first, k=plan.k, parents="document"))
        known = {hit.unit.document_id for hit in hits}
        new = [hit for hit in others.hits if hit.unit.document_id not in known]
        hits = [*hits, *new]

    # -- Passages in place of documents, which may come back --
    documents: dict[str, Unit] = {}
    compared = []
    for hit in hits:
        if hit.unit.granularity is Granularity.DOCUMENT:
            documents[hit.unit.id] = hit.unit
            if hit.matches:
                hit = replace(hit, unit=hit.matches[0].unit)
        compared.append(hit)
    passages = yield from _passages_above(hit.unit for hit in compared)
    hits = [replace(hit, unit=passages.get(hit.unit.parent_id, hit.unit)) for hit in compared]
    if plan.parents == "document":
        stored = yield from stored_documents([hit.unit.document_id for hit in hits])
        documents = {name: document_unit(record.document) for name, record in stored.items()}
    candidates = RerankCandidates([hits], documents=documents)

    # -- The units that are ranked; a reranker cuts those that the store does not hold --
    if granularity in available and granularity is not Granularity.PASSAGE:
        names = [hit.unit.id for hit in hits]
        below = yield from _units_under(plan, names, granularity)
        candidates.units = {hit.unit.id: below.get(hit.unit.id, [hit.unit]) for hit in hits}
    ranked = ranked_hits(
        plan.question.text, options, plan.k, granularity, hits, candidates, embed_metadata=()
    )
    return replace(answer, hits=ranked)


def _units_under(
    plan: Plan, passages: Sequence[str], granularity: Granularity
) -> Steps[dict[str, list[Unit]]]:
    """Return the units of a granularity under some passages, in order of the text."""
    below: dict[str, list[Unit]] = {}
    only = Comparison(PASSAGE, Operator.IN, list(passages))
    if not passages or not plan.limits.filters:
        return below
    rows = yield from every_row(
        plan.question,
        only,
        [granularity],
        plan.row_filter,
        plan.limits,
        at_first=PER_CALL * len(passages),
    )
    for unit in _in_order(rows.rows.values()):
        below.setdefault(unit.parent_id, []).append(unit)
    return below


def _in_order(rows: Iterable[Row]) -> list[Unit]:
    return sorted(map(to_unit, rows), key=lambda unit: (unit.start, unit.end, unit.id))


# -- Neighbours --


def _expanded(
    plan: Plan, hits: Sequence[Hit], count: int, available: Sequence[Granularity]
) -> Steps[list[Hit]]:
    """Return hits with their neighbours, as a store of ours has them."""
    names = list(dict.fromkeys(hit.unit.document_id for hit in hits))
    units = yield from _units_of(plan, names, available)
    return [_with_neighbours(hit, units.get(hit.unit.document_id, []), count) for hit in hits]


def _units_of(
    plan: Plan, documents: Sequence[str], available: Sequence[Granularity]
) -> Steps[dict[str, list[Unit]]]:
    """Return the passages and sentences of documents, in order of the text.

    Passages alone come by a filter, where the store has one and returns all of them; each row says
    how many its document has.
    """
    rows: dict[str, list[Row]] = {name: [] for name in documents}
    if plan.limits.filters and documents and Granularity.SENTENCE not in available:
        listing = yield from every_row(
            plan.question,
            Comparison(DOCUMENT, Operator.IN, list(documents)),
            [Granularity.PASSAGE],
            plan.row_filter,
            plan.limits,
            at_first=PER_CALL * len(documents),
        )
        for row in listing.rows.values():
            rows[str(row.metadata[DOCUMENT])].append(row)
    incomplete = []
    for name, of_document in rows.items():
        if not of_document or len(of_document) < int(of_document[0].metadata[PASSAGES]):
            incomplete.append(name)
    stored = yield from stored_documents(incomplete)
    ids: list[str] = []
    for name, record in stored.items():
        rows[name] = []
        ids += record.unit_ids
    others: list[Row] = yield Get(ids)
    for row in others:
        if is_unit(row) and str(row.metadata[DOCUMENT]) in stored:
            rows[str(row.metadata[DOCUMENT])].append(row)
    return {name: _in_order(of_document) for name, of_document in rows.items()}


def _with_neighbours(hit: Hit, units: Sequence[Unit], count: int) -> Hit:
    """Return a hit with its neighbours.

    A parent's are those of its matches, unless only itself matched.
    """
    if any(match.unit.id != hit.unit.id for match in hit.matches):
        matches = []
        for match in hit.matches:
            if match.unit.id != hit.unit.id:
                match = _with_neighbours(match, units, count)
            matches.append(match)
        return replace(hit, matches=tuple(matches))
    passages = [unit for unit in units if unit.granularity is Granularity.PASSAGE]
    if hit.unit.granularity is Granularity.PASSAGE:
        return replace(hit, neighbours=tuple(_around(hit.unit, passages, count)))
    sentences = [unit for unit in units if unit.granularity is Granularity.SENTENCE]
    neighbours = _around(hit.unit, sentences, count)
    if not neighbours:  # they are not stored
        neighbours = cut_sentences(_around(hit.unit, passages, count), hit.unit, count)
    return replace(hit, neighbours=tuple(neighbours))


def _around(unit: Unit, others: Sequence[Unit], count: int) -> list[Unit]:
    """Return the units that overlap one, and so many before and after, in order of the text."""
    before = [other for other in others if other.end <= unit.start]
    after = [other for other in others if other.start >= unit.end]
    within = []
    for other in others:
        if other.end > unit.start and other.start < unit.end:
            within.append(other)
    return [*before[-count:], *within, *after[:count]]
