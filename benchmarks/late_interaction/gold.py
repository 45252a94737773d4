"""Answers with gold citations: ExpertQA (Malaviya et al., 2024) and CLAP NQ (Rosenthal et al.,
2025).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from factoid import Document
from factoid.evaluate.citations import CitedText, split_cited

_SUPPORTED = "Complete"
_EVIDENCE = re.compile(r"\[\d+\]\s+\S+\n\n(.*\S.*)", re.DOTALL)


@dataclass(frozen=True)
class GoldAnswers:
    """What was read.

    Attributes:
        answers: With gold citations; `citations` are those of the data set, which are its gold
            ones.
        systems: For each answer who wrote it.
        left_out: How many answers or claims take no part, by reason.
    """

    answers: list[CitedText]
    systems: list[str]
    left_out: dict[str, int]


def read_expertqa(file: Path) -> GoldAnswers:
    """Read answers of ExpertQA whose evidence has a text.

    An answer can cite the distinct evidence texts of all its claims. Its sentences are the claims
    whose support experts called complete, and the gold citations of a claim are its own evidence.
    Answers with fewer than two texts leave nothing to choose.
    """
    answers = []
    systems = []
    left_out = dict.fromkeys(
        (
            "answers without evidence texts",
            "answers with one text",
            "answers without a supported claim",
            "claims not supported",
        ),
        0,
    )
    for line in file.read_text(encoding="utf-8").splitlines():
        for system, answer in json.loads(line)["answers"].items():
            places: dict[str, int] = {}  # of the distinct texts
            for text in chain.from_iterable(map(_texts, answer["claims"])):
                places.setdefault(text, len(places))
            if not places:
                left_out["answers without evidence texts"] += 1
                continue
            if len(places) == 1:
                left_out["answers with one text"] += 1
                continue
            sentences = []
            gold = []
            for claim in answer["claims"]:
                texts = _texts(claim)
                if claim["support"] != _SUPPORTED or not texts:
                    left_out["claims not supported"] += 1
                    continue
                sentences.append(" ".join(split_cited(claim["claim_string"])[0]))
                gold.append(sorted({places[text] for text in texts}))
            if not sentences:
                left_out["answers without a supported claim"] += 1
                continue
            answers.append(CitedText(sentences, list(map(Document, places)), gold, gold))
            systems.append(system)
    return GoldAnswers(answers, systems, left_out)


def read_clapnq(file: Path) -> GoldAnswers:
    """Read answers of CLAP NQ: what can be cited are the sentences of the passage, and gold are
    those that annotators selected.

    They were selected for an answer as a whole, which therefore counts as one sentence.
    """
    answers = []
    left_out = {"answers without selected sentences": 0}
    for line in file.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        [passage] = entry["passages"]
        places = {sentence: place for place, sentence in enumerate(passage["sentences"])}
        for output in entry["output"]:
            gold = [sorted({places[sentence] for sentence in output["selected_sentences"]})]
            if not gold[0]:
                left_out["answers without selected sentences"] += 1
                continue
            documents = list(map(Document, passage["sentences"]))
            answers.append(CitedText([output["answer"].strip()], documents, gold, gold))
    return GoldAnswers(answers, ["annotators"] * len(answers), left_out)


def _texts(claim: dict[str, Any]) -> list[str]:
    """Return the evidence texts of a claim, without number and address; some evidence is an address
    alone.
    """
    texts = []
    for evidence in claim["evidence"]:
        match = _EVIDENCE.fullmatch(evidence)
        if match:
            texts.append(match[1].strip())
    return texts
