"""A Sentence Transformers model that has learned nothing, of BERT with a WordPiece vocabulary of
given words.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import torch
import transformers
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import (
    Dense,
    Normalize,
    Pooling,
    Transformer,
)


def make_untrained(
    folder: Path,
    words: Iterable[str],
    *,
    layers: int = 2,
    limit: int = 16,
    pooling: str = "mean",
    dense: bool = False,
    **options: object,
) -> SentenceTransformer:
    """Make a model that reads `limit` tokens at most; without layers, what a token's vector is
    depends on its word alone.
    """
    letters = sorted({letter for word in words for letter in word})
    pieces = [*words, *letters, *(f"##{letter}" for letter in letters)]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *dict.fromkeys(pieces)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    tokenizer = transformers.BertTokenizerFast(
        vocab=str(folder / "vocab.txt"), model_max_length=limit
    )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    sizes = {
        "hidden_size": 16,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": 64,
    }
    config = transformers.BertConfig(vocab_size=len(vocabulary), num_hidden_layers=layers, **sizes)
    bert = transformers.BertModel(config).eval()
    if not layers:
        torch.nn.init.zeros_(bert.embeddings.position_embeddings.weight)
    bert.save_pretrained(folder)
    read = Transformer(str(folder), max_seq_length=limit)
    modules = [read, Pooling(16, pooling_mode=pooling), Normalize()]
    if dense:
        modules.insert(2, Dense(16, 8))
    return SentenceTransformer(modules=modules, device="cpu", **options)
