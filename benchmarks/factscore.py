"""Proposition-set F1 (Dense X Retrieval, Appendix B) against the human atomic facts of FActScore's
labelled bios.

    python benchmarks/factscore.py ../shared/data/factscore-labeled
    python benchmarks/factscore.py ../shared/data/densex-demo --densex

Each sentence that has facts is decomposed as a passage of its own, its bio's topic the title.
Similarity is the cosine of all-MiniLM-L6-v2 unless --similarity says otherwise; figures are means
over sentences. Rules are written on the development half of the bios (--worst shows what to mend)
and reported on the held-out half.

Unsupported is the share of propositions with names, numbers or words that sentence and title do not
hold; uncovered the share of sentences of which no proposition says enough (see
`factoid.propositions.decompose`); pronoun the share of units that start with one. The human facts
keep the pronouns of their sentence ("He was born in Oslo."), which a propositionizer has to
resolve: "F1 named" is measured after writing the topic for the first he or she of every text, ours,
theirs or reference, that does not name it. Rate is sentences per CPU second, so that it holds for
one core.
"""

from __future__ import annotations

import argparse
import logging
import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from statistics import fmean

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from proposition_data import HALVES, Example, KeptEncoder, name_subject, read_densex, read_factscore

from factoid import Unit, split_sentences
from factoid.propositions import Propositionizer, Report, SyntaxPropositionizer
from factoid.propositions.decompose import ground_outputs
from factoid.propositions.score import (
    EncoderSimilarity,
    PropositionF1,
    Similarity,
    TokenF1,
    proposition_f1,
)

VECTORS = Path(__file__).resolve().parents[1] / "build" / "factscore" / "minilm.npz"
HEAD = [
    "half",
    "units",
    "F1",
    "F1 named",
    "precision",
    "recall",
    "per text",
    "words",
    "pronoun",
    "unsupported",
    "uncovered",
    "rate",
]
_PRONOUN = re.compile(r"(he|she|it|they|his|her|its|their|this|these|those)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Output:
    """What one method made of all examples."""

    name: str
    propositions: list[list[str]]
    rate: float | None = None  # examples per CPU second


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="factscore-labeled, or densex-demo with --densex")
    parser.add_argument(
        "--densex", action="store_true", help="compare with the Propositionizer's output instead"
    )
    parser.add_argument("--similarity", choices=["minilm", "tokens"], default="minilm")
    parser.add_argument(
        "--worst",
        type=int,
        default=0,
        metavar="N",
        help="print the N worst of the development half, last row",
    )
    parser.add_argument("--markdown", action="store_true", help="print the table in Markdown")
    parser.add_argument(
        "--into",
        type=Path,
        metavar="PAGE",
        help="write it between the markers of this page as well",
    )
    return parser.parse_args()


def main() -> None:
    arguments = parse()
    if arguments.densex:
        examples = read_densex(arguments.folder)
    else:
        examples = read_factscore(arguments.folder)
    logging.getLogger("factoid").setLevel(logging.ERROR)  # what falls back is counted in the table
    syntax = run("syntax", SyntaxPropositionizer(), [example.passage for example in examples])
    outputs = [*given(examples, arguments.densex), syntax]
    similarity = similarity_of(examples, outputs, arguments.similarity)
    scored = []
    for output in outputs:
        scores = score(output, examples, similarity)
        named = score(output, examples, similarity, named=True)
        scored.append((output, scores, named))
    rows = []
    for half in HALVES:
        for output, scores, named in scored:
            rows.append(row(half, output, examples, scores, named, arguments))
    head, *rows = without_empty_columns([HEAD, *rows])
    table = markdown(head, rows)
    print(table if arguments.markdown else aligned(head, rows))
    if arguments.into:
        fill(arguments.into, "densex" if arguments.densex else "factscore", table)
    if arguments.worst:
        worst(arguments.worst, examples, outputs[-1], similarity, recall=arguments.densex)


def without_empty_columns(rows: list[list[str]]) -> list[list[str]]:
    """Return the rows of a table without the columns in which only the first row has a text."""
    columns = [column for column in zip(*rows, strict=True) if any(column[1:])]
    return list(map(list, zip(*columns, strict=True)))


def run(name: str, propositionizer: Propositionizer, passages: Sequence[Unit]) -> Output:
    propositionizer.propositionize(passages[:1])  # loads the parser
    start = time.process_time()
    propositions = propositionizer.propositionize(passages)
    return Output(name, propositions, len(passages) / (time.process_time() - start))


def given(examples: list[Example], densex: bool) -> list[Output]:
    """What needs no propositionizer."""
    texts = [[example.passage.text] for example in examples]
    if densex:
        sentences = []
        for example in examples:
            sentences.append(list(map(attrgetter("text"), split_sentences(example.passage))))
        return [Output("passage itself", texts), Output("its sentences", sentences)]
    return [
        Output("sentence itself", texts),
        Output("stored model facts", [example.model for example in examples]),
    ]


def similarity_of(examples: list[Example], outputs: list[Output], name: str) -> Similarity:
    if name == "tokens":
        return TokenF1()
    texts: list[str] = []
    for propositions in (*map(attrgetter("propositions"), outputs), references_of(examples)):
        for texts_of_one, example in zip(propositions, examples, strict=True):
            texts += texts_of_one
            texts += _named(texts_of_one, example.passage.title)
    encoder = KeptEncoder(VECTORS)
    encoder.encode_units(texts)  # all at once, which is faster
    return EncoderSimilarity(encoder)


def score(
    output: Output, examples: list[Example], similarity: Similarity, *, named: bool = False
) -> list[PropositionF1]:
    scores = []
    for propositions, example in zip(output.propositions, examples, strict=True):
        references = example.references
        if named:
            topic = example.passage.title
            propositions = _named(propositions, topic)
            references = _named(references, topic)
        scores.append(proposition_f1(propositions, references, similarity))
    return scores


def references_of(examples: list[Example]) -> list[list[str]]:
    return [example.references for example in examples]


def _named(texts: list[str], topic: str) -> list[str]:
    return [name_subject(text, topic) for text in texts]


def row(
    half: str,
    output: Output,
    examples: list[Example],
    scores: list[PropositionF1],
    named: list[PropositionF1],
    arguments: argparse.Namespace,
) -> list[str]:
    chosen = places_of(half, examples)
    units: list[str] = []
    report = Report()
    sentences = 0
    for at in chosen:
        units += output.propositions[at]
        report += ground_outputs([examples[at].passage], [output.propositions[at]]).report
        sentences += len(split_sentences(examples[at].passage))
    own = [scores[at] for at in chosen]
    figures = [""] * 3  # see read_densex
    if not arguments.densex:
        f1 = fmean(map(attrgetter("f1"), own))
        f1_named = fmean(named[at].f1 for at in chosen)
        precision = fmean(map(attrgetter("precision"), own))
        figures = [f"{f1:.3f}", f"{f1_named:.3f}", f"{precision:.3f}"]
    words = len(" ".join(units).split())
    pronouns = len(list(filter(_PRONOUN.match, units)))
    return [
        f"{half} ({len(chosen)})",
        output.name,
        *figures,
        f"{fmean(map(attrgetter('recall'), own)):.3f}",
        f"{len(units) / len(chosen):.2f}",
        f"{words / len(units):.1f}",
        f"{pronouns / len(units):.1%}",
        f"{report.unsupported / len(units):.1%}",
        f"{report.uncovered / sentences:.1%}",
        f"{output.rate:.0f}/s" if output.rate else "",
    ]


def places_of(half: str, examples: list[Example]) -> list[int]:
    """Return which examples are of a half."""
    return [at for at, example in enumerate(examples) if example.half == half]


def markdown(head: list[str], rows: list[list[str]]) -> str:
    rules = [":--", ":--", *["--:"] * (len(head) - 2)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, rules, *rows))


def aligned(head: list[str], rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = []
    for cells in (head, *rows):
        padded = [*map(str.ljust, cells[:2], widths[:2]), *map(str.rjust, cells[2:], widths[2:])]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def fill(page: Path, name: str, table: str) -> None:
    """Put a table between the page's comments "table: name" and "end"."""
    before, marker, after = page.read_text(encoding="utf-8").partition(f"<!-- table: {name} -->\n")
    if not marker:
        raise SystemExit(f"{page} has no comment <!-- table: {name} -->")
    _, end, rest = after.partition("<!-- end -->")
    page.write_text(f"{before}{marker}\n{table}\n\n{end}{rest}", encoding="utf-8")


def worst(
    count: int, examples: list[Example], output: Output, similarity: Similarity, *, recall: bool
) -> None:
    """Print the worst of the development half by F1 named, and only of that half: rules are written
    on it.
    """
    scores = score(output, examples, similarity, named=True)
    own = places_of(HALVES[0], examples)
    own.sort(key=lambda at: scores[at].recall if recall else scores[at].f1)
    for at in own[:count]:
        example = examples[at]
        value = scores[at]
        topic = example.passage.title
        print(
            f"\nF1 {value.f1:.3f}  precision {value.precision:.3f}  recall {value.recall:.3f}  "
            f"[{topic}]"
        )
        print(f"      {example.passage.text}")
        texts = _named(output.propositions[at], topic)
        references = _named(example.references, topic)
        best = similarity(texts, references)
        for text, nearest in zip(texts, best.max(axis=1, initial=0), strict=True):
            print(f"  ours {nearest:.2f}  {text}")
        for text, nearest in zip(references, best.max(axis=0, initial=0), strict=True):
            print(f"  ref  {nearest:.2f}  {text}")


if __name__ == "__main__":
    main()
