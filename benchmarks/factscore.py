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


def main() -> None:
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
    arguments = parser.parse_args()
    examples = (
        read_densex(arguments.folder) if arguments.densex else read_factscore(arguments.folder)
    )
    logging.getLogger("factoid").setLevel(logging.ERROR)  # what falls back is counted in the table
    syntax = run("syntax", SyntaxPropositionizer(), [example.passage for example in examples])
    outputs = [*given(examples, arguments.densex), syntax]
    similarity = similarity_of(examples, outputs, arguments.similarity)
    scores = {output.name: score(output, examples, similarity) for output in outputs}
    named = {output.name: score(output, examples, similarity, named=True) for output in outputs}
    rows = [
        row(half, output, examples, scores[output.name], named[output.name], arguments)
        for half in HALVES
        for output in outputs
    ]
    columns = [column for column in zip(HEAD, *rows, strict=True) if any(column[1:])]
    head, *rows = map(list, zip(*columns, strict=True))
    table = markdown(head, rows)
    print(table if arguments.markdown else aligned(head, rows))
    if arguments.into:
        fill(arguments.into, "densex" if arguments.densex else "factscore", table)
    if arguments.worst:
        worst(arguments.worst, examples, outputs[-1], similarity, recall=arguments.densex)


def run(name: str, propositionizer: Propositionizer, passages: Sequence[Unit]) -> Output:
    propositionizer.propositionize(passages[:1])  # loads the parser
    start = time.process_time()
    propositions = propositionizer.propositionize(passages)
    return Output(name, propositions, len(passages) / (time.process_time() - start))


def given(examples: list[Example], densex: bool) -> list[Output]:
    """What needs no propositionizer."""
    texts = [[example.passage.text] for example in examples]
    if densex:
        sentences = [
            [unit.text for unit in split_sentences(example.passage)] for example in examples
        ]
        return [Output("passage itself", texts), Output("its sentences", sentences)]
    return [
        Output("sentence itself", texts),
        Output("stored model facts", [example.model for example in examples]),
    ]


def similarity_of(examples: list[Example], outputs: list[Output], name: str) -> Similarity:
    if name == "tokens":
        return TokenF1()
    lists = [own for output in outputs for own in output.propositions] + [
        example.references for example in examples
    ]
    topics = [example.passage.title for example in examples] * (len(outputs) + 1)
    texts = [
        text
        for topic, own in zip(topics, lists, strict=True)
        for text in (*own, *_named(own, topic))
    ]
    encoder = KeptEncoder(VECTORS)
    encoder.encode_units(texts)  # all at once, which is faster
    return EncoderSimilarity(encoder)


def score(
    output: Output, examples: list[Example], similarity: Similarity, *, named: bool = False
) -> list[PropositionF1]:
    scores = []
    for own, example in zip(output.propositions, examples, strict=True):
        topic = example.passage.title
        pair = (
            (_named(own, topic), _named(example.references, topic))
            if named
            else (own, example.references)
        )
        scores.append(proposition_f1(*pair, similarity))
    return scores


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
    chosen = [at for at, example in enumerate(examples) if example.half == half]
    units = [text for at in chosen for text in output.propositions[at]]
    report = Report()
    sentences = 0
    for at in chosen:
        report += ground_outputs([examples[at].passage], [output.propositions[at]]).report
        sentences += len(split_sentences(examples[at].passage))
    figures = [
        fmean(scores[at].f1 for at in chosen),
        fmean(named[at].f1 for at in chosen),
        fmean(scores[at].precision for at in chosen),
    ]
    return [
        f"{half} ({len(chosen)})",
        output.name,
        *("" if arguments.densex else f"{figure:.3f}" for figure in figures),  # see read_densex
        f"{fmean(scores[at].recall for at in chosen):.3f}",
        f"{len(units) / len(chosen):.2f}",
        f"{sum(len(text.split()) for text in units) / len(units):.1f}",
        f"{sum(bool(_PRONOUN.match(text)) for text in units) / len(units):.1%}",
        f"{report.unsupported / len(units):.1%}",
        f"{report.uncovered / sentences:.1%}",
        f"{output.rate:.0f}/s" if output.rate else "",
    ]


def markdown(head: list[str], rows: list[list[str]]) -> str:
    rules = [":--", ":--", *["--:"] * (len(head) - 2)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, rules, *rows))


def aligned(head: list[str], rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = []
    for cells in (head, *rows):
        pairs = enumerate(zip(cells, widths, strict=True))
        lines.append(
            "  ".join(
                cell.rjust(width) if at > 1 else cell.ljust(width) for at, (cell, width) in pairs
            ).rstrip()
        )
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
    own = [at for at, example in enumerate(examples) if example.half == HALVES[0]]
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
        texts, references = (
            _named(side, topic) for side in (output.propositions[at], example.references)
        )
        best = similarity(texts, references)
        for text, nearest in zip(texts, best.max(axis=1, initial=0), strict=True):
            print(f"  ours {nearest:.2f}  {text}")
        for text, nearest in zip(references, best.max(axis=0, initial=0), strict=True):
            print(f"  ref  {nearest:.2f}  {text}")


if __name__ == "__main__":
    main()
