"""A small corpus in files, fakes that fail, and what a folder of shards holds. Needs no pytest."""

from __future__ import annotations

import json

import numpy as np

from factoid.testing import HashEncoder

POISON = "hemlock"


class FragileEncoder(HashEncoder):
    """Fails on texts with a word, or returns numbers that are none."""

    def __init__(self, dim=16, fault="error", word=POISON):
        super().__init__(dim)
        self.fault = fault
        self.word = word

    def encode_units(self, texts):
        vectors = super().encode_units(texts)
        for row, text in enumerate(texts):
            if self.word in text:
                if self.fault == "error":
                    raise ValueError(f"cannot encode {text[:30]!r}")
                vectors[row] = np.nan
        return vectors


def articles(count):
    """Return texts of several passages."""
    texts = []
    for number in range(count):
        sentences = []
        for part in range(number % 5 + 2):
            sentences.append(
                f"The tower of Vim {number} was built in {1200 + part} by the mason Ror {part}. "
                f"It stands {number + part} metres high, and it leans to the north. " * 4
            )
        texts.append("\n\n".join(sentences))
    return texts


def write_corpus(folder, count=12):
    """Write JSON lines, Markdown and text files; return the folder."""
    folder.mkdir(parents=True)
    lines = []
    for number, text in enumerate(articles(count)):
        record = {"text": text, "title": f"Tower {number}", "id": f"t{number}", "height": number}
        lines.append(json.dumps(record))
    (folder / "towers.jsonl").write_text("\n".join(lines))
    (folder / "guide.md").write_text("# A guide\n\n## Towers\n\nVim has *seven* towers.\n")
    (folder / "notes.txt").write_text("Ror was a mason in Vim. He built towers.\n")
    return folder


def content(folder):
    """Return the bytes of the shards and manifests in a folder."""
    files = {}
    for file in sorted(folder.iterdir()):
        if file.name.startswith("part-"):
            files[file.name] = file.read_bytes()
    return files
