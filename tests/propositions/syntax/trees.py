"""Parses written by hand, so that the rules are tested apart from any parser, and propositions of whole texts."""

from __future__ import annotations

from spacy.tokens import Doc
from spacy.vocab import Vocab

from factoid import Document, SyntaxPropositionizer, split_passages
from factoid.propositions.syntax.tree import Tree

VOCAB = Vocab()


def propositions(text: str, title: str = "") -> list[str]:
    """Return the propositions of all passages of a text."""
    passages = split_passages(Document(text, title=title))
    return [text for texts in SyntaxPropositionizer().propositionize(passages) for text in texts]


def doc(rows: str) -> Doc:
    """Read `word tag head relation` rows; heads count from 1, 0 is the root. `_` after a word: no space follows it.

    Between rows stands a line end or a bar.
    """
    fields = [row.split() for row in rows.replace("|", "\n").strip().splitlines() if row.strip()]
    return Doc(
        VOCAB,
        words=[word[:-1] if len(word) > 1 and word.endswith("_") else word for word, *_ in fields],
        spaces=[not (len(word) > 1 and word.endswith("_")) for word, *_ in fields],
        tags=[tag for _, tag, *_ in fields],
        heads=[
            int(head) - 1 if head != "0" else index for index, (_, _, head, _) in enumerate(fields)
        ],
        deps=[relation.replace("root", "ROOT") for *_, relation in fields],
    )


def tree(rows: str) -> Tree:
    parsed = doc(rows)
    return Tree(parsed, [token.text for token in parsed])


PISA = """
    Prior IN 3 mark | to IN 1 fixed | 1990_ CD 7 obl | , , 3 punct | the DT 6 det | tower NN 7 nsubj |
    leaned VBD 0 root | at IN 9 case | 5.5 CD 10 nummod | degrees_ NNS 7 obl | , , 15 punct | but CC 15 cc |
    it PRP 15 nsubj | now RB 15 advmod | leans VBZ 7 conj | at IN 17 case | 3.99 CD 18 nummod |
    degrees_ NNS 15 obl | . . 7 punct
"""

CURIE = """
    Marie NNP 14 nsubj | Curie_ NNP 1 flat | , , 5 punct | a DT 5 det | physicist NN 1 appos | who WP 7 nsubj |
    won VBD 5 acl:relcl | two CD 9 nummod | prizes_ NNS 7 obj | , , 5 punct | later RB 14 advmod | had VBD 14 aux |
    been VBN 14 aux:pass | buried VBN 0 root | in IN 16 case | Sceaux NNP 14 obl | and CC 18 cc |
    moved VBN 14 conj | to IN 21 case | the DT 21 det | Panthéon_ NNP 18 obl | . . 14 punct
"""

VASA = """
    The DT 2 det | Vasa NNP 11 nsubj | (_ -LRB- 4 punct | built VBN 2 acl | 1628_ CD 4 obl | ) -RRB- 4 punct |
    was VBD 11 cop | a DT 11 det | large JJ 11 amod | Swedish JJ 11 amod | warship NN 0 root | that WDT 13 nsubj |
    sank VBD 11 acl:relcl | in IN 15 case | Stockholm_ NNP 13 obl | . . 11 punct
"""
