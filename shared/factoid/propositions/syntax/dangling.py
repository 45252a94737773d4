"""Detect words that a split would separate from what they mean.

A fact is read alone. "It" has to be written out in it, or what it means has to stand in the fact.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from factoid.propositions.syntax.headings import EntityKind, entity_kind
from factoid.propositions.syntax.lexicon import LEXICON
from factoid.propositions.syntax.tree import NOUN, PROPER, SUBJECT, Item, Tree, tokens

POSSESSIVES = frozenset("his her its their".split())
_THING = frozenset({"it", "its"})
_MALE = frozenset({"he", "him", "his"})
_PERSON = frozenset("he him his she her hers".split())
_THEM = frozenset("they them their theirs".split())
_PERSONAL = _THING | _PERSON | _THEM
_MANY = _THEM | {"these", "those"}
_DEMONSTRATIVES = frozenset("this that these those".split())
_SUBJECT_PRONOUNS = frozenset("he she it they".split()) | _DEMONSTRATIVES
WEATHER = frozenset(
    "rain rains rained raining snow snows snowed snowing freezes thunders thundered drizzles "
    "drizzled drizzling hails hailed hailing".split()
)
_DO = frozenset("do does did done doing".split())
_NEVER_NAMED = frozenset({"so", "such", "others", "former", "latter"})
_NOT_NAMED = frozenset("one ones others former latter".split())
# "This agreement" is the one that says so, and "this year" the one of the text.
_AT_HAND = frozenset(
    "act addendum agreement amendment annex appendix article book chapter clause contract course "
    "document documentation guide handbook lease letter licence license manual notice page paper "
    "paragraph plan policy program programme report review schedule section site statement study "
    "table term text tutorial website work".split()
)
# Nouns that say nothing without what they belong to: "two weaknesses are known".
_RELATIONAL = frozenset(
    "% advantage aim benefit cause consequence difference disadvantage drawback example exception "
    "goal half limitation majority max maximum member minimum minority percent purpose quarter "
    "reason remainder rest strength third weakness".split()
)
# Adjectives that say nothing without what they are compared with: "the remaining rooms".
_COMPARING = frozenset(
    "corresponding following latest other previous remaining respective resulting same "
    "subsequent".split()
)
_DETERMINERS = frozenset({"det", "det:predet", "amod"})
_COMPLEMENTS = ("nmod", "nmod:poss", "acl", "acl:relcl", "obl")
_ARGUMENTS = frozenset({"obj", "iobj", "obl", "obl:agent", "obl:arg"})
_INNER = frozenset({"compound", "flat", "nmod:unmarked"})  # parts of a name


def dangles(
    tree: Tree, items: Iterable[Item], others: Collection[int], written: Collection[int], head: int
) -> bool:
    """Return whether a statement speaks of something that only other words of its sentence name.

    The items of the statement have their verb at `head`; `written` are the tokens that are written
    out, as names.
    """
    present = tokens(items)
    for token in sorted(present):
        if token in written:
            continue
        if _is_nameless_subject(tree, token, present, written, head):
            return True
        if _is_bare(tree, token, others, head) or _points_away(tree, token, others):
            return True
        follows = min(others, default=token) < token
        if follows and _compares(tree, token, present):
            return True
        if not _refers(tree, token):
            continue
        if tree.lower[token] in POSSESSIVES and _has_rival(tree, token, others):
            return True
        if _is_object_of(tree, token, head):
            return True  # "Critics praised it.", "She has the right to end it."
        if _is_named(tree, token, present, written):
            continue
        missing = [other for other in others if other < token and other not in present]
        if any(_may_be(tree, other, token) for other in missing):
            return True
    return False


def refers_back(tree: Tree, written: Collection[int]) -> bool:
    """Return whether a clause may speak of something that was named before it.

    The tokens of `written` are written out, as names.
    """
    present = range(len(tree.words))
    for token in present:
        if token in written:
            continue
        if _is_nameless_subject(tree, token, present, written, tree.root):
            return True
        if _refers(tree, token) and not _is_named(tree, token, present, written):
            return True
        if _compares(tree, token, present):
            return True
    return False


def begins_bare(tree: Tree, written: Collection[int]) -> bool:
    """Return whether the subject of a clause is one noun, of which a clause before may tell more.

    Likewise "you" and "there": such a clause comments on the one before it. The tokens of
    `written` are written out, as names.
    """
    if tree.child(tree.root, "expl") is not None:
        return True
    subject = tree.subjects[tree.root]
    if subject is None or subject in written:
        return False
    is_pointed_at = tree.has_word(tree.all(subject, "det"), _DEMONSTRATIVES)
    return tree.tags[subject] in ("PRP", "EX") or is_pointed_at or _needs_more(tree, subject)


def begins_with_pronoun(tree: Tree, written: Collection[int]) -> bool:
    """Return whether the subject of a clause is a pronoun that is not written out."""
    present = range(len(tree.words))
    unwritten = [token for token in present if token not in written]
    return any(
        _is_nameless_subject(tree, token, present, written, tree.root) for token in unwritten
    )


def points_at_text(tree: Tree, subject: int) -> bool:
    """Return whether a subject points at something that stands before: "this node", "these"."""
    determiners = [subject, *tree.all(subject, "det", "det:predet")]
    return any(
        tree.lower[token] in _DEMONSTRATIVES and _points(tree, token) for token in determiners
    )


def is_bare_definite(tree: Tree, subject: int) -> bool:
    """Return whether a subject is "the" and one noun that names no role, such as "the flag"."""
    return tree.has_word(tree.all(subject, "det"), ("the",)) and _needs_more(tree, subject)


def _is_nameless_subject(
    tree: Tree, token: int, present: Collection[int], written: Collection[int], head: int
) -> bool:
    """Return whether a token is a pronoun in the subject of a statement, or in a clause before it.

    The statement then begins with it.
    """
    word = tree.lower[token]
    is_pronoun = word in _SUBJECT_PRONOUNS and tree.tags[token] in ("PRP", "DT")
    if is_pronoun and tree.deps[token] in SUBJECT:
        is_described = tree.child(token, "acl:relcl", "acl", "nmod") is not None  # "those who"
        if is_described or _is_filler(tree, token):
            return False
        clause = tree.heads[token]
        if tree.deps[clause] == "advcl" and clause != head:
            return _opens_without_name(tree, token, clause)
        return _heads_statement(clause, present, head)
    if _is_relational(tree, token):
        return _heads_statement(tree.heads[token], present, head)
    is_one = word in ("one", "ones") and tree.child(token, "det", "amod") is not None
    if is_one and tree.deps[token] in SUBJECT:
        return _heads_statement(tree.heads[token], present, head)
    is_within = word in _PERSONAL or (word in _DEMONSTRATIVES and tree.deps[token] == "nmod")
    if is_one or is_within:
        holder = _subject_of(tree, token)
        is_main = holder is not None and _heads_statement(tree.heads[holder], present, head)
        return is_main and not _is_named(tree, token, present, written)
    return False


def _is_bare(tree: Tree, token: int, others: Collection[int], head: int) -> bool:
    """Return whether a later subject is one noun alone, of which the clause before may tell more.

    So are "users" in "No new licences are sold, and users have to wait", and "the mechanism" in "A
    menu can be extended, but the mechanism differs". A role is none, such as "the tenant".
    """
    if tree.deps[token] not in SUBJECT or tree.heads[token] != head or token in others:
        return False
    if min(others, default=token) > token and tree.deps[head] != "advcl":
        return False  # nothing was said before
    for other in others:
        is_same = tree.lower[other] == tree.lower[token] and _is_one_noun(tree, other)
        if is_same and tree.deps[other] in SUBJECT:
            return False  # "The tower leaned, but the tower leans less now"
    return _needs_more(tree, token)


def _needs_more(tree: Tree, subject: int) -> bool:
    """Return whether a subject is one noun that names no role and is not pointed at."""
    is_role = tree.lower[subject] in LEXICON["people"] and not tree.is_plural(subject)
    determiners = tree.all(subject, "det")
    if tree.has_word(determiners, ("no",)):
        return True  # "no further licence is needed": for what?
    is_pointed_at = tree.has_word(determiners, _DEMONSTRATIVES)
    return _is_one_noun(tree, subject) and not is_role and not is_pointed_at


def _is_one_noun(tree: Tree, token: int) -> bool:
    """Return whether a common noun has no other words but an article."""
    if tree.tags[token] not in ("NN", "NNS") or not tree.words[token].isalpha():
        return False
    if tree.words[token + 1 : token + 2] == [","]:
        return False  # "the guests, tired of the rain, …"
    return tree.child(token, *_COMPLEMENTS, *_INNER, "appos", "amod", "nummod", "conj") is None


def _points_away(tree: Tree, token: int, others: Collection[int]) -> bool:
    """Return whether "this" or "these" in a statement may point at words of the other part."""
    if tree.lower[token] not in _DEMONSTRATIVES or token in others or not others:
        return False
    noun = tree.heads[token]
    is_in_clause = tree.deps[token] in SUBJECT and tree.deps[noun] == "ccomp"
    if tree.lower[token] == "that" and tree.tags[token] == "WDT" and is_in_clause:
        return True  # "we doubt that would be the way"
    if not _points(tree, token):
        return False
    is_alone = tree.deps[token] not in _DETERMINERS and tree.tags[token] == "DT"
    is_alone |= tree.tags[token + 1 : token + 2] == ["DT"]  # "We heard this a lot"
    is_subject = tree.deps[token] in _DETERMINERS and tree.deps[noun] in SUBJECT
    follows = min(others) < token
    return is_alone or (is_subject and follows)


def _compares(tree: Tree, token: int, present: Collection[int]) -> bool:
    """Return whether a word compares with what only another part tells.

    So do "a similar speed", "on older machines", "at other times" and "since then".
    """
    word = tree.lower[token]
    if word == "then":
        return token > 0 and tree.lower[token - 1] in ("since", "until", "by", "from")
    is_comparing = word in ("similar", "same", "other") or tree.tags[token] == "JJR"
    if not is_comparing or tree.deps[token] != "amod":
        return False
    behind = [other for other in present if other > token]
    return not tree.has_word(behind, ("to", "as", "than"))


def _opens_without_name(tree: Tree, token: int, clause: int) -> bool:
    """Return whether a clause before the subject has a pronoun that does not mean this subject.

    It does in "When it was built, the tower …", not in "If it is, we …".
    """
    if tree.lower[token] == "it" and tree.lower[clause] in WEATHER:
        return False
    subject = tree.subjects[tree.heads[clause]]
    if subject is None or subject < token:
        return False
    return tree.lower[token] in _DEMONSTRATIVES or not _may_be(tree, subject, token)


def _heads_statement(verb: int, present: Collection[int], head: int) -> bool:
    """Return whether a verb heads a statement, or lends its subject to the one that does."""
    return verb == head or verb not in present


def _subject_of(tree: Tree, token: int) -> int | None:
    """Return the subject whose phrase holds a token, apart from clauses in it."""
    while tree.heads[token] != token:
        if tree.deps[token] in SUBJECT:
            return token
        if tree.deps[token] not in ("nmod:poss", "nmod", "compound", "conj", "amod"):
            return None
        token = tree.heads[token]
    return None


def _refers(tree: Tree, token: int) -> bool:
    """Return whether a token may mean something that was named before."""
    word = tree.lower[token]
    tag = tree.tags[token]
    if word in _PERSONAL:
        if word == "it" and tree.lower[tree.heads[token]] in WEATHER:
            return False
        return tag.startswith("PRP") and tree.deps[token] != "expl"
    if word in _DEMONSTRATIVES or word == "such":
        return _points(tree, token) or (word == "such" and tree.lower[token - 1] == "as")
    if word == "there":
        return tag == "RB"
    if word == "other":
        return token > 0 and tree.lower[token - 1] in ("the", "all")  # "the other half"
    if word == "so":
        return tree.lower[token - 1] in _DO and token > 0
    if word in _NOT_NAMED:
        is_subject = tree.deps[token] in SUBJECT
        if word == "one" and is_subject and tree.child(token, "det", "amod") is None:
            return False  # "one may add a second line"
        if word == "one" and tree.child(token, "nmod") is not None:
            return False  # "one of the lines"
        follows = tree.tags[token + 1 : token + 2]
        return tag in ("NN", "NNS", "JJ", "CD", "PRP") and (not follows or follows[0] not in NOUN)
    return False


def _is_relational(tree: Tree, token: int) -> bool:
    """Return whether a subject says nothing without what it belongs to: "two thirds want it"."""
    if tree.deps[token] in SUBJECT and tree.has_word(tree.all(token, "amod"), _COMPARING):
        return tree.child(token, "acl", "acl:relcl") is None
    before = tree.all(token, "det", "det:predet", "cc:preconj")
    if tree.deps[token] in SUBJECT and tree.has_word(before, ("both",)):
        return tree.child(token, "conj") is None  # "both kinds are useless"
    if tree.tags[token] not in ("NN", "NNS", "CD") or tree.deps[token] not in SUBJECT:
        return False
    singular = tree.lower[token].removesuffix("s")
    is_relational = singular in _RELATIONAL or singular.removesuffix("e") in _RELATIONAL
    is_relational |= tree.lower[token] in _RELATIONAL
    return is_relational and tree.child(token, *_COMPLEMENTS) is None


def _points(tree: Tree, token: int) -> bool:
    """Return whether a demonstrative points at something that was named, or said."""
    word = tree.lower[token]
    if tree.tags[token] not in ("DT", "PDT", "JJ"):
        return False
    if tree.deps[token] in _DETERMINERS:
        noun = tree.heads[token]
        if word == "such":
            return tree.lower[token + 1 : token + 2] != ["as"]
        singular = tree.lower[noun].removesuffix("s")
        is_of_today = word in ("this", "these") and tree.lower[noun] in LEXICON["periods"]
        is_title = tree.tags[noun] in PROPER and word in ("this", "these")  # "this Agreement"
        is_at_hand = singular in _AT_HAND and word in ("this", "these")
        return not (is_at_hand or is_of_today or is_title)
    is_described = tree.child(token, "acl:relcl", "acl") is not None
    return word != "such" and not is_described


def _is_object_of(tree: Tree, token: int, head: int) -> bool:
    """Return whether a pronoun is an object in a main clause, or in an infinitive of it."""
    is_pronoun = tree.lower[token] in _PERSONAL and tree.tags[token] == "PRP"
    is_bare = tree.child(token, "det", "amod") is None
    is_pronoun |= tree.lower[token] == "one" and is_bare
    if not is_pronoun or tree.deps[token] in SUBJECT:
        return False
    holder = tree.heads[token]
    while holder != head and tree.heads[holder] != holder:
        if tree.is_clause(holder) or tree.deps[holder] in ("advcl", "acl:relcl"):
            return False
        holder = tree.heads[holder]
    return holder == head


def _has_rival(tree: Tree, token: int, others: Iterable[int]) -> bool:
    """Return whether a possessive may mean an object that is left behind, and not the subject.

    It may in "She leads the firm, and writes its letters".
    """
    for other in others:
        if other < token and tree.deps[other] == "obj" and _may_be(tree, other, token):
            determiners = tree.all(other, "det")
            is_known = tree.tags[other] in PROPER or tree.child(other, "nmod:poss") is not None
            if is_known or tree.has_word(determiners, ("the", "this", "that")):
                return True
    return False


def _is_filler(tree: Tree, token: int) -> bool:
    """Return whether "it" stands for a clause, as in "it is known that …"."""
    head = tree.heads[token]
    if tree.lower[token] != "it" or tree.child(head, "cop", "aux:pass") is None:
        return False
    for clause in tree.all(head, "csubj", "csubj:pass", "ccomp", "acl"):
        if tree.has_word(tree.all(clause, "mark"), ("that",)):
            return True
    return False


def _is_named(tree: Tree, token: int, present: Iterable[int], written: Collection[int]) -> bool:
    """Return whether something that a token may mean stands before it in the same statement."""
    is_determiner = tree.deps[token] in _DETERMINERS
    for other in present:
        if other >= token or _is_barred(tree, other, token):
            continue
        if other not in written and not _may_be(tree, other, token):
            continue
        if not is_determiner or tree.lower[other] == tree.lower[tree.heads[token]]:
            return True
    return False


def _may_be(tree: Tree, noun: int, token: int) -> bool:
    """Return whether a pronoun may mean a noun."""
    word = tree.lower[token]
    is_number = tree.tags[noun] == "CD" and tree.deps[noun] in SUBJECT  # "6 is not prime"
    if (tree.tags[noun] not in NOUN and not is_number) or tree.deps[noun] in _INNER:
        return False
    if tree.lower[noun] in LEXICON["times"] | LEXICON["periods"]:
        return False
    if word in _MANY:
        return tree.is_plural(noun)
    if word in _THING:
        return not tree.is_plural(noun) and tree.lower[noun] not in LEXICON["people"]
    if word in _PERSON:
        is_person = tree.tags[noun] in PROPER or tree.lower[noun] in LEXICON["people"]
        is_person |= tree.lower[noun] in LEXICON["relatives"]
        kind = entity_kind(" ".join(tree.words[part] for part in _name(tree, noun)))
        other = EntityKind.WOMAN if word in _MALE else EntityKind.MAN
        return is_person and kind is not other and not tree.is_plural(noun)
    return True


def _is_above(tree: Tree, head: int, token: int) -> bool:
    """Return whether a token belongs to the phrase of a head."""
    while tree.heads[token] != token:
        token = tree.heads[token]
        if token == head:
            return True
    return False


def _name(tree: Tree, noun: int) -> list[int]:
    """Return the tokens of a name that are joined to its head."""
    parts = [noun, *tree.all(noun, "flat", "compound")]
    return sorted(part for part in parts if tree.tags[part] in PROPER or part == noun)


def _is_barred(tree: Tree, noun: int, token: int) -> bool:
    """Return whether grammar forbids that a pronoun means a noun.

    In "X sold it", "it" is not X, nor is X "his" in "X was his son".
    """
    while tree.deps[noun] == "conj" and tree.tags[tree.heads[noun]] in NOUN:
        noun = tree.heads[noun]
    word = tree.lower[token]
    if word in _NEVER_NAMED and tree.deps[token] not in _DETERMINERS:
        return True  # "have not done so": it is something that is done
    if word not in _PERSONAL | _DEMONSTRATIVES and tree.deps[noun] in SUBJECT:
        return True  # "The author died there": "there" is no author
    if tree.tags[token] != "PRP$" and _is_above(tree, noun, token):
        return True  # "None of that"
    if tree.deps[noun] not in SUBJECT:
        # The described noun of "X, his son, …"
        return tree.tags[token] == "PRP$" and tree.deps[tree.heads[token]] == "appos"
    verb = tree.heads[noun]
    if tree.tags[token] == "PRP$":
        predicate = tree.heads[token]
        return predicate == verb and tree.child(predicate, "cop") is not None
    holder = tree.heads[token]
    if tree.deps[token] not in _ARGUMENTS:
        return False
    # The second of two verbs has the subject of the first one.
    while tree.deps[holder] in ("conj", "xcomp") and tree.subjects[holder] is None:
        if holder == verb:
            break
        holder = tree.heads[holder]
    return holder == verb
