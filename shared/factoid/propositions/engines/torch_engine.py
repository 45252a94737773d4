"""The engine of torch and transformers.

Any seq2seq model, and T5 with drafts copied from its input. Import it late.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from threading import Lock

import torch

from factoid.propositions.engines.batching import Written, batches
from factoid.propositions.engines.checkpoint import Checkpoint
from factoid.propositions.engines.greedy import decode
from factoid.propositions.engines.t5_decoder import SUPPORTED, T5Decoder, fused

logger = logging.getLogger(__name__)

_BUDGET = 12_288  # tokens of a batch
_CUDA_BUDGET = 131_072  # a GPU is kept busy by hundreds of rows
# Device memory for each token of a batch, as a multiple of a hidden state's: flan-t5-large takes
# 166 times as much.
_CUDA_STATES = 300
# Positions that a step computes in the time of one: weights, keys and values have to be read
# anyway. Measured on a CPU, in float32 and bfloat16 alike (docs/engines.md).
_FREE = 200.0
_CUDA_FREE = 512.0


class TorchEngine:
    """A seq2seq model of transformers.

    T5 drafts its output from its input if `copy` is True, or None on a device without CUDA.
    """

    def __init__(
        self, checkpoint: Checkpoint, *, device: str, dtype: str, copy: bool | None = None
    ) -> None:
        self.tokenizer = checkpoint.tokenizer()
        model = checkpoint.model(getattr(torch, dtype))
        self.limit = checkpoint.limit(model.config, self.tokenizer)
        # one batch at a time: several would compete for the same cores or memory
        self._lock = Lock()
        self._settings = model.generation_config
        ends = self._settings.eos_token_id
        if not isinstance(ends, list):
            ends = [ends]
        self._ends = frozenset(ends)
        self.model = model.to(device)
        self._device = model.device  # with its number: threads have current devices of their own
        self._budget = _BUDGET
        free = _FREE
        if self._device.type == "cuda":
            token = _CUDA_STATES * getattr(model.config, "hidden_size", 1024) * model.dtype.itemsize
            free_memory, _ = torch.cuda.mem_get_info(self._device)
            self._budget = min(_CUDA_BUDGET, free_memory // token)
            free = _CUDA_FREE
        if copy is None:
            copy = self._device.type != "cuda"
        self._free = free if copy else None
        self._decoder: T5Decoder | None = None
        if (
            kind := model.config.model_type
        ) in SUPPORTED and self._settings.decoder_start_token_id is not None:
            for block in model.encoder.block:
                dense = block.layer[-1].DenseReluDense
                dense.act = fused(dense.act)
            self._decoder = T5Decoder(model)
        else:
            logger.info(
                "%s (%s) decodes with transformers' own generate, without drafts",
                checkpoint.name,
                kind,
            )

    def generate(
        self, inputs: Sequence[Sequence[int]], max_new_tokens: int
    ) -> Iterator[tuple[int, Written]]:
        """Yield the position of each input and its greedy output, batch by batch."""
        for batch in batches(inputs, max_new_tokens, budget=self._budget):
            with self._lock, torch.inference_mode():
                outputs = self._outputs([inputs[position] for position in batch], max_new_tokens)
            yield from zip(batch, outputs, strict=True)

    def _outputs(self, inputs: Sequence[Sequence[int]], max_new_tokens: int) -> list[Written]:
        longest = max(map(len, inputs))
        padding = self.tokenizer.pad_token_id or 0
        ids = torch.tensor(
            [[*tokens, *[padding] * (longest - len(tokens))] for tokens in inputs]
        ).to(self._device)
        lengths = torch.tensor(list(map(len, inputs)))
        mask = (torch.arange(longest) < lengths[:, None]).long().to(self._device)
        if self._decoder is None:
            options = {"max_new_tokens": max_new_tokens, "do_sample": False, "num_beams": 1}
            outputs = self.model.generate(input_ids=ids, attention_mask=mask, **options)[
                :, 1:
            ].tolist()
            return list(map(self._written, outputs))
        encoded = self.model.encoder(input_ids=ids, attention_mask=mask)[0]
        return decode(
            self._decoder,
            self._decoder.start(encoded, mask),
            [tokens[:-1] for tokens in inputs],  # their end must not be copied
            start=self._settings.decoder_start_token_id,
            ends=self._ends,
            max_new_tokens=max_new_tokens,
            free=self._free,
        )

    def _written(self, output: list[int]) -> Written:
        end = next((index for index, token in enumerate(output) if token in self._ends), None)
        return Written(output[:end], end is None)
