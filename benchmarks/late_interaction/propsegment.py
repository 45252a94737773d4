"""Atomic fact retrieval on PropSegmEnt as its authors publish it (Chen et al., 2023; AGRaME, Table
7).

    python -m benchmarks.late_interaction.propsegment FOLDER --split dev [--model CHECKPOINT]

The folder holds document_clusters, propositions and relationships, each of the split. How the task
that is published (JSON lines, which `factoid.evaluate.atomic_facts` reads) was made of these files
is not known: figures of the two cannot be compared.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from itertools import chain
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from benchmarks.ranking.measures import per_cent, table
from factoid.evaluate.atomic_facts import Fact, FactCorpus, score_atomic_facts
from factoid.late_interaction import LateInteractionEncoder
from factoid.sentences import Span

_ENTAILS = "RELATIONSHIP_ENTAILS"

Place = tuple[str, str, int]  # cluster, document, and number of the sentence
Part = frozenset[int]  # tokens of a sentence


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--split", default="dev")
    parser.add_argument(
        "--model", type=Path, action="append", default=[], help="a late-interaction checkpoint"
    )
    arguments = parser.parse_args()
    corpus, left_out = read(arguments.folder, arguments.split)
    print(
        f"{len(corpus.queries):,} queries, {len(corpus.targets):,} propositions. Left out: "
        f"{dict(left_out)}"
    )
    row = table(
        "model", ["proposition P@1", "proposition R@5", "sentence P@1", "sentence R@5", "queries"]
    )
    encoders = {"all-MiniLM-L6-v2's token vectors": LateInteractionEncoder(None, projection=False)}
    for path in arguments.model:
        encoders[path.name] = LateInteractionEncoder(path)
    for name, encoder in encoders.items():
        *shares, queries = astuple(score_atomic_facts(encoder, corpus))
        row(name, [*per_cent(shares), str(queries)])


def read(folder: Path, split: str) -> tuple[FactCorpus, Counter[str]]:
    """Return the propositions of a split, and how many could not be used, by reason.

    The propositions of the reference raters are searched. What more than half of its raters hold
    entailed by another document is a query, and the propositions that they name as support are its
    labels. Support need not be a proposition that is searched: then the one of its sentence stands
    for it that shares most tokens. News has no text here and is left out.
    """
    sentences = _sentences(_read(folder, "document_clusters", split))
    left_out = Counter[str]()
    targets: dict[Place, dict[Part, Fact]] = {}
    for entry in _read(folder, "propositions", split):
        parts: list[Part] = []
        for response in entry["segmentation_responses"]:
            if response["is_reference_response"]:
                parts += map(_tokens, response.get("propositions", ()))
        place = _place(entry["sentence_id"]["cluster_id"], entry["sentence_id"])
        if place in sentences:
            facts = targets[place] = {}
            for part in parts:
                facts[part] = _fact(place, sentences[place], part)
        else:
            left_out["propositions without text"] += len(parts)
    queries = _queries(_read(folder, "relationships", split), sentences, targets, left_out)
    return FactCorpus(
        queries, list(chain.from_iterable(map(dict.values, targets.values())))
    ), left_out


def _read(folder: Path, name: str, split: str) -> list[Any]:
    return json.loads((folder / f"{name}.{split}.json").read_text(encoding="utf-8"))


def _sentences(clusters: Sequence[Mapping[str, Any]]) -> dict[Place, Any]:
    """Return the sentences that have a text, by place."""
    sentences = {}
    for cluster in clusters:
        for document in cluster["documents"]:
            for number, sentence in enumerate(document["sentences"]):
                if "sentence_text" in sentence:
                    place = (cluster["cluster_id"], document["document_id"], number)
                    sentences[place] = sentence
    return sentences


def _queries(
    entries: Sequence[Mapping[str, Any]],
    sentences: Mapping[Place, Any],
    targets: Mapping[Place, Mapping[Part, Fact]],
    left_out: Counter[str],
) -> list[Fact]:
    """Return what more than half of the raters hold entailed, with the support that they name.

    What has no text is counted as left out.
    """
    labels: dict[tuple[Place, Part], dict[str, None]] = {}
    for entry in entries:
        raters = entry["relationship_responses"]
        cluster = entry["cluster_id"]
        hypothesis = entry["hypothesis_proposition"]
        entailing = [rater for rater in raters if rater.get("relationship") == _ENTAILS]
        if 2 * len(entailing) <= len(raters):
            continue
        place = _place(cluster, hypothesis)
        if place not in sentences:
            left_out["queries without text"] += 1
            continue
        found = labels.setdefault((place, _tokens(hypothesis["proposition"])), {})
        for rater in entailing:
            support = rater.get("supporting_premise_proposition")
            if support:
                premise = _place(cluster, {"document_id": entry["premise_document_id"], **support})
                nearest = _nearest(targets.get(premise, {}), _tokens(support["proposition"]))
                found |= dict.fromkeys(nearest)
    queries = []
    for (place, part), found in labels.items():
        queries.append(_fact(place, sentences[place], part, tuple(found)))
    return queries


def _place(cluster: str, entry: Mapping[str, Any]) -> Place:
    return cluster, entry["document_id"], entry["sentence_index"]


def _tokens(proposition: Mapping[str, Any]) -> Part:
    return frozenset(proposition["token_indices"])


def _nearest(facts: Mapping[Part, Fact], part: Part) -> list[str]:
    """Return the id of the fact that shares most tokens, of all that either has, if it shares
    any.
    """
    best = max(facts, key=lambda other: len(part & other) / len(part | other), default=Part())
    return [facts[best].id] if part & best else []


def _fact(
    place: Place, sentence: Mapping[str, Any], part: Part, labels: tuple[str, ...] = ()
) -> Fact:
    """Return the proposition of some tokens of a sentence; tokens next to each other are one
    span.
    """
    spans: list[Span] = []
    numbers = sorted(part)
    for number in numbers:
        token = sentence["tokens"][number]
        first = start = token["character_offset_of_token_in_sentence"]
        if number - 1 in part:
            start, _ = spans.pop()
        spans.append((start, first + len(token["text"])))
    sentence_id = "_".join(map(str, place))
    fact_id = f"{sentence_id}_{'-'.join(map(str, numbers))}"
    return Fact(fact_id, sentence_id, sentence["sentence_text"], tuple(spans), labels)


if __name__ == "__main__":
    main()
