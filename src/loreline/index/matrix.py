"""The matrix: all vectors of a space in one file, mapped into memory and scanned exactly.

A file is written once under the number of its generation, and never changed. The database says which generation holds
which vectors, in the transaction that read them; what came or went since is read from the database. So a reader that
holds a transaction sees vectors, documents and words of one moment, whatever a writer does meanwhile.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
import zlib
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path

import apsw
import numkong
import numpy as np
from numpy.typing import NDArray

from loreline.errors import DatabaseFailed
from loreline.index import crowding
from loreline.store import vectors
from loreline.store.vectors import Row, Space

_MAGIC = b"LOREMAT2"
_HEADER = struct.Struct("<8sQQQQI")
"""Magic, space, generation, rows, dimensions, CRC-32 of what follows."""

_ALIGN = 64
_IDS = ("vector_ids", "entity_ids", "document_ids", "passage_ids", "positions")
"""Positions count a document's passages from 0."""

Ids = NDArray[np.int64]
Scores = NDArray[np.float32]


class Torn(Exception):
    """The file is not what the database says it should be: it is made anew."""


class Block:
    """Rows side by side in memory: of a file, or read from the database."""

    def __init__(self, components: NDArray[np.int8], scales: Scores, crowding: Scores, ids: Sequence[Ids]) -> None:
        self.components = components
        self.scales = scales
        self.crowding = crowding
        self.vector_ids, self.entity_ids, self.document_ids, self.passage_ids, self.positions = ids

    def __len__(self) -> int:
        return len(self.scales)

    def rows(self, places: slice | Ids) -> NDArray[np.float32]:
        """Vectors as they were before they were rounded, or nearly so."""
        return np.asarray(self.components[places] * self.scales[places, None], np.float32)

    def scores(self, query: NDArray[np.float32]) -> Scores:
        """The cosine of each row with a query of unit length."""
        if not len(self):
            return np.empty(0, np.float32)
        scale, components = quantised(query)
        whole = np.frombuffer(components, np.int8)
        dots = np.asarray(numkong.cdist(whole[None, :], self.components, "dot", out_dtype="float32"))[0]
        return np.asarray(dots * (self.scales * np.float32(scale)), np.float32)


def quantised(vector: NDArray[np.float32]) -> tuple[float, bytes]:
    """A vector as it is kept: the scale, and whole numbers of -127 to 127."""
    scale = float(np.abs(vector).max()) / 127 or 1.0
    return scale, np.rint(vector / scale).astype(np.int8).tobytes()


def path_of(database: Path, space: Space, generation: int) -> Path:
    return _folder(database) / f"{space.id}-{generation}.matrix"


def _folder(database: Path) -> Path:
    return database.with_name(f"{database.name}-vectors")


def block_of(rows: Iterable[Row], dimensions: int) -> Block:
    """Rows of the database as arrays; how crowded it is around them is told by themselves."""
    block = _arrays(rows, dimensions)
    own = crowding.sampled(len(block), crowding.SAMPLE)
    block.crowding = crowding.crowding(len(block), block.rows, block.rows(own), own)
    return block


def block_beside(rows: Iterable[Row], dimensions: int, base: Block) -> Block:
    """Rows that came since a matrix was made; how crowded it is around them is told by those of the matrix."""
    if not len(base):
        return block_of(rows, dimensions)
    block = _arrays(rows, dimensions)
    sample = base.rows(crowding.sampled(len(base), crowding.SAMPLE_BESIDE))
    block.crowding = crowding.crowding(len(block), block.rows, sample)
    return block


def _block_after(rows: Iterable[Row], dimensions: int, before: Block) -> Block:
    """Rows of which most stood in the matrix before: how crowded it is around these is known well enough."""
    block = _arrays(rows, dimensions)
    order = np.argsort(before.vector_ids)
    at = np.searchsorted(before.vector_ids, block.vector_ids, sorter=order)
    places = order[np.minimum(at, len(before) - 1)]
    known = before.vector_ids[places] == block.vector_ids
    block.crowding[known] = before.crowding[places[known]]
    new = np.flatnonzero(~known)
    sample = crowding.sampled(len(block), crowding.SAMPLE)
    own = np.where(known[sample], -1, np.searchsorted(new, sample))
    block.crowding[new] = crowding.crowding(len(new), lambda part: block.rows(new[part]), block.rows(sample), own)
    return block


def _arrays(rows: Iterable[Row], dimensions: int) -> Block:
    # As Python's own objects they would take several times their place: so one row at a time.
    components, scales, ids = bytearray(), array("f"), array("q")
    for vector_id, entity_id, document_id, passage_id, position, scale, whole in rows:
        ids.extend((vector_id, entity_id, document_id, passage_id, position))
        scales.append(scale)
        components += whole
    columns = np.frombuffer(ids, np.int64).reshape(len(scales), len(_IDS))
    return Block(
        np.frombuffer(components, np.int8).reshape(len(scales), dimensions),
        np.frombuffer(scales, np.float32),
        np.zeros(len(scales), np.float32),
        [np.ascontiguousarray(columns[:, at]) for at in range(len(_IDS))],
    )


# ── files ───────────────────────────────────────────────────────────────────────────────────────────────


def write(database: Path, space: Space, generation: int, block: Block) -> None:
    """One file, whole or not at all."""
    folder = _folder(database)
    folder.mkdir(mode=0o700, exist_ok=True)
    arrays = [block.components, block.scales, block.crowding, *(getattr(block, name) for name in _IDS)]
    checksum = 0
    part = folder / f"{space.id}-{generation}.{os.getpid()}.part"
    try:
        with open(part, "wb", opener=_private) as file:
            file.write(b"\0" * _ALIGN)
            for array in arrays:
                data = np.ascontiguousarray(array).data.cast("B") if array.size else b""
                file.write(data)
                checksum = zlib.crc32(data, checksum)
                padding = b"\0" * (-len(data) % _ALIGN)
                file.write(padding)
                checksum = zlib.crc32(padding, checksum)
            file.seek(0)
            file.write(_HEADER.pack(_MAGIC, space.id, generation, len(block), space.dimensions, checksum))
            file.flush()
            os.fsync(file.fileno())
        part.replace(path_of(database, space, generation))
    finally:
        part.unlink(missing_ok=True)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def read(database: Path, space: Space, generation: int, *, verify: bool = False) -> Block:
    """The rows of a file, mapped into memory. Raises Torn where it is missing, short or, with `verify`, changed."""
    path = path_of(database, space, generation)
    try:
        with path.open("rb") as file:
            memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise Torn(f"{path} cannot be read") from error
    if len(memory) < _ALIGN:
        raise Torn(f"{path} is too short")
    magic, space_id, found, rows, dimensions, checksum = _HEADER.unpack_from(memory)
    if (magic, space_id, found, dimensions) != (_MAGIC, space.id, generation, space.dimensions):
        raise Torn(f"{path} is of another space or generation")
    sizes = [rows * dimensions, rows * 4, rows * 4, *([rows * 8] * len(_IDS))]
    starts, at = [], _ALIGN
    for size in sizes:
        starts.append(at)
        at += size + (-size % _ALIGN)
    if len(memory) != at:
        raise Torn(f"{path} has {len(memory)} bytes instead of {at}")
    if verify and (any(memory[_HEADER.size : _ALIGN]) or zlib.crc32(memoryview(memory)[_ALIGN:]) != checksum):
        raise Torn(f"{path} has changed since it was written")
    components = np.frombuffer(memory, np.int8, rows * dimensions, starts[0]).reshape(rows, dimensions)
    scales, crowding = (np.frombuffer(memory, np.float32, rows, start) for start in starts[1:3])
    return Block(components, scales, crowding, [np.frombuffer(memory, np.int64, rows, start) for start in starts[3:]])


def remove_others(database: Path, keep: Iterable[Space]) -> None:
    """Files of generations and spaces that are gone. Whoever has one mapped goes on reading it."""
    # The one before stays too: a reader may have begun just before its successor came.
    wanted = {
        path_of(database, space, generation).name
        for space in keep
        for generation in (space.matrix_generation, space.matrix_generation - 1)
    }
    with contextlib.suppress(FileNotFoundError):
        for path in _folder(database).iterdir():
            # Half a file is of a run that was killed: there is one writer at a time.
            if path.name not in wanted and path.suffix in {".matrix", ".part"}:
                with contextlib.suppress(OSError):
                    path.unlink()


# ── keeping up ──────────────────────────────────────────────────────────────────────────────────────────

_MOST_BESIDE = 5_000
"""So many rows are read from the database at each start at the most; then the matrix is made anew."""

_SHARE_BESIDE = 0.1


def is_due(db: apsw.Connection, space: Space) -> bool:
    """Whether so much has come or gone since the matrix was made that it is worth making it anew."""
    beside = vectors.count_after(db, space, space.matrix_vector_id) + len(vectors.removed(db, space))
    whole = vectors.count(db, space)
    return beside > min(_MOST_BESIDE, max(_SHARE_BESIDE * whole, 200))


def rebuild(db: apsw.Connection, database: Path, space: Space) -> Space:
    """Make the matrix anew, in the transaction of the caller: the file stands before the database speaks of it."""
    generation = space.matrix_generation + 1
    last = vectors.last_id(db, space)
    rows = vectors.rows_up_to(db, space, last)
    before = _before(database, space)
    if before is not None and vectors.count(db, space) < _GROWN * len(before):
        block = _block_after(rows, space.dimensions, before)
    else:
        block = block_of(rows, space.dimensions)
    try:
        write(database, space, generation, block)
    except OSError as error:
        raise DatabaseFailed(
            f"the vectors beside {database} cannot be written: {error.strerror}", hint="check the disk and its rights"
        ) from error
    vectors.matrix_made(db, space, generation, last)
    return Space(space.id, space.name, space.dimensions, space.is_active, generation, last)


_GROWN = 1.5
"""A matrix that has grown so much has its crowds counted anew."""


def _before(database: Path, space: Space) -> Block | None:
    """The matrix as it is, if there is one and it is whole."""
    if space.matrix_generation == 0:
        return None
    try:
        return read(database, space, space.matrix_generation, verify=True)
    except Torn:
        return None


def load(db: apsw.Connection, database: Path, space: Space) -> Block:
    """The rows of the matrix as the open transaction knows it; from the database where the file won't do."""
    if space.matrix_generation == 0:
        return block_of([], space.dimensions)
    try:
        return read(database, space, space.matrix_generation)
    except Torn:
        return block_of(vectors.rows_up_to(db, space, space.matrix_vector_id), space.dimensions)
