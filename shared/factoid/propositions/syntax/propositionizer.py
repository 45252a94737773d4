"""The offline propositionizer: a dependency parse and rules, without a key, a GPU or a download."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from itertools import islice
from typing import NamedTuple

from factoid.forks import Exclusion, at_work
from factoid.propositions.syntax.clauses import limits_what_follows, split_clauses
from factoid.propositions.syntax.dangling import begins_bare, begins_with_pronoun, refers_back
from factoid.propositions.syntax.headings import headings
from factoid.propositions.syntax.phrases import (
    RELATIVE_TAGS,
    SAYING,
    is_stand_in,
    rests_on_clause_before,
    stands_alone,
)
from factoid.propositions.syntax.reference import Discourse
from factoid.propositions.syntax.render import render
from factoid.propositions.syntax.tree import SUBJECT, VERB, Tree, load_parser, tokenize
from factoid.split import sentences_in
from factoid.units import Unit

VERSION = 18  # raise when the same text may give other propositions

_BREAK = re.compile(r";\s+")
_COLON = re.compile(r":\s")  # what follows mostly says what stands before it
_LONGEST_WORD = 300  # characters; the time of spaCy's tokeniser grows with their square
# Characters allowed between the top of a document and its first passage, apart from the title.
_FRONT = 200
# Words that English lacks; a sentence with many of them is in another language.
_FOREIGN = frozenset(
    "le la les des du une est dans pour avec sur ce cette der das und ist nicht ein eine mit von "
    "el los las que por para con una è il della che gli het een van niet".split()
)
_SHARE = 10  # of words to one of these
_WHOLE = 80  # tokens; a parser cannot handle a longer sentence
_QUOTES = frozenset('"“‘«„')
# Content words of a fact; very short ones are close to too many questions for dense retrieval.
_MIN_WORDS = 4


class SyntaxPropositionizer:
    """Split sentences by their parse, and write out what pronouns and short names mean.

    Coordinations, relative clauses, appositions, parentheticals and participial clauses become
    statements of their own, in the words of the passage (Dense X Retrieval, §2), unless one would
    have fewer than four content words (nouns, verbs, adjectives, adverbs, numbers), or would speak
    of what only another part names ("and it was sold"). A sentence that does not parse as one is
    kept unchanged.
    """

    costly = False  # no model that may fail: what it leaves as it stands is no cause for a warning
    name = f"syntax {VERSION}"  # what a store records for the way its propositions were made

    def __init__(self) -> None:
        self._alone = Exclusion()  # spaCy pipelines add to their vocabulary while they work

    def propositionize(self, passages: Sequence[Unit]) -> list[list[str]]:
        """Return the propositions of each passage, sentence by sentence."""
        sentences = [_sentences(passage) for passage in passages]
        texts: list[str] = []
        for passage_sentences in sentences:
            for sentence in passage_sentences:
                texts += sentence.parts
        propositions = []
        with at_work(), self._alone.lock:
            trees = self._parse(texts)
            for passage, passage_sentences in zip(passages, sentences, strict=True):
                propositions.append(self._propositions(passage, passage_sentences, trees))
        return propositions

    def _parse(self, texts: Iterable[str]) -> Iterator[Tree]:
        nlp = load_parser()
        sentences = (tokenize(nlp, text) for text in texts)
        for doc, words in nlp.pipe(sentences, as_tuples=True, batch_size=256):
            yield Tree(doc, words)

    def _propositions(
        self, passage: Unit, sentences: Iterable[_Sentence], trees: Iterator[Tree]
    ) -> list[str]:
        """Return the propositions of a passage with these sentences.

        The next of `trees` are those of the texts to parse.
        """
        opens = bool(passage.section) or passage.start <= len(passage.title) + _FRONT
        above = headings(passage.title, passage.section)
        discourse = Discourse(above, opens, passage.search_text)
        propositions: list[str] = []
        for text, texts, begins in sentences:
            if begins:
                discourse.begin_item()
            if not texts:
                propositions.append(text)  # code, or too long
                discourse.begin_item()  # nobody knows whom it spoke of
                continue
            whole, *parts = islice(trees, len(texts))
            trees_to_split = [whole]
            asks = len(parts) > 1 and text.endswith("?")  # "You can choose: is it red or blue?"
            are_sentences = not asks and _are_sentences(parts)
            if are_sentences and _name_what_they_mean(parts, discourse):
                trees_to_split = parts
            for tree in trees_to_split:
                propositions += self._split(tree, text, discourse)
        return list(dict.fromkeys(propositions))

    def _split(self, tree: Tree, sentence: str, discourse: Discourse) -> list[str]:
        mentions = discourse.read(tree)
        if len(tree.words) > _WHOLE or not _is_english(tree):
            return [sentence]
        names = {token: len(mention.text.split()) for token, mention in mentions.items()}
        statements = split_clauses(tree, min_words=_MIN_WORDS, names=names)
        if not all(stands_alone(tree, items) for items in statements):
            statements = [list(range(len(tree.words)))]
        if len(statements) == 1 and not mentions and tree.source == sentence:
            return [sentence]
        texts = [render(tree, items, mentions) for items in statements]
        if len(texts) == 1 and tree.words[-1] == ":":
            texts = [f"{texts[0].removesuffix('.')}:"]  # it says what is below
        return [text for text in texts if text]


def _are_sentences(parts: Sequence[Tree]) -> bool:
    """Return whether the parts of a sentence are clauses that say something on their own.

    Parts of a list are not; parts with a verb and a subject each are.
    """
    if not parts or any(map(_announces, parts)) or not all(map(_is_clause, parts)):
        return False
    reported = [part for part in parts[:-1] if part.child(part.root, "ccomp") is not None]
    if any(map(_speaks, reported)):
        return False  # "She said that it was late; the shop was closed"
    return not any(map(_rests_on_others, parts[1:]))


def _speaks(tree: Tree) -> bool:
    """Return whether a clause says that somebody says something."""
    return tree.lower[tree.root] in SAYING


def _rests_on_others(tree: Tree) -> bool:
    """Return whether a part of a sentence says nothing without those before it."""
    return tree.words[0] in _QUOTES or rests_on_clause_before(tree, tree.root)


def _name_what_they_mean(parts: Sequence[Tree], discourse: Discourse) -> bool:
    """Return whether each part of a sentence can be understood without those before it."""
    reader = deepcopy(discourse)
    if begins_with_pronoun(parts[0], reader.read(parts[0]).keys()):
        return False
    if limits_what_follows(parts[0]):
        return False
    for part in parts[1:]:
        written = reader.read(part).keys()
        if refers_back(part, written) or begins_bare(part, written):
            return False
    return True


def _is_english(tree: Tree) -> bool:
    """Return whether a sentence is English, as far as its small words show."""
    foreign = sum(word in _FOREIGN for word in tree.lower)
    return foreign < 2 or foreign * _SHARE < len(tree.words)


def _announces(tree: Tree) -> bool:
    """Return whether a part of a sentence says nothing without the next one.

    Such are "The order is as" and "You need the following parts".
    """
    if len(tree.words) < _MIN_WORDS or tree.words[-1] == ":" or tree.lower[:2] == ["in", "case"]:
        return True
    if tree.tags[-1] == "CD" or tree.tags[-1] in VERB:
        return True  # "District 1: Oslo", "The judge said: …"
    if tree.lower[-1].strip(".") in ("eg", "e.g", "i.e", "ie"):
        return True
    return tree.tags[-1] in ("IN", "TO", "DT") or "following" in tree.lower


def _is_clause(tree: Tree) -> bool:
    """Return whether a part of a sentence is a clause with a subject that stands alone."""
    root_subject = tree.subjects[tree.root]
    if not tree.is_clause(tree.root) or root_subject is None or is_stand_in(tree, root_subject):
        return False
    if tree.tags[0] in RELATIVE_TAGS:
        return False  # "what we see and hear"
    if len(tree.all(tree.root, *SUBJECT)) > 1:
        return False
    if "," in tree.words[:-1] and tree.tags[tree.words.index(",") + 1] in RELATIVE_TAGS:
        return False  # "a branch, where it is tested, and another one"
    before = range(root_subject)
    opens_plainly = tree.tags[0] not in ("IN", "RB", "CC", "TO", "WRB")
    if tree.tags[0] == "CD" or tree.child(tree.root, "mark") is not None:
        return False  # "32 bytes for the key", "if you want to go on"
    if tree.lower[0] in ("after", "before", "until") or (
        opens_plainly and tree.has_word(before, (",",))
    ):
        return False  # "names, addresses and what follows is known"
    is_past = tree.tags[tree.root] == "VBD" and not tree.auxiliaries[tree.root]
    if is_past and tree.child(tree.root, "obj", "xcomp", "ccomp") is None:
        return False  # "the text received from the printer": a participle
    return stands_alone(tree, range(len(tree.words)), words=0)


class _Sentence(NamedTuple):
    """A sentence as a reader sees it, on one line.

    The texts to parse are the sentence and the parts between its semicolons, but none
    for code, rows of tables and overlong sentences.
    """

    text: str
    parts: list[str]
    begins_item: bool  # of a list, or the paragraph behind one


def _sentences(passage: Unit) -> list[_Sentence]:
    """Return the sentences of a passage with the texts to parse."""
    sentences: list[_Sentence] = []
    last = None
    for sentence in sentences_in(passage):
        block = sentence.block
        is_new = block is not last
        begins = is_new and (block.kind == "item" or (last is not None and last.kind == "item"))
        last = block
        text = " ".join(sentence.visible.text.split())
        if block.kind in ("code", "row") or len(max(text.split(), key=len)) > _LONGEST_WORD:
            sentences.append(_Sentence(text, [], begins))
            continue
        parts = [part for part in _BREAK.split(text) if part]
        is_quoted = any(map(_is_quoted_in_part, parts))
        is_plain = all(part[0].isalnum() or part[0] in '`"“' for part in parts)
        is_plain = is_plain and not _COLON.search(text)
        if len(parts) < 2 or "(" in text or "[" in text or is_quoted or not is_plain:
            sentences.append(_Sentence(text, [text], begins))
        else:
            sentences.append(_Sentence(text, [text, *parts], begins))
    return sentences


def _is_quoted_in_part(text: str) -> bool:
    """Return whether a quotation begins or ends within a text, or code does."""
    return bool(text.count('"') % 2 or text.count("`") % 2 or text.count("“") != text.count("”"))
