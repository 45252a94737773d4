"""The citations of an answer: its sentences with their markers, and the passages behind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from math import inf, isfinite
from typing import Any, TypedDict

from factoid.late_interaction.rank import SpanHit
from factoid.sentences import Span
from factoid.units import Unit


class CitationFields(TypedDict):
    """A citation as LangChain's messages and LlamaIndex's responses carry it.

    Places are half-open, in characters.
    """

    number: int  # of the source, from 1, as in the markers
    source_id: str  # of the cited document or node, or ""
    title: str  # of the source, or ""
    url: str  # of the source, or ""
    start_index: int  # of the claim in the cited answer
    end_index: int
    cited_text: str  # the sentence of the source that supports the claim
    cited_start_index: int  # of that sentence in the source's text
    cited_end_index: int
    claim: str  # the fact that the answer states
    score: float  # MaxSim of the claim with the source
    margin: float  # how far the score is above that of the next source; infinite if there is none


@dataclass(frozen=True, slots=True)
class Citation:
    """A passage that is cited for a claim of a sentence.

    Attributes:
        position: Index of the passage in the input, from 0; its number in markers is one more.
        score: MaxSim of the claim with the whole passage; it grows with the number of the claim's
            tokens.
        margin: How far the score is above that of the next passage; infinite if there is none.
        claim: Text of the proposition, or the sentence.
        spans: Where the claim's words are, in characters of the cited answer.
        support: The sentence of the passage that matches the claim best, with its span in the
            passage's document.
    """

    position: int
    score: float
    margin: float
    claim: str
    spans: tuple[Span, ...]
    support: SpanHit

    @property
    def number(self) -> int:
        """Return the passage's number in markers, from 1."""
        return self.position + 1

    @property
    def passage(self) -> Unit:
        """Return the cited passage."""
        return self.support.passage

    def fields(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Return the citation as JSON fields.

        `title` and `url` are of the cited document's metadata if they are strings.
        """
        support = self.support.unit
        fields: dict[str, Any] = {"number": self.number}
        for key in ("title", "url"):
            if isinstance(metadata.get(key), str):
                fields[key] = metadata[key]
        fields |= {
            "start_index": self.spans[0][0],
            "end_index": self.spans[-1][1],
            "cited_text": support.text,
            "cited_start_index": support.start,
            "cited_end_index": support.end,
            "claim": self.claim,
            "score": self.score,
        }
        if isfinite(self.margin):
            fields["margin"] = self.margin
        return fields


def citation_fields(record: Mapping[str, Any], source_id: str | None) -> CitationFields:
    """Return the fields that `Citation.fields` made, with those that may be absent filled in."""
    return CitationFields(
        number=record["number"],
        source_id=source_id or "",
        title=record.get("title", ""),
        url=record.get("url", ""),
        start_index=record["start_index"],
        end_index=record["end_index"],
        cited_text=record["cited_text"],
        cited_start_index=record["cited_start_index"],
        cited_end_index=record["cited_end_index"],
        claim=record["claim"],
        score=record["score"],
        margin=record.get("margin", inf),
    )


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence of an answer with its citations.

    The texts of all sentences add up to the cited answer.

    Attributes:
        text: The sentence with its markers, after the text between it and the sentence before.
        plain: The sentence alone, without markers, as the model read it.
        start: Start of the sentence with its markers, in characters of the cited answer.
        end: End of the sentence; equal to the start if there is no sentence, as in white space.
        citations: The citations, in the order of the claims.
    """

    text: str
    plain: str
    start: int
    end: int
    citations: tuple[Citation, ...] = ()

    @property
    def numbers(self) -> tuple[int, ...]:
        """Return the numbers of the cited passages in the order of their markers."""
        return tuple(dict.fromkeys(citation.number for citation in self.citations))


@dataclass(frozen=True, slots=True)
class CitedAnswer:
    """An answer with markers, such as `[2]`, and the citations behind them.

    That is the marker of the second passage.
    """

    sentences: tuple[CitedSentence, ...] = ()

    @property
    def text(self) -> str:
        """Return the answer with markers."""
        return "".join(sentence.text for sentence in self.sentences)

    @property
    def citations(self) -> tuple[Citation, ...]:
        """Return the citations of all sentences, in order."""
        return tuple(chain.from_iterable(sentence.citations for sentence in self.sentences))

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class CiteReport:
    """Counts of one answer.

    Attributes:
        silent: Sentences that are not cited: they claim nothing, or keep their own markers
            (`overwrite=False`).
        claims: Queries: propositions and whole sentences.
        whole: Propositions in whose place the whole sentence was the query, since they are a
            fallback or share no word with it; a sentence may count several times.
        below_margin: Claims without a citation because of `min_margin`.
    """

    sentences: int = 0
    silent: int = 0
    claims: int = 0
    whole: int = 0
    below_margin: int = 0
