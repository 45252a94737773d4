"""Whether the reading of real files is clean, complete and in place: any folders, read as `factoid
index` reads them.

    python -m benchmarks.real_files docs wiki handbook --sample 60 --show markup --show lost

Files are split into passages and sentences, and `SyntaxPropositionizer` decomposes them. For each
folder it prints

* propositions with markup left, in percent. Marks in inline code, formulas and code do not count.
  "shown" are those whose marks markdown-it shows as well, such as bold text that is closed wrongly:
  they are counted apart;
* rows of tables (pipe tables, HTML with a header of `<th>`, CSV) with a proposition that names the
  columns of all cells;
* letters and digits of the source that are in no unit and are no syntax, heading or front matter:
  lost;
* sentences whose text is not the source at their span, characters that are not where the map from
  what a reader sees to the source says, and literal propositions whose span holds other words;
* seconds of the processor for each MB of text: of splitting into passages and sentences, and with
  propositions.

What is syntax, where tables are and what markdown-it shows is found by patterns and parsers of its
own, see `syntax.py`, `tables.py` and `markup.py`. `--show` prints what was found: "markup", "rows",
"lost", "spans" or "why" (characters that are no text, by reason). CSV files in folders are read,
too.
"""

from __future__ import annotations

import argparse
import html
import logging
import random
import re
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter, itemgetter
from pathlib import Path

from benchmarks.real_files.markup import COMMONMARK, markup_in
from benchmarks.real_files.syntax import Source, letters, words
from benchmarks.real_files.tables import Row, csv_rows, is_named, rows_of
from benchmarks.records import indexed_by_id, texts_of
from factoid import Document, SyntaxPropositionizer, Unit, split_passages
from factoid.errors import FactoidError
from factoid.files.encodings import decode
from factoid.files.readers import TABLE_ENDINGS, find_files, read_file
from factoid.propositions import decompose
from factoid.split import split_sentences
from factoid.text.markup import markup_of

_HEADING = "title or section"
_PLAIN = frozenset((".txt", ".log", ".csv"))
_RESTRUCTURED = frozenset(
    ("reStructuredText", "escape", "block mark", "table", "fence", "brackets")
)
_LEAD = "title, section or question"


@dataclass
class Counts:
    """What was found in a folder."""

    files: int = 0
    failed: int = 0
    size: int = 0  # bytes
    propositions: int = 0
    dirty: int = 0
    shown: int = 0
    classes: Counter[str] = field(default_factory=Counter)
    rows: int = 0
    named: int = 0
    characters: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    spans: int = 0
    places: int = 0
    wrong_spans: int = 0
    wrong_places: int = 0
    reading: float = 0.0
    decomposing: float = 0.0
    found: list[tuple[str, str]] = field(default_factory=list)  # kind and what to show


def measure(paths: Sequence[Path], propositionizer: SyntaxPropositionizer) -> Counts:
    """Read files, and count."""
    counts = Counts()
    for path in paths:
        try:
            documents = list(read_file(path))
        except FactoidError as error:
            counts.failed += 1
            counts.found.append(("failed", str(error)))
            continue
        counts.files += 1
        propositions: list[str] = []
        for document in documents:
            start = time.process_time()
            passages = split_passages(document)
            sentences = list(chain.from_iterable(map(split_sentences, passages)))
            middle = time.process_time()
            units = decompose(passages, propositionizer, log=False).units
            counts.decomposing += time.process_time() - middle
            counts.reading += middle - start
            counts.size += len(document.text.encode())
            markup = markup_of(document.text, document.metadata)
            source = Source(document.text, markup=markup)
            texts = list(map(letters, texts_of(units)))
            _count_markup(counts, path, source, units, passages)
            _count_characters(counts, path, source, passages)
            _count_spans(counts, path, document, passages, sentences, units)
            propositions += texts
            if markup == "markdown":
                _count_rows(counts, path, rows_of(source), texts)
        if path.suffix.lower() in TABLE_ENDINGS:
            text = decode(path.read_bytes(), str(path))
            _count_rows(counts, path, csv_rows(text), propositions)
    return counts


def _count_markup(
    counts: Counts, path: Path, source: Source, units: Sequence[Unit], passages: Sequence[Unit]
) -> None:
    rendered = None
    code_starts = _starts_of_unfenced_code(source, passages)
    for unit in units:
        counts.propositions += 1
        if source.is_fenced(unit.start) or unit.start in code_starts:
            continue
        if source.markup == "plain" and path.suffix.lower() in _PLAIN:
            continue  # every character is text
        found = list(markup_in(unit.text))
        if source.markup == "rst":
            found = [(name, mark) for name, mark in found if _is_restructured(name, mark, unit)]
            if source.is_signature(unit.start):
                found = []
        if not found:
            continue
        if rendered is None:
            rendered = "".join(source.rendered().split())
        hidden = []
        for name, mark in found:
            if name not in COMMONMARK or "".join(mark.split()) not in rendered:
                hidden.append((name, mark))
        if not hidden:
            counts.shown += 1
            counts.found.append(("shown", f"{path}: {found}: {unit.text[:300]!r}"))
            continue
        counts.dirty += 1
        counts.classes.update({name for name, _ in hidden})
        counts.found.append(("markup", f"{path}: {hidden}: {unit.text[:300]!r}"))


def _starts_of_unfenced_code(source: Source, passages: Sequence[Unit]) -> set[int]:
    """Return where code starts that no fence marks."""
    starts = set()
    for sentence in chain.from_iterable(map(attrgetter("sentences"), passages)):
        is_unfenced = source.markup == "rst" or _is_indented(source.text, sentence.start)
        if sentence.block.kind == "code" and is_unfenced:
            starts.add(sentence.start)
    return starts


def _is_restructured(name: str, mark: str, unit: Unit) -> bool:
    """Say whether a mark means something in reStructuredText, where no tag or underscore does."""
    if name == "emphasis":
        return "_" not in mark[:2]
    if name == "directive":  # fields have lines of their own
        return not mark.startswith(":") or unit.text.startswith(mark)
    return name in _RESTRUCTURED


def _is_indented(text: str, at: int) -> bool:
    line = text.rfind("\n", 0, at) + 1
    content = text[line : line + 200]
    return content.startswith(("    ", "\t")) or len(content) - len(content.lstrip(" >\t")) >= 4


def _count_rows(
    counts: Counts, path: Path, rows: Iterator[Row], propositions: Sequence[str]
) -> None:
    for row in rows:
        counts.rows += 1
        if is_named(row, propositions):
            counts.named += 1
        else:
            counts.found.append(("rows", f"{path}: {row.kind}: {str(row.cells)[:500]}"))


def _count_characters(counts: Counts, path: Path, source: Source, passages: Sequence[Unit]) -> None:
    text = source.text
    claimed = bytearray(len(text))
    for passage in passages:
        for sentence in passage.sentences:
            for at in sentence.visible.offsets:
                claimed[at] = 1
    headings = set()
    for passage in passages:
        headings |= {letters(passage.title), letters(passage.section)}
    counts.characters += sum(map(str.isalnum, text))
    line_start = 0
    for line in text.splitlines(keepends=True):
        seen = ""  # of the line, without syntax
        lost = ""
        for at, character in enumerate(line, line_start):
            reason = source.reasons[at]
            is_missing = character.isalnum() and not claimed[at]
            if not reason:
                seen += character
            if is_missing and reason:
                counts.reasons[reason] += 1
            elif is_missing:
                lost += character
        line_start += len(line)
        if not lost:
            continue
        if any(letters(html.unescape(seen)) in heading for heading in headings):
            counts.reasons[_HEADING] += len(lost)
        else:
            counts.lost += len(lost)
            counts.found.append(("lost", f"{path}: {lost[:100]!r} of {line.strip()[:200]!r}"))


def _count_spans(
    counts: Counts,
    path: Path,
    document: Document,
    passages: Sequence[Unit],
    sentences: Sequence[Unit],
    units: Sequence[Unit],
) -> None:
    text = document.text
    for unit in (*passages, *sentences):
        counts.spans += 1
        if unit.text != text[unit.start : unit.end]:
            counts.wrong_spans += 1
            counts.found.append(("spans", f"{path}: {unit.granularity}: {unit.text[:200]!r}"))
    shown = _count_places(counts, path, text, passages)
    places = list(map(itemgetter(0), shown))
    by_id = indexed_by_id(passages)
    for unit in units:
        passage = by_id.get(unit.parent_id or "")
        proposition = _on_one_line(unit.text).rstrip(".")
        if passage is None or proposition not in _on_one_line(passage.search_text):
            continue  # in other words
        counts.spans += 1
        in_span = ""
        for at, character in shown[bisect_right(places, unit.start - 1) :]:
            if at < unit.end:
                in_span += character
        held = letters(in_span)
        # What a list goes on from stands above it.
        is_held = held and letters(unit.text).endswith(held)
        source = text[unit.start : unit.end]
        if not is_held and not _is_in_order(words(unit.text), html.unescape(source)):
            counts.wrong_spans += 1
            counts.found.append(("spans", f"{path}: {unit.text[:200]!r} at {source[:200]!r}"))


def _count_places(
    counts: Counts, path: Path, text: str, passages: Sequence[Unit]
) -> list[tuple[int, str]]:
    """Count the characters that readers see, and return each with its place in the source."""
    shown: list[tuple[int, str]] = []
    for sentence in chain.from_iterable(map(attrgetter("sentences"), passages)):
        visible = sentence.visible
        shown += zip(visible.offsets, visible.text, strict=True)
        for at, character in zip(visible.offsets, visible.text, strict=True):
            counts.places += 1
            if _is_at(text, at, character):
                continue
            counts.wrong_places += 1
            if counts.wrong_places <= 5:
                part = text[max(0, at - 30) : at + 30]
                counts.found.append(
                    ("spans", f"{path}: {character!r} of {visible.text[:100]!r} at {part!r}")
                )
    return shown


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _is_in_order(parts: Iterator[str], text: str) -> bool:
    lowered = text.casefold()
    at = 0
    for part in parts:
        at = lowered.find(part.casefold(), at)
        if at < 0:
            return False
        at += len(part)
    return True


def _is_at(text: str, at: int, character: str) -> bool:
    """Say whether a character stands at a place, or something there is written in another way."""
    if character.isspace():  # it may stand between two parts of the source
        return True
    there = text[at]
    if there == character or there in "&<:[\\":
        return True
    return character in "`|☐☒: " or (character in "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻" and there in "0123456789+-−–")


def _row(name: str, counts: Counts) -> str:
    megabytes = counts.size / 1e6 or 1
    propositions = max(counts.propositions, 1)
    rows = f"{100 * counts.named / counts.rows:.1f} % of {counts.rows:,}" if counts.rows else "–"
    classes = ", ".join(f"{number} {label}" for label, number in counts.classes.most_common())
    return " | ".join(
        (
            f"| {name}",
            f"{counts.files}",
            f"{counts.size / 1000:,.0f}",
            f"{counts.propositions:,}",
            f"{100 * counts.dirty / propositions:.2f} %{f' ({classes})' if classes else ''}",
            f"{100 * counts.shown / propositions:.2f} %",
            rows,
            f"{counts.lost:,} of {counts.characters:,}",
            f"{counts.wrong_spans} of {counts.spans:,}",
            f"{counts.wrong_places} of {counts.places:,}",
            f"{counts.reading / megabytes:.1f}",
            f"{(counts.reading + counts.decomposing) / megabytes:.1f} |",
        )
    )


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument(
        "--sample", type=int, default=0, help="the most files of each folder, drawn by chance"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--show",
        action="append",
        default=[],
        choices="markup shown rows lost spans why failed".split(),
    )
    parser.add_argument(
        "--most", type=int, default=40, help="the most that is shown of each kind and folder"
    )
    return parser.parse_args()


def main() -> None:
    arguments = parse()
    logging.disable(logging.WARNING)
    propositionizer = SyntaxPropositionizer()
    decompose(
        split_passages(Document("# Title\n\nIt *starts* here.")), propositionizer, log=False
    )  # loads all
    print(
        "| | files | KB | propositions | markup | shown | rows | lost | spans | places | "
        "s/MB, reading | s/MB, all |"
    )
    print(f"|---|{'--:|' * 11}", flush=True)
    for folder in arguments.folders:
        files = sorted({*find_files([folder], allow_empty=True), *(folder.rglob("*.csv"))})
        if 0 < arguments.sample < len(files):
            files = sorted(random.Random(arguments.seed).sample(files, arguments.sample))
        counts = measure(files, propositionizer)
        print(_row(re.sub(r"\W+\Z", "", folder.name), counts), flush=True)
        for kind in arguments.show:
            shown = [text for other, text in counts.found if other == kind]
            for text in shown[: arguments.most]:
                print(f"  {kind}: {text}")
            if len(shown) > arguments.most:
                print(f"  {kind}: {len(shown) - arguments.most} more")
            if kind == "why":
                print(f"  why: {dict(counts.reasons.most_common())}")


if __name__ == "__main__":
    main()
