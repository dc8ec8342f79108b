"""The composition root: settings, environment and clock, put together once for every face."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping

import apsw
from msgspec import Struct

from loreline.settings import Settings
from loreline.store.connection import open_database, translated


def wall_clock() -> int:
    """The one place that reads the time: milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


class App(Struct, frozen=True):
    settings: Settings
    environ: Mapping[str, str]
    clock: Callable[[], int] = wall_clock

    @contextlib.contextmanager
    def database(self) -> Iterator[apsw.Connection]:
        """The mirror, for reading; SQLite's failures come as ours."""
        db = open_database(self.settings.database)
        try:
            with translated(self.settings.database):
                yield db
        finally:
            db.close()
