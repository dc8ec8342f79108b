"""Embeddings from Ollama: `/api/embed` and `/api/tags`."""

from __future__ import annotations

from collections.abc import Sequence

from loreline.embedding.http import Server, Unreachable
from loreline.embedding.remote import Prefixes, RemoteEmbedder, prefixes_in_name
from loreline.errors import EmbedderUnavailable, EmbeddingFailed, ModelNotFound
from loreline.settings import Embedding

URL = "http://localhost:11434"
MODEL = "nomic-embed-text"
_PREFIXES = {"nomic-embed-text": ("search_query: ", "search_document: ")}
"""What models were trained to see in front of a text: (of queries, of documents)."""


def connect(settings: Embedding, key: str | None) -> RemoteEmbedder:
    server = Server(
        settings.url or URL, key=key, timeout_seconds=settings.timeout_seconds, connections=settings.concurrency + 1
    )
    model = settings.model or MODEL

    def ask(texts: Sequence[str]) -> list[object]:
        try:
            answer = server.ask("POST", "/api/embed", {"model": model, "input": list(texts)})
        except ModelNotFound as error:
            raise _missing(server, model) from error
        except Unreachable as error:
            raise EmbedderUnavailable(
                error.message, hint="start it with ollama serve, or check embedding.url"
            ) from error
        vectors = answer.get("embeddings") if isinstance(answer, dict) else None
        if not isinstance(vectors, list):
            raise EmbeddingFailed(f"{server.address} gave no embeddings")
        return vectors

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
    return prefixes_in_name(f"ollama:{settings.model or MODEL}", _prefixes(settings))


def _prefixes(settings: Embedding) -> Prefixes:
    query, document = _PREFIXES.get((settings.model or MODEL).partition(":")[0], ("", ""))
    return Prefixes(
        query if settings.query_prefix is None else settings.query_prefix,
        document if settings.document_prefix is None else settings.document_prefix,
    )


def check(settings: Embedding, key: str | None) -> str:
    """What the server has, in a word; raises when it isn't there or lacks the model."""
    server = Server(settings.url or URL, key=key, timeout_seconds=min(settings.timeout_seconds, 10), connections=1)
    model = settings.model or MODEL
    try:
        answer = server.ask("GET", "/api/tags")
        models = (answer.get("models") or []) if isinstance(answer, dict) else []
        names = {str(one.get("name", "")) for one in models if isinstance(one, dict)}
        if not {model, f"{model}:latest"} & names:
            raise _missing(server, model)
        return f"{model} at {server.address}"
    finally:
        server.close()


def _missing(server: Server, model: str) -> ModelNotFound:
    return ModelNotFound(f"Ollama at {server.address} has no model {model}", hint=f"ollama pull {model}")
