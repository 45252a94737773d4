"""What a store must hold and answer, kept in dicts and computed by brute force."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from factoid import Weights
from tests.faults.content import DIM, KINDS


class WrongAnswerError(AssertionError):
    """A store does not hold or answer what it must."""


@dataclass(frozen=True)
class State:
    """The content of a store: units by id with their vector or None, documents by id."""

    units: dict = field(default_factory=dict)
    documents: dict = field(default_factory=dict)

    def without(self, ids, *, under=True):
        """Return the state after documents, or units with or without those under them, were
        removed.
        """
        ids = set(ids)

        def removed(unit):
            return unit.id in ids or (under and (unit.parent_id in ids or unit.document_id in ids))

        units = {own: pair for own, pair in self.units.items() if not removed(pair[0])}
        # A document goes with its last unit.
        emptied = {unit.document_id for unit, _ in self.units.values()} - {
            unit.document_id for unit, _ in units.values()
        }
        gone = emptied | (ids if under else set())
        return State(units, {own: each for own, each in self.documents.items() if own not in gone})

    def with_units(self, units, vectors, *, keep_children=False):
        """Return the state after `UnitStore.add`."""
        base = self.without(
            [unit.id for unit in units if unit.id in self.units], under=not keep_children
        )
        added = {unit.id: (unit, vector) for unit, vector in zip(units, vectors, strict=True)}
        return State(base.units | added, base.documents)

    def with_document(self, document, units, vectors):
        """Return the state after `UnitStore.add_documents` of one document."""
        base = self.without([document.id])
        added = {unit.id: (unit, vector) for unit, vector in zip(units, vectors, strict=True)}
        return State(base.units | added, base.documents | {document.id: document})

    def scored(self, query, kind, group):
        """Return (score, unit) of every unit that may be found."""
        pairs = [
            (unit, vector)
            for unit, vector in self.units.values()
            if unit.granularity == kind
            and vector is not None
            and group in (None, unit.metadata["group"])
        ]
        if not pairs:
            return []
        scores = np.stack([vector for _, vector in pairs]) @ query
        return [(float(score), unit) for score, (unit, _) in zip(scores, pairs, strict=True)]

    def parent(self, unit):
        """Return the id of the passage that a unit is returned as, or its own without one."""
        found = self.units.get(unit.parent_id)
        return unit.parent_id if found and found[0].granularity == "passage" else unit.id


def require(condition, *words):
    if not condition:
        raise WrongAnswerError(" ".join(str(word)[:600] for word in words))


def check_content(store, state):
    """Raise unless the store holds these units, vectors and documents and no others."""
    ids = store.ids()
    require(len(ids) == len(set(ids)), "an id is listed twice")
    lost, extra = set(state.units) - set(ids), set(ids) - set(state.units)
    require(
        not lost and not extra, "lost", sorted(lost, key=repr), "extra", sorted(extra, key=repr)
    )
    for unit in store.get(ids):
        require(
            unit == state.units[unit.id][0], "stored", unit, "expected", state.units[unit.id][0]
        )
    vectors = store.vectors(ids)
    expected = {own: vector for own, (_, vector) in state.units.items() if vector is not None}
    require(set(vectors) == set(expected), "units with vectors:", set(vectors) ^ set(expected))
    for own, vector in vectors.items():
        require(np.array_equal(vector, expected[own]), "the vector of", own, "is another one")
    counts = {
        kind: sum(unit.granularity == kind for unit, _ in state.units.values()) for kind in KINDS
    }
    require(
        {kind: store.counts().get(kind, 0) for kind in KINDS} == counts,
        "counts",
        store.counts(),
        counts,
    )
    for own, document in state.documents.items():
        require(
            store.documents([own]) == [document], "the document", own, "is", store.documents([own])
        )


def searched(store, query, *, k, kind, parents, group):
    """Return the hits of a search of units alone."""
    options = {} if group is None else {"filter": {"group": group}}
    return store.search_by_vector(
        query, k, granularity=kind, parents=parents, weights=Weights(0, 0), **options
    )


def check_hits(hits, state, query, *, k, kind, parents, group):
    """Raise unless hits are the k best, each with its score. Equal scores may come in any order."""
    what = f"{len(hits)} hits of k={k} {kind} parents={parents} group={group}:"
    members = defaultdict(list)
    rolled = parents == "passage" and kind != "passage"
    for score, unit in state.scored(query, kind, group):
        members[state.parent(unit) if rolled else unit.id].append((score, unit.id))
    best = sorted((max(pairs)[0] for pairs in members.values()), reverse=True)[:k]
    require(
        [hit.score for hit in hits] == best,
        what,
        "scores",
        [hit.score for hit in hits],
        "expected",
        best,
    )
    require(len({hit.unit.id for hit in hits}) == len(hits), what, "a unit was returned twice")
    for hit in hits:
        own = hit.unit.id
        require(
            own in members and max(members[own])[0] == hit.score,
            what,
            own,
            "has another score than",
            hit.score,
        )
        require(hit.unit == state.units[own][0], what, "the unit", own, "is another one")
        if rolled:
            held = {member: score for score, member in members[own]}
            matches = [(match.score, match.unit.id) for match in hit.matches]
            top = sorted(held.values(), reverse=True)[: len(matches)]
            require(
                matches and [score for score, _ in matches] == top,
                what,
                "matches of",
                own,
                matches,
                top,
            )
            require(
                all(held.get(member) == score for score, member in matches),
                what,
                "matches of",
                own,
                matches,
            )


def check_searches(store, state, seed, *, count=1):
    """Search every granularity, units and parents, with and without a filter, by random queries."""
    chance = np.random.default_rng(seed)
    for _ in range(count):
        query = chance.integers(-40, 41, DIM).astype(np.float32)
        k, group = (
            int(chance.integers(1, 30)),
            int(chance.integers(0, 4)),
        )  # 3 is a group that no unit has
        for kind, parents, chosen in product(KINDS, ("passage", "unit"), (None, group)):
            options = {"k": k, "kind": kind, "parents": parents, "group": chosen}
            check_hits(searched(store, query, **options), state, query, **options)


def check_words(store, state, seed):
    """Raise unless a search by words finds all passages that share one with the query, and no units
    but those stored.
    """
    passages = [unit for unit, _ in state.units.values() if unit.granularity == "passage"]
    if not passages:
        return
    query = passages[seed % len(passages)]
    hits = store.search(query.text, len(passages) + 1, lexical=1)
    for hit in hits:
        require(
            hit.unit == state.units.get(hit.unit.id, (None,))[0], "by words", hit.unit, "was found"
        )
    sharing = {unit.id for unit in passages if content_words(unit.text) & content_words(query.text)}
    missing = sharing - {hit.unit.id for hit in hits}
    require(not missing, "by words", sorted(missing), "are missing for", query.text)


def content_words(text):
    return set(re.findall(r"\w+", text.lower())) - {"a", "it", "is", "of", "in", "the"}


def check(store, state, seed=0, *, count=1):
    check_content(store, state)
    check_searches(store, state, seed, count=count)
    check_words(store, state, seed)
