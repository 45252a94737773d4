"""The demo from beginning to end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from factoid.demo import show
from factoid.demo.cache import CachedEncoder
from factoid.demo.corpus import headline_questions, index
from factoid.demo.data import Question, find_data, load_encyclopedia
from factoid.demo.frameworks import FRAMEWORKS, run_framework
from factoid.demo.measure import measure
from factoid.encode import Encoder
from factoid.errors import InvalidInputError
from factoid.files import read_documents
from factoid.propositions import Propositionizer
from factoid.store import GRANULARITIES, UnitStore
from factoid.terminal import count, plain, wrap

# Picked by hand: the answer stands in an aside of a long sentence.
SHOWN = (
    "What was the occupation of Mary Anning's father?",
    "How many lunar months make up the Saros eclipse period?",
    "Who founded the New York conservatory that hired Dvořák as its director?",
)
_WORDS = 100  # of context
_BESIDE = 5  # best passages whose documents the frameworks index again


def run_demo(
    docs: str | Path | None = None,
    questions: Sequence[str] = (),
    *,
    encoder: Encoder,
    propositionizer: Propositionizer | None = None,
    color: bool = False,
    show_progress: bool = False,
) -> None:
    """Cut documents, index them at three granularities and print what each of these finds.

    Args:
        docs: A file or folder; None for the encyclopedia, on which answers are known and counted.
        questions: What to ask; by default three of the encyclopedia's questions, or headings of the documents.
        encoder: Encodes units and questions.
        propositionizer: None for `SyntaxPropositionizer`.
        color: Use ANSI colours.
        show_progress: Show a progress bar.

    Raises:
        InvalidInputError: The documents hold no text.
        UnreadableFileError: A file cannot be read, or the encyclopedia is not there.
    """
    encoder = CachedEncoder(encoder)
    if propositionizer is None:
        from factoid.propositions.syntax import SyntaxPropositionizer

        propositionizer = SyntaxPropositionizer()
    if docs is None:
        encyclopedia = load_encyclopedia(find_data())
        documents, known = encyclopedia.documents, encyclopedia.questions
    else:
        documents, known = list(read_documents([docs])), []
    with UnitStore(encoder=encoder) as store:
        summary = index(store, documents, propositionizer, show_progress=show_progress)
        if not any(summary.units.values()):
            message = f"{docs} holds no text"
            raise InvalidInputError(message)
        print(show.headline(f"{count(summary.documents, 'document')}, cut three ways"))
        print(show.counts(summary))
        asked = [Question(text) for text in questions]
        if not asked:
            prepared = {question.text: question for question in known}
            asked = [prepared[text] for text in SHOWN if text in prepared] or headline_questions(summary)
            if docs is not None:
                print('\nNo question was given: some headings serve as questions. Yours: factoid demo --docs DIR "…"')
        for question in asked:
            _show_best(store, question, color=color)
        _show_contexts(store, asked[0])
        if known:
            print(show.headline("How often the answer is found"))
            vectors = encoder.encode_queries([question.text for question in known])
            print(show.table({kind: measure(store, known, vectors, kind) for kind in GRANULARITIES}, len(known)))
        hits = store.search(asked[0].text, _BESIDE)
    # Not everything is indexed again, only the documents of the best hits.
    found = {hit.unit.document_id for hit in hits}
    again = list({document.id: document for document in documents if document.id in found}.values())
    for framework in FRAMEWORKS:
        print(show.headline(f"The same in six lines of {framework.name}"))
        print(run_framework(framework, again, asked[0].text, encoder, hits[0]))
    if docs is None:
        print('\nThe same on your own files: factoid demo --docs DIR "your question"')


def _show_best(store: UnitStore, question: Question, *, color: bool) -> None:
    """Print the best unit of each granularity."""
    print(show.headline(plain(question.text)))
    best = [(kind, hit) for kind in GRANULARITIES for hit in store.search(question.text, 1, granularity=kind)]
    print("\n\n".join(show.best_unit(kind, hit, question, color=color) for kind, hit in best))


def _show_contexts(store: UnitStore, question: Question) -> None:
    """Print what a reader model would get."""
    print(show.headline(f"What {_WORDS} words of context hold"))
    print(wrap(plain(question.text), indent="  "))
    for kind in GRANULARITIES:
        # Every unit has a word at least, so this many fill the budget.
        hits = store.search(question.text, _WORDS, granularity=kind, parents=False)
        print(f"\n{show.context(kind, hits, question, words=_WORDS)}")
