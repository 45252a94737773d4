"""Stores whose units all have metadata of their own, random filters on them, and what a search may answer, in plain loops.

Every text and every metadata holds a word of its own, so that an answer shows from which units it was made.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace

import numpy as np

from factoid import AnyGranularityRanker, Document, PropCite, UnitStore, pack_context
from factoid.filters import All, AnyOf, Comparison, Not, Operator, matches, parse_filter
from factoid.store.document_units import SplitDocument
from factoid.store.ingest import replace_documents
from factoid.testing import HashEncoder, ScriptedPropositionizer
from factoid.units import Granularity, Unit
from tests.late_interaction.word_vectors import WordVectors
from tests.store.content import compared

PASSAGE, SENTENCE, PROPOSITION = Granularity.PASSAGE, Granularity.SENTENCE, Granularity.PROPOSITION
KINDS = (PASSAGE, SENTENCE, PROPOSITION)
DIM = 5
COMMON = "river tower heron olm kestrel".split()
CLAIM = "The river has a tower. A heron sits on it."  # an answer without words of a store
PROPOSITIONIZER = ScriptedPropositionizer(lambda passage: [passage.text])
TOKEN = re.compile(r"\b[dpsfm]\d+x\b")


def metadata(dice, number):
    """Return random metadata with a word of its own."""
    made = {"word": f"m{number}x"} if dice.random() < 0.7 else {}
    made |= {"a": dice.randrange(3)} if dice.random() < 0.9 else {}
    made |= {"tenant": dice.choice(["north", "south"])} if dice.random() < 0.8 else {}
    made |= (
        {"acl": {"level": dice.randrange(3), "team": {"name": dice.choice("xy")}}}
        if dice.random() < 0.5
        else {}
    )
    made |= (
        {"tags": dice.sample(["red", "blue", 1, None], dice.randrange(4))}
        if dice.random() < 0.5
        else {}
    )
    return made | dice.choice([{}, {}, {"none": None}, {"secret": True}, {"fallback": "time-out"}])


def mixed(dice, inherited, number):
    """Return the metadata of a unit: mostly those of its passage, often with changes."""
    roll = dice.random()
    if roll < 0.55:
        return inherited
    if roll < 0.75:
        return inherited | {"a": dice.randrange(3), "secret": dice.random() < 0.5}
    return metadata(dice, number)


def documents(dice, count):
    """Yield documents with their units: sentences and propositions under passages, some of which are absent."""
    number = dice.randrange(1000) * 1000
    for place in range(count):
        own, text, units = f"doc{place}", "", []
        of_document = metadata(dice, number)
        for _ in range(dice.randrange(1, 4)):
            number += 1
            start, passage_id = len(text), f"P{number}"
            inherited = mixed(dice, of_document, number)
            body, children = f"p{number}x {dice.choice(COMMON)}. ", []
            for _ in range(dice.randrange(4)):
                number += 1
                sentence = f"The s{number}x {dice.choice(COMMON)} {dice.choice(COMMON)}."
                begin = start + len(body)
                body += sentence + " "
                span = (own, passage_id, begin, begin + len(sentence))
                children.append(
                    Unit(
                        f"S{number}",
                        sentence,
                        SENTENCE,
                        *span,
                        metadata=mixed(dice, inherited, number),
                    )
                )
                for _ in range(dice.randrange(3)):
                    number += 1
                    fact = f"A f{number}x {dice.choice(COMMON)}"
                    of_fact = mixed(dice, inherited, number)
                    if dice.random() < 0.1:
                        of_fact = of_fact | {"window": body, "original_text": fact}
                    children.append(Unit(f"F{number}", fact, PROPOSITION, *span, metadata=of_fact))
            text += body + f"d{place}x "
            if dice.random() < 0.9:
                units.append(
                    Unit(
                        passage_id,
                        body,
                        PASSAGE,
                        own,
                        own,
                        start,
                        start + len(body),
                        metadata=inherited,
                    )
                )
            units += children
        yield Document(text, id=own, metadata=of_document), units


def vector(dice):
    return np.array([dice.randrange(-3, 4) for _ in range(DIM)], np.float32)


def filled(dice, path=None, **options):
    """Return a store of random documents; some units have no vector, and some have a passage of another document as parent."""
    store = UnitStore(path, **{"encoder": None} | options)
    for document, units in documents(dice, dice.randrange(2, 7)):
        strangers = [
            unit for unit in units if unit.granularity is not PASSAGE and dice.random() < 0.05
        ]
        units = [unit for unit in units if unit not in strangers]
        searched = {
            at: vector(dice)
            for at, unit in enumerate(units)
            if store.encodes(unit) and dice.random() < 0.95
        }
        replace_documents(store.opened, [SplitDocument(document, "", [])], units, searched)
        other = Document("An odd one.", id=f"other{document.id}", metadata=metadata(dice, 0))
        moved = [replace(unit, document_id=other.id) for unit in strangers]
        replace_documents(
            store.opened,
            [SplitDocument(other, "", [])],
            moved,
            {at: vector(dice) for at in range(len(moved))},
        )
    return store


def change(dice, store):
    """Change metadata, units or passages of a store, as a user might."""
    units = store.get(store.ids())
    unit = dice.choice(units)
    changes = metadata(dice, dice.randrange(1_000_000, 2_000_000))
    match dice.randrange(6):
        case 0:
            store.update_metadata(changes, ids=[unit.id])
        case 1:
            store.update_metadata(changes, document_ids=[unit.document_id])
        case 2:
            store.update_metadata({"secret": dice.random() < 0.5}, filter={"a": dice.randrange(3)})
        case 3:  # a passage alone, or another unit
            stored = store.vectors([unit.id]).get(unit.id)
            store.add([replace(unit, metadata=changes)], vectors=[stored], keep_children=True)
        case 4:  # a passage that was missing
            known = {each.id for each in units}
            for orphan in units:
                if orphan.granularity is not PASSAGE and orphan.parent_id not in known:
                    text = f"p{dice.randrange(10**9)}x {orphan.text} river"
                    passage = Unit(
                        orphan.parent_id,
                        text,
                        PASSAGE,
                        orphan.document_id,
                        orphan.document_id,
                        0,
                        len(text),
                    )
                    store.add(
                        [replace(passage, metadata=changes)],
                        vectors=[vector(dice)],
                        keep_children=True,
                    )
                    break
        case 5:
            store.delete(unit_ids=[unit.id])


def condition(dice, depth=2):
    """Return a random filter: a dict, a tree of every operator, or a function."""
    roll = dice.random()
    if roll < 0.15:
        tree = _tree(dice, depth)
        return lambda each: matches(tree, each)
    if roll < 0.5:
        return dice.choice(
            [
                {"secret": {"$ne": True}},
                {"tenant": "north"},
                {"tenant": {"$in": ["south"]}, "a": {"$lt": 2}},
                {"acl.level": {"$gte": 1}},
                {"acl.team.name": "x"},
                {"acl": {"$exists": True}},
                {"tags": {"$contains": "red"}},
                {"tags": {"$any": ["blue", 1]}},
                {"$not": {"a": 1}},
                {"a": [0, 2]},
                {"$or": [{"tenant": "south"}, {"secret": True}]},
                {"fallback": {"$exists": False}},
                {"fallback": {"$exists": True}},
                {"fallback": "time-out", "a": {"$lt": 2}},
                {"word": {"$exists": True}},
                {"a": {"$gte": 0}},
                {},
            ]
        )
    return _tree(dice, depth)


def _tree(dice, depth):
    if depth and dice.random() < 0.5:
        parts = tuple(_tree(dice, depth - 1) for _ in range(dice.randrange(1, 4)))
        return dice.choice([All, AnyOf, lambda parts: Not(parts[0])])(parts)
    key = dice.choice(["a", "tenant", "acl.level", "acl.team", "tags", "none", "secret", "absent"])
    operator = dice.choice(list(Operator))
    scalars = [0, 1, 2, "north", "south", "red", True]
    value = dice.choice([*scalars, None, [1, "red"], {"name": "x"}])
    if operator in (Operator.IN, Operator.NIN, Operator.ANY, Operator.ALL):
        value = dice.sample(scalars, 2)
    if operator in (Operator.GT, Operator.GTE, Operator.LT, Operator.LTE):
        value = dice.choice(scalars)
    if operator in (Operator.TEXT_MATCH, Operator.TEXT_MATCH_INSENSITIVE):
        value = dice.choice(["north", "o", "RED"])
    if operator is Operator.EXISTS:
        value = dice.random() < 0.5
    return Comparison(key, operator, value)


@dataclass
class Oracle:
    """What a filter leaves of a store, in plain loops over everything."""

    units: dict
    documents: dict
    vectors: dict
    test: object

    @classmethod
    def of(cls, store, condition):
        units = {unit.id: unit for unit in store.get(store.ids())}
        ids = sorted({unit.document_id for unit in units.values()})
        tree = None if callable(condition) else parse_filter(condition)
        test = condition if tree is None else lambda each: matches(tree, each)
        stored = {document.id: document for document in store.documents(ids)}
        return cls(units, stored, store.vectors(list(units)), test)

    def passes(self, unit):
        return bool(self.test(dict(unit.metadata)))

    def is_harmless(self, unit):
        """Whether a unit that does not pass is left out for what it is, and not for what it says."""
        content = {
            key: value
            for key, value in unit.metadata.items()
            if key not in ("granularity", "passage_id", "fallback")
        }
        return len(content) < len(unit.metadata) and bool(
            self.test(content | {"granularity": "passage"})
        )

    def passage(self, unit):
        """The stored passage that a unit is under; itself if there is none."""
        above = self.units.get(unit.parent_id)
        if unit.granularity is PASSAGE or above is None or above.granularity is not PASSAGE:
            return unit
        return above if above.document_id == unit.document_id else unit

    def is_open(self, unit):
        """Whether a unit may be shown: it passes, and so do all units under it."""
        if not self.passes(unit):
            return False
        under = [
            other
            for other in self.units.values()
            if other.id != unit.id and self.passage(other) is unit
        ]
        return unit.granularity is not PASSAGE or all(
            self.passes(other) or self.is_harmless(other) for other in under
        )

    def is_whole(self, document_id):
        of_document = [unit for unit in self.units.values() if unit.document_id == document_id]
        return all(self.passes(unit) or self.is_harmless(unit) for unit in of_document)

    def is_open_document(self, document_id):
        return self.is_whole(document_id) and self.passes(self.documents[document_id])

    def compared(self, kind):
        """The units that a search of a kind compares: those of the kind, and others in place of missing ones."""
        return compared(
            [unit for unit in self.units.values() if unit.id in self.vectors], self.passage, kind
        )

    def found(self, kinds):
        """The units that a search of some kinds may find, each once."""
        units = {unit.id: unit for kind in kinds for unit in self.compared(kind)}
        return [unit for unit in units.values() if self.is_open(unit)]

    def score(self, query, unit, similarity):
        own = self.vectors[unit.id].astype(np.float64)
        if similarity == "cosine":
            own = own / (np.linalg.norm(own) or 1)
            query = query / (np.linalg.norm(query) or 1)
        return float(own @ query)

    def passage_scores(self, query, kinds, alpha, similarity, *, has_context):
        """Score and best units of each passage, or unit without one, by vectors alone."""
        finer = [kind for kind in kinds if kind is not PASSAGE]
        under = {}
        for unit in self.found(kinds):
            under.setdefault(self.passage(unit).id, []).append(unit)
        share = 0.0 if not has_context else alpha if finer else 1.0
        scored = {}
        for key, found in under.items():
            parts = []
            above = self.units[key]
            itself = []  # the passage, if it counts
            if (
                has_context
                and above.granularity is PASSAGE
                and key in self.vectors
                and self.is_open(above)
            ):
                itself = [self.score(query, above, similarity)]
            for kind in finer:
                here = [unit for unit in self.compared(kind) if unit in found]
                scores = [self.score(query, unit, similarity) for unit in here]
                nearest = max([*scores, *(itself if share else [])], default=0)
                parts += [(nearest, (1 - share) / len(finer))] if scores else []
            parts += [(score, share) for score in itself]
            weight = sum(part[1] for part in parts)
            total = (
                sum(score * part for score, part in parts) / weight
                if weight
                else np.mean([each for each, _ in parts])
            )
            best = max(self.score(query, unit, similarity) for unit in found)
            leaders = [
                unit.id for unit in found if self.score(query, unit, similarity) > best - 1e-5
            ]
            scored[key] = (float(total), leaders)
        return scored


def strings(answer):
    """Yield all strings in an answer."""
    if isinstance(answer, str):
        yield answer
    elif is_dataclass(answer):
        for field in fields(answer):
            yield from strings(getattr(answer, field.name))
    elif isinstance(answer, Mapping):
        for pair in answer.items():
            yield from strings(list(pair))
    elif isinstance(answer, list | tuple):
        for element in answer:
            yield from strings(element)


def words_of(answer):
    return {word for text in strings(answer) for word in TOKEN.findall(text)}


def allowed_words(oracle):
    """The words that an answer may hold: of texts that pass, and of documents and passages that are open."""
    allowed = set()
    for unit in oracle.units.values():
        if oracle.is_open(unit):  # a window holds the text around a node
            allowed |= words_of(
                [unit.text, {key: value for key, value in unit.metadata.items() if key != "window"}]
            )
        if oracle.is_whole(unit.document_id):
            allowed |= words_of([unit.metadata.get("window", "")])
    for document in oracle.documents.values():
        if oracle.is_open_document(document.id):
            allowed |= words_of([document.text, dict(document.metadata)])
    return allowed


def agrame():
    """Return a ranker by token vectors, and the list of the texts that its encoder has read."""
    encoder = WordVectors()
    return AnyGranularityRanker(encoder, propositionizer=PROPOSITIONIZER), encoder.encoded


def made_of(hits):
    """Return what is made of hits: a context for a model, and an answer with citations from the units, and what it was read."""
    encoder = WordVectors()
    citer = PropCite(encoder, propositionizer=PROPOSITIONIZER)
    shown = {
        unit.text
        for hit in hits
        for part in (hit, *hit.matches)
        for unit in (part.unit, *part.neighbours)
    }
    return [pack_context(hits, words=100_000), citer.cite(CLAIM, sorted(shown)), encoder.encoded]


class Recorder:
    """A reranker that keeps all that it was given, and ranks by what texts hash to, or as another one does."""

    def __init__(self, ranker=None):
        self.given, self.ranker = [], ranker

    def rank(self, query, passages, granularity, *, k=None, parents="unit", units=None):
        from factoid.units import Hit

        self.given += [*passages, *(units or ())]
        if self.ranker is not None:
            return self.ranker.rank(query, passages, granularity, k=k, parents=parents, units=units)
        hits = []
        for at, passage in enumerate(passages):
            under = list(units[at]) if units else []
            scored = [Hit(unit, self.score(unit.text)) for unit in under] or [
                Hit(passage, self.score(passage.text))
            ]
            best = max(scored, key=lambda hit: hit.score)
            if parents == "passage":
                matches = () if best.unit is passage else (best,)
                scored = [Hit(passage, best.score, matches)]
            hits += scored
        return sorted(hits, key=lambda hit: -hit.score)[:k]

    def score(self, text):
        return float(HashEncoder(4).encode_units([text])[0][0])


def roll(seed):
    return random.Random(seed)


def asked(campaign, seed, filters, *, each):
    """Run a campaign on stores of one seed after another, until so many filters were asked in all.

    A campaign takes a seed and how many filters to ask of its store, and returns how many it asked.
    """
    count = 0
    while count < filters:
        count += campaign(seed, min(each, filters - count))
        seed += 1
    return count
