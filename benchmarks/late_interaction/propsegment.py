"""PropSegmEnt (Chen et al., 2023) as its authors publish it, for the task of Table 7."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from factoid.evaluate.atomic_facts import Fact, FactCorpus
from factoid.sentences import Span

_ENTAILS = "RELATIONSHIP_ENTAILS"

Place = tuple[str, str, int]  # cluster, document, and number of the sentence


def read_propsegment(clusters: Name, propositions: Name, relationships: Name) -> FactCorpus:
    """Read a split of PropSegmEnt (Chen et al., 2023) as its authors publish it, in three JSON files.

    The propositions of the reference raters are the targets. A query is a proposition that more than half of its raters hold
    entailed by another document; the propositions that they name as support are its labels. Such a one need not be a target: then
    the target of its sentence that shares most tokens stands for it. How the published task (`read_fact_corpus`) was made of
    these files is not known, so that figures of the two cannot be compared. What has no text here (news) is left out.

    Raises:
        UnreadableFileError: A file that cannot be read, or of another form.
    """
    documents, segmented, related = (_read_json(Path(name)) for name in (clusters, propositions, relationships))
    with _expected_form(clusters):
        sentences = {
            (cluster["cluster_id"], document["document_id"], number): sentence
            for cluster in documents
            for document in cluster["documents"]
            for number, sentence in enumerate(document["sentences"])
            if "sentence_text" in sentence
        }
    left_out = Counter[str]()
    targets: dict[Place, dict[frozenset[int], Fact]] = {}
    with _expected_form(propositions):
        for entry in segmented:
            place = (*(entry["sentence_id"][name] for name in ("cluster_id", "document_id", "sentence_index")),)
            parts = [
                frozenset(proposition["token_indices"])
                for response in entry["segmentation_responses"]
                if response["is_reference_response"]
                for proposition in response.get("propositions", ())
            ]
            if place in sentences:
                targets[place] = {part: _fact(place, sentences[place], part) for part in parts}
            else:
                left_out["propositions of sentences without text"] += len(parts)
    queries = []
    with _expected_form(relationships):
        for entry in related:
            raters = entry["relationship_responses"]
            yes = [rater for rater in raters if rater.get("relationship") == _ENTAILS]
            if 2 * len(yes) <= len(raters):
                continue
            hypothesis = entry["hypothesis_proposition"]
            place = (entry["cluster_id"], hypothesis["document_id"], hypothesis["sentence_index"])
            if place not in sentences:
                left_out["queries of sentences without text"] += 1
                continue
            labels = [
                nearest
                for rater in yes
                if (support := rater.get("supporting_premise_proposition"))
                and (among := targets.get((entry["cluster_id"], entry["premise_document_id"], support["sentence_index"])))
                and (nearest := _nearest(among, frozenset(support["proposition"]["token_indices"])))
            ]
            part = frozenset(hypothesis["proposition"]["token_indices"])
            queries.append(replace(_fact(place, sentences[place], part), labels=tuple(dict.fromkeys(labels))))
    merged: dict[str, Fact] = {}  # other documents of a cluster may each hold support
    for query in queries:
        labels = merged.get(query.id, query).labels + query.labels
        merged[query.id] = replace(query, labels=tuple(dict.fromkeys(labels)))
    return FactCorpus(list(merged.values()), [fact for facts in targets.values() for fact in facts.values()], left_out)


def _fact(place: Place, sentence: Any, part: frozenset[int]) -> Fact:
    """Return a proposition of some tokens of a sentence; tokens next to each other are one span."""
    spans: list[Span] = []
    numbers = sorted(part)
    for before, number in zip([None, *numbers], numbers, strict=False):
        token = sentence["tokens"][number]
        start = token["character_offset_of_token_in_sentence"]
        if before is not None and before == number - 1:
            start = spans.pop()[0]
        spans.append((start, token["character_offset_of_token_in_sentence"] + len(token["text"])))
    sentence_id = "_".join(map(str, place))
    return Fact(f"{sentence_id}_{'-'.join(map(str, numbers))}", sentence_id, sentence["sentence_text"], tuple(spans))


def _nearest(facts: Mapping[frozenset[int], Fact], part: frozenset[int]) -> str | None:
    """Return the id of the fact that shares most tokens, of all that either has; None if it shares none."""
    best = max(facts, key=lambda other: len(part & other) / len(part | other))
    return facts[best].id if part & best else None


def _read_json(path: Path) -> Any:
    try:
        with located(path):
            return parse_json(path.read_bytes())
    except OSError as error:
        refuse(path, error)


