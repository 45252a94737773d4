"""SpEL as an entity linker.

Words of a text, their subwords, and phrases of words that mean one entity.
"""

from __future__ import annotations

import re
import string
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from factoid.entities.mention import Candidate, Mention
from factoid.entities.spel.model import OUTSIDE, Prediction, SpELModel
from factoid.sentences import Span, sentence_spans
from factoid.units import check_text, whole_number

if TYPE_CHECKING:
    import torch


class SpELLinker:
    """Links entities with a SpEL model, as the Entity Retrieval paper does.

    Files are read on first use. Threads may share a linker; it serves one at a time. A text of up
    to 512 tokens, such as any question, is read in one pass, as in Entity Retrieval; longer ones in
    parts of whole sentences.

    Args:
        model: A folder with a published .pt checkpoint and the vocabulary files under their
            published names.
        tokenizer: RoBERTa's tokenizer: "roberta-base", which is downloaded on first use, or a
            folder; None for the model's.
        top_k: The number of entities to consider for each subword: 10 as in the Entity Retrieval
            paper, 1 as in SpEL's own evaluation.
        device: The device for PyTorch, for example "cuda"; None for a GPU if there is one, else the
            CPU.

    Raises:
        InvalidInputError: `top_k` is below 1; on first use, the vocabulary does not belong to the
            checkpoint.
        UnreadableFileError: On first use: a file is missing, damaged or of another format.
    """

    def __init__(
        self,
        model: str | PathLike[str],
        tokenizer: str | PathLike[str] | None = None,
        *,
        top_k: int = 10,
        device: str | torch.device | None = None,
    ) -> None:
        self.model = Path(model)
        self.tokenizer = model if tokenizer is None else tokenizer
        self.top_k = whole_number("top_k", top_k)
        self.device = device
        self._loaded: SpELModel | None = None
        self._lock = Lock()

    def link(self, text: str) -> list[Mention]:
        """Return the mentions in a text, in order."""
        check_text(text)
        with self._lock:
            if self._loaded is None:
                self._loaded = SpELModel(
                    self.model, self.tokenizer, top_k=self.top_k, device=self.device
                )
            return _link(self._loaded, text)


@dataclass(frozen=True, slots=True)
class Phrase:
    """A word, or a run of words, resolved to one id, which may be "no entity"."""

    start: int
    end: int  # of the span [start, end) in characters
    # the ids that all words and subwords have in common, with mean probabilities, best first
    candidates: Prediction

    @property
    def entity(self) -> int:
        """The best of the candidates."""
        return next(iter(self.candidates))


def _link(model: SpELModel, text: str) -> list[Mention]:
    encoded = model.tokenizer(text, return_offsets_mapping=True, verbose=False)
    begin, *tokens, end = encoded["input_ids"]
    offsets = encoded["offset_mapping"][1:-1]
    predictions: list[Prediction] = []
    for part in cut_tokens(text, offsets, model.limit - 2):
        predictions += model.predict([begin, *tokens[part.start : part.stop], end])[1:-1]
    mentions = []
    for phrase in find_phrases(text, split_words(text), offsets, predictions):
        if phrase.start < phrase.end and model.titles[phrase.entity]:
            scores: dict[str, float] = {}
            for entity, score in phrase.candidates.items():
                if title := model.titles[entity]:
                    scores.setdefault(title, min(score, 1.0))
            candidates = tuple(Candidate(title, score) for title, score in scores.items())
            mentions.append(
                Mention(
                    phrase.start, phrase.end, candidates[0].title, candidates[0].score, candidates
                )
            )
    return mentions


def cut_tokens(text: str, offsets: Sequence[Span], limit: int) -> Iterator[range]:
    """Yield ranges of at most `limit` tokens, which begin where sentences do if possible."""
    starts = [start for start, _ in offsets]
    sentences = []
    if len(starts) > limit:
        sentences = [bisect_left(starts, start) for start, _ in sentence_spans(text)]
    first = 0
    while first < len(starts):
        last = len(starts)
        if last - first > limit:
            last = max(
                (cut for cut in sentences if first < cut <= first + limit), default=first + limit
            )
        yield range(first, last)
        first = last


def find_phrases(
    text: str, words: Sequence[Span], offsets: Sequence[Span], predictions: Sequence[Prediction]
) -> list[Phrase]:
    """Return the phrases of a text, including those without an entity.

    Adjacent mentions of one entity are one phrase.
    """
    resolved = []
    for group in group_subwords(words, offsets):
        if group:  # a word covered by its neighbour's subword has no prediction
            predicted = [predictions[place] for place in group]
            start, _ = offsets[group[0]]
            _, end = offsets[group[-1]]
            resolved.append(resolve_word(predicted, start, end))
    phrases = []
    for _, neighbours in groupby(resolved, key=lambda word: word.entity):
        members = list(neighbours)
        start = members[0].start
        end = members[-1].end
        surface = text[start:end]
        # a line end is a subword of the word after it
        start += len(surface) - len(surface.lstrip())
        end = max(start, end - len(surface) + len(surface.rstrip()))
        phrases.append(Phrase(start, end, _shared([word.candidates for word in members])))
    return phrases


def resolve_word(subwords: Sequence[Prediction], start: int, end: int) -> Phrase:
    """Return a word's entity.

    The best of those that all its subwords list, else that of most subwords.
    """
    candidates = _shared(subwords)
    if not candidates:
        votes = Counter(next(iter(subword)) for subword in subwords)
        entity, most = votes.most_common(1)[0]  # in order of the text
        if votes[OUTSIDE] == most > 1:  # as in the original
            entity = OUTSIDE
        candidates = {entity: sum(subword.get(entity, 0.0) for subword in subwords) / len(subwords)}
    return Phrase(start, end, candidates)


def _shared(listed: Sequence[Prediction]) -> Prediction:
    """Return the ids that several tables have in common, best first.

    They have the means of their values.
    """
    shared = [entity for entity in listed[0] if all(entity in table for table in listed)]
    means = {}
    for entity in shared:
        means[entity] = sum(table[entity] for table in listed) / len(listed)
    return dict(sorted(means.items(), key=lambda pair: -pair[1]))


def split_words(text: str) -> list[Span]:
    """Return the spans of the words, in characters.

    If a piece between white space begins or ends with ASCII punctuation, its leading run, core and
    trailing run are words of their own; otherwise a trailing 's is one.
    """
    spans: list[Span] = []
    for match in re.finditer(r"\S+", text):
        piece = match[0]
        (start, end) = match.span()
        if piece[0] in string.punctuation or piece[-1] in string.punctuation:
            core = end - len(piece.lstrip(string.punctuation))
            core_end = max(core, start + len(piece.rstrip(string.punctuation)))
        else:
            core = start
            core_end = end - 2 if piece.endswith(("'s", "'S")) else end
        for span in ((start, core), (core, core_end), (core_end, end)):
            if span[0] < span[1]:
                spans.append(span)
    return spans


def group_subwords(words: Sequence[Span], offsets: Sequence[Span]) -> list[range]:
    """Return the subwords of each word.

    Those that start before its end, and not in an earlier word.
    """
    starts = [start for start, _ in offsets]
    ends = [bisect_left(starts, end) for _, end in words]
    return [range(*pair) for pair in pairwise([0, *ends])]
