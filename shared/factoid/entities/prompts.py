"""What a reader is asked: the prompts of Entity Retrieval, Appendix A.

A context is one string for each document; a plain string is one document.
"""

from __future__ import annotations

from collections.abc import Sequence

from factoid.errors import InvalidInputError

CLOSED_BOOK = "Answer this question:\nQ: {question}\nA:"
ONE_DOCUMENT = "{context}\n\nBased on this text, answer this question:\nQ: {question}\nA:"
SEVERAL_DOCUMENTS = "{context}\n\nBased on these texts, answer this question:\nQ: {question}\nA:"

_BETWEEN_DOCUMENTS = "\n\n"


def question_prompt(question: str, context: str | Sequence[str] = ()) -> str:
    """Return the prompt for a question without documents, with one, or with several (Appendix A.1 and A.2).

    The question stands in it as it is given. Documents of white space are left out.

    Raises:
        InvalidInputError: The question is empty.
    """
    if not question.strip():
        message = "expected a question, got only white space"
        raise InvalidInputError(message)
    texts = [text for text in as_documents(context) if text.strip()]
    template = CLOSED_BOOK if not texts else ONE_DOCUMENT if len(texts) == 1 else SEVERAL_DOCUMENTS
    return template.format(context=_BETWEEN_DOCUMENTS.join(texts), question=question)


def as_documents(context: str | Sequence[str]) -> list[str]:
    """Return a context as a list of documents: a plain string is one."""
    return [context] if isinstance(context, str) else list(context)


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
