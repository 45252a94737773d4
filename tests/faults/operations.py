"""Writes as JSON records: made from a seed, done to a store, and done to the model."""

from __future__ import annotations

from dataclasses import replace

from tests.faults.content import GROUPS, add_documents, document, document_units, family, opened, unit, vector_of
from tests.faults.model import State

DOCUMENTS = 12
VERSIONS = 12
COPIES = ("copy0", "copy1")  # folders beside the store that it is copied to


# The kinds of operations with their weights.
KINDS = {"add": 6, "upsert": 6, "documents": 4, "delete": 4, "copy": 2, "close": 3, "clear": 0.15, "delete_filter": 1}
KINDS |= {"metadata": 4, "compact": 3}


def generate(chance):
    """Return a random operation; `chance` is a `random.Random`."""
    (kind,) = chance.choices(list(KINDS), KINDS.values())
    version = chance.randrange(VERSIONS)
    record = {"op": kind, "version": version}
    if kind == "add":
        passages = [[chance.randrange(DOCUMENTS), chance.randrange(3)] for _ in range(chance.randint(1, 12))]
        record["passages"] = sorted(map(list, set(map(tuple, passages))))
        record["keep"] = chance.random() < 0.3
        record["encode"] = chance.random() < 0.5
    elif kind == "upsert":
        record["ids"] = sorted({_some_unit(chance) for _ in range(chance.randint(1, 8))})
        record["keep"] = chance.random() < 0.5
        record["without"] = chance.random() < 0.3  # the first one gets no vector
    elif kind == "documents":
        record["numbers"] = sorted({chance.randrange(DOCUMENTS) for _ in range(chance.randint(1, 6))})
    elif kind == "delete":
        choices = [_some_unit, lambda _: f"d{chance.randrange(DOCUMENTS)}", lambda _: f"t{chance.randrange(DOCUMENTS)}"]
        record["ids"] = [chance.choice(choices)(chance) for _ in range(chance.randint(1, 4))]
    elif kind == "copy":
        record["to"] = chance.choice(COPIES)
    elif kind in ("metadata", "delete_filter"):
        record["group"] = chance.randrange(GROUPS)
    return record


def prepare():
    """Make every document's units once, before workers are forked."""
    for number in range(DOCUMENTS):
        for version in range(VERSIONS):
            document_units(number, version)


def _some_unit(chance):
    end = chance.choice(["", ".s0", ".s1", ".p0", ".p1"])
    return f"d{chance.randrange(DOCUMENTS)}.{chance.randrange(3)}{end}"


def _units(record):
    """Return the units and vectors that an `add` or `upsert` gives."""
    if record["op"] == "add":
        units = [each for number, part in record["passages"] for each in family(number, part, record["version"])]
    else:
        units = [unit(own, record["version"]) for own in record["ids"]]
    vectors = [vector_of(each.text) for each in units]
    if record.get("without"):
        vectors[0] = None
    return units, vectors


def do(store, record, folder):
    """Do an operation to a store; return the store, opened again if the operation closed it."""
    match record["op"]:
        case "add" | "upsert":
            units, vectors = _units(record)
            store.add(units, vectors=None if record.get("encode") else vectors, keep_children=record["keep"])
        case "documents":
            add_documents(store, [document(number, record["version"]) for number in record["numbers"]])
        case "delete":
            store.delete(record["ids"])
        case "clear":
            store.clear()
        case "copy":
            store.copy_to(folder / record["to"])
        case "close":
            store.close()
            return opened(store.path)
        case "compact":
            store.compact()
        case "delete_filter":
            store.delete(filter={"group": record["group"]})
        case "metadata":
            store.update_metadata({"group": record["group"], "version": 0}, ids=_named(record, store.ids()))
    return store


def _named(record, ids):
    return [own for own in ids if own.startswith("d") and own.endswith(str(record["version"] % 3))]


def steps(state, record):
    """Return the states that an operation may leave if it is killed, the last being the one after it has returned."""
    match record["op"]:
        case "add" | "upsert":
            return [state, state.with_units(*_units(record), keep_children=record["keep"])]
        case "documents":  # each document is there whole or not at all, and they come in order
            states = [state]
            for number in record["numbers"]:
                given = document(number, record["version"])
                if states[-1].documents.get(given.id) != given or not _intact(states[-1], number, record["version"]):
                    units = document_units(number, record["version"])
                    states.append(states[-1].with_document(given, units, [vector_of(each.text) for each in units]))
            return states
        case "delete":
            return [state, state.without(record["ids"])]
        case "delete_filter":
            chosen = [unit.id for unit, _ in state.units.values() if unit.metadata["group"] == record["group"]]
            return [state, state.without(chosen)]
        case "clear":
            return [state, State()]
        case "metadata":
            metadata = {"group": record["group"], "version": 0}
            named = set(_named(record, state.units))
            changed = {
                own: (replace(each, metadata=dict(each.metadata) | metadata), vector)
                for own, (each, vector) in state.units.items()
                if own in named or each.parent_id in named
            }
            others = {each.document_id for own, (each, _) in state.units.items() if own not in changed}
            whole = {each.document_id for each, _ in changed.values()} - others
            documents = {
                own: replace(each, metadata=dict(each.metadata) | metadata)
                for own, each in state.documents.items()
                if own in whole
            }
            return [state, State(state.units | changed, state.documents | documents)]
    return [state]


def _intact(state, number, version):
    return all(state.units.get(each.id, [None])[0] == each for each in document_units(number, version))
