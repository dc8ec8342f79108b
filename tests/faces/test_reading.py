"""list, show, count and sync-status."""

from __future__ import annotations

import pytest
from tests.lore import Lore, without_colour

from loreline.simulator import DEFAULT_TOKEN, Running, edits


def numbers(lore: Lore, *words: str) -> list[int]:
    return [item["iid"] for item in lore("-J", "list", *words).data["items"]]


@pytest.mark.parametrize("limit", [1, 7, 30])
@pytest.mark.parametrize("order", [(), ("--sort", "title"), ("--sort", "created", "--asc"), ("--sort", "number")])
def test_pages_of_a_list_together_are_the_list(mirrored: Lore, limit: int, order: tuple[str, ...]) -> None:
    whole = [item["web_url"] for item in mirrored("-J", "list", "mrs", "-n", "1000", *order).data["items"]]
    paged: list[str] = []
    cursor: tuple[str, ...] = ()
    while True:
        answer = mirrored("-J", "list", "mrs", "-n", str(limit), *order, *cursor).answer
        paged += [item["web_url"] for item in answer["data"]["items"]]
        assert answer["meta"]["truncated"] is (answer["data"]["next_cursor"] is not None)
        if answer["data"]["next_cursor"] is None:
            break
        if len(paged) > 3 * limit and limit == 1:
            paged += whole[len(paged) :]  # four pages of one show enough
            break
        cursor = ("--cursor", answer["data"]["next_cursor"])
    assert paged == whole


def test_filters_hold_together(mirrored: Lore) -> None:
    everything = mirrored("-J", "list", "issues", "-n", "1000").data["items"]
    found = numbers(mirrored, "issues", "-l", "auth", "-l", "bug", "-s", "closed", "-A", "@priya", "-n", "1000")
    expected = [
        item["iid"]
        for item in everything
        if {"auth", "bug"} <= set(item["labels"]) and item["state"] == "closed" and item["author"] == "priya"
    ]
    assert found == expected
    assert found


def test_filters_by_assignee_reviewer_milestone_and_title(mirrored: Lore) -> None:
    everything = mirrored("-J", "list", "mrs", "-n", "1000").data["items"]
    assert set(numbers(mirrored, "mrs", "-a", "daiki", "-n", "1000")) == {
        item["iid"] for item in everything if "daiki" in item["assignees"]
    }
    assert 6 in numbers(mirrored, "mrs", "-r", "priya", "-m", "1.0")
    assert numbers(mirrored, "mrs", "-S", "ROTATE tokens") == [6]
    assert numbers(mirrored, "mrs", "-S", "100% _no_ such") == []


def test_since_takes_dates_and_spans(mirrored: Lore) -> None:
    recent = mirrored("-J", "list", "issues", "--since", "2024-10-01", "-n", "1000").data["items"]
    assert recent
    assert all(item["updated_at"] >= "2024-10-01" for item in recent)
    assert numbers(mirrored, "issues", "--since", "20y", "-n", "1000") == numbers(mirrored, "issues", "-n", "1000")
    assert mirrored("list", "issues", "--since", "soon").code == 13


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("list", "issues", "-s", "merged"), 13),
        (("list", "pipelines"), 13),
        (("list", "issues", "--limit", "0"), 13),
        (("list", "issues", "--reviewer", "priya"), 13),
        (("show",), 2),
        (("list", "issues", "--cursor", "nonsense"), 13),
        (("list", "issues", "-p", "no/such"), 17),
        (("show", "issue", "99999"), 17),
        (("show", "issue", "!6"), 13),
        (("show", "issue", "what?"), 13),
        (("show", "issue", "1"), 18),
        (("show", "mr", "https://elsewhere.example.org/northwind/harbor/-/merge_requests/6"), 17),
        (("count", "pipelines"), 13),
    ],
)
def test_what_cannot_be_answered_says_so_with_a_hint(mirrored: Lore, words: tuple[str, ...], code: int) -> None:
    done = mirrored(*words)
    assert done.code == code, done
    assert done.err.count("error: ") == 1
    assert "hint: " in done.err


@pytest.mark.parametrize(
    "words",
    [
        ("mr", "6"),
        ("mr", "!6"),
        ("!6",),
        ("mr", "northwind/harbor!6"),
        ("mr", "harbor!6"),
        ("mr", "6", "-p", "northwind/harbor"),
        ("https://gitlab.example.com/northwind/harbor/-/merge_requests/6",),
        ("mr", "https://gitlab.example.com/northwind/harbor/-/merge_requests/6#note_17"),
        ("https://gitlab.example.com/northwind/harbor/merge_requests/6/diffs?tab=1",),
    ],
)
def test_show_takes_a_reference_in_every_form(mirrored: Lore, words: tuple[str, ...]) -> None:
    view = mirrored("-J", "show", *words).data
    assert (view["project"], view["kind"], view["iid"]) == ("northwind/harbor", "merge_request", 6)
    assert view["reviewers"] == ["priya"]
    assert any(note["path"] == "harbor/auth.py" for thread in view["threads"] for note in thread["notes"])


def test_show_leaves_out_what_gitlab_wrote_unless_asked(mirrored: Lore) -> None:
    assert "assigned to" not in mirrored("show", "issue", "13").out
    assert "assigned to @priya" in mirrored("show", "issue", "13", "--system").out
    assert "##" not in mirrored("show", "issue", "13", "--no-threads").out.replace("# Open redirect", "")


def test_show_marks_what_is_confidential(mirrored: Lore) -> None:
    out = mirrored("show", "issue", "13").out
    assert "confidential" in out
    assert "(internal)" in out
    assert "confidential" in without_colour(mirrored.on_terminal("show", "issue", "13"))


def test_the_hint_for_a_reference_of_the_other_kind_can_be_pasted_into_a_shell(mirrored: Lore) -> None:
    done = mirrored("show", "issue", "!6")
    assert "!6 is a merge request, not an issue" in done.err
    assert "hint: lore show '!6'" in done.err
    assert "is an issue, not a merge request" in mirrored("show", "mr", "#6").err


def test_only_the_state_is_bold_and_coloured_in_the_line_below_the_title(mirrored: Lore) -> None:
    line = mirrored.on_terminal("show", "mr", "6", columns=200).splitlines()[1]
    assert line == "\x1b[1;35mmerged\x1b[0m" + without_colour(line).removeprefix("merged")


@pytest.mark.parametrize("columns", [60, 80])
def test_the_projects_of_sync_status_fit_a_narrow_terminal(mirrored: Lore, columns: int) -> None:
    seen = without_colour(mirrored.on_terminal("sync-status", columns=columns)).splitlines()
    assert any(line.split() == ["PROJECT", "ISSUES", "MRS", "UP", "TO", "WAITING", "FAILING"] for line in seen)
    assert max(map(len, seen)) <= columns
    assert " UTC\t" in mirrored("sync-status").out


@pytest.mark.parametrize("columns", [40, 80, 160])
def test_no_line_of_a_table_is_wider_than_the_terminal(mirrored: Lore, columns: int) -> None:
    seen = without_colour(mirrored.on_terminal("list", "mrs", "-n", "100", columns=columns))
    assert "!32" in seen
    rows = [line for line in seen.splitlines() if "--cursor" not in line]
    assert max(map(len, rows)) <= columns


def test_a_pipe_gets_whole_tab_separated_lines(mirrored: Lore) -> None:
    lines = mirrored("list", "mrs", "-n", "100").out.splitlines()
    assert len(lines) == 32
    assert {line.count("\t") for line in lines} == {10}
    assert any("Draft: Device registration for push messages" in line for line in lines)


def test_counts_are_sums_of_their_parts(mirrored: Lore) -> None:
    for what in ("issues", "mrs", "discussions", "notes", "events", "references"):
        found = mirrored("-J", "count", what).data
        assert found["total"] == sum(found["parts"].values()) > 0
        assert mirrored("count", what).out == f"{found['total']}\n"
    assert mirrored("-J", "count", "issues", "-p", "harbor-docs").data["total"] == 4


def test_sync_status_tells_runs_and_projects(mirrored: Lore) -> None:
    status = mirrored("-J", "sync-status").data
    assert status["last_run"]["status"] == "succeeded"
    assert status["last_run"]["rows"]["issues"] == 38
    assert {one["project"] for one in status["projects"]} == {"northwind/harbor", "northwind/harbor-docs"}
    assert status["running"] is None


def test_what_users_wrote_cannot_drive_the_terminal(ready: Lore, gitlab: Running) -> None:
    evil = "\x1b]0;owned\x07 \x1b[2J red \u202egnp.exe \x9b31m"
    iid = edits.create_issue(gitlab.world, "northwind/harbor", title=f"nasty {evil}", description=f"body {evil}")
    edits.add_note(gitlab.world, "northwind/harbor", "issues", iid, f"note {evil} <script>")
    assert ready("sync", "-q").code == 0
    for words in (("list", "issues"), ("show", "issue", f"northwind/harbor#{iid}")):
        for seen in (ready(*words).out, ready("-J", *words).out, ready.on_terminal(*words, columns=200)):
            assert "nasty" in seen
            assert "\x1b]" not in seen
            assert "\x1b[2J" not in seen
            assert "\x9b" not in seen
        for seen in (ready(*words).out, ready.on_terminal(*words, columns=200)):
            assert "\u202e" not in seen
    assert DEFAULT_TOKEN not in ready("-J", "sync-status").out
