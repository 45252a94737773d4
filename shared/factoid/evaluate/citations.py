"""Judge citations by an entailment model (ALCE) or gold labels (AGRaME, §4.3).

ALCE (Gao et al., 2023) asks of each sentence of an answer:

* Recall: do all passages that it cites, together, entail it? A sentence without citations is not
  supported.
* Precision: a citation counts if all together entail the sentence, and either it does so alone or
  the others do not without it.

As in ALCE's program, the score of an answer is the share of its sentences, or of its citations. The
score of several answers is the mean over answers: one without citations has the precision 0, and
one without sentences is left out. A sentence that cites a passage that does not exist is not
supported, and none of its citations are counted. Differences: sentences are the caller's
(`split_cited` makes them; ALCE uses NLTK's), and [0] is out of range (in ALCE it is the last
passage).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from itertools import chain
from os import PathLike
from pathlib import Path
from statistics import fmean
from typing import Any, Protocol

from factoid.errors import InvalidInputError
from factoid.files.lines import read_records
from factoid.sentences import sentence_spans
from factoid.units import Document, Unit

_MARKER = re.compile(r"\[\d+(?:\s*,\s*\d+)*\]")
_SPACED_MARKERS = re.compile(rf"(?<!\s)\s*+(?:{_MARKER.pattern}\s*)*{_MARKER.pattern}")


class EntailmentModel(Protocol):
    """A model that tells whether a text follows from another.

    `factoid.evaluate.nli.NliModel` is one.
    """

    def entails(self, premises: Sequence[str], hypotheses: Sequence[str]) -> list[bool]:
        """Tell for each pair whether the hypothesis follows from the premise."""
        ...


@dataclass(frozen=True, slots=True)
class CitedText:
    """An answer with its passages, its citations and, if known, its gold citations.

    Attributes:
        sentences: Or claims, without markers, or the whole answer, at the level of the gold
            citations.
        passages: An entailment model reads a title before the text, as in ALCE.
        citations: For each sentence, the indices of the passages that it cites, from 0.
        gold: Those that support it; None where nobody judged.
    """

    sentences: Sequence[str]
    passages: Sequence[Unit | Document | str]
    citations: Sequence[Sequence[int]]
    gold: Sequence[Collection[int] | None] | None = None


@dataclass(frozen=True, slots=True)
class CitationScores:
    """Precision and recall of citations, from 0 to 1, and how many were judged.

    They are of one or more answers.

    Attributes:
        precision: Share of the citations that support their sentence; 0 where there are none.
        recall: Share of the sentences that are supported; with gold labels, mean share of the gold
            passages that are cited.
    """

    precision: float
    recall: float
    sentences: int
    citations: int


def score_citations(
    answers: Iterable[CitedText], model: EntailmentModel, *, most_citations: int | None = 3
) -> list[CitationScores]:
    """Judge the citations of each answer as ALCE does; `mean_scores` averages them.

    The model is called up to three times, with all pairs at once. Scores by different models cannot
    be compared. Only the first `most_citations` citations of each sentence are judged, by default 3
    as in ALCE's program; None for all.
    """
    texts = list(answers)
    cited = []
    for number, text in enumerate(texts):
        for place, places in enumerate(text.citations):
            if places and all(0 <= passage < len(text.passages) for passage in places):
                cited.append((number, text.sentences[place], tuple(places[:most_citations])))

    def judge(questions: Sequence[tuple[int, str, Sequence[int]]]) -> list[bool]:
        premises = []
        for number, _, places in questions:
            cited_passages = [texts[number].passages[place] for place in places]
            premises.append("\n".join(map(_premise, cited_passages)))
        if questions:
            return model.entails(premises, [sentence for _, sentence, _ in questions])
        return []

    together = judge(cited)
    single = []
    rest = []
    for (number, sentence, places), entailed in zip(cited, together, strict=True):
        if entailed and len(places) > 1:
            for at, place in enumerate(places):
                single.append((number, sentence, [place]))
                rest.append((number, sentence, places[:at] + places[at + 1 :]))
    alone = judge(single)
    doubtful = []  # the others, where a citation does not do alone
    for others, entailed in zip(rest, alone, strict=True):
        if not entailed:
            doubtful.append(others)
    needless = iter(judge(doubtful))

    supported = [0] * len(texts)
    right = [0] * len(texts)
    counted = [0] * len(texts)
    for (number, _, places), entailed in zip(cited, together, strict=True):
        supported[number] += entailed
        right[number] += entailed and len(places) == 1
        counted[number] += len(places)
    for (number, _, _), entailed in zip(single, alone, strict=True):
        right[number] += entailed or not next(needless)
    scores = []
    for number, text in enumerate(texts):
        precision = right[number] / max(counted[number], 1)
        recall = supported[number] / max(len(text.sentences), 1)
        scores.append(CitationScores(precision, recall, len(text.sentences), counted[number]))
    return scores


def score_gold(answers: Iterable[CitedText]) -> list[CitationScores]:
    """Judge the citations of each answer by its gold citations; `mean_scores` averages them.

    Precision is the share of an answer's citations that are gold ones of their sentence; repeated
    citations in a sentence count once. Recall is the mean, over the sentences that have gold
    citations, of the share of those that is cited. Both are 1 where there is nothing to cite and
    nothing is cited; where something is cited anyway, recall is 1 and precision 0. Sentences that
    nobody judged are left out.

    Raises:
        InvalidInputError: An answer has no gold citations.
    """
    scores = []
    for text in answers:
        if text.gold is None:
            raise InvalidInputError(
                f"expected gold citations, got none for {' '.join(text.sentences)!r:.60}"
            )
        judged = 0  # sentences
        count = 0  # citations
        hits = 0
        shares = []
        for places, labels in zip(text.citations, text.gold, strict=True):
            if labels is None:
                continue
            cited = set(places)
            right = set(labels)
            judged += 1
            count += len(cited)
            hits += len(cited & right)
            if right:
                shares.append(len(cited & right) / len(right))
        precision = float(not shares)
        if count:
            precision = hits / count
        recall = 1.0
        if shares:
            recall = fmean(shares)
        scores.append(CitationScores(precision, recall, judged, count))
    return scores


def mean_scores(scores: Iterable[CitationScores]) -> CitationScores:
    """Return the means over the answers with judged sentences.

    Raises:
        InvalidInputError: Nothing was judged.
    """
    judged = []
    for score in scores:
        if score.sentences:
            judged.append(astuple(score))
    if not judged:
        raise InvalidInputError(
            "expected at least one answer with a sentence that was judged, got none"
        )
    precisions, recalls, sentences, citations = zip(*judged, strict=True)
    return CitationScores(fmean(precisions), fmean(recalls), sum(sentences), sum(citations))


def split_cited(answer: str) -> tuple[list[str], list[list[int]]]:
    """Return the sentences of an answer without their markers, and what they cite.

    Those are the indices of passages, from 0. Markers may stand before or after the mark that ends
    a sentence; "[2, 3]" is two citations. A sentence of markers only belongs to the one before. [0]
    becomes -1, which is out of range.
    """
    sentences: list[str] = []
    citations: list[list[int]] = []
    for start, end in sentence_spans(answer):
        part = answer[start:end]
        # A marker after the full stop opens the next sentence, as the splitter sees it.
        opening = _SPACED_MARKERS.match(part)
        if opening and sentences:
            citations[-1] += _places(opening[0])
            part = part[opening.end() :]
        text = _SPACED_MARKERS.sub("", part).strip()
        if text:
            sentences.append(text)
            citations.append(_places(part))
    return sentences, citations


def read_cited(path: str | PathLike[str]) -> Iterator[CitedText]:
    """Yield the answers in a file of JSON lines, one object per line.

    Each has an `answer` with markers [n], or `sentences`, a list of such texts; `passages`, texts
    or objects with `text` and `title`; and optionally `gold`, the numbers of the passages that
    support each sentence, from 1 on as in markers, or null for a sentence that nobody judged.

    Raises:
        UnreadableFileError: The file cannot be read, or a line has another form.
    """
    return read_records(
        Path(path), _cited, expected='an object with "answer" or "sentences", and "passages"'
    )


def _cited(fields: dict[str, Any]) -> CitedText:
    if "answer" in fields:
        sentences, citations = split_cited(fields["answer"])
    else:
        parts = list(map(split_cited, fields["sentences"]))
        sentences = [" ".join(texts) for texts, _ in parts]
        citations = []
        for _, cited in parts:
            citations.append(list(chain.from_iterable(cited)))
    passages = []
    for item in fields["passages"]:
        if isinstance(item, dict):
            passages.append(Document(**item))
        else:
            passages.append(Document(item))
    gold = fields.get("gold")
    if gold is not None:
        places: list[list[int] | None] = []
        for labels in gold:
            if labels is None:
                places.append(None)
            else:
                places.append([int(label) - 1 for label in labels])
        gold = places
    return CitedText(sentences, passages, citations, gold)


def _premise(passage: Unit | Document | str) -> str:
    """Return a passage as ALCE shows it to the entailment model.

    It has "Title: …" on a line of its own if it has a title.
    """
    if isinstance(passage, str):
        return passage
    if passage.title:
        return f"Title: {passage.title}\n{passage.text}"
    return passage.text


def _places(text: str) -> list[int]:
    places = []
    for marker in _MARKER.findall(text):
        for number in re.findall(r"\d+", marker):
            places.append(int(number) - 1)
    return places
