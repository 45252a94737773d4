"""Texts of a hostile stranger: fragments, shapes that repeat them, and all that reads a stranger's
texts.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from factoid.packing import pack_context
from factoid.documents import clean, markdown_tables, read_layout, read_markdown, row_propositions
from factoid.heading_template import with_heading
from factoid.entities.articles.names import (
    NameKind,
    name_key,
    name_parts,
    spelled_names,
    spelled_out,
    split_title,
)
from factoid.entities.importers.mediawiki import MediaWikiDump, is_disambiguation
from factoid.entities.articles.own_documents import OwnDocuments, build_own_articles
from factoid.entities.importers.wikitext import links, plain_text, strip_tags
from factoid.entities.linkers.annotated import AnnotatedLinker
from factoid.entities.linkers.spans import Words
from factoid.entities.linkers.titles import TitleLinker
from factoid.readers.prompts import document_text, question_prompt
from factoid.readers.reader import clean_answer
from factoid.entities.spel.linker import split_words
from factoid.errors import FactoidError
from factoid.evaluate.answers import f1, has_answer_dpr, has_answer_normalized, normalize_answer
from factoid.evaluate.citations import split_cited
from factoid.files.limits import ReadLimits
from factoid.files.readers import read_file
from factoid.files.web_pages import page_markdown
from factoid.filters.fields import field_rows
from factoid.filters.parse import parse_filter
from factoid.filters.tree import Comparison, Operator, matches
from factoid.late_interaction.align import align
from factoid.late_interaction.answer import GrowingAnswer, claims_something
from factoid.late_interaction.cite import PropCite
from factoid.late_interaction.markers import with_markers, without_markers
from factoid.metadata import plain_metadata
from factoid.propositions.decompose import decompose
from factoid.propositions.parse import read_propositions
from factoid.propositions.prompting.prompt import prompt_for
from factoid.propositions.score import TokenF1
from factoid.propositions.syntax import SyntaxPropositionizer
from factoid.propositions.syntax.headings import headings
from factoid.sections import outline
from factoid.split import split_passages, split_sentences
from factoid.store import UnitStore
from factoid.terminal import show_hit
from factoid.testing import HashEncoder, ScriptedPropositionizer
from factoid.text.lines import line_starts
from factoid.text.reading import read
from factoid.text.sentence_ends import sentence_ends
from factoid.units import Document, Granularity, Hit, Unit
from factoid.vectors.lexical import LexicalIndex
from factoid.words import count_words, cut_words, stands_in
from tests.late_interaction.word_vectors import WordVectors

Text = Callable[[int], str]  # from a number of characters
Reader = Callable[[str], object]

# Fragments: prose, Markdown, HTML, wikitext, LaTeX, JSON and CSV, each with what opens and closes
# something, and white space.

FRAGMENTS = (
    " ", "a", "word ", "a ", "A", "A ", "A. ", "a. ", "1", "1.", "1. ", "a: ", "Ann: ", "Table 2: ", "Figure 1: ", "In A, ",
    "dem 1. A ", "gem. A ", "Mr. ", "e.g. ", "I am sorry", " and ", "the ", "born ", "who ", "a-", "a- b", "a\n", "http://",
    "www.", "@", "É", "ſ", "ß", "漢", "ก", "ﬁ", "²", "☐", ":selected:", "•", "—", "\U0001f600",
    "-", "- ", "* ", "*", "**", "_", "__", "+ ", "> ", ">", "#", "# ", "=", "~", "`", "``", "```", "~~~", "(", ")", "[", "]",
    "![", "](", "[]", "[a]", "[a](", "[a][", "[a]: b", "[a]: b '", "[^a]", "[^1]", "[1]", ".[1]", "'", '"', "“", "”", "„", "‘",
    "’", "«", ".", ". ", ",", ", ", ";", ":", ": ", "?", "!", "…", "\\", "/", "//", "|", "|-", "| a ", "||", "&", "&amp;", "&#",
    "$", "$$", "\\(", "\\[", "\\]", "---\n", "===\n", "a\n=\n", "\n- a", "\n1. a", "\n# a", "\n> a", "\n|-|-|\n", "\n| a | b |",
    "\n    a", "|\n", "-\n", "!\n", "<", "</", "<!--", "-->", '<!-- a="', "<![CDATA[", "<?", "<a ", "<a>", "</a>", "<td>",
    "<tr>", "<table>", '<table "', "</table>", "<figure>", "<figcaption>", "</figure>", "<sup>", "</sup>", "<br>", "<div>",
    "<th rowspan=9>", "<td colspan=9>", "<p>", "{", "}", "{{", "}}", "{|", "|}", "{{{|", "[[", "]]", "[[a|", "''", "<ref>",
    "<ref name=", "</ref>", "<math>", "= ", "{{convert|1|to|", "Input:", "</think>", "<think>", "['", '["', '", "', '{"a":',
    '"\n', "null,", "\n", "\n\n", "\n ", "\n\t", "\r\n", "\r", "\x0c", "\t", "    ", "\u00a0", "\u00ad", "\u200b", "\ufeff",
    "\n.. a:: b\n", "\n.. _a:\n", "a::\n\n b\n", ":a:`", "`_", "\n* - a",
    " . ", " . .", "• ", "\n• ", "1) ", "(a) ", "\n(a) a", "ii. ", "5 г. ", "。", "《", "app. 1 ", "J. ", ". ''",
)  # fmt: skip

# Lines of every dialect, and of what tools print: two of them take turns in a large file.

LINES = (
    "\n", "A\n", "a b\n", "A word. Another one.\n", "a::\n", "a;\n", "Q: a?\n", "Ann: hello\n", "[09:15] Ana: hi\n",
    "# A\n", "===\n", "---\n", "___\n", "- a\n", "  - a\n", "* a\n", "1. a\n", "(a) b\n", "> a\n", "```\n", "    code\n",
    "1 Introduction\n", "1.1 Scope\n", "Table 1: x\n", "[a]: b\n", "[^1]: b\n", "key: value\n", "import x\n", "a -- b\n",
    "a  b  c\n", "a\tb\n", " a\tb\n", "Name ..... 12\n", "--verbose  say\n", "| a | b |\n", "|---|---|\n", "| a\n", "||\n",
    "a, b, c\n", '"a, b"\n', "+--+--+\n", ".. note:: x\n", "   text\n", ":field: x\n", "* - a\n", "<div>\n", "</div>\n",
    "<table><tr><td>a\n", "<!-- a\n", "<Tabs>\n", ":::note\n", "!!! note\n", '=== "A"\n', "{{< x >}}\n", "$$\n",
    "== a ==\n", "[[a]]\n", "{|\n", "|-\n", "|}\n", "\x0c",
)  # fmt: skip

# Shapes. Each makes a text of three fragments and a size.


def run(fragment: str, size: float) -> str:
    """Return a fragment repeated to a number of characters."""
    return (fragment * (int(size) // len(fragment) + 1))[: int(size)]


def _growing(a: str, b: str, size: int) -> str:
    parts = []
    length = count = 0
    while length < size:
        count += 1
        parts.append(a * count + b)
        length += len(parts[-1])
    return "".join(parts)


_SHAPES: dict[str, Callable[[str, str, str, int], str]] = {
    "one": lambda a, b, c, size: run(a, size),
    "pair": lambda a, b, c, size: run(a + b, size),
    "triple": lambda a, b, c, size: run(a + b + c, size),
    "behind another": lambda a, b, c, size: c + run(a + b, size),
    "before another": lambda a, b, c, size: run(a + b, size - len(c)) + c,
    "opened and closed": lambda a, b, c, size: run(a, size / 2) + run(b, size / 2),
    "around another": lambda a, b, c, size: run(a, size / 2) + c + run(b, size / 2),
    "three runs": lambda a, b, c, size: run(a, size / 3) + run(b, size / 3) + run(c, size / 3),
    "pairs opened and closed": lambda a, b, c, size: run(a + b, size / 2) + run(b + c, size / 2),
    "growing runs": lambda a, b, c, size: _growing(a, b, size),
    "shrinking runs": lambda a, b, c, size: _growing(a, b, size)[::-1],
    "groups": lambda a, b, c, size: run(a * 30 + b * 30 + c, size),
    "lines": lambda a, b, c, size: run(a * 20 + b + "\n", size),
    "one of a kind": lambda a, b, c, size: " ".join(
        f"{a}{number}{b}" for number in range(size // 4)
    ),
}


def shaped(shape: str, *fragments: str) -> Text:
    """Return the texts of a shape and three fragments."""
    return lambda size: _SHAPES[shape](*fragments, size)[:size]


def samples(seed: str) -> Iterator[tuple[str, Text]]:
    """Yield names and texts of shapes and fragments, the same for a seed, without end."""
    chance = random.Random(seed)
    while True:
        shape = chance.choice(list(_SHAPES))
        fragments = chance.choices(FRAGMENTS, k=3)
        yield f"{shape}: {fragments}", shaped(shape, *fragments)


def alternating_lines(seed: str) -> Iterator[tuple[str, Text]]:
    """Yield names and texts of two kinds of lines in turn, the same for a seed, without end."""
    chance = random.Random(seed)
    while True:
        first, second = chance.choices(LINES, k=2)
        yield f"{first!r} and {second!r}", shaped("pair", first, second, "")


# Readers


def unit(text: str) -> Unit:
    return Unit("u", text, Granularity.PASSAGE, "d", "d", 0, len(text))


def _pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def _words(text: str) -> None:
    count_words(text)
    cut_words(text, 100)
    for part in (text[1:-1], text[: len(text) // 2], text[len(text) // 2 :]):
        stands_in(part, text)


def _pack(text: str) -> None:
    pack_context([Hit(unit(text), 1.0, ()), Hit(unit(text[:-1]), 0.9, ())], words=1_000_000)


def _pack_pieces(text: str) -> None:
    pieces = enumerate(_pieces(text, 40))
    pack_context(
        [Unit(f"{at}", piece, Granularity.SENTENCE, "d", "d", at, at + 1) for at, piece in pieces]
    )


def _decompose(text: str) -> None:
    decompose([unit(text[:4000])], ScriptedPropositionizer(lambda _: _pieces(text, 50)), log=False)


@cache
def _propositionizer() -> SyntaxPropositionizer:
    return SyntaxPropositionizer()


def _clean(text: str) -> None:
    document = clean(read_markdown(text))
    document.documents()
    for table in document.tables:
        table.to_markdown()


def _clean_result(text: str) -> None:
    """Clean a service's result in plain text, with a paragraph for each line and a table with a
    cell for each.
    """
    paragraphs = []
    cells = []
    at = 0
    for row, line in enumerate(text.split("\n")):
        paragraphs.append({"content": line, "spans": [{"offset": at, "length": len(line)}]})
        cells.append({"rowIndex": row, "columnIndex": 0, "content": line})
        at += len(line) + 1
    pages = [{"pageNumber": 1, "spans": [{"offset": 0, "length": len(text)}]}]
    tables = [{"rowCount": len(cells), "columnCount": 1, "cells": cells}]
    result = {
        "content": text,
        "stringIndexType": "unicodeCodePoint",
        "pages": pages,
        "paragraphs": paragraphs,
    }
    clean(read_layout(result | {"tables": tables})).documents()


def _tables(text: str) -> None:
    for table in markdown_tables(text):
        table.to_markdown()
        table.to_records()
        row_propositions(table)


def _stream(text: str, size: int) -> None:
    answer = GrowingAnswer()
    for chunk in _pieces(text, size):
        answer.feed(chunk)
    answer.finish()


def _markers(text: str) -> None:
    claims_something(text)
    with_markers(without_markers(text), [1, 2])


def _cite(text: str) -> None:
    propositionizer = ScriptedPropositionizer(lambda sentence: [sentence.text])
    PropCite(WordVectors(), propositionizer=propositionizer).cite(text[:2000], ["Anna sings."])


def _wikitext(text: str) -> None:
    prepared = strip_tags(text)
    plain_text(prepared, ["file"])
    links(prepared, ["file"])
    is_disambiguation(text, text)


def _names(text: str) -> None:
    name_key(text)
    split_title(text)
    spelled_out(text)
    list(spelled_names(1, text, NameKind.TITLE))
    list(name_parts(text, text))
    list(OwnDocuments([Document("a", "b", metadata={"aliases": text})]))


@cache
def _linker() -> TitleLinker:
    return TitleLinker(
        build_own_articles([Document("The a.", "A"), Document("A word.", "Word (a)")])
    )


def _file(ending: str, before: str = "", behind: str = "") -> Reader:
    def read(text: str) -> None:
        with TemporaryDirectory() as folder:
            path = Path(folder, f"a{ending}")
            path.write_text(before + text + behind, encoding="utf-8", newline="")
            for _ in MediaWikiDump(path) if ending == ".xml" else read_file(path):
                pass

    return read


def _filters(text: str) -> None:
    half = text[: len(text) // 2]
    pieces = _pieces(text, 10)
    metadata = plain_metadata({"a": text, "b": pieces, text: text})
    for operator in (
        Operator.CONTAINS,
        Operator.TEXT_MATCH_INSENSITIVE,
        Operator.IN,
        Operator.EQ,
        Operator.GT,
    ):
        matches(Comparison("a", operator, half), metadata)
    matches(parse_filter({"a": {"$contains": text}, text: text}), metadata)


def _metadata(text: str) -> None:
    """Read a text as the key above many others, and as keys in each other."""
    field_rows(plain_metadata({text: dict.fromkeys(_pieces(text, 10))}))
    inside: dict[str, object] = {}
    for piece in _pieces(text, len(text) // 90 + 1):
        inside = {piece: inside}
    field_rows(plain_metadata(inside))


def _show(text: str) -> None:
    match = Hit(Unit("s", text, Granularity.SENTENCE, "d", "u", 0, len(text)), 1.0)
    shown = Hit(
        Unit("u", text, Granularity.PASSAGE, "d", "d", 0, len(text), text, text),
        1.0,
        (match,),
        (match.unit,),
    )
    show_hit(1, shown)


def _lexical(text: str) -> None:
    index = LexicalIndex()
    index.update(np.array([], np.int64), np.array([1], np.int64), [text])
    index.relative_scores(text, index.places(index.rows))


def _store(text: str) -> None:
    """Add a text, and search with it as the question and in a filter."""
    with UnitStore(encoder=HashEncoder(8), granularities=["passage", "sentence"]) as store:
        store.add_documents([Document(text, metadata={"a": text[:99]})])
        store.search(text, filter={"a": {"$contains": text}})


def _answers(text: str) -> None:
    normalize_answer(text)
    has_answer_dpr(text, text[9:])
    has_answer_normalized(text, text[9:])
    f1(text, text[9:])


def _headings(text: str) -> None:
    headings.cache_clear()
    headings(text[: len(text) // 2], text)


def _langchain(text: str) -> None:
    from langchain_core.documents import Document as TextDocument

    from langchain_factoid import DocumentIntelligenceTransformer, PassageTextSplitter

    documents = PassageTextSplitter().split_documents(
        [TextDocument(page_content=text, metadata={"title": text[:99]})]
    )
    DocumentIntelligenceTransformer().transform_documents(documents[:3])


def _llama_index(text: str) -> None:
    from llama_index.core.schema import Document as TextDocument

    from llama_index_factoid import MultiGranularNodeParser

    parser = MultiGranularNodeParser(granularities=("passage", "sentence"), window=2)
    parser.get_nodes_from_documents([TextDocument(text=text)])


_MOST_GROWTH = 7

READERS: dict[str, Reader] = {
    "read Markdown": lambda text: read(text, "markdown"),
    "read plain text": lambda text: read(text, "plain"),
    "read reStructuredText": lambda text: read(text, "rst"),
    "sentence_ends": sentence_ends,
    "line_starts": line_starts,
    "split_passages": lambda text: split_passages(Document(text)),
    "split_sentences": lambda text: split_sentences(unit(text)),
    "the title in the front matter": lambda text: outline(Document(f"---\ntitle: {text}\n---\n")),
    "a heading": lambda text: outline(Document(f"# a{text}b\n\nText.")),
    "an underlined heading": lambda text: outline(Document(f"a\n={text}\n\nText.")),
    "words": _words,
    "pack_context": _pack,
    "pack_context of pieces": _pack_pieces,
    "with_heading": lambda text: with_heading(Document(text, text, text)),
    "read_propositions": read_propositions,
    "decompose": _decompose,
    "SyntaxPropositionizer": lambda text: _propositionizer().propositionize([unit(text)]),
    "headings above a passage": _headings,
    "TokenF1": lambda text: TokenF1()([text], [text]),
    "clean": _clean,
    "clean a result": _clean_result,
    "markdown_tables": _tables,
    "a cell in HTML": lambda text: _tables(f"<table><tr><td>{text}</td></tr></table>"),
    "a row in HTML": lambda text: _tables(f"<table><tr>{text}</tr></table>"),
    "rows between pipes": lambda text: _tables(f"| a | b |\n|---|---|\n{text}"),
    "rows of Azure": lambda text: _tables(f"| a | b |\n| - | - |\n{text}"),
    "a figure": lambda text: _clean(f"<figure>{text}</figure>"),
    "GrowingAnswer": lambda text: GrowingAnswer(text).finish(),
    "GrowingAnswer in one chunk": lambda text: _stream(text, len(text)),
    "GrowingAnswer in small chunks": lambda text: _stream(text, 4),
    "GrowingAnswer in chunks": lambda text: _stream(text, 50),
    "markers": _markers,
    "split_cited": split_cited,
    "align": lambda text: align(text, text[:1000]),
    "cite": _cite,
    "wikitext": _wikitext,
    "tables in a template that is never closed": lambda text: _wikitext(
        "{{a|" + text.replace("{|", "{|\n|-\n")
    ),
    "a heading of wikitext": lambda text: _wikitext(f"= {text}"),
    "MediaWikiDump": _file(
        ".xml",
        "<mediawiki><page><title>a</title><ns>0</ns><revision><text>",
        "</text></revision></page>",
    ),
    "names": _names,
    "spans of names": lambda text: sum(1 for _ in Words(text).spans(lower_case=True)),
    "TitleLinker": lambda text: _linker().link(text),
    "AnnotatedLinker": lambda text: AnnotatedLinker({text: "A a"}).link(text),
    "words of SpEL": split_words,
    "clean_answer": clean_answer,
    "prompts": lambda text: (
        question_prompt(f"{text}?", text),
        document_text(text, text),
        prompt_for(unit(text)),
    ),
    "answers": _answers,
    "filters": _filters,
    "keys of metadata": _metadata,
    "show_hit": _show,
    "CSV": _file(".csv", "text,b\n"),
    "names of columns in CSV": _file(".csv", "", "\na,b\n"),
    "JSON": _file(".jsonl", '{"text": "a", "metadata": {"a": ', "}}"),
    "a Markdown file": _file(".md"),
    "a page in HTML": lambda text: page_markdown(text.encode(), "a.html", ReadLimits()),
    "front matter": _file(".md", "---\na: ", "\n---\n"),
    "LexicalIndex": _lexical,
    "UnitStore": _store,
    "LangChain": _langchain,
    "LlamaIndex": _llama_index,
}
NEEDS = {
    **dict.fromkeys(
        (
            "clean",
            "clean a result",
            "markdown_tables",
            "a cell in HTML",
            "a row in HTML",
            "a figure",
        ),
        "lxml",
    ),
    **dict.fromkeys(("rows between pipes", "rows of Azure"), "lxml"),
    "a page in HTML": "markdownify",
    "UnitStore": "faiss",
    "LangChain": "langchain_text_splitters",
    "LlamaIndex": "llama_index.core",
}
"""The packages that readers need beside the core's own."""


def seconds(read: Reader, text: str) -> float:
    """Return the CPU seconds that reading a text takes in this thread.

    One clear error is an answer, too.
    """
    gc.disable()  # its collections come when they like
    began = time.thread_time()
    try:
        with suppress(FactoidError):
            read(text)
        return time.thread_time() - began
    finally:
        gc.enable()


def slowness(read: Reader, text: Text, size: int, *, negligible: float = 0.05) -> str:
    """Return the CPU seconds for a text and for longer ones if they grow faster than linearly, else
    "".

    Each text has four times the size of the one before. Linear growth is 4, quadratic 16. Times
    below `negligible` seconds are not looked at.
    """
    long = seconds(read, text(4 * size))
    if long < negligible:
        return ""
    short = seconds(read, text(size))
    for more in (
        1,
        2,
    ):  # another task may have slowed one of them down; readers may know the same text
        if long > _MOST_GROWTH * short:
            short = max(short, seconds(read, text(size + more)))
            long = min(long, seconds(read, text(4 * size + more)))
    if long < negligible or long <= _MOST_GROWTH * short:
        return ""
    longest = seconds(read, text(16 * size))
    if (
        longest <= _MOST_GROWTH * long
    ):  # one step, such as a limit above which a text is read in another way
        return ""
    return (
        f"{short:.3f} s for {size:,} characters, {long:.3f} s for {4 * size:,}, {longest:.3f} "
        f"s for {16 * size:,}"
    )
