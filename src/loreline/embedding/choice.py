"""The embedder that the settings name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import structs

from loreline.embedding.embedder import BUNDLED_NAME, Embedder
from loreline.errors import ConfigInvalid, EmbedderUnavailable
from loreline.settings import PROVIDERS, Embedding


def connect(settings: Embedding, environ: Mapping[str, str]) -> Embedder | None:
    """None where embeddings are switched off. The libraries of a provider are imported with it."""
    match settings.provider:
        case "none":
            return None
        case "bundled":
            from loreline.embedding import onnx  # noqa: PLC0415

            return onnx.bundled(settings.threads)
        case "onnx":
            from loreline.embedding import onnx  # noqa: PLC0415

            if settings.model is None:
                raise ConfigInvalid(
                    "embedding.model is missing", hint='for the provider "onnx" it is the folder of the model'
                )
            return onnx.local(Path(settings.model).expanduser(), settings.threads)
        case "ollama":
            from loreline.embedding import ollama  # noqa: PLC0415

            return ollama.connect(settings, _key(settings, environ))
        case "openai":
            from loreline.embedding import openai  # noqa: PLC0415

            return openai.connect(settings, _key(settings, environ))
        case "fastembed":
            from loreline.embedding import fastembed  # noqa: PLC0415

            return fastembed.FastEmbedder(settings)
    raise ConfigInvalid(
        f"there is no embedding provider {settings.provider!r}", hint=f"use one of {', '.join(PROVIDERS)}"
    )


def name_of(settings: Embedding) -> str | None:
    """The name the embedder will have; None where only the model itself can tell."""
    match settings.provider:
        case "bundled":
            return BUNDLED_NAME
        case "ollama":
            from loreline.embedding import ollama  # noqa: PLC0415

            return ollama.name_of(settings)
        case "openai":
            from loreline.embedding import openai  # noqa: PLC0415

            return openai.name_of(settings)
    return None


def of_space(name: str, settings: Embedding, environ: Mapping[str, str]) -> Embedder:
    """The embedder that made the vectors of a space. While another model's are being made, that is the one before."""
    if settings.provider == "none":
        raise EmbedderUnavailable("embeddings are switched off", hint='embedding.provider is "none"')
    made_by = name.rpartition(":")[0].rpartition(":")[0]
    provider, _, rest = made_by.partition(":")
    if provider == settings.provider:
        embedder = connect(settings, environ)
        if embedder is not None and embedder.name == made_by:
            return embedder
    if provider == "bundled":
        return _there(connect(Embedding(threads=settings.threads), environ))
    if provider == settings.provider and provider in {"ollama", "openai", "fastembed"}:
        # Another model of the same server, or other prefixes: what stands behind a plus sign.
        model, _, prefixes = rest.partition("+")
        query, _, document = prefixes.partition("|")
        before = structs.replace(settings, model=model, dimensions=None, query_prefix=query, document_prefix=document)
        return _there(connect(before, environ))
    raise EmbedderUnavailable(
        f"the vectors are of {made_by}, which the configuration no longer reaches",
        hint="run lore embed, which makes new ones",
    )


def _there(embedder: Embedder | None) -> Embedder:
    if embedder is None:
        raise EmbedderUnavailable("embeddings are switched off", hint='embedding.provider is "none"')
    return embedder


def check(settings: Embedding, environ: Mapping[str, str]) -> str:
    """A word on what would embed; raises where nothing could."""
    if settings.provider == "ollama":
        from loreline.embedding import ollama  # noqa: PLC0415

        return ollama.check(settings, _key(settings, environ))
    embedder = connect(settings, environ)
    if embedder is None:
        return "switched off: search goes by words alone"
    try:
        return f"{embedder.name}, {embedder.dimensions} dimensions"
    finally:
        embedder.close()


def _key(settings: Embedding, environ: Mapping[str, str]) -> str | None:
    if settings.api_key_env is None:
        return None
    key = environ.get(settings.api_key_env, "").strip()
    if not key:
        raise EmbedderUnavailable(
            f"there is no key for the embedding server: {settings.api_key_env} is empty or not set",
            hint="set it, or leave out embedding.api_key_env for a server that needs none",
        )
    return key
