"""What most people have today: LangChain's splitter, and chunks compared by cosine or BM25."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import bm25s
import numpy as np
from langchain_text_splitters import RecursiveCharacterTextSplitter

from factoid import Document, Granularity, Unit
from factoid.encode import Encoder, Vectors
from factoid.heading_template import with_heading


@dataclass
class Chunks:
    """Documents in chunks of so many characters, ranked by meaning or words.

    Attributes:
        documents: The documents.
        size: Most characters of a chunk, or what `length` counts.
        encoder: Returns vectors of unit length.
        template: What is encoded, and searched for words.
    """

    documents: Sequence[Document]
    size: int
    encoder: Encoder
    template: str = "{text}"
    length: Callable[[str], int] = len
    units: list[Unit] = field(init=False)

    def __post_init__(self) -> None:
        # no overlap: a word that two chunks of a context hold is counted twice
        splitter = RecursiveCharacterTextSplitter(
            chunk_size=self.size, chunk_overlap=0, add_start_index=True, length_function=self.length
        )
        self.units = []
        for document in self.documents:
            for chunk in splitter.create_documents([document.text]):
                start = chunk.metadata["start_index"]
                text = chunk.page_content
                self.units.append(
                    Unit(
                        f"{document.id} {start}",
                        text,
                        Granularity.PASSAGE,
                        document.id,
                        document.id,
                        start,
                        start + len(text),
                        title=document.title,
                    )
                )

    @cached_property
    def _texts(self) -> list[str]:
        return [with_heading(unit, self.template) for unit in self.units]

    @cached_property
    def _vectors(self) -> Vectors:
        return self.encoder.encode_units(self._texts)

    @cached_property
    def _bm25(self) -> Any:
        index = bm25s.BM25()
        index.index(
            bm25s.tokenize(self._texts, stopwords="en", show_progress=False), show_progress=False
        )
        return index

    def by_cosine(self, queries: Vectors, k: int) -> list[list[Unit]]:
        scores = queries @ self._vectors.T
        best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        rankings = []
        for places in best:
            rankings.append([self.units[place] for place in places])
        return rankings

    def by_words(self, texts: Sequence[str], k: int) -> list[list[Unit]]:
        tokens = bm25s.tokenize(list(texts), stopwords="en", show_progress=False)
        places, scores = self._bm25.retrieve(tokens, k=min(k, len(self.units)), show_progress=False)
        rankings = []
        for row, row_scores in zip(places, scores, strict=True):
            rankings.append([self.units[place] for place in row[row_scores > 0]])
        return rankings
