"""Opening the database: pragmas, schema, transactions, and SQLite's failures as our own error kinds."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

import apsw

from loreline.errors import DatabaseFailed, DatabaseLocked, LoreError, MigrationFailed, NotFound

BUSY_MS = 5_000


def open_database(path: Path, *, create: bool = False) -> apsw.Connection:
    """A connection on an up-to-date schema. Without `create`, a missing file is `NotFound`."""
    with translated(path):
        if not path.exists():
            if not create:
                raise NotFound(f"nothing has been synced yet: there is no {path}", hint="run lore sync")
            path.parent.mkdir(parents=True, exist_ok=True)
            # What it will hold may be confidential: nobody else on the machine reads it.
            path.touch(mode=0o600)
        db = apsw.Connection(str(path), statementcachesize=256)
        try:
            db.set_busy_timeout(BUSY_MS)
            if int(db.pragma("user_version")) == 0:
                _refuse_foreign(db, path)
            _configure(db)
            _migrate(db, path)
        except BaseException:
            db.close()
            raise
        return db


def _configure(db: apsw.Connection) -> None:
    # Plans that don't depend on the values bound to them: else SQLite prepares such a statement anew each time.
    db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    db.pragma("journal_mode", "wal")
    db.pragma("synchronous", "normal")
    db.pragma("foreign_keys", 1)
    db.pragma("temp_store", "memory")
    db.pragma("cache_size", -96_000)  # KiB
    # Checkpoints cost an fsync each and write the same index pages again and again: let 64 MB gather.
    db.pragma("wal_autocheckpoint", 16_000)  # pages
    db.pragma("journal_size_limit", 64 * 1024 * 1024)


def schema_version() -> int:
    return max(_migrations())


def _migrations() -> dict[int, str]:
    """Number → SQL, from files named `0001_subject.sql`."""
    folder = resources.files("loreline.store") / "migrations"
    files = (entry for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return {int(entry.name.partition("_")[0]): entry.read_text("utf-8") for entry in files}


def _migrate(db: apsw.Connection, path: Path) -> None:
    found = int(db.pragma("user_version"))
    wanted = schema_version()
    if found == wanted:
        return
    if found > wanted:
        raise MigrationFailed(
            f"{path} was written by a newer Loreline (schema {found}, this one knows {wanted})",
            hint="upgrade Loreline: pip install --upgrade loreline",
        )
    try:
        with transaction(db):
            found = int(db.pragma("user_version"))  # another process may have been quicker
            if found == 0:
                schema = resources.files("loreline.store") / "schema.sql"
                db.execute(schema.read_text("utf-8"))
                db.pragma("user_version", wanted)
            else:
                for number, sql in sorted(_migrations().items()):
                    if number > found:
                        db.execute(sql)
                        db.pragma("user_version", number)
            broken = db.execute("PRAGMA foreign_key_check").fetchone()
            if broken is not None:
                raise MigrationFailed(
                    f"{path} has rows without their parents after the migration (table {broken[0]})",
                    hint="the file is unchanged; move it away and sync anew, or report this",
                )
    except apsw.SQLError as error:
        raise MigrationFailed(
            f"{path} could not be brought from schema {found} to {wanted}: {error}",
            hint="the file is unchanged; move it away and sync anew, or report this",
        ) from error


def _refuse_foreign(db: apsw.Connection, path: Path) -> None:
    if db.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is not None:
        raise DatabaseFailed(f"{path} is a database of another program", hint="name another file as database")


@contextmanager
def transaction(db: apsw.Connection) -> Iterator[None]:
    """All or nothing. Nested, it is a savepoint."""
    if db.in_transaction:
        with db:
            yield
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


@contextmanager
def translated(path: Path | str) -> Iterator[None]:
    """SQLite's and the file system's failures, told as ours."""
    try:
        yield
    except LoreError:
        raise
    except (apsw.Error, OSError) as error:
        raise _translate(error, path) from error


def _translate(error: Exception, path: Path | str) -> LoreError:
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return DatabaseLocked(
                f"{path} is locked by another program",
                hint="wait for it to finish, or close what has it open",
            )
        case apsw.FullError() | OSError(errno=errno.ENOSPC):
            return DatabaseFailed(
                f"the disk is full: {path} cannot grow",
                hint="free some space and run again; what was committed is safe",
            )
        case apsw.ReadOnlyError() | apsw.PermissionsError() | apsw.AuthError() | PermissionError():
            return _unwritable(path)
        case OSError(errno=errno.EROFS):
            return _unwritable(path)
        case apsw.CantOpenError() if Path(path).parent.is_dir() and not os.access(Path(path).parent, os.W_OK):
            # Even to read it, SQLite needs to write beside it.
            return _unwritable(path)
        case apsw.CorruptError() | apsw.NotADBError():
            return DatabaseFailed(
                f"{path} is damaged or no SQLite database",
                hint="move it away and run lore sync --full; everything in it comes from GitLab",
            )
        case apsw.CantOpenError() | FileNotFoundError() | NotADirectoryError() | IsADirectoryError():
            return _unopenable(path)
        case FileExistsError():  # a file where its folder should be
            return _unopenable(path)
        case apsw.ConstraintError():
            # Of one row, not of the file: whoever wrote it is told, and nothing else is lost.
            return LoreError(f"a row does not fit into {path}: {error}", hint="please report this")
        case apsw.IOError():
            return DatabaseFailed(f"the disk failed under {path}: {error}", hint="check the disk, then run again")
        case _:
            return DatabaseFailed(f"{path}: {error}", hint="run lore doctor; if it persists, report this")


def _unwritable(path: Path | str) -> DatabaseFailed:
    return DatabaseFailed(
        f"{path} cannot be written",
        hint="check the owner and mode of the file and of its folder, and that its disk is not read-only",
    )


def _unopenable(path: Path | str) -> DatabaseFailed:
    return DatabaseFailed(f"{path} cannot be opened", hint="check that its folder exists and is yours")
