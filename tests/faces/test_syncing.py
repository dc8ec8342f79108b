"""sync and ingest: what they tell, what they leave, what they rebuild."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

import apsw
import pytest
from tests.lore import Lore, without_colour

from loreline.simulator import Fault, Running, edits


def rows(database: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every derived row, its ids told by what they stand for, and without the times of our own work."""
    db = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    names = {
        "issue_id": dict(db.execute("SELECT id, gitlab_id FROM issues")),
        "merge_request_id": dict(db.execute("SELECT id, gitlab_id FROM merge_requests")),
        "milestone_id": dict(db.execute("SELECT id, gitlab_id FROM milestones")),
        "label_id": dict(db.execute("SELECT id, name FROM labels")),
        "discussion_id": dict(db.execute("SELECT id, gitlab_discussion_id FROM discussions")),
        "note_id": dict(db.execute("SELECT id, gitlab_id FROM notes")),
    }
    entities = {"issue": names["issue_id"], "merge_request": names["merge_request_id"]}
    edges = {
        row[0]: (entities[row[1]].get(row[2], row[3:5]), entities[row[5]].get(row[6], row[7:9]), row[9])
        for row in db.execute(
            "SELECT id, source_entity_type, source_entity_id, source_project_path, source_entity_iid,"
            " target_entity_type, target_entity_id, target_project_path, target_entity_iid, reference_type"
            " FROM entity_references"
        )
    }

    def told(row: dict[str, object]) -> tuple[object, ...]:
        for column, meaning in names.items():
            if column in row:
                row[column] = meaning.get(row[column], row[column])
        for end in ("source", "target"):
            if f"{end}_entity_id" in row:
                row[f"{end}_entity_id"] = entities[str(row[f"{end}_entity_type"])].get(row[f"{end}_entity_id"])
        if "observer_id" in row:
            row["observer_id"] = entities[str(row["observer_type"])][row["observer_id"]]
            row["reference_id"] = edges[row["reference_id"]]
        return tuple(value for column, value in row.items() if column not in {"id", "raw_payload_id", "swept_at"})

    found = {}
    skipped = {"raw_bodies", "raw_payloads", "changes", "sync_runs", "sqlite_sequence", "projects"}
    # What search goes by is made from these rows, and has tests of its own.
    searched = (
        "feed_followers",
        "document",
        "passages",
        "entities_fts",
        "threads_fts",
        "common_words",
        "dirty_sources",
    )
    tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for table in sorted(table for table in set(tables) - skipped if not table.startswith(searched)):
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        read = [dict(zip(columns, row, strict=True)) for row in db.execute(f"SELECT * FROM {table}")]
        found[table] = sorted((told(row) for row in read), key=repr)
    db.close()
    return found


def test_a_dry_run_tells_and_writes_nothing(ready: Lore, gitlab: Running) -> None:
    done = ready("-J", "sync", "--dry-run")
    harbor = next(one for one in done.data["projects"] if one["project"] == "northwind/harbor")
    assert (harbor["first"], harbor["issues"], harbor["merge_requests"]) == (True, 34, 32)
    assert not (ready.folder / "mirror.db").exists()


def test_a_sync_reports_what_it_did_and_a_second_does_nothing(ready: Lore, gitlab: Running) -> None:
    first = ready("-J", "sync").data
    assert first["run"]["status"] == "succeeded"
    assert (first["run"]["rows"]["issues"], first["run"]["rows"]["merge_requests"]) == (38, 32)
    second = ready("-J", "sync").data
    assert second["run"]["rows"] == {}
    assert second["run"]["requests"] <= 4 * 2
    assert ready("sync").out.startswith("2 projects: nothing has changed")
    assert ready("sync", "-q").out == ""


def test_ingest_brings_one_kind_only(ready: Lore) -> None:
    assert ready("-J", "ingest", "issues").data["run"]["rows"]["issues"] == 38
    assert ready("count", "mrs").out == "0\n"
    assert ready("-J", "ingest", "merge_requests").data["run"]["rows"]["merge_requests"] == 32


def test_only_the_projects_asked_for_are_synced(ready: Lore) -> None:
    assert ready("-J", "sync", "-p", "harbor-docs").data["projects"] == ["northwind/harbor-docs"]
    done = ready("sync", "-p", "unheard/of")
    assert done.code == 13
    assert "unheard/of" in done.err


@pytest.mark.parametrize("columns", [60, 80])
def test_progress_shows_rate_and_time_left_on_narrow_terminals_too(ready: Lore, gitlab: Running, columns: int) -> None:
    gitlab.world.behaviour.latency = 0.03
    seen = without_colour(ready.on_terminal("sync", columns=columns))
    assert re.search(r"threads, events and diffs +[━╸╺]{4,} [\d,]+ of [\d,]+, [\d,]+/s, \d+:\d\d left", seen)


def test_events_left_out_come_with_the_next_sync(ready: Lore) -> None:
    ready("sync", "-q", "--no-events")
    assert ready("count", "events").out == "0\n"
    ready("sync", "-q")
    assert int(ready("count", "events").out) > 200


def test_a_project_that_fails_does_not_stop_the_other(ready: Lore, gitlab: Running) -> None:
    edits.hide_project(gitlab.world, "northwind/harbor-docs")
    done = ready("sync")
    assert done.code == 19
    assert "northwind/harbor-docs" in done.err
    assert ready("count", "issues").out == "34\n"
    robot = ready("-J", "sync")
    assert robot.code == 19
    assert robot.data["failures"][0]["project"] == "northwind/harbor-docs"
    assert robot.answer["meta"]["warnings"]


def test_when_nothing_can_be_reached_the_cause_decides_the_exit_code(ready: Lore, gitlab: Running) -> None:
    config = ready.folder / "loreline.toml"
    text = config.read_text()
    config.write_text(text.replace("harbor", "nowhere"))
    assert ready("sync").code == 6
    config.write_text(text.replace(gitlab.url, "http://127.0.0.1:1"))
    assert ready("sync").code == 8
    config.write_text(text.replace(gitlab.url, "http://no-such-host.invalid"))
    assert ready("sync").code == 8
    config.write_text(text)
    gitlab.world.faults.add(Fault("rate_limited", path="/projects/", count=10_000, retry_after=3600))
    done = ready("sync")
    assert done.code == 7
    assert "hint: " in done.err


def test_a_dead_server_is_told_soon(lore: Lore) -> None:
    lore.configure("http://127.0.0.1:1", ["a/one", "a/two", "a/three"])
    config = lore.folder / "loreline.toml"
    config.write_text(config.read_text().partition("[sync]")[0])
    began = time.monotonic()
    assert lore("sync").code == 8
    assert time.monotonic() - began < 10


def test_replay_rebuilds_every_row_without_the_network(ready: Lore, gitlab: Running) -> None:
    ready("sync", "-q")
    database = ready.folder / "mirror.db"
    before = rows(database)
    db = apsw.Connection(str(database))
    db.pragma("foreign_keys", 1)
    db.execute("""
        DELETE FROM issues WHERE iid % 5 = 0;
        UPDATE merge_requests SET title = 'spoilt', merged_at = 7;
        DELETE FROM notes WHERE id % 3 = 0;
        UPDATE notes SET body = 'spoilt' WHERE id % 3 = 1;
        DELETE FROM reference_sources;
        DELETE FROM entity_references;
        DELETE FROM mr_file_changes WHERE position = 0;
        DELETE FROM resource_label_events;
        UPDATE resource_state_events SET state = 'spoilt';
        DELETE FROM users;
    """)
    db.close()
    served = len(gitlab.requests.requests)
    config = ready.folder / "loreline.toml"
    config.write_text(config.read_text().replace(gitlab.url, "http://127.0.0.1:1"))
    done = ready("-J", "sync", "--replay")
    assert done.code == 0, done
    assert len(gitlab.requests.requests) == served
    after = rows(database)
    for table, expected in before.items():
        assert after[table] == expected, table


def test_replay_changes_nothing_where_nothing_is_wrong(ready: Lore) -> None:
    ready("sync", "-q")
    before = rows(ready.folder / "mirror.db")
    assert ready("sync", "--replay", "-q").code == 0
    assert rows(ready.folder / "mirror.db") == before


def test_a_full_sync_drops_what_is_gone_and_reconcile_too(ready: Lore, gitlab: Running) -> None:
    ready("sync", "-q")
    edits.delete(gitlab.world, "northwind/harbor", "issues", 17)
    ready("sync", "-q", "--reconcile")
    assert ready("show", "issue", "northwind/harbor#17").code == 17
    edits.delete(gitlab.world, "northwind/harbor", "merge_requests", 6)
    assert ready("-J", "sync", "--full").data["run"]["rows"]["deleted"] == 1
    assert ready("show", "!6").code == 17


def test_a_rename_on_gitlab_is_followed_and_old_references_go_on_working(ready: Lore, gitlab: Running) -> None:
    ready("sync", "-q")
    edits.rename_project(gitlab.world, "northwind/harbor", "northwind/quay")
    assert ready("sync", "-q").code == 0
    view = ready("-J", "show", "northwind/harbor!6").data
    assert view["project"] == "northwind/quay"


def test_the_demo_answers_robots_and_leaves_a_mirror_even_in_a_hostile_folder(in_hostile_folder: Lore) -> None:
    started = time.monotonic()
    done = in_hostile_folder("-J", "demo", "--dir", "tour")
    assert done.code == 0, done
    assert time.monotonic() - started < 60
    assert Path(done.data["database"]).is_file()
    config = str(in_hostile_folder.folder / "tour" / "loreline.toml")
    assert in_hostile_folder("count", "mrs", "--config", config).out == "32\n"
    assert not (in_hostile_folder.folder / "pwned").exists()


def test_what_the_demo_says_to_try_can_be_typed(lore: Lore) -> None:
    lore.environ["PATH"] = "/usr/bin:/bin"
    tried = re.findall(r"^  (\S*lore .*)$", lore("demo").out, re.MULTILINE)
    assert len(tried) > 3
    for line in tried:
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=lore.folder,
            env=lore.environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done


def test_the_demo_empties_no_folder_but_its_own(lore: Lore) -> None:
    (lore.folder / "mine").mkdir()
    (lore.folder / "mine" / "thesis.txt").write_text("three years")
    assert lore("demo", "--dir", "mine").code == 13
    (lore.folder / "file").touch()
    for folder in ("file", "file/below"):
        done = lore("demo", "--dir", folder)
        assert done.code == 13
        assert "cannot be made" in done.err
    assert (lore.folder / "mine" / "thesis.txt").read_text() == "three years"
