"""Detect wrong parses by statements that no careful reader would have cut out of their sentence.

A small parser fails on citations, names and code, and its cuts show it: words are lost, names,
hyphenated words, brackets or quotation marks are torn apart, or a phrase is spliced to one that it
does not belong to. Such a sentence stays whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from factoid.propositions.syntax.phrases import RELATIVE_TAGS
from factoid.propositions.syntax.tree import PROPER, VERB, Item, Tree, tokens

_CONTENT = ("NN", "JJ", "VB", "CD", "FW")
_OPENING = {")": "(", "]": "[", "”": "“", '"': '"', "`": "`"}
_MARKS = frozenset({*_OPENING, *_OPENING.values()})
_LEADING = frozenset({"IN", "TO", "DT", "PRP$", "CC"})  # tags of words that lead to another one
_SUBORDINATE = frozenset(
    "once as if when because since although though whereas unless until even than such well "
    "whether i.e. e.g. which who".split()
)
_NEGATIONS = frozenset("not n't n’t never neither nor no".split())
_FINITE = ("VBZ", "VBP", "VBD", "MD")
_HEADS = ("ROOT", "conj", "parataxis")  # relations of verbs that head a statement
_JOINTS = frozenset("-‐‑/_@#+=")


def is_doubtful(tree: Tree, statements: Sequence[Sequence[Item]]) -> bool:
    """Return whether the statements of a sentence show that its parse is wrong."""
    presents = [tokens(items) for items in statements]
    for token, word in enumerate(tree.words):
        if tree.is_word(token) and tree.deps[token] == "punct":
            return True
        if tree.tags[token] in VERB and tree.deps[token] in _HEADS and _is_acronym(word):
            return True  # "tapes, CDROM drives, and …"
        if word == "." and any(map(tree.is_word, range(token + 1, len(tree.words)))):
            return True  # one of a name or of an abbreviation
    if not tree.is_clause(tree.root) and tree.tags[tree.root] not in ("VB", *PROPER):
        return True  # "This differs …", of which the verb was read as a noun
    if "|" in tree.words:
        return True  # a row of a table
    has_subject = tree.subjects[tree.root] is not None or tree.child(tree.root, "expl") is not None
    if tree.is_clause(tree.root) and not has_subject:
        return True  # a finite verb has one
    for items in statements:
        words = [item for item in items if isinstance(item, int) and tree.is_word(item)]
        if words and tree.tags[words[-1]] == "IN":
            return True
        if words and tree.lower[words[-1]] == "in":
            return True  # "…, described in .": the name was lost
    lost = set(range(len(tree.words))).difference(*presents)
    for token in lost:
        if tree.tags[token].startswith(_CONTENT) and tree.deps[token] not in ("mark", "cc"):
            return True
    groups = _groups(tree)
    if groups is None:
        return True
    for items, present in zip(statements, presents, strict=True):
        torn = any(not group.isdisjoint(present) and not group <= present for group in groups)
        if torn or _lacks_reported_verb(tree, present) or not _has_predicate(tree, items, present):
            return True
        if _ends_early(tree, items):
            return True
    for token, word in enumerate(tree.words[1:-1], 1):
        torn = any(token in present and token - 1 not in present for present in presents)
        if word == ":" and torn:
            return True  # "it uses three, but you may set more: five": more of what?
    for items in statements[1:]:
        opening_word = items[0]
        is_conjunct = isinstance(opening_word, int) and tree.deps[opening_word] == "conj"
        if is_conjunct and tree.tags[int(opening_word)] == "RB":
            return True  # "They say it quickly and completely so that all know"
        first = 0
        while first < len(items) - 1 and _is_adverb(tree, items[first]):
            first += 1
        if isinstance(items[first], int) and tree.tags[int(items[first])] in _FINITE:
            return True  # a statement without its subject
    opening = tokens(statements[0])  # "If it rains, …", which may be repeated
    return any(_depends(tree, items, opening) for items in statements[1:])


def _is_acronym(word: str) -> bool:
    return len(word) > 2 and word.isalpha() and word.isupper()


def _is_adverb(tree: Tree, item: Item) -> bool:
    return isinstance(item, int) and (tree.tags[item] in ("RB", "CC") or not tree.is_word(item))


def loses_negation(tree: Tree, statements: Sequence[Sequence[Item]]) -> bool:
    """Return whether a negation stands in no statement, such as the "Nor" that opens a sentence."""
    lost = set(range(len(tree.words))).difference(*map(tokens, statements))
    return tree.has_word(lost, _NEGATIONS)


def _ends_early(tree: Tree, items: Sequence[Item]) -> bool:
    """Return whether a statement ends with a word that another has to follow.

    "The company reserves the right to" is one.
    """
    words = [item for item in items if isinstance(item, int) and tree.words[item][-1].isalnum()]
    if not words or not any(map(tree.is_word, range(words[-1] + 1, len(tree.words)))):
        return False
    if len(words) > 1 and tree.tags[words[-2]] == "TO" and tree.tags[words[-1]] == "RB":
        return True
    return tree.tags[words[-1]] in _LEADING or tree.deps[words[-1]] in (
        "aux",
        "aux:pass",
        "cop",
        "case",
        "mark",
        "cc",
    )


def _depends(tree: Tree, items: Sequence[Item], opening: set[int]) -> bool:
    """Return whether a statement begins like a subordinate clause."""
    for first in items:
        if isinstance(first, str):
            return False
        if tree.words[first][0].isalnum():
            break
    else:
        return False
    next_tag = tree.tags[first + 1 : first + 2]
    if tree.lower[first] == "that" and next_tag in (["VBP"], ["VBZ"], ["MD"]):
        return tree.deps[first + 1] != "aux" or tree.tags[first] != "DT"
    return first not in opening and tree.lower[first] in _SUBORDINATE


def _groups(tree: Tree) -> list[set[int]] | None:
    """Return the tokens that belong together, in brackets, in a word or in a name.

    The result is None if a bracket has no partner.
    """
    groups: list[set[int]] = []
    open_marks: list[int] = []
    for token, word in enumerate(tree.words):
        if word not in _MARKS:
            continue
        if open_marks and tree.words[open_marks[-1]] == _OPENING.get(word):
            group = set()
            for inner in range(open_marks.pop() + 1, token):
                if tree.deps[inner] != "punct" and tree.tags[inner] not in RELATIVE_TAGS:
                    group.add(inner)
            groups.append(group)
        else:
            open_marks.append(token)
    for left, right in pairwise(range(len(tree.words))):
        first = tree.words[left]
        second = tree.words[right]
        tags = tree.tags[left], tree.tags[right]
        joined = not tree.spaces[left] and _is_joint(first[-1]) and _is_joint(second[0])
        capitals = first[0].isupper() and second[0].isupper() and not PROPER.isdisjoint(tags)
        is_name = capitals and all(tag.startswith(_CONTENT) for tag in tags)
        is_after_comma = left > 0 and tree.words[left - 1] == ","  # "Oslo, Norway 1990"
        is_numbered = tags[0] in PROPER and second[0].isdigit() and not is_after_comma
        if joined or is_name or is_numbered:  # "Resolution 43/53"
            groups.append({left, right})
    return None if open_marks else groups


def _is_joint(mark: str) -> bool:
    return mark.isalnum() or mark in _JOINTS


def _lacks_reported_verb(tree: Tree, present: set[int]) -> bool:
    """Return whether no verb follows "that", as in "He said that half the schools"."""
    for token in present:
        if tree.lower[token] == "that" and tree.tags[token] == "IN":
            after = [other for other in present if other > token]
            if not tree.has_tag(after, VERB | {"MD"}):
                return True
    return False


def _has_predicate(tree: Tree, items: Sequence[Item], present: set[int]) -> bool:
    """Return whether a statement has a finite verb outside its subordinate clauses."""
    if not {"is", "are", "was", "were"}.isdisjoint(items):
        return True
    for token in present:
        if tree.is_finite(token):
            head = tree.heads[token]
            if token not in tree.auxiliaries[head]:
                head = token
            if tree.child(head, "mark") not in present:
                return True
    return False
