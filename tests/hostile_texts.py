"""Texts of a hostile stranger: fragments, the shapes that repeat them, and every reader of this package that sees such texts."""

from __future__ import annotations

import io
import json
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from factoid.context import pack_context
from factoid.documents import clean, markdown_tables, read_layout, read_markdown, row_propositions
from factoid.documents.azure import read_result
from factoid.encode import with_heading
from factoid.entities.articles.names import NameKind, name_key, name_parts, spelled_names, spelled_out, split_title
from factoid.entities.importers.mediawiki import is_disambiguation
from factoid.entities.importers.wikitext import links, plain_text, prepare
from factoid.entities.linkers.annotated import AnnotatedLinker
from factoid.entities.linkers.spans import Words
from factoid.entities.prompts import document_text, question_prompt
from factoid.entities.reader import clean_answer
from factoid.entities.spel.linker import split_words
from factoid.evaluate.answers import f1, has_answer_dpr, has_answer_normalized, normalize_answer
from factoid.evaluate.citations import split_cited
from factoid.files.readers import read_file
from factoid.filters.parse import parse_filter
from factoid.filters.tree import Comparison, Operator, matches
from factoid.index.lexical import LexicalIndex, has_tantivy
from factoid.late_interaction.align import align
from factoid.late_interaction.answer import GrowingAnswer, claims_something, with_markers, without_markers
from factoid.markdown import read_blocks, visible
from factoid.metadata import plain_metadata
from factoid.propositions.decompose import decompose
from factoid.propositions.parse import read_propositions
from factoid.propositions.prompting.prompt import prompt_for
from factoid.propositions.score import TokenF1
from factoid.propositions.syntax import SyntaxPropositionizer
from factoid.propositions.syntax.headings import headings
from factoid.sections import outline
from factoid.split import split_passages, split_sentences
from factoid.testing import ScriptedPropositionizer
from factoid.units import Document, Granularity, Hit, Unit
from factoid.words import count_words, cut_words, stands_in

Reader = Callable[[str], object]

FRAGMENTS = (
    " ", "a", "word ", "a ", "A", "A ", "A. ", "a. ", "1", "1.", "1. ", "-", "- ", "* ", "*", "**", "_", "__", "+ ", "> ", ">", "#", "# ", "=",
    "~", "`", "``", "```", "~~~", "(", ")", "[", "]", "![", "](", "[]", "[a]", "[a](", "[a][", "[a]: b", "[^a]", "[^1]", "[1]", ".[1]", "{", "}",
    "{{", "}}", "{|", "|}", "{{{|", "[[", "]]", "[[a|", "'", "''", '"', "“", "”", "„", "‘", "’", "«", ".", ". ", ",", ", ", ";", ":", ": ", "?", "!", "…",
    "\\", "/", "//", "|", "|-", "| a ", "||", "&", "&amp;", "&#", "$", "$$", "\\(", "\\[", "\\]", "<", "</", "<!--", "-->", "<!-- a=\"", "<![CDATA[", "<?", "<a ", "<a>",
    "</a>", "<td>", "<tr>", "<table>", "<table \"", "</table>", "<figure>", "<figcaption>", "</figure>", "<sup>", "</sup>", "<br>", "<ref>", "<ref name=", "</ref>", "<div>",
    "<th rowspan=9>", "<math>", "<p>", "\n", "\n\n", "\n ", "\n\t", "\r\n", "\r", "\x0c", "\t", "    ", "\u00a0", "\u00ad", "\u200b", "\ufeff", "漢", "ก", "ﬁ", "²", "☐", ":selected:", "•", "—",
    "http://", "@", "www.", "a: ", "Ann: ", "Table 2: ", "Figure 1: ", "In A, ", "dem 1. A ", "gem. A ", "Mr. ", "e.g. ", "Input:", "</think>", "<think>", "['", '["', '", "', '{"a":', '"\n', "null,",
    "---\n", "===\n", "\n- a", "\n1. a", "\n# a", "\n> a", "\n|-|-|\n", "\n| a | b |", "a\n", "a\n=\n", "\n    a", "I am sorry", " and ", "the ", "born ", "who ", "|\n", "-\n", "= ", "!\n", "\U0001f600", "a-", "a- b", "É", "ſ", "ß",
)  # fmt: skip

Reader_ = Reader


def unit(text: str) -> Unit:
    return Unit("u", text, Granularity.PASSAGE, "d", "d", 0, len(text))


def _pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def _clean(text: str) -> None:
    document = clean(read_markdown(text))
    document.documents()
    for table in document.tables:
        table.to_markdown()


def _tables(text: str) -> None:
    for table in markdown_tables(text):
        table.to_markdown()
        table.to_records()
        row_propositions(table)


def _clean_result(text: str) -> None:
    """A service's result in plain text, with a paragraph for each line."""
    paragraphs, at = [], 0
    for line in text.split("\n"):
        paragraphs.append({"content": line, "spans": [{"offset": at, "length": len(line)}]})
        at += len(line) + 1
    pages = [{"pageNumber": 1, "spans": [{"offset": 0, "length": len(text)}]}]
    result = {"content": text, "stringIndexType": "unicodeCodePoint", "pages": pages, "paragraphs": paragraphs}
    document = clean(read_layout(result))
    document.documents()


def _stream(text: str, size: int) -> None:
    answer = GrowingAnswer()
    for chunk in _pieces(text, size):
        answer.feed(chunk)
    answer.finish()


def _markers(text: str) -> None:
    claims_something(text)
    with_markers(without_markers(text), [1, 2])


def _wikitext(text: str) -> None:
    prepared = prepare(text)
    plain_text(prepared, ["file"])
    links(prepared, ["file"])
    is_disambiguation(text, text)


def _pack(text: str) -> None:
    pack_context([Hit(unit(text), 1.0, ()), Hit(unit(text[:-1]), 0.9, ())], words=1_000_000)


def _pack_lines(text: str) -> None:
    units = [
        Unit(str(at), line, Granularity.SENTENCE, "d", "d", at, at + 1) for at, line in enumerate(_pieces(text, 40))
    ]
    pack_context(units, words=1_000_000)


def _decompose(text: str) -> None:
    decompose([unit(text[:4000])], ScriptedPropositionizer(lambda _: _pieces(text, 50)))


def _names(text: str) -> None:
    name_key(text), split_title(text), spelled_out(text)
    list(spelled_names(1, text, NameKind.TITLE))
    list(name_parts(text, text))


def _file(ending: str, before: str = "", behind: str = "") -> Reader:
    def read(text: str) -> None:
        with TemporaryDirectory() as folder:
            path = Path(folder, f"a{ending}")
            path.write_text(before + text + behind, encoding="utf-8", newline="")
            try:
                for _ in read_file(path):
                    pass
            except ValueError:
                pass
            except OSError:
                pass

    return read


def _filters(text: str) -> None:
    metadata = plain_metadata({"a": text, "b": _pieces(text, 10)})
    for operator in (Operator.CONTAINS, Operator.TEXT_MATCH_INSENSITIVE, Operator.IN, Operator.EQ, Operator.GT):
        matches(Comparison("a", operator, text[: len(text) // 2]), metadata)
    matches(parse_filter({"a": {"$contains": text}, text: text}), metadata)
    matches(parse_filter({"b": {"$any": _pieces(text, 10)}}), {"b": _pieces(text, 10)})


def _lexical(text: str) -> None:
    index = LexicalIndex()
    import numpy as np

    index.update(np.array([], np.int64), np.array([1], np.int64), [text])
    index.ask(text)


@cache
def _propositionizer() -> SyntaxPropositionizer:
    made = SyntaxPropositionizer()
    made.propositionize([unit("Anna sings.")])
    return made


READERS: dict[str, Reader] = {
    "read_blocks": lambda text: list(read_blocks(text)),
    "visible": visible,
    "split_passages": lambda text: split_passages(Document(text)),
    "front matter": lambda text: outline(Document(f"---\ntitle: {text}\n---\n")),
    "heading": lambda text: outline(Document(f"# a{text}b\n\nText.")),
    "underlined": lambda text: outline(Document(f"a\n={text}\n\nText.")),
    "split_sentences": lambda text: split_sentences(unit(text)),
    "words": lambda text: (
        count_words(text),
        cut_words(text, 100),
        stands_in(text[1:-1], text),
        stands_in(text[: len(text) // 2], text),
    ),
    "pack_context": _pack,
    "pack_context of lines": _pack_lines,
    "with_heading": lambda text: with_heading(Document(text, text, text)),
    "read_propositions": read_propositions,
    "decompose": _decompose,
    "headings": lambda text: (headings(text[: len(text) // 2], text), headings.cache_clear()),
    "TokenF1": lambda text: TokenF1()([text], [text]),
    "align": lambda text: align(text, text[:4000]),
    "clean": _clean,
    "clean a result": _clean_result,
    "markdown_tables": _tables,
    "html cell": lambda text: _tables(f"<table><tr><td>{text}</td></tr></table>"),
    "html rows": lambda text: _tables(f"<table><tr>{text}</tr></table>"),
    "pipe table": lambda text: _tables(f"| a | b |\n|---|---|\n{text}"),
    "GrowingAnswer whole": lambda text: GrowingAnswer(text).finish(),
    "GrowingAnswer fed whole": lambda text: _stream(text, len(text)),
    "GrowingAnswer by 3": lambda text: _stream(text, 3),
    "GrowingAnswer by 50": lambda text: _stream(text, 50),
    "markers": _markers,
    "split_cited": split_cited,
    "wikitext": _wikitext,
    "wikitext template": lambda text: _wikitext("{{a|" + text.replace("{|", "{|\n|-\n")),
    "wikitext heading": lambda text: _wikitext(f"= {text}"),
    "names": _names,
    "words of a linker": lambda text: sum(1 for _ in Words(text).spans(lower_case=True)),
    "AnnotatedLinker": lambda text: AnnotatedLinker({text: [text[: len(text) // 2], "a"]}).link(text),
    "SpEL words": split_words,
    "clean_answer": clean_answer,
    "prompts": lambda text: (question_prompt(text + "?", text), document_text(text, text), prompt_for(unit(text))),
    "answers": lambda text: (
        normalize_answer(text),
        has_answer_dpr(text, text[9:]),
        has_answer_normalized(text, text[9:]),
        f1(text, text[9:]),
    ),
    "filters": _filters,
    "csv": _file(".csv", "text,b\n"),
    "csv header": _file(".csv", "", "\na,b\n"),
    "jsonl": _file(".jsonl", '{"text": "', '"}'),
    "markdown file": _file(".md"),
    "yaml": _file(".md", "---\na: ", "\n---\n"),
    "LexicalIndex": _lexical,
    "SyntaxPropositionizer": lambda text: _propositionizer().propositionize([unit(text)]),
}


def shapes(rng: random.Random) -> Iterator[tuple[str, Callable[[int], str]]]:
    """Yield endless recipes: what a text is, and a function from its size to the text."""
    kinds = list(_SHAPES)
    while True:
        kind = rng.choice(kinds)
        parts = tuple(rng.choice(FRAGMENTS) for _ in range(3))
        yield f"{kind} {parts!r}", lambda size, kind=kind, parts=parts: _SHAPES[kind](*parts, size)[:size]


def _run(part: str, size: float) -> str:
    return (part * (int(size) // len(part) + 1))[: int(size)]


def _growing(a: str, b: str, c: str, size: int) -> str:
    parts, total, count = [], 0, 1
    while total < size:
        parts.append(a * count + b)
        total += len(parts[-1])
        count += 1
    return "".join(parts)


_SHAPES: dict[str, Callable[[str, str, str, int], str]] = {
    "single": lambda a, b, c, size: _run(a, size),
    "pair": lambda a, b, c, size: _run(a + b, size),
    "triple": lambda a, b, c, size: _run(a + b + c, size),
    "first": lambda a, b, c, size: c + _run(a + b, size),
    "last": lambda a, b, c, size: _run(a + b, size - len(c)) + c,
    "nested": lambda a, b, c, size: _run(a, size / 2) + _run(b, size / 2),
    "nested with a middle": lambda a, b, c, size: _run(a, size / 2) + c + _run(b, size / 2),
    "runs": lambda a, b, c, size: _run(a, size / 3) + _run(b, size / 3) + _run(c, size / 3),
    "nested pairs": lambda a, b, c, size: _run(a + b, size / 2) + _run(b + c, size / 2),
    "growing": _growing,
    "shrinking": lambda a, b, c, size: _growing(a, b, c, size)[::-1],
    "groups": lambda a, b, c, size: _run(a * 30 + b * 30 + c, size),
    "lines": lambda a, b, c, size: _run(a * 20 + b + "\n", size),
}
