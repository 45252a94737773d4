"""What cuts, cleans and reads texts takes linear time for hostile ones, and a passage has a bound."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from factoid.context import pack_context
from factoid.entities.articles.names import name_key, spelled_out, split_title
from factoid.entities.importers.wikitext import links, plain_text, prepare
from factoid.entities.linkers.spans import Words
from factoid.entities.reader import clean_answer
from factoid.evaluate.answers import has_answer_dpr, normalize_answer
from factoid.propositions.parse import read_propositions
from factoid.propositions.syntax import SyntaxPropositionizer
from factoid.split import split_passages, split_sentences
from factoid.units import Document, Granularity, Hit, Unit
from factoid.words import cut_words, stands_in

_FRAGMENTS = (
    " ", "a", "(", "[", "{{", "{|", "'", '"', "-", ".", "1", ",", "\n", "\\", "a ", "( ", "1.", "A. ", "[[a|", "{{a|", "= ",
    "* a\n", "# a\n", "#", " #", "=", "?!", "! ", "x", "word ",
    "漢", "\u00a0", "[1]", ".[1]", ".[^1]", ".²", '." ', "dem 1. A ", "gem. A ", "<td>a", "<br>", "\n- a",
    "A\n\n", "| a | b |\n", "a\n", "&amp;", "<ref>", "```\n", '"A"', "In A, ", "http://", "[a](", "{{{|", "{{{|}", "<think>",
    '["', '", "', "”, “", 'a", "b" c', '{"a":', '."\n', "</think>[", '["a"]Input:',
)  # fmt: skip
_SHORT, _LONG = 5_000, 20_000  # characters
_QUICK = 0.5  # seconds
_MOST_GROWTH = 8  # from the short text to the long one, four times as long: linear is 4, quadratic 16


def _wikitext(text: str) -> None:
    prepared = prepare(text)
    plain_text(prepared, ["file"])
    links(prepared, ["file"])


def _pack(text: str) -> None:
    pack_context([Hit(unit(text), 1.0, ()), Hit(unit(text[:-1]), 0.9, ())], words=1_000_000)


_READERS: dict[str, Callable[[str], object]] = {
    "split_passages": lambda text: split_passages(Document(text)),
    "the title in the front matter": lambda text: split_passages(Document(f"---\ntitle: {text}\n---\n")),
    "a heading": lambda text: split_passages(Document(f"# a{text}b\n\nText.")),
    "an underlined heading": lambda text: split_passages(Document(f"a\n={text}\n\nText.")),
    "split_sentences": lambda text: split_sentences(unit(text)),
    "read_propositions": read_propositions,
    "wikitext": _wikitext,
    "tables in a template that is never closed": lambda text: _wikitext("{{a|" + text.replace("{|", "{|\n|-\n")),
    "a heading of wikitext": lambda text: _wikitext(f"= {text}"),
    "names": lambda text: (name_key(text), split_title(text), spelled_out(text)),
    "link": lambda text: sum(1 for _ in Words(text).spans(lower_case=True)),
    "clean_answer": clean_answer,
    "normalize_answer": lambda text: (normalize_answer(text), has_answer_dpr(text, "a b")),
    "words": lambda text: (cut_words(text, 100), stands_in(text[1:-1], text)),
    "pack_context": _pack,
}


def unit(text: str) -> Unit:
    return Unit("u", text, Granularity.PASSAGE, "d", "d", 0, len(text))


@pytest.mark.parametrize("reader", _READERS)
def test_hostile_texts_take_linear_time(reader):
    slow = [fragment for fragment in _FRAGMENTS if _is_slow(_READERS[reader], fragment)]
    assert slow == []


@pytest.mark.parametrize("fragment", ["(", "a ", '"', "A. ", "In A, "])
def test_a_passage_without_end(fragment):
    propositionizer = SyntaxPropositionizer()

    def read(text: str) -> None:
        assert "".join("".join(propositionizer.propositionize([unit(text)])[0]).split())

    read("Anna sings.")  # loads the model
    assert _seconds(read, _repeated(fragment, 40_000)) < 8 * _seconds(read, _repeated(fragment, 10_000)) + _QUICK


def _repeated(fragment: str, size: int) -> str:
    return (fragment * size)[:size]


def _seconds(read: Callable[[str], object], text: str) -> float:
    began = time.thread_time()
    read(text)
    return time.thread_time() - began


def _is_slow(read: Callable[[str], object], fragment: str) -> bool:
    short, long = _repeated(fragment, _SHORT), _repeated(fragment, _LONG)
    return _seconds(read, long) > _QUICK and min(_seconds(read, long), _seconds(read, long)) > _MOST_GROWTH * _seconds(
        read, short
    )
