r"""Share of true facts among those that `SyntaxPropositionizer` writes itself, in documentation of other people.

    python -m benchmarks.facts FOLDER... --seed 1 --show unjudged

Draws the same number of changed sentences from each folder: those of which the propositionizer made other facts than the
sentence itself. Prints each with its facts, and what its pronouns and short names became, and compares them with the judgements
made by hand in `judgements.tsv`: one line for each sentence with its facts, by a checksum, since texts of others are not to be
copied. A sentence of which other facts are made is unjudged.

A fact is true if a reader of the document agrees that the sentence says it, and false if it says something else, or nothing that
one can understand; a fact that reads badly, but is understood as meant, is true.
"""

from __future__ import annotations

import argparse
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from factoid import SyntaxPropositionizer, split_passages
from factoid.user_files.read import read_file
from factoid.propositions.syntax import propositionizer as syntax
from factoid.propositions.syntax.render import Mention
from factoid.propositions.syntax.render import render as render_statement
from factoid.propositions.syntax.tree import Item, Tree
from factoid.units import Unit

_JUDGEMENTS = Path(__file__).parent / "judgements.tsv"
_ENDINGS = frozenset({".md", ".mdx", ".markdown", ".rst", ".txt"})
_PRONOUNS = frozenset("he his she her it its they their".split())


@dataclass(slots=True)
class Sentence:
    """A sentence, the facts that were made of it, and what its pronouns and short names became."""

    text: str
    before: str = ""  # the sentence before
    place: str = ""  # the file, and the headings above
    facts: list[str] = field(default_factory=list)
    pronouns: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    @property
    def key(self) -> str:
        """The checksum of what is judged."""
        judged = "\n".join([self.text, *self.facts])
        return hashlib.sha256(judged.encode()).hexdigest()[:12]


class _Recorder(syntax.Discourse):
    """A discourse that notes the sentences that it reads."""

    log: ClassVar[dict[int, Sentence]] = {}
    trees: ClassVar[list[Tree]] = []  # kept, so that their ids stay theirs

    def read(self, tree: Tree) -> dict[int, Mention]:
        self.log[id(tree)] = Sentence(tree.source)
        self.trees.append(tree)
        return super().read(tree)


def _render(tree: Tree, items: Sequence[Item], mentions: Mapping[int, Mention]) -> str:
    """Render a statement, and note it with the mentions that it has written out."""
    text = render_statement(tree, items, mentions)
    sentence = _Recorder.log[id(tree)]
    sentence.facts.append(text)
    for item in items:
        if item in mentions:
            word = tree.words[int(item)]
            change = f"{word} → {mentions[int(item)].text}"
            changes = sentence.pronouns if word.lower() in _PRONOUNS else sentence.names
            if change not in changes:
                changes.append(change)
    return text


def changed_sentences(
    passages: Sequence[Unit], name: str, propositionizer: SyntaxPropositionizer
) -> Iterator[Sentence]:
    """Yield the sentences of a document of which other facts were made than the sentence itself."""
    for passage in passages:
        _Recorder.log.clear()
        _Recorder.trees.clear()
        propositionizer.propositionize([passage])
        before = ""
        for sentence in _Recorder.log.values():
            facts = [fact for fact in sentence.facts if fact]
            if facts and facts != [sentence.text]:
                sentence.before = before
                sentence.place = f"{name} | {passage.title} | {passage.section}"
                yield sentence
            before = sentence.text


def sample(folder: Path, count: int, seed: int, propositionizer: SyntaxPropositionizer) -> list[Sentence]:
    """Return some of the changed sentences of a folder's texts, each once, in an order that only the seed decides."""
    sentences: dict[str, Sentence] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() not in _ENDINGS or not path.is_file():
            continue
        for document in read_file(path):
            passages = split_passages(document)
            for sentence in changed_sentences(passages, str(path.relative_to(folder)), propositionizer):
                sentences.setdefault(sentence.text, sentence)
    return sorted(sentences.values(), key=lambda sentence: _order(sentence.text, seed))[:count]


def _order(text: str, seed: int) -> str:
    return hashlib.sha256(f"{seed} {text}".encode()).hexdigest()


def read_judgements() -> dict[str, list[str]]:
    """Return the judgements by key: a letter for each fact (T or F), one for each pronoun, and why one is false."""
    if not _JUDGEMENTS.exists():
        return {}
    lines = _JUDGEMENTS.read_text(encoding="utf-8").splitlines()
    return {key: values for key, *values in (line.split("\t") for line in lines)}


def show(sentence: Sentence, verdict: str) -> None:
    """Print a sentence with its facts."""
    print(f"\n{sentence.key} {verdict}  [{sentence.place}]")
    if sentence.pronouns or sentence.names:
        print(f"  before: {sentence.before[-300:]}")
        print(f"  {'; '.join([*sentence.pronouns, *sentence.names])}")
    print(f"  {sentence.text}")
    for number, fact in enumerate(sentence.facts):
        print(f"    {number}. {fact}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", help="documentation: Markdown or plain text")
    parser.add_argument("--seed", type=int, default=1, help="which sentences are drawn")
    parser.add_argument("--count", type=int, default=40, help="sentences of each folder")
    parser.add_argument("--show", choices=("all", "unjudged", "false"), help="print sentences")
    arguments = parser.parse_args()
    syntax.Discourse = _Recorder  # type: ignore[misc]
    syntax.render = _render
    judged = read_judgements()
    propositionizer = SyntaxPropositionizer()
    total: Counter[str] = Counter()
    for folder in arguments.folders:
        for sentence in sample(folder, arguments.count, arguments.seed, propositionizer):
            total["sentences"] += 1
            judgement = judged.get(sentence.key)
            if judgement is None:
                verdict = "unjudged"
                total["unjudged"] += 1
            else:
                facts, pronouns, *_ = [*judgement, ""]
                verdict = "false" if "F" in facts + pronouns else "true"
                total["facts"] += len(facts)
                total["true facts"] += facts.count("T")
                total["pronouns"] += len(pronouns)
                total["true pronouns"] += pronouns.count("T")
            if arguments.show in ("all", verdict):
                show(sentence, verdict)
    print(f"\n{total['sentences']} sentences, {total['unjudged']} of them unjudged")
    for what in ("facts", "pronouns"):
        if total[what]:
            share = 100 * total[f"true {what}"] / total[what]
            print(f"{total[f'true {what}']} of {total[what]} {what} are true: {share:.1f} %")


if __name__ == "__main__":
    main()
