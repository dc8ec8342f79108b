"""A nameless temporary file that holds a corpus decompressed, so that memory need not."""

from __future__ import annotations

import os
import tempfile
import weakref
from pathlib import Path

_BUFFER = 4 << 20


class Spool:
    def __init__(self) -> None:
        descriptor, name = tempfile.mkstemp(prefix="loreline-simulator-")
        # Unlinked at once: whatever happens to this process, the disk comes back.
        Path(name).unlink()
        self._descriptor = descriptor
        self._close = weakref.finalize(self, os.close, descriptor)
        self._pending: list[bytes] = []
        self._pending_size = 0
        self._end = 0

    def append(self, data: bytes) -> int:
        """Add data and return its offset; it can be read after the next `flush`."""
        offset = self._end
        self._pending.append(data)
        self._pending_size += len(data)
        self._end += len(data)
        if self._pending_size >= _BUFFER:
            self.flush()
        return offset

    def flush(self) -> None:
        view = memoryview(b"".join(self._pending))
        self._pending.clear()
        self._pending_size = 0
        while view:
            view = view[os.write(self._descriptor, view) :]

    def read(self, offset: int, length: int) -> bytes:
        return os.pread(self._descriptor, length, offset)

    def close(self) -> None:
        self._close()
