"""Put texts of like lengths into a batch, in tokens.

A batch takes as long as if all of its texts were as long as the longest. Sentence Transformers
sorts texts by their characters, which say little where texts have names, numbers or other
languages: of what a model then computes, a third and more is padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

# A copy of each tokenizer, which neither pads nor cuts: the tokenizer itself is set anew in each
# call of it, which another thread may be making. None for one that is not of `tokenizers`.
_COUNTERS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


def longest_first(texts: Sequence[str], tokenizer: Any, limit: int | None) -> list[int]:
    """Return the places of texts, that of the longest first.

    Args:
        texts: The texts.
        tokenizer: Of Transformers, for a model that reads them; of another one characters count.
        limit: The most tokens of a text that the model reads, if that is known.
    """
    if len(texts) < 2:
        return list(range(len(texts)))
    counter = _counter(tokenizer)
    if counter is None:
        lengths = list(map(len, texts))
    else:
        lengths = list(map(len, counter.encode_batch_fast(list(texts))))
    if limit is not None and counter is not None:
        lengths = [min(length, limit) for length in lengths]
    return sorted(range(len(texts)), key=lengths.__getitem__, reverse=True)


def _counter(tokenizer: Any) -> Any:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return None
    if tokenizer not in _COUNTERS:
        from tokenizers import Tokenizer

        counter = Tokenizer.from_str(backend.to_str())
        counter.no_padding()
        counter.no_truncation()
        _COUNTERS[tokenizer] = counter
    return _COUNTERS[tokenizer]
