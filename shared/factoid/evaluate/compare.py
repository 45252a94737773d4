"""Run settings on a user's own corpus and questions, with the work that they share done once.

One splitting, one encoding of each text by each encoder, one decomposition; all kept on disk if
there is a cache, with the answers of each setting, so that a killed run goes on where it ended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from factoid.encode import Encoder
from factoid.errors import InvalidInputError
from factoid.evaluate.bench import Bench, Estimate
from factoid.evaluate.checks import Check
from factoid.evaluate.comparison import Comparison
from factoid.evaluate.measures import MEASURE, READ, measure_of, words_read
from factoid.evaluate.questions import Question
from factoid.evaluate.settings import Setting, can_chunk
from factoid.propositions import Contextualizer, Propositionizer
from factoid.readers.reader import Reader
from factoid.split import WORDS
from factoid.units import Document

_NO_CHUNKS = (
    "Chunks, which most people have today, are not compared: install their splitter with "
    'pip install "factoid[langchain]".'
)


def compare(
    documents: Sequence[Document],
    questions: Sequence[Question],
    settings: Sequence[Setting] | None = None,
    *,
    encoder: Encoder | Mapping[str, Encoder],
    propositionizer: Propositionizer | None = None,
    contextualizer: Contextualizer | None = None,
    reader: Reader | None = None,
    read: Sequence[int] = READ,
    baseline: str | None = None,
    measure: str = MEASURE,
    words: int = WORDS,
    cache: str | Path | None = None,
    price: float | None = None,
    command: str = "",
    before: Callable[[Sequence[Check], Estimate], object] | None = None,
    progress: bool | None = None,
) -> Comparison:
    """Return what settings find for the same questions.

    Args:
        documents: The corpus.
        questions: Those whose gold the corpus does not hold are left out, and counted in a check.
        settings: None for `default_settings`.
        encoder: The encoder, or several by the names that settings have.
        propositionizer: None for `SyntaxPropositionizer`.
        contextualizer: Writes a sentence of context for each passage, for settings with `contexts`.
        reader: Answers each question from the first words of context, for EM@l and F1@l; None to
            ask none.
        read: How many first words the reader gets: it is asked once for each number.
        baseline: The setting that the others are compared with; None for chunks if they are among
            the settings, else for the first one.
        measure: What decides, as in `measure_of`.
        words: Maximum number of words in a passage.
        cache: A folder for vectors, propositions and answers, so that the next run is quick and a
            killed one goes on; None to keep nothing.
        price: Of a million tokens of the encoder, for the estimate.
        command: How the comparison was asked for, for the manifest.
        before: Called with the doubts and the cost before anything is encoded, unless all answers
            are in the cache; it may raise to stop.
        progress: Whether to show bars, as `factoid.progress` does.

    Raises:
        InvalidInputError: The corpus is empty, no gold is in it, or settings cannot run.
    """
    measure_of(measure)
    needed = words_read(measure)
    if needed is not None and (reader is None or needed not in read):
        raise InvalidInputError(
            f"{measure!r} needs a reader that is asked with {needed} words of context"
        )
    bench = Bench(
        documents,
        questions,
        settings,
        encoder=encoder,
        propositionizer=propositionizer,
        contextualizer=contextualizer,
        reader=reader,
        read=read,
        words=words,
        cache=cache,
        progress=progress,
    )
    names = [setting.name for setting in bench.settings]
    if not baseline:
        baseline = _usual_baseline(bench.settings)
    if baseline not in names:
        raise InvalidInputError(f"the baseline must be one of {', '.join(names)}, got {baseline!r}")
    checks = (*bench.checks, *bench.truncation())
    if not can_chunk():
        checks += (Check("no chunks", _NO_CHUNKS),)
    if before is not None and not bench.is_done:
        before(checks, bench.estimate(price))
    settings_tried = []
    answers_by_setting = {}
    for setting in bench.settings:
        tried, answers = bench.run(setting)
        settings_tried.append(tried)
        answers_by_setting[tried.name] = answers
    return Comparison(
        tried=tuple(settings_tried),
        asked=tuple(bench.asked),
        answers=answers_by_setting,
        checks=checks,
        manifest={**bench.manifest(), "command": command},
        baseline=baseline,
        measure=measure,
    )


def _usual_baseline(settings: Sequence[Setting]) -> str:
    """Return the name of the first setting with chunks, else of the first one."""
    for setting in settings:
        if setting.is_foreign:
            return setting.name
    return settings[0].name
