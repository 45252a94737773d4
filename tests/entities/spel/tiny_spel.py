"""A tiny SpEL that has learned three entities, in the format of the published files."""

from __future__ import annotations

import random
from pathlib import Path

ADA, ETNA, MIRA = "Ada_Lovelace", "Mount_Etna", "Mira_(star)"
SURFACES = {"Ada Lovelace": ADA, "Mount Etna": ETNA, "Mira": MIRA}
CHECKPOINT = "tiny-spel-step-3.pt"

AIDA_LINES = [ADA, "Lava", "Basel"]
ENWIKI_LINES = ["Basel", ETNA, "Comet", ""]  # ends in a line end, and repeats an entry
OUT_OF_DOMAIN_LINES = ["Lava", MIRA, "Harbor_%27s_End", ""]
# Written out by hand after the published order.
ENTRIES = ["|||O|||", "<pad>", ADA, "Lava", "Basel", ETNA, "Comet", "", MIRA, "Harbor_%27s_End"]

_FILLERS = (
    "who wrote the first program ? when did erupt again . how far is from here , in a for and of was born where what The "
    "What Who When old letters about ! tall seen near our town"
).split()
_CORPUS = [
    *SURFACES,
    "U.S. state's (quote) — “bright” … 東京 😀 שלום",
    *(f" {word}" for word in [*SURFACES, *_FILLERS]),
]


def write_vocabulary(folder: Path) -> None:
    lines = {
        "aida": AIDA_LINES,
        "enwiki_20230827": ENWIKI_LINES,
        "out_of_domain": OUT_OF_DOMAIN_LINES,
    }
    for name, titles in lines.items():
        (folder / f"{name}.txt").write_bytes("\n".join(titles).encode())


def make_tokenizer(folder: Path | None = None):
    """Return a byte-level BPE tokenizer in RoBERTa's way; with a folder, leave its vocab.json and
    merges.txt there.
    """
    import tokenizers

    trained = tokenizers.ByteLevelBPETokenizer(add_prefix_space=False, trim_offsets=True)
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trained.train_from_iterator(
        _CORPUS, vocab_size=400, min_frequency=1, special_tokens=special, show_progress=False
    )
    if folder is not None:
        trained.save_model(str(folder))
    tokenizer = trained._tokenizer
    tokenizer.post_processor = tokenizers.processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False
    )
    return tokenizer


def config(tokenizer, **changes):
    import transformers

    sizes = {
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 1,
        "intermediate_size": 96,
    }
    sizes |= {
        "max_position_embeddings": 514,
        "type_vocab_size": 1,
        "vocab_size": tokenizer.get_vocab_size(),
    }
    numbers = {
        "layer_norm_eps": 1e-5,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
    }
    return transformers.RobertaConfig(**{**sizes, **numbers, **changes})


def _sample(chance, tokenizer):
    """Return token ids and, for each, the id of the entity that it is a part of."""
    words = [chance.choice(_FILLERS) for _ in range(chance.randint(2, 12))]
    for surface in chance.sample(list(SURFACES), chance.randint(0, 2)):
        at = chance.randrange(len(words) + 1)
        words.insert(at, surface + chance.choice(["", "", "'s", "?", "."]))
    text, spans = "", []
    for word in words:
        text += " " * bool(text)
        for surface, title in SURFACES.items():
            if word.startswith(surface):
                spans.append((len(text), len(text) + len(surface), ENTRIES.index(title)))
        text += word
    encoding = tokenizer.encode(text)
    labels = [
        0 if special else next((entity for start, end, entity in spans if start <= begin < end), 0)
        for (begin, _), special in zip(encoding.offsets, encoding.special_tokens_mask, strict=True)
    ]
    cut = chance.choice([0, 0, 1])  # inner windows have no <s>
    return encoding.ids[cut:], labels[cut:]


def write_checkpoint(folder: Path) -> Path:
    """Train on one core and write the checkpoint, the vocabulary files and tokenizer.json; return
    the checkpoint.
    """
    import torch
    import transformers

    folder.mkdir(parents=True, exist_ok=True)
    write_vocabulary(folder)
    tokenizer = make_tokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = transformers.RobertaForMaskedLM(config(tokenizer))
        out = torch.nn.Embedding(len(ENTRIES), 64)
    # Without positions, what is learned from short texts holds in long ones.
    model.roberta.embeddings.position_embeddings.weight.requires_grad_(False).zero_()
    parameters = [*model.roberta.parameters(), *out.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=3e-3)
    chance = random.Random(0)
    for _ in range(60):
        samples = [_sample(chance, tokenizer) for _ in range(32)]
        rows = [
            [torch.tensor(values) for values in column] for column in zip(*samples, strict=True)
        ]
        ids = torch.nn.utils.rnn.pad_sequence(rows[0], batch_first=True, padding_value=1)
        labels = torch.nn.utils.rnn.pad_sequence(rows[1], batch_first=True, padding_value=-100)
        hidden = model.roberta(ids, attention_mask=(ids != 1).long()).last_hidden_state
        logits = hidden @ out.weight.T
        torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.set_num_threads(threads)
    return save_checkpoint(folder / CHECKPOINT, model, out)


def save_checkpoint(path: Path, model, out) -> Path:
    """Write a language model and an output embedding as the published checkpoints are."""
    import torch

    positions = {
        "roberta.embeddings.position_ids": torch.arange(514).unsqueeze(0)
    }  # as older versions had it
    content = {"bert_lm": {**model.state_dict(), **positions}, "out": out.state_dict()}
    torch.save(
        {**content, "number_of_bert_layers": 3, "bert_lm_h": model.config.hidden_size, "epoch": 3},
        path,
    )
    return path
