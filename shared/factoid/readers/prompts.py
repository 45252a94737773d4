"""The prompts for readers.

Those of Entity Retrieval (Appendix A), and the inputs of UnifiedQA and Fusion-in-Decoder.
"""

from __future__ import annotations

from collections.abc import Sequence

from factoid.errors import InvalidInputError

CLOSED_BOOK = "Answer this question:\nQ: {question}\nA:"
ONE_DOCUMENT = "{context}\n\nBased on this text, answer this question:\nQ: {question}\nA:"
SEVERAL_DOCUMENTS = "{context}\n\nBased on these texts, answer this question:\nQ: {question}\nA:"

Context = str | Sequence[str]
"""The texts of documents; a plain string is one."""


def question_prompt(question: str, context: Context = ()) -> str:
    """Return the prompt for a question without documents, with one, or with several.

    Blank ones do not count (Appendix A).

    Raises:
        InvalidInputError: The question is blank.
    """
    _check_question(question)
    texts = texts_of(context)
    if not texts:
        template = CLOSED_BOOK
    else:
        template = ONE_DOCUMENT if len(texts) == 1 else SEVERAL_DOCUMENTS
    return template.format(context="\n\n".join(texts), question=question)


def document_text(title: str, text: str) -> str:
    """Return a document as the paper's experiments show it to the reader.

    Title, blank line, title, text (Tables 7 to 10). Without a title it is the text alone. White
    space becomes single spaces; the text of a hit keeps its line breaks.
    """
    text = " ".join(text.split())
    if title:
        return f"{title}\n\n{title}\n{text}"
    return text


def unified_qa_prompt(question: str, context: Context = ()) -> str:
    r"""Return a question and its texts as UnifiedQA reads them (Khashabi et al., 2022).

    All in lower case, the question first, with the two characters `\n` between it and the texts.

    Raises:
        InvalidInputError: The question is blank.
    """
    _check_question(question)
    parts = [question, " ".join(texts_of(context))]
    words = [" ".join(part.split()) for part in parts]
    return " \\n ".join(filter(None, words)).lower()


def fusion_prompt(question: str, context: Context = ()) -> str:
    """Return a question with one passage as Fusion-in-Decoder encodes them.

    A passage with a title is given as "title: … context: …", one without as its text.

    Raises:
        InvalidInputError: The question is blank.
    """
    _check_question(question)
    parts = [f"question: {question}"]
    for text in texts_of(context):
        passage = " ".join(text.split())
        if not passage.startswith("title: "):
            passage = f"context: {passage}"
        parts.append(passage)
    return " ".join(parts)


def normalize_question(question: str) -> str:
    """Return a question as Ram et al. (2023) put it into prompts (Entity Retrieval, §4.1).

    It ends in a question mark, and its first letter is a small one.

    Raises:
        InvalidInputError: The question is blank.
    """
    _check_question(question)
    question = question.strip()
    if not question.endswith("?"):
        question += "?"
    return question[0].lower() + question[1:]


def _check_question(question: str) -> None:
    if not question.strip():
        raise InvalidInputError(f"expected a question that is not blank, got {question!r}")


def texts_of(context: Context) -> list[str]:
    """Return the texts of a context that are not blank."""
    if isinstance(context, str):
        context = [context]
    return [text for text in context if text.strip()]
