"""Causal language models of two layers over bytes, untrained or taught to complete some texts."""

from __future__ import annotations

from collections.abc import Mapping

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

END = "<end>"


def byte_tokenizer(*, limit: int | None = None) -> transformers.PreTrainedTokenizerFast:
    """Make a tokenizer without a pad token: each byte is a token."""
    alphabet = [END, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(models.BPE({char: number for number, char in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    given = {} if limit is None else {"model_max_length": limit}
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=END, clean_up_tokenization_spaces=False, **given
    )


def untrained(kind: str = "llama", *, positions: int = 512, width: int = 32) -> transformers.PreTrainedModel:
    torch.manual_seed(0)
    shared = {"vocab_size": 257, "eos_token_id": 0, "initializer_range": 0.5}
    if kind == "gpt2":  # learned positions: padding shows if it is counted
        sizes = {"n_positions": positions, "n_embd": width, "n_layer": 2, "n_head": 2}
        return transformers.GPT2LMHeadModel(transformers.GPT2Config(bos_token_id=0, **sizes, **shared)).eval()
    config = transformers.LlamaConfig(
        max_position_embeddings=positions,
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=2,
        num_attention_heads=2,
        bos_token_id=None,
        pad_token_id=None,
        **shared,
    )
    return transformers.LlamaForCausalLM(config).eval()


def taught(completions: Mapping[str, str], *, positions: int = 512, steps: int = 150) -> transformers.PreTrainedModel:
    """Train a model until it completes prompts as told.

    Raises:
        RuntimeError: It did not learn them.
    """
    tokenizer = byte_tokenizer()
    torch.manual_seed(0)
    model = untrained("gpt2", positions=positions, width=64).train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    rows = [(tokenizer(prompt).input_ids, [*tokenizer(text).input_ids, 0]) for prompt, text in completions.items()]
    width = max(len(prompt) + len(text) for prompt, text in rows)
    inputs, labels = torch.zeros(len(rows), width, dtype=torch.long), torch.full((len(rows), width), -100)
    for row, (prompt, text) in enumerate(rows):
        inputs[row, : len(prompt) + len(text)] = torch.tensor(prompt + text)
        labels[row, len(prompt) : len(prompt) + len(text)] = torch.tensor(text)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(steps):
        loss = model(input_ids=inputs, labels=labels).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    if loss.item() > 0.01:
        message = f"the model has not learned its completions: loss {loss.item():.3f}"
        raise RuntimeError(message)
    return model.eval()
