"""Sentence models in ONNX form on this machine's processor: the bundled one, or a folder somebody names."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from loreline.embedding.embedder import BUNDLED_NAME, Vector, checked
from loreline.errors import EmbedderUnavailable, EmbeddingFailed, ModelNotFound

BUNDLED = Path(__file__).parent / "model"
_LONGEST = 256
"""Word pieces: what the bundled model was trained to read."""

_BATCH = 16

_LEAST_COSINE = 0.37
"""Of the bundled model: on real histories nonsense and strange subjects reach 0.36 at the most, and 99 % of the real
questions come nearer to something."""


class OnnxEmbedder:
    """Mean of the last layer's word vectors, as sentence models are used."""

    def __init__(self, folder: Path, name: str, *, threads: int = 0, least_cosine: float = 0.0) -> None:
        self.name = name
        self.least_cosine = least_cosine
        self.batch = _BATCH
        self.concurrency = 1  # the model itself uses all processors
        model = next((path for path in _models(folder) if path.is_file()), None)
        if model is None or not (folder / "tokenizer.json").is_file():
            raise ModelNotFound(
                f"there is no ONNX model in {folder}",
                hint="it holds model.onnx (or model_quantized.onnx) and tokenizer.json",
            )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads or _processors()
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # Between calls its threads would spin, which costs a command that only waits for its database.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
            self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # both libraries raise bare exceptions
            raise EmbedderUnavailable(
                f"the model in {folder} cannot be loaded: {error}", hint="check that its files are whole"
            ) from error
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_LONGEST)
        self._inputs = [one.name for one in self._session.get_inputs()]
        shape = self._session.get_outputs()[0].shape
        self.dimensions = int(shape[-1])

    def documents(self, texts: Sequence[str]) -> list[Vector | EmbeddingFailed]:
        vectors = self._vectors(texts)
        return [checked(vector, self.dimensions) for vector in vectors]

    def query(self, text: str) -> Vector:
        found = checked(self._vectors([text])[0], self.dimensions)
        if isinstance(found, EmbeddingFailed):
            raise found
        return found

    def close(self) -> None:
        """Nothing is held open."""

    def _vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        pieces = [one.ids for one in self._tokenizer.encode_batch_fast([_readable(text) for text in texts])]
        order = sorted(range(len(pieces)), key=lambda at: len(pieces[at]))
        made = np.empty((len(texts), self.dimensions), np.float32)
        for start in range(0, len(order), _BATCH):
            places = order[start : start + _BATCH]
            made[places] = self._run([pieces[at] for at in places])
        return made

    def _run(self, pieces: list[list[int]]) -> NDArray[np.float32]:
        longest = max(len(one) for one in pieces)
        ids = np.zeros((len(pieces), longest), np.int64)
        mask = np.zeros_like(ids)
        for row, one in enumerate(pieces):
            ids[row, : len(one)] = one
            mask[row, : len(one)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (layer, *_) = self._session.run(None, {name: given[name] for name in self._inputs})
        if layer.ndim == 2:  # it pools by itself
            return np.asarray(layer, np.float32)
        weights = mask[..., None].astype(np.float32)
        return np.asarray((layer * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1), np.float32)


def bundled(threads: int = 0) -> OnnxEmbedder:
    if not (BUNDLED / "tokenizer.json").is_file():
        raise EmbedderUnavailable(
            "this Loreline was built without its embedding model",
            hint='build it with the model, or set embedding.provider to "none", "ollama" or "openai"',
        )
    return OnnxEmbedder(BUNDLED, BUNDLED_NAME, threads=threads, least_cosine=_LEAST_COSINE)


def local(folder: Path, threads: int = 0) -> OnnxEmbedder:
    """A model in a folder; its files are its name, so that another one under the same path is another space."""
    embedder = OnnxEmbedder(folder, "", threads=threads)
    digest = hashlib.blake2b(digest_size=6)
    model = next(path for path in _models(folder) if path.is_file())
    for path in (model, folder / "tokenizer.json"):
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "blake2b").digest())
    embedder.name = f"onnx:{folder.name}-{digest.hexdigest()}"
    return embedder


def _models(folder: Path) -> tuple[Path, ...]:
    return tuple(folder / name for name in ("model_quantized.onnx", "model.onnx", "onnx/model.onnx"))


def _processors() -> int:
    """Those this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        return os.cpu_count() or 1


def _readable(text: str) -> str:
    """What a tokenizer takes: no lone surrogates; and no more of a text than it can read."""
    return text[: _LONGEST * 40].encode("utf-8", "replace").decode("utf-8")
