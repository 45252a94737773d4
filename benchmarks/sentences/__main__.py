"""Sentence ends against pySBD's golden rules and Universal Dependencies, other splitters beside
ours.

    git clone https://github.com/nipunsadvilkar/pySBD
    git clone https://github.com/UniversalDependencies/UD_German-GSD treebanks/UD_German-GSD
    python -m benchmarks.sentences --rules pySBD/tests/lang --treebanks treebanks \
        --splitters factoid,pysbd,syntok,spacy

`--rules` is the folder of pySBD's tests, which are read and never run. Cases that change the text,
not only cut it, are left out. `--treebanks` is a folder of folders of CoNLL-U files; `--part` says
which of them ("test"). Sentences of a paragraph are joined by the space that the treebank says;
where a treebank has no paragraphs, by tens.

A figure is `precision / recall` of the ends within a text in percent, the end of the text itself
not counted; places are compared without white space. Golden rules have a third figure, the share of
texts that are cut as asked.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, NamedTuple

from factoid.text.sentence_ends import block_sentences

_NAMES_AND_CODES = (
    "amharic=am arabic=ar armenian=hy bulgarian=bg burmese=my chinese=zh danish=da deutsch=de "
    "dutch=nl english=en french=fr german=de greek=el hindi=hi italian=it japanese=ja "
    "kazakh=kk marathi=mr persian=fa polish=pl russian=ru portuguese=pt slovak=sk swedish=sv "
    "turkish=tr czech=cs spanish=es urdu=ur romanian=ro finnish=fi "
    "vietnamese=vi"
)
CODES = dict(pair.split("=") for pair in _NAMES_AND_CODES.split())
GROUP = 10  # sentences of a treebank without paragraphs

Splitter = Callable[[str], list[str]]


class Case(NamedTuple):
    """A text and the sentences that it is to be cut into."""

    text: str
    sentences: Sequence[str]


class Counts(NamedTuple):
    """Ends that were found, those of them that are right, those asked; faultless texts, texts."""

    found: int = 0
    right: int = 0
    asked: int = 0
    faultless: int = 0
    texts: int = 0

    def plus(self, other: Counts) -> Counts:
        return Counts(*map(sum, zip(self, other, strict=True)))

    def show(self, with_texts: bool) -> str:
        precision = 100 * self.right / max(self.found, 1)
        recall = 100 * self.right / max(self.asked, 1)
        figures = f"{precision:.1f} / {recall:.1f}"
        return (
            f"{figures} / {100 * self.faultless / max(self.texts, 1):.0f}"
            if with_texts
            else figures
        )


def bare(text: str) -> str:
    return "".join(text.split())


def ends(sentences: Sequence[str]) -> set[int]:
    """Return the ends of sentences but for the last, counted without white space."""
    lengths = map(len, map(bare, sentences))
    return set(list(accumulate(lengths))[:-1])


def golden_rules(path: Path) -> Iterator[Case]:
    """Yield the cases of a file of tests: pairs of a text and a list of sentences."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            parts = node.args[:2]  # pytest.param
        elif isinstance(node, ast.Tuple):
            parts = node.elts
        else:
            continue
        case = list(map(_literal, parts))
        if (
            len(case) == 2
            and isinstance(case[0], str)
            and isinstance(case[1], list)
            and all(map(_is_text, case[1]))
        ):
            text, sentences = case
            if bare(text) == bare("".join(sentences)):
                yield Case(text, sentences)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def treebank(folder: Path, part: str) -> Iterator[Case]:
    """Yield the paragraphs of a treebank, or groups of its sentences."""
    for path in sorted(folder.glob(f"*-{part}.conllu")):
        text = path.read_text(encoding="utf-8")
        has_paragraphs = "# newpar" in text
        sentences: list[str] = []
        spaces: list[str] = []
        for block in text.split("\n\n"):
            lines = block.splitlines()
            starts = any(line.startswith(("# newdoc", "# newpar")) for line in lines)
            if sentences and (starts if has_paragraphs else len(sentences) == GROUP):
                yield _joined(sentences, spaces)
                sentences = []
                spaces = []
            sentence = next(
                (line[9:] for line in lines if line.startswith("# text = ")), ""
            ).strip()
            if sentence:
                sentences.append(sentence)
                is_unspaced = "SpaceAfter=No" in lines[-1] and (
                    has_paragraphs or not sentence[-1].isascii()
                )
                spaces.append("" if is_unspaced else " ")
        if sentences:
            yield _joined(sentences, spaces)


def _joined(sentences: list[str], spaces: list[str]) -> Case:
    return Case("".join(map(str.__add__, sentences, spaces)), sentences)


def found_ends(case: Case, split: Splitter) -> set[int]:
    """Return the ends that a splitter finds, whatever it leaves out between sentences."""
    text = bare(case.text)
    found = set()
    at = 0
    for sentence in split(case.text):
        start = text.find(bare(sentence), at)
        if start >= 0:
            at = start + len(bare(sentence))
            found.add(at)
    return found - {len(text)}


def count(case: Case, split: Splitter) -> Counts:
    asked = ends(case.sentences)
    found = found_ends(case, split)
    return Counts(len(found), len(found & asked), len(asked), int(found == asked), 1)


def ours(text: str) -> list[str]:
    return [text[start:end] for start, end in block_sentences(text)]


def pysbd_splitter(language: str) -> Splitter | None:
    import pysbd
    from pysbd.languages import LANGUAGE_CODES

    if language not in LANGUAGE_CODES:
        return None
    segmenter = pysbd.Segmenter(language=language, clean=False)
    return lambda text: list(map(str.strip, segmenter.segment(text)))


def syntok_splitter(language: str) -> Splitter | None:
    from syntok import segmenter

    def split(text: str) -> list[str]:
        sentences = []
        for tokens in chain.from_iterable(segmenter.analyze(text)):
            sentences.append("".join(token.spacing + token.value for token in tokens).strip())
        return sentences

    return split if language in ("en", "de", "es") else None


def spacy_splitter(language: str) -> Splitter | None:
    import spacy

    try:
        nlp = spacy.blank(language)
    except ImportError:  # no rules for the language, or a tokenizer that is not installed
        nlp = spacy.blank("xx")
    nlp.add_pipe("sentencizer")
    nlp.max_length = 10**8
    return lambda text: [sentence.text.strip() for sentence in nlp(text).sents]


SPLITTERS: dict[str, Callable[[str], Splitter | None]] = {
    "factoid": lambda _: ours,
    "pysbd": pysbd_splitter,
    "syntok": syntok_splitter,
    "spacy": spacy_splitter,
}


def measure(
    name: str, language: str, cases: Sequence[Case], splitters: Sequence[str], *, with_texts: bool
) -> None:
    cells = []
    for splitter in splitters:
        split = SPLITTERS[splitter](language)
        if split is None:
            cells.append("")
            continue
        counts = Counts()
        for case in cases:
            counts = counts.plus(count(case, split))
        cells.append(counts.show(with_texts))
    asked = sum(len(ends(case.sentences)) for case in cases)
    print(f"| {name} | {asked} | {' | '.join(cells)} |", flush=True)


def show_faults(name: str, cases: Sequence[Case]) -> None:
    for case in cases:
        asked = ends(case.sentences)
        text = bare(case.text)
        for place in sorted(asked ^ found_ends(case, ours)):
            kind = "missing" if place in asked else "false"
            print(
                f"{name}\t{kind}\t{text[max(0, place - 40) : place]} ‖ {text[place : place + 25]}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rules", type=Path, help="folder of pySBD's tests/lang")
    parser.add_argument(
        "--treebanks", type=Path, help="folder of treebanks' folders, UD_German-GSD and so on"
    )
    parser.add_argument("--part", default="test", help="train, dev or test")
    parser.add_argument("--splitters", default="factoid", help=f"some of {','.join(SPLITTERS)}")
    parser.add_argument("--only", default="", help="name of a language or treebank")
    parser.add_argument(
        "--faults", action="store_true", help="print the ends that ours gets wrong instead"
    )
    options = parser.parse_args()
    splitters = options.splitters.split(",")
    groups: list[tuple[str, str, list[Case], bool]] = []
    if options.rules:
        for path in sorted(options.rules.glob("test_*.py")):
            name = path.stem.removeprefix("test_").removesuffix("_clean")
            groups.append(
                (path.stem.removeprefix("test_"), CODES[name], list(golden_rules(path)), True)
            )
    if options.treebanks:
        for folder in sorted(options.treebanks.iterdir()):
            name = folder.name.removeprefix("UD_")
            groups.append(
                (
                    name,
                    CODES[name.partition("-")[0].lower()],
                    list(treebank(folder, options.part)),
                    False,
                )
            )
    if not options.faults:
        print(f"| | ends | {' | '.join(splitters)} |\n|---|--:|{'---|' * len(splitters)}")
    for name, language, cases, with_texts in groups:
        if options.only not in name or not cases:
            continue
        if options.faults:
            show_faults(name, cases)
        else:
            measure(name, language, cases, splitters, with_texts=with_texts)


if __name__ == "__main__":
    main()
