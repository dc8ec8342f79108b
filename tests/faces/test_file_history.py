"""file-history: the renamed and split module of the demo, for people, pipes and robots."""

from __future__ import annotations

import pytest
from tests.lore import Lore, without_colour

from loreline.simulator import Running, edits

CHAIN = ["harbor/auth.py", "harbor/identity/session.py", "harbor/identity/sessions.py"]
ALL = [29, 20, 12, 11, 10, 9, 8, 6, 5]


def told(lore: Lore, *words: str) -> dict:
    return lore("-J", "file-history", *words).data


@pytest.mark.parametrize("path", [*CHAIN, "./harbor/auth.py", "/harbor//auth.py"])
def test_a_file_is_known_by_all_its_names(mirrored: Lore, path: str) -> None:
    data = told(mirrored, path)
    assert data["rename_chain"] == CHAIN
    assert [one["iid"] for one in data["merge_requests"]] == ALL
    assert data["total"] == len(ALL)
    assert data["chain_truncated"] is False


def test_without_its_renames_only_the_name_itself_counts(mirrored: Lore) -> None:
    data = told(mirrored, "harbor/auth.py", "--no-follow-renames")
    assert data["rename_chain"] == ["harbor/auth.py"]
    assert [one["iid"] for one in data["merge_requests"]] == [11, 10, 9, 8, 6, 5]


def test_each_tells_what_it_did_what_it_closes_and_how_much_was_said(mirrored: Lore) -> None:
    changes = {one["iid"]: one for one in told(mirrored, CHAIN[0])["merge_requests"]}
    assert changes[11]["change_type"] == "renamed"
    assert (changes[11]["old_path"], changes[11]["new_path"]) == (CHAIN[0], CHAIN[1])
    assert {issue["iid"] for issue in changes[6]["closes"]} == {3, 6, 8}
    assert (changes[5]["added_lines"], changes[5]["removed_lines"]) == (36, 0)
    assert (changes[5]["discussion_count"], changes[5]["file_discussion_count"]) == (3, 2)
    view = mirrored("-J", "show", "!5").data
    people = [thread for thread in view["threads"] if any(not note["system"] for note in thread["notes"])]
    assert changes[5]["discussion_count"] == len(people)


def test_discussions_are_those_on_lines_of_the_file(mirrored: Lore) -> None:
    changes = told(mirrored, CHAIN[2], "--discussions")["merge_requests"]
    said = [remark for one in changes for remark in one["discussions"]]
    assert {remark["path"] for remark in said} <= set(CHAIN)
    assert any("This refuses the second use" in remark["body"] for remark in said)
    assert all(remark["url"].endswith(f"#note_{remark['note_id']}") for remark in said)
    assert sum(one["file_discussion_count"] for one in changes) == len(said)
    assert all(one["discussions"] == [] for one in told(mirrored, CHAIN[2])["merge_requests"])


def test_merged_leaves_out_what_was_not(mirrored: Lore) -> None:
    everything = told(mirrored, "harbor/webhooks.py")["merge_requests"]
    merged = told(mirrored, "harbor/webhooks.py", "--merged")["merge_requests"]
    assert {one["state"] for one in everything} > {"merged"}
    assert merged == [one for one in everything if one["state"] == "merged"]


def test_the_limit_keeps_the_latest_and_says_what_is_left_out(mirrored: Lore) -> None:
    answer = mirrored("-J", "file-history", CHAIN[0], "-n", "2").answer
    assert [one["iid"] for one in answer["data"]["merge_requests"]] == ALL[:2]
    assert (answer["data"]["total"], answer["meta"]["truncated"]) == (9, True)
    assert "7 older merge requests left out" in mirrored("file-history", CHAIN[0], "-n", "2").err


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_people_get_a_page_that_fits(mirrored: Lore, columns: int) -> None:
    seen = without_colour(mirrored.on_terminal("file-history", CHAIN[1], "--discussions", columns=columns))
    assert max(map(len, seen.splitlines())) <= columns
    together = " ".join(seen.split())
    assert f"{CHAIN[1]} (renamed from {CHAIN[0]}; now {CHAIN[2]})" in together
    assert "!11 Move auth.py into the identity package" in together
    assert "closes #9 Signed out at random when the app refreshes twice" in together
    assert "└ harbor/auth.py:14 @maren: #6 says 15 minutes. This is an hour. (4 replies)" in together


def test_a_pipe_gets_tab_separated_lines(mirrored: Lore) -> None:
    rows = [line.split("\t") for line in mirrored("file-history", CHAIN[0]).out.splitlines()]
    assert [row[0] for row in rows] == [f"northwind/harbor!{iid}" for iid in ALL]
    assert {len(row) for row in rows} == {10}


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("auth.py",), 17, "there is harbor/auth.py"),
        (("harbor/identity",), 17, "lore search --path harbor/identity/"),
        (("no/such/file.xyz",), 17, "no merge request touches no/such/file.xyz"),
        (("harbor/auth.py", "-p", "harbor-docs"), 17, "no merge request touches"),
        (("harbor/auth.py", "-p", "no/such"), 17, "mirrored are"),
        (("harbor/auth.py", "-n", "0"), 13, "use 1 to 1000"),
        ((), 2, "Missing argument"),
    ],
)
def test_what_is_wrong_is_told_with_what_to_do(mirrored: Lore, words: tuple[str, ...], code: int, text: str) -> None:
    done = mirrored("file-history", *words)
    assert done.code == code, done
    assert text in done.err


def test_a_file_of_several_projects_must_be_told_apart(ready: Lore, gitlab: Running) -> None:
    edits.create_merge_request(gitlab.world, "northwind/harbor-docs", "Copy it", diffs=[{"new_path": CHAIN[0]}])
    assert ready("sync", "-q", "--no-docs").code == 0
    done = ready("-J", "file-history", CHAIN[0])
    assert done.code == 18
    assert done.answer["error"]["candidates"] == ["northwind/harbor", "northwind/harbor-docs"]
    assert told(ready, CHAIN[0], "-p", "harbor-docs")["total"] == 1
    assert told(ready, CHAIN[0], "-p", "northwind/harbor")["total"] == len(ALL)
