"""A T5 of one layer that has learned nothing, with a tokenizer for given texts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import torch
import transformers


def write_untrained(folder: Path, texts: Iterable[str], *, limit: int) -> Path:
    """Write model and tokenizer: each word of the texts is a token, and each character, for other
    words.
    """
    words = sorted({word for text in texts for word in text.split()})
    chars = sorted({char for word in words for char in word})
    vocab = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", -20.0), ("▁", -2.0)]
    vocab += [(f"▁{word}", -3.0) for word in words] + [(char, -9.0) for char in chars]
    tokenizer = transformers.T5Tokenizer(vocab=vocab, extra_ids=0, model_max_length=limit)
    torch.manual_seed(0)
    sizes = {
        "vocab_size": len(tokenizer),
        "d_model": 32,
        "d_kv": 8,
        "d_ff": 64,
        "num_layers": 1,
        "num_heads": 4,
    }
    config = transformers.T5Config(**sizes, dropout_rate=0.0, decoder_start_token_id=0)
    transformers.T5ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
