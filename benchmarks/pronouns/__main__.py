r"""How often what `SyntaxPropositionizer` writes for pronouns, names and descriptions is right.

    python -m benchmarks.pronouns ../shared/data/squad-v1.1-dev/dev-v1.1.even.json \
        ../shared/data/clapnq/annotated_data/dev/clapnq_dev_answerable.jsonl \
        ../shared/data/factoidqa-cmu-qa-v1.2/S08

Lists every resolution with its sentence and what it became, and compares them with the judgements
made by hand in `judgements.tsv`: one line for each resolution, by text and place. A resolution that
changed is unjudged. The texts are SQuAD's articles and CLAPNQ's and FactoidQA's passages (if the
files are named), the encyclopedia of the examples, and the manuals and policies of `texts/`, which
were written for this.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

from factoid import Document, SyntaxPropositionizer, split_passages
from factoid.propositions.syntax import propositionizer as syntax
from factoid.propositions.syntax.render import Mention
from factoid.propositions.syntax.tree import Tree
from factoid.units import Unit

_HERE = Path(__file__).parent
_ENCYCLOPEDIA = _HERE.parents[1] / "examples" / "data" / "encyclopedia"
_JUDGEMENTS = _HERE / "judgements.tsv"
# FactoidQA: every third article, its beginning
_EVERY = 3
_CHARACTERS = 6000
_APART = re.compile(r" ([,.;:!?)]|'s\b|'(?= )|n't\b)")
_PRONOUNS = frozenset("he his she her it its they their".split())


class Resolution(NamedTuple):
    """A word that was written out: in which text and where, the sentence, the word and what it
    became.
    """

    place: str
    sentence: str
    word: str
    text: str

    @property
    def key(self) -> str:
        """Place and a checksum of what was done there, since texts of others are not to be
        copied.
        """
        return f"{self.place}:{hashlib.sha256(f'{self.word}>{self.text}'.encode()).hexdigest()[:8]}"


class _Recorder(syntax.Discourse):
    """A discourse that keeps what it has read."""

    log: ClassVar[list[tuple[Tree, dict[int, Mention]]]] = []

    def read(self, tree: Tree) -> dict[int, Mention]:
        mentions = super().read(tree)
        self.log.append((tree, dict(mentions)))
        return mentions


def texts(files: Sequence[Path]) -> Iterator[tuple[str, str, Document]]:
    """Yield kind, name and text of the documents."""
    for file in files:
        if file.is_dir():
            for path in sorted(file.rglob("*.clean"))[::_EVERY]:
                text = path.read_text(encoding="utf-8", errors="replace")[:_CHARACTERS]
                title, _, text = text.partition("\n")
                yield (
                    "FactoidQA, held out",
                    f"{path.parent.name}-{path.stem}",
                    Document(text, title=title.strip()),
                )
            continue
        if file.suffix == ".jsonl":
            yield from _clapnq(file)
            continue
        for article in json.loads(file.read_text(encoding="utf-8"))["data"]:
            title = article["title"].replace("_", " ")
            for number, paragraph in enumerate(article["paragraphs"]):
                yield (
                    "SQuAD",
                    f"{article['title']}/{number}",
                    Document(paragraph["context"], title=title),
                )
    for path in sorted(_ENCYCLOPEDIA.glob("*.md")):
        yield "encyclopedia", path.stem, Document(path.read_text(encoding="utf-8"))
    for path in sorted((_HERE / "texts").glob("*.md")):
        kind = (
            "manuals and policies, held out"
            if path.stem.startswith("held-")
            else "manuals and policies"
        )
        yield kind, path.stem, Document(path.read_text(encoding="utf-8"))


def _clapnq(file: Path) -> Iterator[tuple[str, str, Document]]:
    """Yield the passages of CLAPNQ, whose words are set apart by spaces."""
    for line in file.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        for number, passage in enumerate(record["passages"]):
            text = passage["text"].replace("`` ", '"').replace(" ''", '"').replace("( ", "(")
            text = _APART.sub(r"\1", text).replace(" - ", "-").replace(" -- ", " – ")
            yield "CLAPNQ", f"{record['id']}/{number}", Document(text, title=passage["title"])


def resolutions(
    passage: Unit, name: str, propositionizer: SyntaxPropositionizer
) -> tuple[list[Resolution], int]:
    """Return what was resolved in a passage, and how many pronouns were left."""
    _Recorder.log = []
    propositionizer.propositionize([passage])
    text = " ".join(passage.text.split())
    found = []
    left = 0
    cursor = 0
    for tree, mentions in _Recorder.log:
        cursor = max(text.find(tree.source, cursor), 0)
        offset = cursor
        for index, word in enumerate(tree.words):
            if mention := mentions.get(index):
                old = " ".join([word, *(tree.words[covered] for covered in mention.covers)])
                found.append(
                    Resolution(f"{name}:{passage.start}+{offset}", tree.source, old, mention.text)
                )
            elif word.lower() in _PRONOUNS:
                left += 1
            offset += len(word) + len(tree.spaces[index])
    return found, left


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "files", type=Path, nargs="*", help="SQuAD v1.1 JSON, CLAPNQ JSONL, folder of FactoidQA"
    )
    parser.add_argument("--show", choices=("all", "unjudged", "wrong"), help="print resolutions")
    parser.add_argument("--only", default="", help="texts whose name contains this")
    arguments = parser.parse_args()
    syntax.Discourse = _Recorder
    judged = (
        dict(line.split("\t")[:2] for line in _JUDGEMENTS.read_text().splitlines())
        if _JUDGEMENTS.exists()
        else {}
    )
    propositionizer = SyntaxPropositionizer()
    counts: dict[str, Counter[str]] = {}
    for kind, name, document in texts(arguments.files):
        if arguments.only not in name:
            continue
        row = counts.setdefault(kind, Counter())
        for passage in split_passages(document):
            resolved, left = resolutions(passage, name, propositionizer)
            row["left"] += left
            for resolution in resolved:
                verdict = judged.get(resolution.key, "unjudged")
                row[verdict] += 1
                row["pronouns" if resolution.word.lower() in _PRONOUNS else "others"] += 1
                if arguments.show in ("all", verdict):
                    print(
                        f"{resolution.key}\t{verdict}\t{passage.title} | "
                        f"{passage.section}\t{resolution.word} → "
                        f"{resolution.text}\t{resolution.sentence}"
                    )
    print(
        "| texts | pronouns resolved | names, descriptions | right | wrong | precision | "
        "unjudged | pronouns left |"
    )
    print("| :-- | --: | --: | --: | --: | --: | --: | --: |")
    for kind, row in counts.items():
        known = row["right"] + row["wrong"]
        precision = f"{100 * row['right'] / known:.1f} %" if known else ""
        print(
            f"| {kind} | {row['pronouns']} | {row['others']} | {row['right']} | {row['wrong']} | "
            f"{precision} "
            f"| {row['unjudged']} | {row['left']} |"
        )


if __name__ == "__main__":
    main()
