"""Embeddings from any server that speaks OpenAI's `/v1/embeddings`: llama.cpp, vLLM, TEI and others."""

from __future__ import annotations

from collections.abc import Sequence

from loreline.embedding.http import Server
from loreline.embedding.remote import Prefixes, RemoteEmbedder, prefixes_in_name
from loreline.errors import ConfigInvalid, EmbeddingFailed
from loreline.settings import Embedding

MODEL = "default"
"""Servers that hold one model take any name for it."""


def connect(settings: Embedding, key: str | None) -> RemoteEmbedder:
    if settings.url is None:
        raise ConfigInvalid(
            "embedding.url is missing", hint='the provider "openai" needs one, such as "http://localhost:8080/v1"'
        )
    server = Server(
        settings.url, key=key, timeout_seconds=settings.timeout_seconds, connections=settings.concurrency + 1
    )
    model = settings.model or MODEL

    def ask(texts: Sequence[str]) -> list[object]:
        question: dict[str, object] = {"model": model, "input": list(texts), "encoding_format": "float"}
        if settings.dimensions is not None:
            question["dimensions"] = settings.dimensions
        answer = server.ask("POST", "/embeddings", question)
        data = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(data, list) or not all(isinstance(one, dict) for one in data):
            raise EmbeddingFailed(f"{server.address} gave no embeddings")
        # Servers may answer out of order, and say so.
        if all(isinstance(one.get("index"), int) for one in data):
            data.sort(key=lambda one: one["index"])
        return [one.get("embedding") for one in data]

    return RemoteEmbedder(
        server,
        name_of(settings),
        ask,
        dimensions=settings.dimensions,
        batch=settings.batch,
        concurrency=settings.concurrency,
        prefixes=_prefixes(settings),
    )


def name_of(settings: Embedding) -> str:
    return prefixes_in_name(f"openai:{settings.model or MODEL}", _prefixes(settings))


def _prefixes(settings: Embedding) -> Prefixes:
    return Prefixes(settings.query_prefix or "", settings.document_prefix or "")
