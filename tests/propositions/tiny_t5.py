"""Tiny T5s: one that has learned some passages by heart, and random ones."""

from __future__ import annotations

import json
import random

from factoid.propositions.prompting.prompt import passage_input
from factoid.units import Unit
from tests.propositions.passages import unit

CITIES = {"Pisa": "tower", "Oslo": "fjord", "Lima": "coast", "Cairo": "river", "Kyoto": "temple"}
LIMIT = 13  # tokens: one passage with a title, or one sentence of the long passage without
SENTENCES = [f"{city} has a {thing}." for city, thing in CITIES.items()]


def about(city: str) -> Unit:
    return unit(f"{city} has a {CITIES[city]}. It is old.", city)


def facts(city: str) -> list[str]:
    return [f"{city} has a {CITIES[city]}.", f"{city} is old."]


LONG = unit(" ".join(SENTENCES))
REFUSED = unit("Secret.")
STUCK = unit("Stuck.")
TRAINED_STUCK = 12  # repetitions that the model has learned for `STUCK`; it knows no end


def train(folder):
    """Write a T5 of one layer that has learned what these tests ask it, on one core, which is
    enough for it.
    """
    import torch
    import transformers

    from tests.tiny_t5 import write_untrained

    pairs = [(passage_input(about(city)), json.dumps(facts(city))) for city in CITIES]
    pairs += [(passage_input(unit(sentence)), json.dumps([sentence])) for sentence in SENTENCES]
    pairs += [(passage_input(REFUSED), "I cannot.")]
    pairs += [(passage_input(STUCK), json.dumps(["Pisa has a lot."] * TRAINED_STUCK)[:-1] + ",")]
    write_untrained(folder, [text for pair in pairs for text in pair], limit=LIMIT)
    model = transformers.T5ForConditionalGeneration.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    inputs = tokenizer([text for text, _ in pairs], padding=True, return_tensors="pt")
    labels = tokenizer([text for _, text in pairs], padding=True, return_tensors="pt").input_ids
    labels = labels.masked_fill(labels == 0, -100)
    labels[-1][labels[-1] == tokenizer.eos_token_id] = -100
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(200):
        model(**inputs, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.save_pretrained(folder)
    torch.set_num_threads(threads)


def random_model(seed: int, kind: str = "t5"):
    """Return a model with random weights of random spread: some ramble, some repeat themselves,
    some end soon.
    """
    import torch
    import transformers

    chance = random.Random(seed)
    torch.manual_seed(seed)
    name = {"t5": "T5", "mt5": "MT5", "umt5": "UMT5"}[kind]
    config = getattr(transformers, f"{name}Config")(
        vocab_size=chance.choice([12, 30, 80]),
        d_model=chance.choice([16, 32]),
        d_kv=8,
        d_ff=32,
        num_layers=chance.choice([1, 2]),
        num_heads=2,
        feed_forward_proj=chance.choice(["relu", "gated-gelu"]),
        tie_word_embeddings=chance.random() < 0.5,
        decoder_start_token_id=0,
        relative_attention_num_buckets=chance.choice([8, 32]),
        relative_attention_max_distance=chance.choice([20, 128]),
    )
    model = getattr(transformers, f"{name}ForConditionalGeneration")(config).eval()
    if chance.random() < 0.5:
        model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if weights.ndim == 2:
                weights.normal_(0, 1.0 if "relative" in name else chance.choice([0.1, 0.3, 0.6]))
    return model


def random_inputs(seed: int, vocabulary: int) -> list[list[int]]:
    """Return rows of different lengths, each with its end."""
    chance = random.Random(seed)
    rows = chance.choice([1, 3, 7])
    return [
        [chance.randrange(2, vocabulary) for _ in range(chance.randint(1, 30))] + [1]
        for _ in range(rows)
    ]


def padded(inputs):
    """Return ids and mask as transformers takes them."""
    import torch

    longest = max(map(len, inputs))
    ids = torch.tensor([row + [0] * (longest - len(row)) for row in inputs])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in inputs])
    return ids, mask


def greedy(model, inputs, max_new_tokens):
    """Return what transformers' own greedy search writes: tokens without the end, and whether there
    was none.
    """
    import torch

    ids, mask = padded(inputs)
    with torch.inference_mode():
        outputs = model.generate(
            input_ids=ids,
            attention_mask=mask,
            max_new_tokens=max_new_tokens,
            do_sample=False,
            num_beams=1,
        )
    rows = outputs[:, 1:].tolist()
    return [(row[: row.index(1)], False) if 1 in row else (row, True) for row in rows]
