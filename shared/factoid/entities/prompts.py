"""What a reader is asked: the prompts of Entity Retrieval, Appendix A.

A context is one string for each document; a plain string is one document.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from factoid.errors import InvalidInputError

CLOSED_BOOK = "Answer this question:\nQ: {question}\nA:"
ONE_DOCUMENT = "{context}\n\nBased on this text, answer this question:\nQ: {question}\nA:"
SEVERAL_DOCUMENTS = "{context}\n\nBased on these texts, answer this question:\nQ: {question}\nA:"

_BETWEEN_DOCUMENTS = "\n\n"


Context = str | Sequence[str]
"""The texts of documents; a plain string is one."""


def question_prompt(question: str, context: Context = ()) -> str:
    """Return the prompt for a question without documents, with one, or with several (Appendix A.1 and A.2).

    The question stands in it as it is given. Documents of white space are left out.

    Raises:
        InvalidInputError: The question is empty, or something is no string.
    """
    if not isinstance(question, str):
        message = f"expected a question as a string, got {type(question).__name__}"
        raise InvalidInputError(message)
    if not question.strip():
        message = "expected a question, got only white space"
        raise InvalidInputError(message)
    texts = [text for text in as_documents(context) if text.strip()]
    template = CLOSED_BOOK if not texts else ONE_DOCUMENT if len(texts) == 1 else SEVERAL_DOCUMENTS
    return template.format(context=_BETWEEN_DOCUMENTS.join(texts), question=question)


def as_documents(context: Any, text_of: Callable[[Any], Any] = lambda document: document) -> list[str]:
    """Return a context as a list of documents: a plain string is one.

    Args:
        context: The documents, or one.
        text_of: Returns the text of a document that is no string, and all else as it is.

    Raises:
        InvalidInputError: There is something that has no text.
    """
    found = text_of(context)
    if isinstance(found, str):
        return [found]
    if isinstance(found, bytes | Mapping) or not isinstance(found, Iterable):
        message = f"expected a list of documents, or () for none, got {type(context).__name__}"
        raise InvalidInputError(message)
    texts = [text_of(document) for document in found]
    for text in texts:
        if not isinstance(text, str):
            message = f"expected the text of each document, got {type(context).__name__} with {type(text).__name__}"
            raise InvalidInputError(message)
    return texts


def match_contexts(
    questions: Sequence[str], contexts: Sequence[Any], text_of: Callable[[Any], Any] = lambda document: document
) -> list[tuple[str, list[str]]]:
    """Return each question with its documents, as `as_documents` gives them.

    Raises:
        InvalidInputError: Questions or contexts are one string or no list, or there are not as many; or as `as_documents`.
    """
    for name, given in (("questions", questions), ("contexts", contexts)):
        if isinstance(given, str | bytes | Mapping) or not isinstance(given, Collection):
            message = f"expected a list of {name}, got {type(given).__name__}: read answers a single question"
            raise InvalidInputError(message)
    if len(questions) != len(contexts):
        message = f"expected a context for each question, got {len(contexts)} for {len(questions)} questions"
        raise InvalidInputError(message)
    return [(each, as_documents(context, text_of)) for each, context in zip(questions, contexts, strict=True)]


def normalize_question(question: str) -> str:
    """Return a question as the paper's experiments give it to linkers and readers (§4.1, after Ram et al., 2023).

    White space around it goes, its first letter becomes lower case, and a question mark is added unless it ends in one.
    This harms a name at the beginning: "Paris is in which country?" begins with "paris". It is there to reproduce the
    paper's numbers, and nothing in factoid does it unasked.
    """
    question = question.strip()
    question = question[:1].lower() + question[1:]
    return question if not question or question.endswith("?") else f"{question}?"


def document_text(title: str, text: str) -> str:
    """Return a document as the paper's experiments show it to the reader: title, blank line, title, text.

    The title stands there twice, since the paper's passages begin with it themselves (Tables 7 to 10). Without a title it is
    the text alone.

    Args:
        title: Of the article.
        text: Its first words, or a passage of it.
    """
    return f"{title}\n\n{title}\n{text}" if title else text
