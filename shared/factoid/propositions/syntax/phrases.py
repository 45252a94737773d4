"""Judge phrases.

The rules say which noun to repeat, whether words agree, which marks stand around a phrase, and
whether a statement stands alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

from factoid.propositions.syntax.lexicon import LEXICON
from factoid.propositions.syntax.tree import NOUN, VERB, Item, Tree

CONTENT = ("NN", "VB", "JJ", "RB", "CD", "FW")  # beginnings of tags
RELATIVE_TAGS = frozenset({"WP", "WDT", "WP$", "WRB"})
SAYING = LEXICON["said"] | frozenset(
    "add adds added answer answers answered argue argues ask asks asked assert asserts asserted "
    "claim claims complain complains complained conclude concludes cry cried declare declares "
    "declared explain explains inform informs informed insist insists insisted note notes promise "
    "promised quote quotes quoted read reads remark remarked reply replied report reports say "
    "says shout shouted speak spoke state states tell tells told warn warned warns write writes "
    "wrote".split()
)
_AUXILIARIES = frozenset(
    "am is are was were be been do does did have has had can could will would shall should may "
    "might must need".split()
)
_AFTER_ELLIPSIS = frozenset("not n't n’t too either also well again yet".split())
_SHORT_AUXILIARIES = frozenset("'s ’s 're ’re 've ’ve 'll ’ll".split())
_LIKEWISE = frozenset({"so", "neither", "nor"})
_LONGEST = 15  # words; a longer phrase would drown the fact for which it is repeated
_BRACKETS = (("(", ")"), ("[", "]"))
_OPENERS = frozenset({",", "(", "[", "–", "—", "--"})
_ASIDE_MARKS = frozenset({",", "–", "—", "--", "-"})  # before an aside and behind it
_AND = frozenset({"and", "or", "&"})
# Begin asides that say when or where a clause holds, rather than what its subject is.
_TIME_OR_PLACE = frozenset(
    "after amid around at before between by despite during in on over since through throughout "
    "until upon within".split()
)
_TRAILING = frozenset(",;:–—-(")
# Relations allowed in a repeated noun phrase.
_NOMINAL = frozenset(
    "det det:predet amod compound flat fixed nummod nmod nmod:poss nmod:unmarked nmod:desc obl "
    "conj cc punct acl "
    "acl:relcl advmod dep".split()
)
_RESTRICTING = frozenset("advcl xcomp ccomp csubj nsubj obj nmod:tmod".split())
# Relations that belong to the clause if the noun is a predicate ("… is a singer and has …").
_CLAUSAL = frozenset({"conj", "cc", "acl", "acl:relcl", "obl", "advmod", "punct"})
# Other clauses, whose nouns are not those of the clause above.
_CLAUSES = frozenset({"acl:relcl", "appos", "advcl", "ccomp", "parataxis", "csubj"})
# What a clause begins with that holds only where the one before it does, or does not; and what
# repeats it for something else.
_ON_CONDITION = (
    ["not"],
    ["otherwise"],
    ["else"],
    ["if", "not"],
    ["if", "so"],
    ["failing", "that"],
    ["in", "that", "case"],
)
_LIKE_BEFORE = (["the", "same"], ["the", "opposite"], ["the", "reverse"], ["the", "converse"])
_STAND_INS = frozenset(
    "all another both each few former latter many most neither none other others several "
    "some".split()
)
_HOLDS = frozenset("goes applies apply holds happens is was".split())


def determiner(tree: Tree, noun: int) -> str:
    """Return the article or demonstrative of a noun in lower case, "" if it has none."""
    det = tree.child(noun, "det")
    return "" if det is None else tree.lower[det]


def repeatable(tree: Tree, noun: int, cut: Collection[int]) -> list[Item]:
    """Return a noun phrase without its preposition, asides that describe it, and `cut`.

    Another aside at its end stays, with the mark that closes it: "Germany, unlike France,".
    The result is empty if the phrase is too long to repeat, or not a noun's.
    """
    if tree.tags[noun] in VERB or tree.lower[noun] in ("the", "a", "an"):
        return []
    predicate = tree.child(noun, "cop") is not None
    allowed = _NOMINAL - _CLAUSAL if predicate else _NOMINAL
    ends = []
    for child in tree.children[noun]:
        if tree.deps[child] not in allowed or tree.words[child] == ".":
            ends.append(child)
    restricting = [child for child in ends if tree.deps[child] in _RESTRICTING]
    if not predicate and not all(is_set_off(tree, child) for child in restricting):
        return []  # "Failure to pay" is not failure
    left_out = {*cut, *ends}
    for child in tree.subtree(noun):
        dep = tree.deps[child]
        aside = dep in ("appos", "parataxis") or (
            dep in ("acl", "acl:relcl") and is_set_off(tree, child)
        )
        if aside and child != noun:
            left_out.add(child)
    phrase = strip(tree, tree.subtree(noun, left_out), noun)
    whole = tree.subtree(noun)
    if not set(range(phrase[0], phrase[-1])) <= set(whole):
        return []  # other words stand between its own
    for token in range(phrase[0] + 1, phrase[-1]):
        is_left_out = token not in phrase and token - 1 in phrase and tree.is_word(token)
        if is_left_out and not tree.tags[token].startswith(("RB", "CC")):
            return []  # "King David I of Scotland", without the number
    first = phrase[0]
    before = tree.words[first - 1] if first else ""
    if tree.tags[first] == "DT" and first > 1 and before[0].isupper():
        return []  # the end of a name, as in "Read the Docs"
    if before in ("'s", "’s") and tree.words[first][0].isupper():
        return []  # likewise "Let's Encrypt"
    words = [tree.words[token] for token in phrase]
    if any(words.count(left) != words.count(right) for left, right in _BRACKETS):
        return []
    if tree.has_word(phrase, ("but",)):
        return []  # two contrasted phrases are not one subject
    if tree.tags[phrase[0]] in ("IN", "TO", *RELATIVE_TAGS) or _is_cut_short(tree, noun, phrase):
        return []  # it is not known where the subject begins or ends
    if len(phrase) > _LONGEST:
        return []
    opening, closing = _marks_of_last_aside(tree, noun, phrase)
    if closing < 0:
        return list(phrase)
    if tree.lower[opening + 1] in _TIME_OR_PLACE:
        return []  # "Anna, in May, bought a boat and sold it": when was it sold?
    return [*phrase, closing]


def _marks_of_last_aside(tree: Tree, noun: int, phrase: Sequence[int]) -> tuple[int, int]:
    """Return the marks around an aside at the end of a noun phrase, -1 and -1 if there is none.

    There is one in "Germany, unlike France, …" and in "Anna – like Bo – …". The last item of a list
    is none: "Anna, Bo, and Carl, who …".
    """
    openings = []
    for token in phrase:
        if token > noun and tree.words[token] in _ASIDE_MARKS and tree.spaces[token]:
            openings.append(token)
    outside = tree.bracketed()
    closing = phrase[-1] + 1
    while closing in outside:
        closing += 1  # "Germany, unlike France (a neighbour), …"
    if not openings or tree.words[closing : closing + 1] != [tree.words[openings[-1]]]:
        return -1, -1
    first = openings[-1] + 1
    if tree.lower[first] in _AND and len(openings) > 1:
        return -1, -1
    for token in range(first, phrase[-1] + 1):
        is_item = tree.deps[token] == "conj" and tree.child(token, "cc") is None
        if is_item and tree.subtree(token)[0] in (first - 1, first):
            return -1, -1  # "Anna, Bo, who …"
    return openings[-1], closing


def _is_cut_short(tree: Tree, noun: int, phrase: Sequence[int]) -> bool:
    """Return whether words are left out between a subject and its verb.

    Adverbs and asides do not count.
    """
    verb = min([tree.heads[noun], *tree.auxiliaries[tree.heads[noun]]])
    outside = tree.bracketed()
    for child in tree.subtree(noun):
        if tree.deps[child] in ("appos", "parataxis", "acl", "acl:relcl") and is_set_off(
            tree, child
        ):
            outside.update(tree.subtree(child))
    for token in range(phrase[-1] + 1, verb):
        if token in outside or not tree.is_word(token):
            continue
        if not tree.tags[token].startswith(("RB", "CC", "MD")):
            return True
    return False


def agrees(tree: Tree, subject: int, verb: int) -> bool:
    """Return whether a subject and a finite verb or its auxiliary agree in number.

    Where their forms do not show it, they agree.
    """
    finite = tree.finite(verb)
    if tree.is_plural(subject) or tree.lower[subject] in ("they", "we", "you", "i"):
        return tree.lower[finite] != "was" and tree.tags[finite] != "VBZ"
    return tree.lower[finite] not in ("were", "do") and tree.tags[finite] != "VBP"


def nouns(tree: Tree, head: int) -> list[int]:
    """Return the nouns of a clause that are not in another clause below it."""
    indices = []
    pending = [head]
    while pending:
        index = pending.pop()
        if tree.tags[index] in NOUN or tree.tags[index] in ("CD", "PRP"):
            indices.append(index)
        for child in tree.children[index]:
            dep = tree.deps[child]
            if dep not in _CLAUSES and not (
                dep == "conj" and (tree.tags[child] in VERB or tree.auxiliaries[child])
            ):
                pending.append(child)
    return sorted(indices)


def content_words(tree: Tree, items: Sequence[Item], names: Mapping[int, int]) -> int:
    """Return the number of content words in items.

    These are nouns, verbs, adjectives, adverbs, numbers, and the words of `names` that will replace
    tokens.
    """
    count = 0
    for item in items:
        if item in names:
            count += names[int(item)]
        elif isinstance(item, int) and tree.tags[item].startswith(CONTENT):
            count += tree.deps[item] not in ("aux", "aux:pass", "cop")
    return count


def copula(tree: Tree, head: int, subject: int | None) -> str:
    """Return the form of "be" in the tense of a clause and the number of a subject."""
    plural = subject is not None and tree.is_plural(subject)
    if subject is not None and subject == tree.subjects[head]:
        verb = tree.lower[tree.finite(head)]
        if verb in ("is", "are", "was", "were"):
            return verb
    if tree.is_past(head):
        return "were" if plural else "was"
    return "are" if plural else "is"


def is_whole(tree: Tree, child: int) -> bool:
    """Return whether a subtree can be removed without separating quotation marks or brackets."""
    words = [tree.words[token] for token in tree.subtree(child)]
    return (
        words.count('"') % 2 == 0
        and words.count("“") == words.count("”")
        and words.count("(") == words.count(")")
    )


def is_set_off(tree: Tree, child: int, openers: Collection[str] = _OPENERS) -> bool:
    """Return whether a phrase follows a comma, a dash or a bracket."""
    first = tree.subtree(child)[0]
    if "," in (tree.words[first], tree.words[max(0, first - 1)]):
        comma = first if tree.words[first] == "," else first - 1
        if not tree.spaces[comma]:
            return False  # "the X,Y plane"
    return tree.words[first] in openers or (first > 0 and tree.words[first - 1] in openers)


def stands_alone(tree: Tree, items: Sequence[Item], *, words: int = 3) -> bool:
    """Return whether items form a statement.

    A statement has a finite verb (or an inserted form of "be"), and at least `words` words.
    """
    finite = False
    length = 0
    for item in items:
        if isinstance(item, str):
            text = item
            is_finite = item in ("is", "are", "was", "were")
        else:
            text = tree.words[item]
            is_finite = finite or tree.is_finite(item)
        finite |= is_finite
        length += len(text.split())
    return finite and length >= words and not _is_elliptic(tree, items)


def is_quoted(tree: Tree, token: int) -> bool:
    """Return whether a token is in quotation marks, where somebody else is speaking."""
    before = "".join(tree.words[:token])
    is_open = before.count("“") > before.count("”") or before.count("``") > before.count("''")
    return is_open or before.count('"') % 2 == 1


def is_stand_in(tree: Tree, subject: int) -> bool:
    """Return whether a subject says nothing of what it is one, such as "others" and "some"."""
    return tree.lower[subject] in _STAND_INS and tree.child(subject, "nmod", "obl") is None


def rests_on_clause_before(tree: Tree, head: int) -> bool:
    """Return whether a clause says nothing without the one before it.

    Such are "…; otherwise it rusts" and "…; unless it rains".
    """
    has_mark = tree.child(head, "mark") is not None
    if has_mark or tree.has_word(tree.children[head], ("otherwise",)):
        return True
    words = [tree.lower[token] for token in tree.subtree(head) if tree.words[token][0].isalnum()]
    if words[:1] in (["nor"], ["only"]):
        return True
    has_then = tree.has_word(tree.all(head, "advmod"), ("then",))
    if has_then and not tree.is_past(head):
        return True  # "If it rains, we stay; then we play cards"
    if words[-1:] == ["otherwise"]:
        return True
    if words[:1] == ["or"] or words[:1] == ["and"]:
        words = words[1:]
    if words[:2] in _LIKE_BEFORE and words[2:3] and words[2] in _HOLDS:
        return True
    return any(words[: len(opening)] == opening for opening in _ON_CONDITION)


def _is_elliptic(tree: Tree, items: Sequence[Item]) -> bool:
    """Return whether the verb is said elsewhere.

    It is in "but others are not" and "and so does Canon", but not in "what it is".
    """
    clause = [item for item in items if isinstance(item, int) and tree.words[item][-1].isalnum()]
    for at, (first, second) in enumerate(pairwise(clause)):
        if tree.lower[first] in _LIKEWISE and tree.lower[second] in _AUXILIARIES:
            return not tree.has_tag(clause[at + 2 :], VERB)
    while clause and tree.lower[clause[-1]] in _AFTER_ELLIPSIS:
        clause.pop()
    if (
        not clause
        or tree.lower[clause[-1]] not in _AUXILIARIES | _SHORT_AUXILIARIES
        or tree.tags[clause[-1]] not in {"MD", *VERB}
    ):
        return False
    return not tree.has_word(clause, ("than", "as")) and not tree.has_tag(clause, RELATIVE_TAGS)


def strip(
    tree: Tree, phrase: Sequence[int], head: int, *, keep_opening: bool = False
) -> Sequence[int]:
    """Drop conjunctions and punctuation at both ends of a phrase.

    With `keep_opening`, opening quotes and brackets stay.
    """
    start = 0
    end = len(phrase)
    while start < end - 1 and tree.deps[phrase[start]] in ("punct", "cc") and phrase[start] != head:
        if keep_opening and tree.words[phrase[start]] in "\"“(['‘":
            break
        start += 1
    while end - 1 > start and tree.words[phrase[end - 1]] in _TRAILING:
        end -= 1
    return phrase[start:end]


def without_loose_commas(tree: Tree, phrase: Sequence[int]) -> list[int]:
    """Drop the commas beside a gap: they set off text that was removed."""
    present = {-1, *phrase, len(tree.words)}
    return [
        token for token in phrase if tree.words[token] != "," or {token - 1, token + 1} <= present
    ]
