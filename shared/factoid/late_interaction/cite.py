"""PropCite: add citations to a finished answer, or to one that streams, fact by fact.

AGRaME, §4.3; `answer_citer.py` has the method.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Generator, Iterable
from os import PathLike
from typing import TYPE_CHECKING, get_args

from factoid.errors import InvalidInputError
from factoid.late_interaction.answer import GrowingAnswer
from factoid.late_interaction.answer_citer import AnswerCiter, CiteOptions, Method
from factoid.late_interaction.citations import CitedAnswer, CitedSentence, CiteReport
from factoid.late_interaction.encoder import TokenEncoder
from factoid.late_interaction.rank import AnyGranularityRanker, Passages
from factoid.propositions import Propositionizer, SyntaxPropositionizer
from factoid.propositions.protocol import check_propositionizer
from factoid.units import check_text, whole_number

if TYPE_CHECKING:
    from sentence_transformers import MultiVectorEncoder


class PropCite:
    """Add citations to any model's answer: for each proposition the passage that matches it best.

    Existing markers are removed; new ones go before a sentence's final punctuation. Sentences
    without a claim, such as headings, code, lead-ins of lists and refusals, are not cited. Nothing
    else in the answer changes.

    Args:
        model: An `AnyGranularityRanker`, the name or folder of a late-interaction model, or a
            `TokenEncoder`.
        propositionizer: Splits the answer's sentences into propositions; None for
            `SyntaxPropositionizer()`.
        method: "proposition" is PropCite. Its ablations (Table 9) are "bare proposition" (i), which
            encodes a proposition as a query of its own, without its sentence, and "sentence"
            (ii, iii), which takes each sentence as one query.
        passages_per_claim: The number of best passages that are cited for each claim: 2 with
            sentences is row iii.
        min_margin: Least margin of a citation, in units of its score: 1.0 in the paper's variant
            with higher precision (footnote 5). None always cites the best passage. Two passages
            with the same text have no margin between them.
        overwrite: False leaves sentences with markers unchanged.

    Attributes:
        last_report: The `CiteReport` of the latest finished answer; None before the first.

    Raises:
        InvalidInputError: An option is out of range.
    """

    def __init__(
        self,
        model: str | PathLike[str] | MultiVectorEncoder | TokenEncoder | AnyGranularityRanker,
        *,
        propositionizer: Propositionizer | None = None,
        method: Method = "proposition",
        passages_per_claim: int = 1,
        min_margin: float | None = None,
        overwrite: bool = True,
    ) -> None:
        if method not in get_args(Method):
            raise InvalidInputError(
                f"method must be one of {', '.join(get_args(Method))}, got {method!r}"
            )
        whole_number("passages_per_claim", passages_per_claim)
        if passages_per_claim > 1 and min_margin is not None:
            raise InvalidInputError(
                "min_margin decides about the best passage: leave it out where several are cited"
            )
        if not isinstance(model, AnyGranularityRanker):
            model = AnyGranularityRanker(model)
        if propositionizer is None:
            propositionizer = SyntaxPropositionizer()
        check_propositionizer(propositionizer)
        self.ranker = model
        self.propositionizer = propositionizer
        self.passages_per_claim = passages_per_claim
        self.method = method
        self.min_margin = min_margin
        self.overwrite = overwrite
        self.last_report: CiteReport | None = None

    def _citer(self, passages: Passages) -> AnswerCiter:
        options = CiteOptions(
            self.ranker,
            self.propositionizer,
            self.method,
            self.passages_per_claim,
            self.min_margin,
            self.overwrite,
        )
        return AnswerCiter(options, passages)

    def cite(self, answer: str, passages: Passages) -> CitedAnswer:
        """Return an answer with its citations.

        Args:
            answer: The answer, plain or Markdown.
            passages: The answer's sources, numbered in this order; as in
                `AnyGranularityRanker.rank`.

        Raises:
            InvalidInputError: The answer is not a string, or as for `AnyGranularityRanker.rank`.
            MissingDependencyError: Sentence Transformers is absent.
        """
        check_text(answer, "answer")
        citer = self._citer(passages)
        stretches = GrowingAnswer(answer).finish()
        citer.add_propositions(stretches)
        sentences = tuple(map(citer.cite_sentence, stretches))
        self.last_report = citer.report
        return CitedAnswer(sentences)

    async def acite(self, answer: str, passages: Passages) -> CitedAnswer:
        """Run `cite` in another thread."""
        return await asyncio.to_thread(self.cite, answer, passages)

    def stream(
        self, chunks: Iterable[str], passages: Passages
    ) -> Generator[CitedSentence, None, None]:
        """Yield each sentence of an answer with its citations when the next begins.

        The last one comes at the end. However the answer is cut into chunks, the sentences are
        nearly always those of `cite`. Closing this generator also closes the generator of chunks.

        Args:
            chunks: The answer in parts.
            passages: As in `cite`, whose errors are raised too; they are encoded when the first
                sentence that claims something is cited.
        """
        citer = self._citer(passages)
        growing = GrowingAnswer()
        try:
            for chunk in chunks:
                check_text(chunk, "chunk")
                yield from map(citer.cite_sentence, growing.feed(chunk))
            yield from map(citer.cite_sentence, growing.finish())
        finally:
            if isinstance(chunks, Generator):
                chunks.close()
        self.last_report = citer.report

    async def astream(
        self, chunks: AsyncIterable[str], passages: Passages
    ) -> AsyncGenerator[CitedSentence, None]:
        """Stream as `stream` does, splitting and encoding in another thread.

        Passages are encoded while the answer begins.
        """
        citer = self._citer(passages)
        growing = GrowingAnswer()
        # A model takes seconds to begin its answer: passages are encoded meanwhile.
        encoding = asyncio.ensure_future(asyncio.to_thread(citer.encode))
        try:
            async for chunk in chunks:
                check_text(chunk, "chunk")
                for stretch in await asyncio.to_thread(growing.feed, chunk):
                    await encoding
                    yield await asyncio.to_thread(citer.cite_sentence, stretch)
            await encoding  # its errors are raised even if no sentence was cited
            for stretch in await asyncio.to_thread(growing.finish):
                yield await asyncio.to_thread(citer.cite_sentence, stretch)
        finally:
            # Nobody may be waiting for it any more: it ends here, and its error was raised above.
            encoding.cancel()
            await asyncio.gather(encoding, return_exceptions=True)
            if isinstance(chunks, AsyncGenerator):
                await chunks.aclose()
        self.last_report = citer.report
