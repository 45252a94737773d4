"""A search over one generation of a store: what may be asked, and the way from query vectors to hits."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Any, Literal, Self, SupportsFloat, get_args

import numpy as np

from factoid._optional import require
from factoid.encode import Encoder, Vectors
from factoid.errors import InvalidInputError
from factoid.filters import Filter
from factoid.index import RowIds, Similarity, VectorIndex, prepare
from factoid.index.lexical import QueryWords, has_tantivy
from factoid.index.parameters import NAMES
from factoid.search import (
    LEXICAL,
    Fusion,
    Group,
    Level,
    LexicalScores,
    View,
    Weights,
    best_blended,
    best_by_words,
    best_fused,
    best_groups,
    diverse_groups,
)
from factoid.store.database.records import DamagedRowError
from factoid.store.database.snapshot import Snapshot
from factoid.store.indexes.views import IndexState, Mask
from factoid.units import Granularity, Hit, Unit, check_text

Parents = Literal["passage", "document", "unit"]
MIXED = "mixed"
FINEST_FIRST = (Granularity.PROPOSITION, Granularity.SENTENCE, Granularity.PASSAGE)
_ROW = attrgetter("row")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """What a search may be told beside the query and k.

    Attributes:
        granularity: The units that are compared with the query: one granularity, several, or "mixed" for all. None for
            propositions, else the finest that the store searches.
        parents: What hits are: the k best distinct passages, each with the units that made it a hit in `matches`; the k
            best distinct documents; or the units themselves.
        filter: Conditions on metadata, applied before the search (see `factoid.filters`).
        document_ids: Only units of these documents.
        unit_ids: Only these units and those right under them.
        min_score: Only hits with at least this score.
        weights: What the passage and the query's words count in a hit's score, beside the units that are compared. None for
            the store's (`Weights()`, unless it was tuned), without words where the query has no text or tantivy is not
            installed; `Weights(0, 0)` for the units alone.
        lexical: The share of words, in place of that of `weights`: from 0, vectors alone, to 1, BM25 alone, which needs no
            encoder and finds passages.
        fusion: Compare the units alone, and fuse several granularities in place of weighing them: "rrf" (reciprocal rank
            fusion; Cormack et al., 2009) or "max".
        mmr: Choose by maximal marginal relevance: weight of the nearness to the query, from 0 (only diversity counts) to 1
            (it does not), among the `fetch_k` best hits (at least k).
        fetch_k: See `mmr`.
        expand: Put into `neighbours` so many sentences before and after each matched fact, with those it stands in; around
            a passage, passages.
        parameters: For approximate indexes, such as {"nprobe": 32} or {"efSearch": 128}; each takes those that it knows.
        refine: For compressed indexes: so many candidates per hit are scored again exactly.

    Raises:
        InvalidInputError: An option is out of its range; says which, and what it takes.
    """

    granularity: str | Sequence[str] | None = None
    parents: str = "passage"
    filter: Filter | None = None
    document_ids: Sequence[str] | None = None
    unit_ids: Sequence[str] | None = None
    min_score: float | None = None
    weights: Weights | None = None
    lexical: float | None = None
    fusion: Fusion | None = None
    mmr: float | None = None
    fetch_k: int = 20
    expand: int = 0
    parameters: Mapping[str, Any] | None = None
    refine: int | None = None

    def __post_init__(self) -> None:
        if self.parents not in get_args(Parents):
            message = f"parents must be 'passage', 'document' or 'unit', got {self.parents!r}"
            raise InvalidInputError(message)
        if not isinstance(self.weights, Weights | None):
            message = f"weights must be None or factoid.Weights(passage=..., lexical=...), got {self.weights!r}"
            raise InvalidInputError(message)
        if self.lexical is not None:
            Weights(lexical=self.lexical)  # refuses what is out of range
        if self.fusion is not None:
            if self.fusion not in get_args(Fusion):
                message = f"fusion must be 'rrf' or 'max', got {self.fusion!r}"
                raise InvalidInputError(message)
            if self.weights is not None or self.lexical is not None:
                message = "fusion ranks units alone, without weights and lexical: leave one of them out"
                raise InvalidInputError(message)
        for name, value in (("mmr", self.mmr), ("min_score", self.min_score)):
            if value is not None and (not isinstance(value, SupportsFloat) or math.isnan(value)):
                message = f"{name} must be a number, got {value!r}"
                raise InvalidInputError(message)
        if self.mmr is not None and not 0 <= self.mmr <= 1:
            message = f"mmr must be from 0 (only diversity counts) to 1 (it does not), got {self.mmr!r}"
            raise InvalidInputError(message)
        for name, least in (("expand", 0), ("fetch_k", 1), ("refine", 1)):
            value = getattr(self, name)
            if value is not None and not (type(value) is int and value >= least):
                object.__setattr__(self, name, whole_number(name, value, least=least))
        if self.parameters is not None and not isinstance(self.parameters, Mapping):
            message = f'parameters must be a dict such as {{"nprobe": 32}}, got {self.parameters!r}'
            raise InvalidInputError(message)
        for name in ("document_ids", "unit_ids"):
            ids = getattr(self, name)
            if ids is None:
                continue
            if isinstance(ids, str) or not isinstance(ids, Iterable):
                message = f"{name} must be a list of ids, got {ids!r}"
                raise InvalidInputError(message)
            object.__setattr__(self, name, list(ids))  # iterators, too, are read more than once

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """Return options given by name.

        Raises:
            TypeError: An option that no search has.
            InvalidInputError: See the class.
        """
        try:
            return cls(**options)
        except TypeError:
            known = {field.name for field in fields(cls)}
            if options.keys() <= known:
                raise
            message = f"unknown options {sorted(options.keys() - known)} of a search: expected some of {sorted(known)}"
            raise TypeError(message) from None

    def blend(self, default: Weights, *, has_texts: bool) -> Weights | None:
        """Return what each channel counts, None where units are fused.

        Raises:
            InvalidInputError: Words are to count, and there is no text to take them from.
            MissingDependencyError: Words are to count, and tantivy is not installed.
        """
        if self.fusion is not None:
            return None
        weights = self.weights
        if self.lexical is not None:
            weights = replace(weights or default, lexical=self.lexical)
        elif weights is None:
            weights = _usable(default, has_texts=has_texts)
        if not weights.lexical:
            return weights
        if not has_texts:
            message = f"lexical={weights.lexical} needs the text of the query: give text, or lexical=0"
            raise InvalidInputError(message)
        require("tantivy", extra="lexical")
        if weights.lexical == 1 and self.mmr is not None:
            message = "mmr compares vectors, and lexical=1 searches by words alone: lower lexical, or leave mmr out"
            raise InvalidInputError(message)
        return weights

    def kinds(self, searched: Sequence[Granularity]) -> list[Granularity]:
        """Return the granularities to compare with the query.

        Raises:
            InvalidInputError: None, an unknown one, or one that the store does not search.
        """
        if self.granularity is None:
            return [next(kind for kind in FINEST_FIRST if kind in searched)]
        if self.granularity == MIXED:
            return list(searched)
        names = [self.granularity] if isinstance(self.granularity, str) else self.granularity
        if not isinstance(names, Iterable):
            message = f"granularity must be one of {', '.join(searched)}, a list of them, or {MIXED!r}, got {names!r}"
            raise InvalidInputError(message)
        kinds = list(dict.fromkeys(map(Granularity, names)))
        if not kinds or not set(kinds) <= set(searched):
            missing = next((f"it has no index of {kind}s" for kind in kinds if kind not in searched), None)
            message = f"this store searches {', '.join(searched)}: {missing or 'name one, or several'}"
            raise InvalidInputError(message)
        return kinds


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for, and by what: made before indexes are brought up to date, as it tells which ones are needed.

    Attributes:
        vectors: Shape: (n, dim); None where words count alone.
        texts: The questions; None where only vectors are known.
        k: How many distinct hits for each.
        options: What else the search was told.
        searched: The granularities that are compared.
        weights: What each channel counts; None where units are fused.
    """

    vectors: Vectors | None
    texts: Sequence[str] | None
    k: int
    options: SearchOptions
    searched: Sequence[Granularity]
    weights: Weights | None

    @classmethod
    def of(
        cls,
        options: SearchOptions,
        texts: Sequence[str] | None,
        vectors: Vectors | None,
        k: int,
        granularities: Sequence[Granularity],
        encoder: Encoder | None,
        weights: Weights,
    ) -> Self:
        """Return a checked query, by these weights if it names none; encode texts whose vectors are not given."""
        searched, k = options.kinds(granularities), whole_number("k", k)
        for text in texts or ():
            check_text(text, "query")
        blend = options.blend(weights, has_texts=texts is not None)
        if blend is not None and blend.lexical == 1:
            vectors = None
        elif vectors is None:
            vectors = _encoded(encoder, texts or ())
        return cls(vectors, texts, k, options, searched, blend)

    def indexes(self, granularities: Sequence[Granularity]) -> list[str]:
        """Return the names of the indexes that are needed, of a store that has vectors of some granularities."""
        names: list[str] = [] if self.vectors is None else list(self.searched)
        if self.weights is None:
            return names
        if names and self.weights.passage and Granularity.PASSAGE in granularities and Granularity.PASSAGE not in names:
            names.append(Granularity.PASSAGE)
        return [*names, LEXICAL] if self.weights.lexical else names


def find(query: Query, snapshot: Snapshot, states: Sequence[IndexState[Any]]) -> list[list[Hit]]:
    """Return the k best hits for each query in a snapshot and the indexes it needs, of the same generation."""
    options, weights = query.options, query.weights
    filtered = not (options.filter is None and options.document_ids is None and options.unit_ids is None)
    level: Level = options.parents  # type: ignore[assignment]  # checked
    views: dict[str, View] = {}
    masks: dict[Granularity, Mask] = {}
    lexical: LexicalScores | None = None
    highest = math.inf
    for state in states:
        if state.index is None:
            continue
        mask: Mask | None = None
        if filtered and (state.granularity in query.searched or query.vectors is None):
            mask = state.selection(snapshot, options.filter, options.document_ids, options.unit_ids)
        if state.granularity == LEXICAL:
            lexical = QueryWords(state.index, query.texts or ())
            if query.vectors is None:
                ranked = best_by_words(
                    lexical,
                    len(query.texts or ()),
                    query.k,
                    state.columns,
                    level=level,
                    allowed=mask,
                    min_score=options.min_score,
                )
                return _with_surroundings(snapshot, ranked, options, 1.0)
            continue
        kind = Granularity(state.granularity)
        views[kind] = View(kind, state.index, state.columns, partial(_exact, state.index, snapshot))
        if mask is not None:
            masks[kind] = mask
        if state.index.similarity is Similarity.COSINE:
            highest = 1.0  # float32 rounds some cosines beyond it
    searched = [views[kind] for kind in query.searched if kind in views]
    if query.vectors is None:
        return [[] for _ in query.texts or ()]
    if not searched:
        return [[] for _ in query.vectors]
    queries = searched[0].index.prepare(query.vectors)  # all compare vectors in the same way
    parameters = _parameters(views.values(), options.parameters) if options.parameters else {}
    limit = query.k if options.mmr is None else max(query.k, options.fetch_k)
    common: dict[str, Any] = {"level": level, "refine": options.refine, "min_score": options.min_score}
    kind = searched[0].granularity
    context = (
        weights is not None and weights.passage and kind is not Granularity.PASSAGE and Granularity.PASSAGE in views
    )
    alone = len(searched) == 1 and not context and lexical is None
    if weights is not None and not alone:
        groups = best_blended(
            searched,
            views.get(Granularity.PASSAGE),
            queries,
            limit,
            weights=weights,
            lexical=lexical,
            allowed=masks,
            parameters=parameters,
            **common,
        )
    elif alone:
        groups = best_groups(
            searched[0], queries, limit, allowed=masks.get(kind), parameters=parameters.get(kind), **common
        )
        groups = [[group._replace(parts={str(kind): group.score}) for group in best] for best in groups]
    else:
        groups = best_fused(
            searched, queries, limit, method=options.fusion or "rrf", allowed=masks, parameters=parameters, **common
        )
    if options.mmr is not None:
        groups = [
            diverse_groups(searched, vector, best, query.k, lambda_mult=options.mmr)
            for vector, best in zip(queries, groups, strict=True)
        ]
    return _with_surroundings(snapshot, groups, options, highest)


def _usable(weights: Weights, *, has_texts: bool) -> Weights:
    """Return the weights of a search that names none, without words where they cannot be searched."""
    if not weights.lexical:
        return weights
    if not has_texts:
        return replace(weights, lexical=0)
    if not has_tantivy():
        message = (
            'this search weighs vectors alone. To weigh the words of the query as well: pip install "factoid[lexical]"; to '
            "do without them: lexical=0"
        )
        warnings.warn(message, stacklevel=2)  # Python shows it once
        return replace(weights, lexical=0)
    return weights


def _encoded(encoder: Encoder | None, queries: Sequence[str]) -> Vectors:
    if encoder is None:
        message = "this store has no encoder: use search_by_vector, or give UnitStore an encoder"
        raise InvalidInputError(message)
    return np.asarray(encoder.encode_queries(queries), np.float32)


def _with_surroundings(
    snapshot: Snapshot, groups: Sequence[Sequence[Group]], options: SearchOptions, highest: float
) -> list[list[Hit]]:
    hits = _hits(snapshot, groups, options.parents, highest)
    if not options.expand:
        return hits
    return [[_with_neighbours(snapshot, hit, options.expand) for hit in best] for best in hits]


def _exact(index: VectorIndex, snapshot: Snapshot, ids: RowIds) -> Vectors:
    """Return exact vectors as they are compared, from the index or else the database. Shape: (n, dim)."""
    vectors = index.vectors(ids)
    return prepare(snapshot.vectors(ids), index.similarity) if vectors is None else vectors


def _parameters(views: Iterable[View], parameters: Mapping[str, Any]) -> dict[Granularity, Mapping[str, Any]]:
    """Return what each index is told: all but what is meant for others.

    An exact index needs none of it. Those of small stores are exact whatever kind is set: it cannot be trained yet.
    """
    indexes = {view.granularity: view.index for view in views}
    known = {name for index in indexes.values() for name in (NAMES if index.exact else index.ability.parameters)}
    return {
        kind: {name: parameters[name] for name in parameters if name in index.ability.parameters or name not in known}
        for kind, index in indexes.items()
    }


def _hits(snapshot: Snapshot, groups: Sequence[Sequence[Group]], level: str, highest: float) -> list[list[Hit]]:
    rows: set[int] = set()
    keys: set[int] = set()
    for group in chain.from_iterable(groups):
        rows.update(map(_ROW, group.matches))
        keys.add(group.key)
    if level != "document":
        rows |= keys
    units = snapshot.units(sorted(rows))
    if len(units) < len(rows):
        raise DamagedRowError(min(rows - units.keys()), what="unit of row")
    parents = _documents(snapshot, keys) if level == "document" else units
    hits: list[list[Hit]] = []
    for best in groups:
        of_query = []
        for group in best:
            parent = parents[group.key]
            matches: tuple[Hit, ...] = ()
            if level != "unit" or parent.granularity is Granularity.PASSAGE:
                matches = _matches(group, units, highest)
            of_query.append(Hit(parent, min(group.score, highest), matches, parts=dict(group.parts)))
        hits.append(of_query)
    return hits


def _matches(group: Group, units: Mapping[int, Unit], highest: float) -> tuple[Hit, ...]:
    """Leave out what was matched before at another granularity: a proposition that is the whole of its sentence."""
    first: dict[str, Granularity] = {}
    matches = []
    for row, score in group.matches:
        unit = units[row]
        if first.setdefault(unit.text, unit.granularity) is unit.granularity:
            matches.append(Hit(unit, min(score, highest)))
    return tuple(matches)


def _documents(snapshot: Snapshot, rows: Iterable[int]) -> dict[int, Unit]:
    """Return documents as units, by row."""
    units = {}
    for row, (document_id, document) in snapshot.documents(sorted(rows)).items():
        if document is None:
            message = (
                f"the store holds units of document {document_id!r}, and not its text: parents='document' needs documents "
                "that were added by add_documents; use parents='passage'"
            )
            raise InvalidInputError(message)
        place = (document_id, document_id, 0, len(document.text))
        described = (document.title, document.section, document.metadata)
        units[row] = Unit(document_id, document.text, Granularity.DOCUMENT, *place, *described)
    return units


def _with_neighbours(snapshot: Snapshot, hit: Hit, count: int) -> Hit:
    """Return a hit with what stands around it; a parent's are those of its matches, unless only itself matched."""
    if any(match.unit.id != hit.unit.id for match in hit.matches):
        matches = [
            match if match.unit.id == hit.unit.id else _with_neighbours(snapshot, match, count) for match in hit.matches
        ]
        return replace(hit, matches=tuple(matches))
    unit = hit.unit
    kind = Granularity.PASSAGE if unit.granularity is Granularity.PASSAGE else Granularity.SENTENCE
    around = snapshot.neighbours(unit.document_id, kind, unit.start, unit.end, count)
    return replace(hit, neighbours=tuple(around))


def whole_number(name: str, value: object, *, least: int = 1) -> int:
    """Return a number as an int, whatever integer type it came as.

    Raises:
        InvalidInputError: Not a whole number, or below the least.
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError as error:
        message = f"{name} must be a whole number, got {value!r}"
        raise InvalidInputError(message) from error
    if number < least:
        message = f"{name} must be at least {least}, got {number}"
        raise InvalidInputError(message)
    return number
