"""Raw payloads: GitLab's answers word for word, compressed, equal ones once."""

from __future__ import annotations

import hashlib
import threading
from importlib import resources
from typing import cast

import apsw
import zstandard
from msgspec import Struct

_PLAIN = 0
_ZSTD = 1
_ZSTD_GITLAB = 2
"""zstd with a dictionary of GitLab's field names: most answers are small and say little else."""

_SMALL = 32_768
"""Above this many bytes a body fills zstd's window with its own repetitions and the dictionary helps no more."""


class Payload(Struct, frozen=True):
    id: int
    resource_type: str
    gitlab_id: int
    page: int
    fetched_at: int
    body: bytes


def body_hash(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=16).digest()


class Kept(Struct, frozen=True):
    """What keeping a body came to."""

    id: int
    differs: bool
    first: bool
    """Nothing was kept for that thing before."""


def put(
    db: apsw.Connection,
    project_id: int,
    resource_type: str,
    gitlab_id: int,
    body: bytes,
    *,
    fetched_at: int,
    page: int = 0,
) -> Kept:
    """Keep a body as the latest answer for its thing."""
    digest = body_hash(body)
    known = db.execute(
        "SELECT p.id, p.body_id, b.hash FROM raw_payloads p JOIN raw_bodies b ON b.id = p.body_id"
        " WHERE p.project_id = ? AND p.resource_type = ? AND p.gitlab_id = ? AND p.page = ?",
        (project_id, resource_type, gitlab_id, page),
    ).fetchone()
    if known is not None and known[2] == digest:
        return Kept(known[0], differs=False, first=False)
    body_id = _body_id(db, digest, body)
    if known is None:
        db.execute(
            "INSERT INTO raw_payloads (project_id, resource_type, gitlab_id, page, fetched_at, body_id)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (project_id, resource_type, gitlab_id, page, fetched_at, body_id),
        )
        return Kept(db.last_insert_rowid(), differs=True, first=True)
    db.execute("UPDATE raw_payloads SET body_id = ?, fetched_at = ? WHERE id = ?", (body_id, fetched_at, known[0]))
    _drop_unused(db, [known[1]])
    return Kept(known[0], differs=True, first=False)


def drop_pages_from(db: apsw.Connection, project_id: int, resource_type: str, gitlab_id: int, page: int) -> bool:
    """Forget the pages a list no longer has; tells whether there were any."""
    rows = db.execute(
        "DELETE FROM raw_payloads WHERE project_id = ? AND resource_type = ? AND gitlab_id = ? AND page >= ?"
        " RETURNING body_id",
        (project_id, resource_type, gitlab_id, page),
    ).fetchall()
    _drop_unused(db, [row[0] for row in rows])
    return bool(rows)


def drop_entity(db: apsw.Connection, project_id: int, resource_types: list[str], gitlab_id: int) -> None:
    for resource_type in resource_types:
        drop_pages_from(db, project_id, resource_type, gitlab_id, 0)


def bodies(db: apsw.Connection, project_id: int, resource_type: str, gitlab_id: int) -> list[Payload]:
    """All pages of one thing's latest answer, in order."""
    rows = db.execute(
        "SELECT p.id, p.page, p.fetched_at, b.codec, b.body FROM raw_payloads p JOIN raw_bodies b ON b.id = p.body_id"
        " WHERE p.project_id = ? AND p.resource_type = ? AND p.gitlab_id = ? ORDER BY p.page",
        (project_id, resource_type, gitlab_id),
    )
    return [
        Payload(payload_id, resource_type, gitlab_id, page, fetched_at, unpack(codec, body))
        for payload_id, page, fetched_at, codec, body in rows
    ]


def after(db: apsw.Connection, project_id: int, resource_type: str, gitlab_id: int, limit: int) -> list[Payload]:
    """The next payloads of one type in a project, by GitLab's id."""
    rows = db.execute(
        "SELECT p.id, p.gitlab_id, p.page, p.fetched_at, b.codec, b.body"
        " FROM raw_payloads p JOIN raw_bodies b ON b.id = p.body_id"
        " WHERE p.project_id = ? AND p.resource_type = ? AND p.gitlab_id > ? ORDER BY p.gitlab_id LIMIT ?",
        (project_id, resource_type, gitlab_id, limit),
    ).fetchall()
    return [
        Payload(row_id, resource_type, thing, page, fetched_at, unpack(codec, body))
        for row_id, thing, page, fetched_at, codec, body in rows
    ]


def pack(body: bytes) -> tuple[int, bytes]:
    if len(body) < 64:
        return _PLAIN, body
    tools = _tools()
    if len(body) <= _SMALL:
        return _ZSTD_GITLAB, tools.compress_small.compress(body)
    return _ZSTD, tools.compress_large.compress(body)


def unpack(codec: int, body: bytes) -> bytes:
    if codec == _PLAIN:
        return body
    tools = _tools()
    return (tools.expand_small if codec == _ZSTD_GITLAB else tools.expand_large).decompress(body)


def _body_id(db: apsw.Connection, digest: bytes, body: bytes) -> int:
    row = db.execute("SELECT id FROM raw_bodies WHERE hash = ?", (digest,)).fetchone()
    if row is None:
        codec, packed = pack(body)
        db.execute(
            "INSERT INTO raw_bodies (hash, size, codec, body) VALUES (?, ?, ?, ?)", (digest, len(body), codec, packed)
        )
        return cast(int, db.last_insert_rowid())
    return cast(int, row[0])


def _drop_unused(db: apsw.Connection, body_ids: list[int]) -> None:
    db.executemany(
        "DELETE FROM raw_bodies WHERE id = ? AND NOT EXISTS (SELECT 1 FROM raw_payloads WHERE body_id = raw_bodies.id)",
        [(body_id,) for body_id in body_ids],
    )


class _Tools(threading.local):
    """zstd's contexts: costly to make, and not to be shared between threads."""

    def __init__(self) -> None:
        words = zstandard.ZstdCompressionDict(
            (resources.files("loreline.store") / "payload_dictionary.json").read_bytes(),
            dict_type=zstandard.DICT_TYPE_RAWCONTENT,
        )
        self.compress_small = zstandard.ZstdCompressor(level=1, dict_data=words)
        self.compress_large = zstandard.ZstdCompressor(level=1)
        self.expand_small = zstandard.ZstdDecompressor(dict_data=words)
        self.expand_large = zstandard.ZstdDecompressor()


_local: _Tools | None = None


def _tools() -> _Tools:
    global _local  # noqa: PLW0603 - made on first use: most commands never touch a payload
    if _local is None:
        _local = _Tools()
    return _local
