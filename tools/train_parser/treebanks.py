"""CoNLL-U treebanks as spaCy training documents, one sentence a document."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

Rows = list[list[str]]  # the ten CoNLL-U columns of each token

# Subtypes too rare to learn fold into the relation that they refine.
FOLDED = {
    "csubj:pass": "csubj",
    "csubj:outer": "csubj",
    "nsubj:outer": "nsubj",
    "dislocated": "dep",
    "reparandum": "dep",
    "orphan": "dep",
    "goeswith": "dep",
    "vocative": "discourse",
    "list": "parataxis",
}


def sentences(path: Path) -> Iterator[tuple[str, Rows]]:
    """Yield (sentence id, rows of ten CoNLL-U columns), multiword ranges included."""
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    name: str = ""
    rows: Rows = []
    for line in raw.decode("utf-8").split("\n"):
        if line.startswith("# sent_id"):
            name = line.partition("=")[2].strip()
        elif line and not line.startswith("#"):
            rows.append(line.split("\t"))
        elif not line and rows:
            yield name, rows
            name = ""
            rows = []
    if rows:
        yield name, rows


def to_doc(vocab: Vocab, rows: Rows) -> Doc:
    """One gold sentence as a Doc.

    Multiword tokens keep their surface spacing; empty nodes are left out.
    """
    # token number → followed by a space, for parts of a multiword token
    inside: dict[int, bool] = {}
    for row in rows:
        if "-" in row[0]:
            first, last = map(int, row[0].split("-"))
            inside.update(dict.fromkeys(range(first, last), False))
            inside[last] = "SpaceAfter=No" not in row[9]
    tokens = [row for row in rows if row[0].isdigit()]
    return Doc(
        vocab,
        words=[row[1] for row in tokens],
        spaces=[inside.get(int(row[0]), "SpaceAfter=No" not in row[9]) for row in tokens],
        tags=[row[4] for row in tokens],
        heads=[int(row[6]) - 1 if row[6] != "0" else index for index, row in enumerate(tokens)],
        deps=["ROOT" if row[7] == "root" else FOLDED.get(row[7], row[7]) for row in tokens],
        sent_starts=[index == 0 for index in range(len(tokens))],
    )


def with_new_names(sentences: Sequence[Rows], seed: int = 0) -> list[Rows]:
    """Return the sentences that hold names, with new words in half of these.

    No treebank has the words. The treebanks know few names, and a parser that goes by the word
    alone takes an unknown one for a verb. The new words are the beginning of one name and the end
    of another.
    """
    random = Random(seed)  # noqa: S311 - not a secret
    names = sorted({row[1] for rows in sentences for row in rows if _is_name(row)})
    renamed = []
    for rows in sentences:
        chosen = {row[0] for row in rows if _is_name(row) and random.random() < 0.5}
        if not chosen:
            continue
        new = [
            [row[0], _crossed(random, names) if row[0] in chosen else row[1], *row[2:]]
            for row in rows
        ]
        renamed.append(new)
    return renamed


def _is_name(row: list[str]) -> bool:
    return row[4] == "NNP" and row[1].isalpha() and row[1].istitle() and len(row[1]) > 3


def _crossed(random: Random, names: Sequence[str]) -> str:
    first = random.choice(names)
    second = random.choice(names)
    return first[: max(2, len(first) // 2)] + second[len(second) // 2 :]


def is_wiki(name: str) -> bool:
    """PUD's Wikipedia half."""
    return name.startswith("w")


def is_held_out(name: str) -> bool:
    """Every second PUD Wikipedia document (ids read `w` + language + document + sentence).

    Picks the best step.
    """
    return is_wiki(name) and int(name[3:6]) % 2 == 0


def write_corpora(ewt: Path, pud: Path, folder: Path) -> dict[str, int]:
    """Write train, dev (PUD Wikipedia, half) and test (EWT test) as DocBins.

    Return the number of sentences of each.
    """
    vocab = Vocab()
    train = [
        rows
        for part in ("train.conllu.gz", "dev.conllu")
        for _, rows in sentences(ewt / f"en_ewt-ud-{part}")
    ]
    pud_rows = list(sentences(pud / "en_pud-ud-test.conllu"))
    encyclopedic = [rows for name, rows in pud_rows if not is_held_out(name)]
    gold = train + 2 * encyclopedic  # twice: edited prose is what the parser will read
    corpora = {
        "train": [*gold, *with_new_names(gold)],
        "dev": [rows for name, rows in pud_rows if is_held_out(name)],
        "test": [rows for _, rows in sentences(ewt / "en_ewt-ud-test.conllu")],
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in corpora.items():
        DocBin(
            docs=[to_doc(vocab, tokens) for tokens in rows],
            attrs=["TAG", "HEAD", "DEP", "SENT_START", "SPACY"],
        ).to_disk(folder / f"{name}.spacy")
    return {name: len(rows) for name, rows in corpora.items()}
