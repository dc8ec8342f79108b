"""Opening the database: its schema, and everything that may be wrong with the file."""

import errno
import os
import re

import apsw
import pytest

from loreline.errors import DatabaseFailed, DatabaseLocked, MigrationFailed, NotFound
from loreline.store import connection
from loreline.store.connection import open_database, schema_version, transaction, translated


def normalised(db):
    """What is in the schema, whatever the comments and the spacing."""
    rows = db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'").fetchall()
    return sorted(
        (kind, name, table, re.sub(r"\s*([(),])\s*", r"\1", " ".join(re.sub(r"--[^\n]*", "", sql or "").split())))
        for kind, name, table, sql in rows
    )


def test_a_fresh_database_equals_one_that_was_migrated(tmp_path):
    fresh = open_database(tmp_path / "fresh.db", create=True)
    migrated = apsw.Connection(str(tmp_path / "migrated.db"))
    for number, sql in sorted(connection._migrations().items()):
        migrated.execute(sql)
        migrated.pragma("user_version", number)
    assert normalised(fresh) == normalised(migrated)
    assert fresh.pragma("user_version") == migrated.pragma("user_version") == schema_version()
    assert len(normalised(fresh)) > 50
    for db in (fresh, migrated):
        db.close()


def test_migrations_are_numbered_from_one_without_gaps():
    assert sorted(connection._migrations()) == list(range(1, schema_version() + 1))


def test_an_older_database_is_brought_up_to_date_and_keeps_its_rows(path, monkeypatch):
    db = open_database(path, create=True)
    db.execute("INSERT INTO instances (base_url) VALUES ('https://gitlab.example.com')")
    db.close()
    known = connection._migrations()
    newest = max(known) + 1
    monkeypatch.setattr(connection, "_migrations", lambda: {**known, newest: "ALTER TABLE instances ADD COLUMN extra"})
    db = open_database(path)
    assert db.execute("SELECT base_url, extra FROM instances").fetchall() == [("https://gitlab.example.com", None)]
    assert db.pragma("user_version") == newest
    db.close()


def test_a_migration_that_fails_leaves_the_file_as_it_was(path, monkeypatch):
    open_database(path, create=True).close()
    known = connection._migrations()
    broken = "CREATE TABLE half (a); CREATE TABLE half (a);"
    monkeypatch.setattr(connection, "_migrations", lambda: {**known, max(known) + 1: broken})
    with pytest.raises(MigrationFailed, match="could not be brought") as caught:
        open_database(path)
    assert caught.value.hint
    monkeypatch.undo()
    db = open_database(path)
    assert db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'half'").fetchone() == (0,)
    db.close()


def test_a_migration_that_would_orphan_rows_is_taken_back(path, monkeypatch):
    open_database(path, create=True).close()
    known = connection._migrations()
    orphan = "INSERT INTO project_paths (instance_id, path, project_id) VALUES (77, 'a/b', 77)"
    sql = f"PRAGMA defer_foreign_keys = 1; {orphan}"
    monkeypatch.setattr(connection, "_migrations", lambda: {**known, max(known) + 1: sql})
    with pytest.raises(MigrationFailed, match="rows without their parents"):
        open_database(path)
    monkeypatch.undo()
    db = open_database(path)
    assert db.execute("SELECT count(*) FROM project_paths").fetchone() == (0,)
    db.close()


def test_opening_twice_changes_nothing(path):
    open_database(path, create=True).close()
    before = path.read_bytes()
    open_database(path).close()
    assert path.read_bytes() == before


def test_the_database_is_made_with_its_folders_and_for_nobody_else(tmp_path):
    path = tmp_path / "a" / "b" / "mirror.db"
    open_database(path, create=True).close()
    assert path.stat().st_mode & 0o077 == 0


def test_an_empty_file_is_made_a_database(path):
    path.touch()
    db = open_database(path)
    assert db.pragma("user_version") == schema_version()
    db.close()


def test_relations_are_enforced_and_readers_do_not_block_the_writer(path):
    db = open_database(path, create=True)
    with pytest.raises(apsw.ConstraintError):
        db.execute("INSERT INTO project_paths (instance_id, path, project_id) VALUES (77, 'a/b', 77)")
    reader = open_database(path)
    with transaction(reader):
        reader.execute("SELECT * FROM instances").fetchall()
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM instances").fetchall()
    db.execute("INSERT INTO instances (base_url) VALUES ('x')")
    reader.execute("ROLLBACK")
    reader.close()
    db.close()


# ── what may be wrong ───────────────────────────────────────────────────────────────────────────────────


def failing(path, kind, **options):
    with pytest.raises(kind) as caught:
        open_database(path, **options)
    assert type(caught.value) is kind
    assert str(path) in caught.value.message
    assert caught.value.hint
    return caught.value


def test_a_missing_file_means_that_nothing_was_synced_yet(path):
    assert "lore sync" in failing(path, NotFound).hint
    assert not path.exists()


def test_a_database_of_a_newer_loreline_is_left_alone(path):
    db = open_database(path, create=True)
    db.pragma("user_version", schema_version() + 1)
    db.close()
    before = path.read_bytes()
    assert "upgrade" in failing(path, MigrationFailed).hint
    assert path.read_bytes() == before


def test_a_database_of_another_program_is_left_alone(path):
    other = apsw.Connection(str(path))
    other.execute("CREATE TABLE theirs (a)")
    other.close()
    assert "another program" in failing(path, DatabaseFailed).message
    other = apsw.Connection(str(path))
    assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]
    other.close()


def test_a_file_that_is_no_database_is_damaged(path):
    path.write_bytes(b"this is no database, but long enough to be looked at " * 100)
    assert "damaged" in failing(path, DatabaseFailed).message


def use_everything(path):
    with translated(path):
        db = open_database(path)
        try:
            for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                db.execute(f"SELECT count(*) FROM {name}").fetchall()
            db.execute("INSERT INTO instances (base_url) VALUES ('x')")
        finally:
            db.close()


def test_a_database_that_was_cut_off_is_damaged(path):
    open_database(path, create=True).close()
    use_everything(path)
    path.write_bytes(path.read_bytes()[: 4096 * 3 + 17])
    with pytest.raises(DatabaseFailed):
        use_everything(path)


def test_key_columns_stand_first_in_tables_without_rowid(path):
    db = open_database(path, create=True)
    tables = db.execute("SELECT name FROM pragma_table_list WHERE wr AND schema = 'main'").fetchall()
    assert ("issue_assignees",) in tables
    for (table,) in tables:
        keys = [key for (key,) in db.execute("SELECT pk FROM pragma_table_info(?) ORDER BY cid", (table,))]
        among = [key for key in keys if key]
        assert keys[: len(among)] == list(range(1, len(among) + 1)), table
    db.close()


def test_a_folder_in_place_of_the_file_cannot_be_opened(tmp_path):
    assert "cannot be opened" in failing(tmp_path, DatabaseFailed).message


def test_a_file_in_place_of_the_folder_cannot_be_opened(tmp_path):
    (tmp_path / "file").touch()
    for path in (tmp_path / "file" / "mirror.db", tmp_path / "file" / "deep" / "mirror.db"):
        assert failing(path, DatabaseFailed, create=True).message == f"{path} cannot be opened"


def fill_up(db, path):
    with translated(path), transaction(db):
        for number in range(10_000):
            db.execute("INSERT INTO instances (base_url) VALUES (?)", (f"{number}" * 100,))


def test_a_full_database_is_told_and_what_was_committed_is_safe(path):
    db = open_database(path, create=True)
    db.execute("INSERT INTO instances (base_url) VALUES ('kept')")
    db.pragma("max_page_count", db.pragma("page_count") + 1)
    with pytest.raises(DatabaseFailed, match="disk is full"):
        fill_up(db, path)
    assert not db.in_transaction
    assert db.execute("SELECT base_url FROM instances").fetchall() == [("kept",)]
    db.close()


def test_a_connection_that_may_only_read_says_so(path):
    open_database(path, create=True).close()
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    with pytest.raises(DatabaseFailed, match="cannot be written"), translated(path):
        db.execute("INSERT INTO instances (base_url) VALUES ('x')")
    db.close()


@pytest.mark.parametrize(
    "error", [apsw.CantOpenError("unable to open"), OSError(errno.EROFS, "Read-only file system")], ids=["SQLite", "OS"]
)
def test_a_read_only_file_system_is_told_as_such(path, monkeypatch, error):
    path.parent.mkdir(exist_ok=True)
    monkeypatch.setattr(os, "access", lambda _folder, _mode: False)
    with pytest.raises(DatabaseFailed, match="cannot be written") as caught, translated(path):
        raise error
    assert "read-only" in caught.value.hint


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write everything")
def test_a_file_and_a_folder_without_leave_to_write_are_told(path):
    open_database(path, create=True).close()
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        with pytest.raises(DatabaseFailed, match="cannot be"):
            use_everything(path)
    finally:
        path.parent.chmod(0o700)


def test_a_writer_beside_us_means_locked_and_not_broken(path):
    db = open_database(path, create=True)
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    db.set_busy_timeout(20)
    with pytest.raises(DatabaseLocked) as caught, translated(path), transaction(db):
        raise AssertionError("the transaction must not begin")
    assert "locked by another program" in caught.value.message
    other.execute("ROLLBACK")
    with translated(path), transaction(db):
        db.execute("INSERT INTO instances (base_url) VALUES ('x')")
    other.close()
    db.close()


def test_a_writer_beside_us_does_not_keep_us_from_opening_and_reading(path):
    open_database(path, create=True).close()
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    db = open_database(path)
    assert db.execute("SELECT count(*) FROM issues").fetchone() == (0,)
    db.close()
    other.close()


def test_a_database_that_must_be_migrated_while_another_writes_is_locked(path, monkeypatch):
    open_database(path, create=True).close()
    other = apsw.Connection(str(path))
    other.pragma("user_version", 1)
    other.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr(connection, "BUSY_MS", 20)
    failing(path, DatabaseLocked)
    other.close()


def fail_after_adding(db, name):
    with transaction(db):
        db.execute("INSERT INTO instances (base_url) VALUES (?)", (name,))
        raise ZeroDivisionError


def test_a_transaction_is_all_or_nothing_and_a_nested_one_is_a_savepoint(path):
    db = open_database(path, create=True)
    add = "INSERT INTO instances (base_url) VALUES (?)"
    with transaction(db):
        db.execute(add, ("outer",))
        with pytest.raises(ZeroDivisionError):
            fail_after_adding(db, "inner")
        db.execute(add, ("after",))
    assert db.execute("SELECT base_url FROM instances ORDER BY id").fetchall() == [("outer",), ("after",)]
    with pytest.raises(ZeroDivisionError):
        fail_after_adding(db, "gone")
    assert db.execute("SELECT count(*) FROM instances").fetchone() == (2,)
    db.close()
