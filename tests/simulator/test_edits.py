import pytest

from loreline.errors import InvalidValue
from loreline.simulator import World, edits

API = "/api/v4/projects/1"


def issue(client, iid=1):
    return client.get(f"{API}/issues/{iid}").json()


def bodies(client, iid=1, kind="issues"):
    threads = client.get(f"{API}/{kind}/{iid}/discussions").json()
    return [note["body"] for thread in threads for note in thread["notes"]]


def test_a_note_within_a_minute_does_not_move_updated_at(client, world):
    edits.add_note(world, 1, "issues", 1, "first")
    moved = issue(client)["updated_at"]
    assert moved == "2024-06-01T12:00:00.000Z"
    world.clock.advance(59)
    edits.add_note(world, 1, "issues", 1, "second")
    assert issue(client)["updated_at"] == moved
    world.clock.advance(1)
    edits.add_note(world, 1, "issues", 1, "third")
    assert issue(client)["updated_at"] == "2024-06-01T12:01:00.000Z"
    assert issue(client)["user_notes_count"] == 6


def test_new_ids_follow_the_corpus(world):
    assert edits.add_note(world, 1, "issues", 1, "x")["id"] == 104
    assert edits.create_issue(world, 1, "New") == 6


def test_a_mention_leaves_a_note_and_touches_nothing(client, world):
    before = issue(client, 2)["updated_at"]
    edits.add_note(world, 1, "issues", 1, "see #2 and team/app#3, not #1")
    edits.add_note(world, 1, "issues", 1, "again #2")
    assert bodies(client, 2) == ["mentioned in issue #1"]
    assert bodies(client, 3) == ["mentioned in issue #1"]
    assert issue(client, 2)["updated_at"] == before
    assert issue(client, 2)["user_notes_count"] == 0


def test_a_mention_from_another_project_names_it(client, world):
    edits.create_project(world, "team/other")
    iid = edits.create_merge_request(world, "team/other", "Fix", description="for team/app#2")
    assert bodies(client, 2) == [f"mentioned in merge request team/other!{iid}"]


def test_numbers_in_code_and_comments_mention_nothing(client, world):
    edits.add_note(world, 1, "issues", 1, "`code #2` and\n```\nfixes #2\n```\n<!-- like #3 -->")
    edits.add_note(world, 1, "issues", 1, "https://gitlab.example.com/team/app/-/issues/3#note_5")
    assert bodies(client, 2) == []
    assert bodies(client, 3) == ["mentioned in issue #1"]


def test_a_deleted_note_does_not_touch(client, world):
    before = issue(client)["updated_at"]
    edits.delete_note(world, 1, "issues", 1, 102)
    assert bodies(client) == ["Hello", "Hello"]
    assert issue(client)["updated_at"] == before


def test_labels_leave_events_and_may_leave_updated_at(client, world):
    before = issue(client, 2)["updated_at"]
    edits.add_label(world, 1, "issues", 2, "bug", touching=False)
    assert issue(client, 2)["labels"] == ["bug"]
    assert issue(client, 2)["updated_at"] == before
    edits.remove_label(world, 1, "issues", 2, "bug")
    events = client.get(f"{API}/issues/2/resource_label_events").json()
    assert [(event["id"], event["action"], event["label"]["name"]) for event in events] == [
        (51, "add", "bug"),
        (52, "remove", "bug"),
    ]


def test_a_deleted_label_leaves_its_events_without_one(client, world):
    edits.add_label(world, 1, "issues", 2, "bug")
    edits.delete_label(world, 1, "bug")
    for iid in (1, 2):
        assert issue(client, iid)["labels"] == []
        event = client.get(f"{API}/issues/{iid}/resource_label_events").json()[0]
        assert event["label"] is None
    assert client.get(f"{API}/issues", params={"labels": "bug"}).json() == []
    edits.create_label(world, 1, "bug")
    edits.add_label(world, 1, "issues", 4, "bug")
    assert [one["iid"] for one in client.get(f"{API}/issues", params={"labels": "bug"}).json()] == [4]


def test_a_renamed_label_shows_everywhere(client, world):
    edits.edit_label(world, 1, "bug", name="defect")
    assert issue(client)["labels"] == ["defect"]
    assert client.get(f"{API}/issues/1/resource_label_events").json()[0]["label"]["name"] == "defect"
    assert client.get(f"{API}/labels", params={"with_counts": True}).json()[0]["open_issues_count"] == 3


def test_a_renamed_user_shows_everywhere(client, world):
    edits.add_note(world, 1, "issues", 2, "hi", author="ada")
    edits.edit_user(world, "ada", username="ada2")
    assert issue(client)["author"]["username"] == "ada2"
    assert client.get(f"{API}/issues/2/notes").json()[0]["author"]["username"] == "ada2"


def test_merging_closes_what_it_says(client, world):
    iid = edits.create_merge_request(world, 1, "Repair", description="Closes #2, fixes #3")
    closing = client.get(f"{API}/merge_requests/{iid}/closes_issues").json()
    assert [one["iid"] for one in closing] == [2, 3]
    sha = edits.merge(world, 1, iid, squash=True)
    merged = client.get(f"{API}/merge_requests/{iid}").json()
    assert (merged["state"], merged["squash_commit_sha"], merged["merge_commit_sha"]) == ("merged", sha, None)
    assert issue(client, 2)["state"] == "closed"
    event = client.get(f"{API}/issues/2/resource_state_events").json()[0]
    assert event["state"] == "closed"
    assert event["source_merge_request_id"] == merged["id"]


def test_external_issues_stand_among_the_closed(client, world):
    iid = edits.create_merge_request(world, 1, "Repair")
    edits.set_closes(world, 1, iid, [1, {"id": "JIRA-1", "title": "Elsewhere"}])
    closing = client.get(f"{API}/merge_requests/{iid}/closes_issues").json()
    assert closing[0]["iid"] == 1
    assert closing[1] == {"id": "JIRA-1", "title": "Elsewhere"}


def test_a_push_moves_the_head_and_may_touch_nothing(client, world):
    iid = edits.create_merge_request(world, 1, "Work", diffs=[{"new_path": "a.py", "diff": "@@ -0,0 +1 @@\n+a\n"}])
    before = client.get(f"{API}/merge_requests/{iid}").json()
    world.clock.advance(600)
    head = edits.push(world, 1, iid, commits=[{"title": "More"}], touching=False)
    after = client.get(f"{API}/merge_requests/{iid}").json()
    assert after["sha"] == after["diff_refs"]["head_sha"] == head != before["sha"]
    assert after["updated_at"] == before["updated_at"]
    commits = client.get(f"{API}/merge_requests/{iid}/commits").json()
    assert [commit["title"] for commit in commits] == ["More", "Work"]
    assert bodies(client, iid, "merge_requests")[0].startswith("added 1 commit")
    assert len(client.get(f"{API}/merge_requests/{iid}/versions").json()) == 2


def test_resolving_does_not_touch_but_the_last_thread_tells(client, world):
    iid = edits.create_merge_request(world, 1, "Work")
    world.clock.advance(3600)
    threads = [edits.add_note(world, 1, "merge_requests", iid, "why?", position={"new_path": "a"}) for _ in "ab"]
    world.clock.advance(3600)
    edits.resolve_thread(world, 1, iid, threads[0]["discussion_id"], author="ada")
    shown = client.get(f"{API}/merge_requests/{iid}").json()
    assert shown["updated_at"] == "2024-06-01T13:00:00.000Z"
    edits.resolve_thread(world, 1, iid, threads[1]["discussion_id"], author="ada")
    assert bodies(client, iid, "merge_requests")[-1] == "resolved all threads"
    note = client.get(f"{API}/merge_requests/{iid}/discussions").json()[0]["notes"][0]
    assert note["resolved"]
    assert note["resolved_by"]["username"] == "ada"
    assert note["position"]["new_path"] == "a"


def test_a_moved_issue_leaves_a_closed_one_behind(client, world):
    edits.create_project(world, "team/other")
    new = edits.move_issue(world, 1, 1, "team/other")
    old = issue(client)
    moved = client.get(f"/api/v4/projects/team%2Fother/issues/{new}").json()
    assert (old["state"], old["moved_to_id"]) == ("closed", moved["id"])
    assert bodies(client)[-1] == f"moved to team/other#{new}"
    there = client.get(f"/api/v4/projects/team%2Fother/issues/{new}/discussions").json()
    assert there[-1]["notes"][0]["body"] == "moved from team/app#1"
    assert len(there) == 4


def test_deleted_and_hidden_entities_are_gone(client, world):
    edits.delete(world, 1, "issues", 1)
    edits.hide(world, 1, "issues", 2)
    assert client.get(f"{API}/issues/1").status_code == 404
    assert client.get(f"{API}/issues/2").status_code == 404
    assert client.get(f"{API}/issues").headers["x-total"] == "3"
    edits.hide(world, 1, "issues", 2, hidden=False)
    assert client.get(f"{API}/issues").headers["x-total"] == "4"


def test_the_same_calls_make_the_same_world(tmp_path):
    from tests.simulator import building

    def told():
        with World.open(building.small(tmp_path / "again")) as world:
            world.clock.set("2024-06-01T12:00:00Z")
            iid = edits.create_merge_request(world, 1, "Work", description="Closes #1", labels=["bug"])
            edits.push(world, 1, iid)
            edits.merge(world, 1, iid)
            live = world.live(1, "merge_requests", iid)
            return live.fields, live.discussions, live.commits

    assert told() == told()


def test_an_edit_of_nothing_says_what_is_missing(world):
    with pytest.raises(InvalidValue, match="nothing numbered 99"):
        edits.add_note(world, 1, "issues", 99, "x")
    with pytest.raises(InvalidValue, match="no edit 'explode'"):
        edits.apply_edit(world, "explode", {})


def test_milestones_leave_events_and_changes_show_everywhere(client, world):
    edits.create_milestone(world, 1, "1.0")
    edits.set_milestone(world, 1, "issues", 2, "1.0")
    edits.edit_milestone(world, 1, "1.0", title="1.1")
    assert issue(client, 2)["milestone"]["title"] == "1.1"
    assert [one["iid"] for one in client.get(f"{API}/issues", params={"milestone": "1.1"}).json()] == [2]
    edits.delete_milestone(world, 1, "1.1")
    assert issue(client, 2)["milestone"] is None
    event = client.get(f"{API}/issues/2/resource_milestone_events").json()[0]
    assert (event["action"], event["milestone"]) == ("add", None)


def test_closing_and_reopening_leave_state_events(client, world):
    edits.close(world, 1, "issues", 2, author="ada")
    assert issue(client, 2)["closed_by"]["username"] == "ada"
    edits.reopen(world, 1, "issues", 2)
    assert issue(client, 2)["closed_at"] is None
    events = client.get(f"{API}/issues/2/resource_state_events").json()
    assert [event["state"] for event in events] == ["closed", "reopened"]
    assert bodies(client, 2) == []


def test_texts_and_people_leave_system_notes(client, world):
    edits.edit_text(world, 1, "issues", 2, title="Better", description="Now with #3")
    edits.assign(world, 1, "issues", 2, ["ada"])
    edits.assign(world, 1, "issues", 2, [])
    assert bodies(client, 2) == [
        "changed title from **{-Issue 2-}** to **{+Better+}**",
        "changed the description",
        "assigned to @ada",
        "unassigned @ada",
    ]
    assert bodies(client, 3) == ["mentioned in issue #2"]
    only = client.get(f"{API}/issues/2/notes", params={"activity_filter": "only_comments"})
    assert only.json() == []


def test_a_rebase_renames_every_commit_and_keeps_the_diffs(client, world):
    iid = edits.create_merge_request(world, 1, "Work", commits=[{"title": "a"}, {"title": "b"}])
    before = client.get(f"{API}/merge_requests/{iid}/commits").json()
    edits.rebase(world, 1, iid)
    after = client.get(f"{API}/merge_requests/{iid}/commits").json()
    assert [commit["title"] for commit in after] == ["b", "a"] == [commit["title"] for commit in before]
    assert {commit["id"] for commit in after}.isdisjoint(commit["id"] for commit in before)
    assert client.get(f"{API}/merge_requests/{iid}").json()["sha"] == after[0]["id"]


def test_a_reply_turns_a_lone_comment_into_a_thread(client, world):
    thread = client.get(f"{API}/issues/1/discussions").json()[0]
    edits.add_note(world, 1, "issues", 1, "reply", discussion_id=thread["id"])
    thread = client.get(f"{API}/issues/1/discussions/{thread['id']}").json()
    assert not thread["individual_note"]
    assert [(note["type"], note["body"]) for note in thread["notes"]] == [
        ("DiscussionNote", "Hello"),
        ("DiscussionNote", "reply"),
    ]


def test_a_push_keeps_the_order_a_corpus_has(tmp_path):
    from tests.simulator import building

    commits = [
        {"id": sha * 40, "short_id": sha * 8, "title": sha, "parent_ids": [parent * 40]} for parent, sha in ("ab", "bc")
    ]
    merge_request = {
        **building.issue(9),
        "sha": "c" * 40,
        "target_branch": "main",
        "diff_refs": {"base_sha": "a" * 40, "start_sha": "a" * 40, "head_sha": "c" * 40},
    }
    tables = {"merge_requests": [merge_request], "mr_commits": [{"iid": 9, "items": commits}]}
    with World.open(building.small(tmp_path / "corpus", **tables)) as world:
        head = edits.push(world, 1, 9, commits=[{"title": "d"}])
        live = world.live(1, "merge_requests", 9)
        assert [commit["title"] for commit in live.commits] == ["b", "c", "d"]
        assert live.commits[-1]["id"] == head
        assert live.commits[-1]["parent_ids"] == ["c" * 40]
        edits.rebase(world, 1, 9)
        assert [commit["title"] for commit in live.commits] == ["b", "c", "d"]
        assert live.fields["sha"] == live.commits[-1]["id"]
