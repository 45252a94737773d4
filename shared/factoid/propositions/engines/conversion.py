"""Checkpoints converted for CTranslate2, once, into a cache folder that other processes may share."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from factoid._optional import require
from factoid.errors import PropositionizerError
from factoid.propositions.engines.checkpoint import Checkpoint, fingerprint

logger = logging.getLogger(__name__)

_MANIFEST = "factoid.json"
_FORMAT = 1
_ABANDONED = 86_400.0  # seconds after which a conversion that another process began is taken for dead


def cache_folder() -> Path:
    """Return where converted models lie: `FACTOID_CACHE`, or `factoid` in the user's cache folder."""
    if chosen := os.environ.get("FACTOID_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "factoid"


def converted(checkpoint: Checkpoint, quantization: str) -> Path:
    """Return the folder of a checkpoint in CTranslate2's format, after converting it if that was not done yet.

    The folder appears with all its files or not at all. Of two processes that convert the same checkpoint at the same
    time, the second to finish throws its work away.

    Args:
        checkpoint: A checkpoint of transformers.
        quantization: As CTranslate2 calls it, such as "int8_float32".

    Raises:
        PropositionizerError: The checkpoint cannot be loaded or converted, or the folder cannot be written.
    """
    source = checkpoint.folder()
    identity = fingerprint(source) if source == Path(checkpoint.name) else source.name
    name = re.sub(r"[^\w.-]+", "-", Path(checkpoint.name).name if Path(checkpoint.name).is_dir() else checkpoint.name)
    root = cache_folder() / "ctranslate2"
    target = root / f"{name}-{identity[:12]}-{quantization}"
    if _is_whole(target):
        return target
    logger.info("converting %s for CTranslate2 (%s) into %s", checkpoint.name, quantization, target)
    try:
        root.mkdir(parents=True, exist_ok=True)
        _sweep(root)
        with tempfile.TemporaryDirectory(prefix=".converting-", dir=root) as work:
            fresh = Path(work) / "model"
            _convert(checkpoint, source, fresh, quantization)
            sizes = {path.name: path.stat().st_size for path in fresh.iterdir()}
            (fresh / _MANIFEST).write_text(json.dumps({"format": _FORMAT, "sizes": sizes}), encoding="utf-8")
            _install(fresh, target, Path(work))
    except OSError as error:
        message = (
            f"cannot write the converted model to {target}: {error}. Free some space, or name another folder in the "
            "environment variable FACTOID_CACHE"
        )
        raise PropositionizerError(message) from error
    return target


def _convert(checkpoint: Checkpoint, source: Path, target: Path, quantization: str) -> None:
    converters = require("ctranslate2.converters", extra="fast")

    class Converter(converters.TransformersConverter):  # type: ignore[misc, name-defined]
        """Loads the model and the tokenizer at their revision, which the converter asks for the model alone."""

        def load_model(self, _class: Any, _name: str, **_options: Any) -> Any:
            return checkpoint.model(require("torch", extra="models").float32)

        def load_tokenizer(self, _class: Any, _name: str, **_options: Any) -> Any:
            return checkpoint.tokenizer()

    try:
        Converter(os.fspath(source)).convert(os.fspath(target), quantization=quantization)
    except (ValueError, NotImplementedError, AttributeError, KeyError) as error:
        message = (
            f'CTranslate2 cannot convert {checkpoint.name!r}: {error}. Use engine="transformers", which runs any '
            "seq2seq model"
        )
        raise PropositionizerError(message) from error


def _install(fresh: Path, target: Path, work: Path) -> None:
    """Move a converted model to its place. What lies there and is whole is as good; what is damaged makes way."""
    try:
        fresh.rename(target)
    except OSError:
        if _is_whole(target):
            return
        target.rename(work / "damaged")
        fresh.rename(target)


def _is_whole(folder: Path) -> bool:
    try:
        manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        return manifest["format"] == _FORMAT and all(
            (folder / name).stat().st_size == size for name, size in manifest["sizes"].items()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False  # absent, or damaged: it is made again


def _sweep(root: Path) -> None:
    """Remove what processes that were killed have left."""
    for left in root.glob(".converting-*"):
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > _ABANDONED:
                shutil.rmtree(left, ignore_errors=True)
