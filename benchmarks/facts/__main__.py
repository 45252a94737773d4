r"""Share of true facts among those that `SyntaxPropositionizer` writes itself, in documentation of
other people.

    python -m benchmarks.facts FOLDER... --seed 1 --show unjudged

Draws the same number of changed sentences from each folder: those of which the propositionizer made
other facts than the sentence itself; and, since few of them have a pronoun that was written out,
further sentences that have one. Prints each with its facts, and what its pronouns and short names
became, and compares them with the judgements made by hand in `judgements.tsv`: one line for each
sentence with its facts, by a checksum, since texts of others are not to be copied. A sentence of
which other facts are made is unjudged. Facts are counted in the first sample only, pronouns in
both.

A fact is true (T) if a reader of the document agrees that the sentence says it, and false (F) if it
says something else; a fact that reads badly, but is understood as meant, is true. From the 19th
sample on, two further letters tell what earlier ones counted as false or true: a fact has lost its
scope (L) if it holds only under what the other part of the sentence says, and is unclear (U) if
its subject or object is understood only from the other part, or from the sentence before.
"""

from __future__ import annotations

import argparse
import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from factoid import SyntaxPropositionizer, split_passages
from factoid.files.readers import read_file
from factoid.propositions.syntax import propositionizer as syntax
from factoid.propositions.syntax.render import Mention, render
from factoid.propositions.syntax.tree import Item, Tree
from factoid.units import Unit

_JUDGEMENTS = Path(__file__).parent / "judgements.tsv"
_ENDINGS = frozenset({".md", ".mdx", ".markdown", ".rst", ".txt"})
_NOT_TRUE = {"F": "false", "L": "without their scope", "U": "unclear alone"}
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


class _Recorder(SyntaxPropositionizer):
    """A propositionizer that notes each sentence with its facts."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[Sentence] = []

    def _split(self, tree: Tree, sentence: str, discourse: syntax.Discourse) -> list[str]:
        if not self.log or self.log[-1].text != sentence:
            self.log.append(Sentence(sentence))  # else a further part of the same one
        note = self.log[-1]

        def noted_render(tree: Tree, items: Sequence[Item], mentions: Mapping[int, Mention]) -> str:
            text = render(tree, items, mentions)
            for index, mention in mentions.items():
                others = {at: other for at, other in mentions.items() if at != index}
                if render(tree, items, others) != text:
                    _note_mention(note, tree.words[index], mention)
            return text

        syntax.render = noted_render
        facts = super()._split(tree, sentence, discourse)
        note.facts += [fact for fact in facts if fact]
        return facts


def _note_mention(sentence: Sentence, word: str, mention: Mention) -> None:
    change = f"{word} → {mention.text}"
    changes = sentence.pronouns if word.lower() in _PRONOUNS else sentence.names
    if change not in changes:
        changes.append(change)


def sentences_of(
    passages: Sequence[Unit], name: str, propositionizer: _Recorder
) -> Iterator[Sentence]:
    """Yield the sentences of a document with the facts that were made of them."""
    for passage in passages:
        propositionizer.log.clear()
        propositionizer.propositionize([passage])
        before = ""
        for sentence in propositionizer.log:
            sentence.facts = list(dict.fromkeys(sentence.facts))
            sentence.before = before
            sentence.place = f"{name} | {passage.title} | {passage.section}"
            yield sentence
            before = sentence.text


@dataclass(slots=True)
class Sample:
    """The sentences drawn from a folder, each once."""

    changed: list[Sentence]  # of all that were changed
    resolved: list[Sentence]  # further ones with a pronoun that was written out
    sentences: int  # of all that were read, without code and tables
    all_changed: int


def sample(
    folder: Path, seed: int, propositionizer: _Recorder, *, files: int, count: int, pronouns: int
) -> Sample:
    """Draw sentences from some of a folder's texts, in an order that only the seed decides."""
    paths = []
    for path in folder.rglob("*"):
        if path.suffix.lower() in _ENDINGS and path.is_file():
            paths.append(path)
    paths.sort(key=lambda path: _order(path.relative_to(folder).as_posix(), seed))
    sentences: dict[str, Sentence] = {}
    read = 0
    for path in paths[:files]:
        for document in read_file(path):
            passages = split_passages(document)
            name = str(path.relative_to(folder))
            for sentence in sentences_of(passages, name, propositionizer):
                read += 1
                if _is_changed(sentence):
                    sentences.setdefault(sentence.text, sentence)
    ordered = sorted(sentences.values(), key=lambda sentence: _order(sentence.text, seed))
    with_pronoun = [sentence for sentence in ordered[count:] if sentence.pronouns]
    return Sample(ordered[:count], with_pronoun[:pronouns], read, len(ordered))


def _is_changed(sentence: Sentence) -> bool:
    """Return whether other facts were made than the sentence, apart from its capital and its
    stop.
    """
    return [fact.rstrip(".:").lower() for fact in sentence.facts] != [
        sentence.text.rstrip(".:").lower()
    ]


def _order(text: str, seed: int) -> str:
    return hashlib.sha256(f"{seed} {text}".encode()).hexdigest()


def read_judgements() -> dict[str, list[str]]:
    """Return the judgements by key: a letter for each fact, one for each pronoun, and why one is
    false.
    """
    if not _JUDGEMENTS.exists():
        return {}
    judgements = {}
    for line in _JUDGEMENTS.read_text(encoding="utf-8").splitlines():
        key, *values = line.split("\t")
        judgements[key] = values
    return judgements


def show(sentence: Sentence, verdict: str) -> None:
    """Print a sentence with its facts."""
    print(f"\n{sentence.key} {verdict}  [{sentence.place}]")
    if sentence.pronouns or sentence.names:
        print(f"  before: {sentence.before[-300:]}")
        print(f"  {'; '.join([*sentence.pronouns, *sentence.names])}")
    print(f"  {sentence.text}")
    for number, fact in enumerate(sentence.facts):
        print(f"    {number}. {fact}")


def interval(successes: int, trials: int) -> tuple[float, float]:
    """Return the 95 % interval of a share by Wilson's score, in per cent."""
    z = 1.96
    share = successes / trials
    centre = share + z * z / (2 * trials)
    margin = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 100 / (1 + z * z / trials)
    return scale * (centre - margin), scale * (centre + margin)


def count_verdicts(
    sentences: Sequence[Sentence], total: Counter[str], show_which: str | None, *, with_facts: bool
) -> None:
    """Add the judgements of sentences to the total, and print those of one verdict."""
    judged = read_judgements()
    for sentence in sentences:
        total["sentences"] += with_facts
        judgement = judged.get(sentence.key)
        if judgement is None:
            verdict = "unjudged"
            total["unjudged"] += 1
        else:
            facts, pronouns, *_ = [*judgement, ""]
            verdict = "true" if set(facts + pronouns) == {"T"} else "false"
            if with_facts:
                total["facts"] += len(facts)
                total["true facts"] += facts.count("T")
                for letter, name in _NOT_TRUE.items():
                    total[name] += facts.count(letter)
            total["pronouns"] += len(pronouns)
            total["true pronouns"] += pronouns.count("T")
        if show_which in ("all", verdict):
            show(sentence, verdict)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folders", type=Path, nargs="+", help="documentation: Markdown or plain text"
    )
    parser.add_argument("--seed", type=int, default=1, help="which files and sentences are drawn")
    parser.add_argument("--files", type=int, default=40, help="files of each folder")
    parser.add_argument("--count", type=int, default=40, help="changed sentences of each folder")
    parser.add_argument(
        "--pronouns",
        type=int,
        default=0,
        help="further sentences with a pronoun that was written out",
    )
    parser.add_argument("--show", choices=("all", "unjudged", "false"), help="print sentences")
    arguments = parser.parse_args()
    propositionizer = _Recorder()
    total: Counter[str] = Counter()
    for folder in arguments.folders:
        drawn = sample(
            folder,
            arguments.seed,
            propositionizer,
            files=arguments.files,
            count=arguments.count,
            pronouns=arguments.pronouns,
        )
        total["read"] += drawn.sentences
        total["changed"] += drawn.all_changed
        count_verdicts(drawn.changed, total, arguments.show, with_facts=True)
        count_verdicts(drawn.resolved, total, arguments.show, with_facts=False)
    share = 100 * total["changed"] / total["read"]
    print(f"\n{total['changed']} of {total['read']} sentences were changed: {share:.1f} %")
    print(f"{total['sentences']} sentences drawn, {total['unjudged']} of all unjudged")
    for name in _NOT_TRUE.values():
        print(f"{total[name]} of {total['facts']} facts are {name}")
    for what in ("facts", "pronouns"):
        if total[what]:
            right = total[f"true {what}"]
            share = 100 * right / total[what]
            low, high = interval(right, total[what])
            print(
                f"{right} of {total[what]} {what} are true: {share:.1f} % ({low:.1f} to {high:.1f})"
            )


if __name__ == "__main__":
    main()
