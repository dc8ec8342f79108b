import json
import re
from itertools import pairwise

import jsonschema
import pytest

SHA = re.compile(r"\b[0-9a-f]{40}\b")
KEYWORD = r"(?:Closes|Fixes|fix|Resolves)"


def test_there_is_enough_to_read(harbor, handbook):
    assert 30 <= len(harbor["issues"]) <= 40
    assert 28 <= len(harbor["merge_requests"]) <= 34
    assert 3 <= len(handbook["issues"]) <= 4
    assert len(harbor["users"]) == 10
    assert len(harbor["milestones"]) == 2
    assert sum(not note["system"] for _, note in harbor.notes()) > 150
    years = {entity["created_at"][:4] for _, entity in harbor.entities()}
    assert years == {"2023", "2024"}


def test_numbers_rise_with_time(project):
    for kind in ("issues", "merge_requests"):
        entities = project[kind]
        assert [entity["iid"] for entity in entities] == list(range(1, len(entities) + 1))
        for earlier, later in pairwise(entities):
            assert earlier["created_at"] < later["created_at"]


def test_ids_are_unique_and_rise_over_the_instance(harbor, handbook):
    born = []
    for project in (harbor, handbook):
        born += [(entity["id"], entity["created_at"]) for _, entity in project.entities()]
        born += [(note["id"], note["created_at"]) for _, note in project.notes()]
        for kind in ("state", "label", "milestone"):
            for events in project.per_entity(f"resource_{kind}_events").values():
                born += [(event["id"], event["created_at"]) for event in events]
    born.sort()
    assert len({number for number, _ in born}) == len(born)
    assert [at for _, at in born] == sorted(at for _, at in born)


def test_discussion_ids_are_unique_hashes(harbor, handbook):
    ids = [
        discussion["id"]
        for project in (harbor, handbook)
        for discussions in project.per_entity("discussions").values()
        for discussion in discussions
    ]
    assert all(SHA.fullmatch(one) for one in ids)
    assert len(set(ids)) == len(ids)


def test_every_commit_named_anywhere_exists(project, git):
    named = set()
    for file in project.folder.glob("*.jsonl"):
        if file.name != "discussions.jsonl":
            named |= set(SHA.findall(file.read_text()))
    for _, note in project.notes():
        named |= set(SHA.findall(note["body"]))
        position = note.get("position", {})
        named |= {position[name] for name in ("base_sha", "start_sha", "head_sha") if name in position}
    commits = set(git("rev-list", "--all").split())
    assert named <= commits


def test_merge_requests_stand_where_git_says(harbor, git):
    methods = set()
    for request in harbor["merge_requests"]:
        refs = request["diff_refs"]
        assert request["sha"] == refs["head_sha"]
        assert git("merge-base", refs["start_sha"], refs["head_sha"]).strip() == refs["base_sha"]
        assert git("rev-parse", f"refs/merge-requests/{request['iid']}/head").strip() == request["sha"]
        if request["state"] != "merged":
            assert request["merge_commit_sha"] is None
            methods.add(request["state"])
            continue
        landed = request["merge_commit_sha"] or request["sha"]
        git("merge-base", "--is-ancestor", landed, request["target_branch"])
        if request["merge_commit_sha"] is None:
            methods.add("fast forward")
        else:
            second = git("rev-parse", f"{landed}^2").strip()
            assert second == (request["squash_commit_sha"] or request["sha"])
            methods.add("squash" if request["squash_commit_sha"] else "merge")
    assert methods == {"opened", "closed", "fast forward", "squash", "merge"}


def test_commits_and_diffs_of_merge_requests_come_from_git(harbor, git):
    requests = {request["iid"]: request for request in harbor["merge_requests"]}
    for line in harbor["mr_commits"]:
        refs = requests[line["iid"]]["diff_refs"]
        expected = git("rev-list", f"{refs['base_sha']}..{refs['head_sha']}").split()
        assert [commit["id"] for commit in line["items"]] == expected
    for line in harbor["mr_diffs"]:
        request = requests[line["iid"]]
        assert request["changes_count"] == str(len(line["items"]))
        refs = request["diff_refs"]
        names = git("diff", "--name-only", "-M", refs["base_sha"], refs["head_sha"]).split()
        assert [item["new_path"] for item in line["items"]] == names
        for item in line["items"]:
            assert item["diff"].startswith("@@") or item["renamed_file"]


def test_diff_notes_stand_on_the_lines_they_talk_about(harbor, git):
    talked_about = {}
    for (_, iid), note in harbor.notes():
        if note["type"] != "DiffNote":
            continue
        position = note["position"]
        if position["new_line"] is None:
            sha, path, number = position["base_sha"], position["old_path"], position["old_line"]
        else:
            sha, path, number = position["head_sha"], position["new_path"], position["new_line"]
        talked_about[note["body"][:40]] = (iid, git("show", f"{sha}:{path}").splitlines()[number - 1])
    assert len(talked_about) > 60
    said = {
        "#6 says 15 minutes. This is an hour.": (5, "ACCESS_TOKEN_TTL = 60 * 60"),
        "Should `exp` get the same, for symmetry?": (10, "    if claims['iat'] > now + CLOCK_SKEW_LEEWAY:"),
        "Favourite line of the month.": (17, "redis==5.0.0"),
        "Bye, plaster.": (22, "  retry: 2"),
        "Why three? Five is the balancer's limit,": (22, 'LOCK_TIMEOUT = "3s"'),
    }
    for body, place in said.items():
        assert talked_about[body] == place


def test_events_replay_to_how_everything_stands(project):
    states = project.per_entity("resource_state_events")
    labels = project.per_entity("resource_label_events")
    milestones = project.per_entity("resource_milestone_events")
    for key, entity in project.entities():
        state = [event["state"] for event in states.get(key, [])]
        assert entity["state"] == {"reopened": "opened"}.get(state[-1], state[-1]) if state else "opened"
        assert (entity["closed_at"] is not None) == (entity["state"] == "closed")
        carried = set()
        for event in labels.get(key, []):
            if event["label"] is not None:
                (carried.add if event["action"] == "add" else carried.discard)(event["label"]["name"])
        assert sorted(carried) == entity["labels"]
        planned = None
        for event in milestones.get(key, []):
            planned = event["milestone"]["title"] if event["action"] == "add" else None
        assert planned == (entity["milestone"] or {"title": None})["title"]


def test_the_deleted_label_is_null_in_events_and_gone_elsewhere(harbor):
    events = [event for events in harbor.per_entity("resource_label_events").values() for event in events]
    assert any(event["label"] is None for event in events)
    assert all(event["label"]["name"] != "triage" for event in events if event["label"] is not None)
    assert "triage" not in {label["name"] for label in harbor["labels"]}


def test_counts_and_times_follow_from_what_happened(project):
    comments, latest = {}, {}
    for key, note in project.notes():
        comments[key] = comments.get(key, 0) + (not note["system"])
        if not note["body"].startswith("mentioned in "):
            latest[key] = max(latest.get(key, ""), note["created_at"])
    for kind in ("state", "label", "milestone"):
        for key, events in project.per_entity(f"resource_{kind}_events").items():
            latest[key] = max(latest.get(key, ""), *(event["created_at"] for event in events))
    for key, entity in project.entities():
        assert entity["user_notes_count"] == comments.get(key, 0)
        assert entity["updated_at"] == max(latest.get(key, ""), entity["created_at"])


def test_closing_issues_match_descriptions_and_events(harbor):
    closes = {line["iid"]: line["issue_iids"] for line in harbor["closes_issues"]}
    states = harbor.per_entity("resource_state_events")
    for request in harbor["merge_requests"]:
        promised = []
        for promise in re.findall(rf"{KEYWORD} ((?:#\d+(?:, | and )?)+)", request["description"]):
            promised += [int(number) for number in re.findall(r"\d+", promise)]
        if request["target_branch"] != "main":
            promised = []
        assert closes.get(request["iid"], []) == sorted(promised)
        if request["state"] != "merged":
            continue
        for iid in promised:
            (event,) = [event for event in states["issues", iid] if event["source_merge_request_id"] == request["id"]]
            assert event["state"] == "closed"
            assert event["source_commit"] == (request["merge_commit_sha"] or request["sha"])


def test_every_reference_leads_somewhere(harbor, handbook):
    known = {("northwind/harbor", key) for key, _ in harbor.entities()}
    known |= {("northwind/harbor-docs", key) for key, _ in handbook.entities()}
    kinds = {"#": "issues", "!": "merge_requests"}
    for path, project in (("northwind/harbor", harbor), ("northwind/harbor-docs", handbook)):
        for _, note in project.notes():
            if note["body"].startswith("mentioned in ") and "commit" not in note["body"]:
                match = re.fullmatch(r"mentioned in (?:issue|merge request) ([\w-]*)([#!])(\d+)", note["body"])
                where = f"northwind/{match[1]}" if match[1] else path
                assert (where, (kinds[match[2]], int(match[3]))) in known


def test_the_moved_the_duplicate_and_the_confidential_issue(harbor, handbook):
    issues = {issue["iid"]: issue for issue in harbor["issues"]}
    assert issues[4]["moved_to_id"] == handbook["issues"][0]["id"]
    assert issues[7]["_links"]["closed_as_duplicate_of"].endswith("/issues/3")
    assert [iid for iid, issue in issues.items() if issue["confidential"]] == [13]
    bodies = {note["body"] for _, note in harbor.notes() if note["system"]}
    assert {
        "marked this issue as a duplicate of #3",
        "marked #7 as a duplicate of this issue",
        "marked this issue as related to #6",
        "moved to harbor-docs#1",
        "mentioned in issue harbor-docs#4",
        "approved this merge request",
        "closed via merge request !22",
        "resolved all threads",
        "marked this merge request as **ready**",
    } <= bodies
    assert sum(note["internal"] for _, note in harbor.notes()) == 1


def test_threads_are_left_open_and_resolved(harbor):
    resolvable = [note for _, note in harbor.notes() if note["resolvable"]]
    assert {note["resolved"] for note in resolvable} == {True, False}
    assert all((note["resolved_by"] is None) == (note["resolved_at"] is None) for note in resolvable)


@pytest.mark.parametrize(
    ("kind", "iid", "sentence"),
    [
        ("issues", 6, "We decided on C: short-lived access tokens with rotating refresh tokens."),
        ("issues", 8, "We decided: 60 days, sliding."),
        ("issues", 9, "Decided: ten seconds of grace for a replaced refresh token"),
        ("issues", 10, 'This supersedes "no clock leeway" in #6'),
        ("issues", 16, "hit rate | none | 31 %"),
        ("merge_requests", 16, "Rejected because it makes the cache correct at a price"),
        ("issues", 17, "We decided: tracking lookups read the database"),
        ("issues", 29, "Please read #17 before anything else"),
        ("issues", 18, "Found process 64."),
        ("issues", 19, "a migration that waits for a lock makes everybody else wait behind it"),
        ("issues", 20, "We decided: every migration runs with `lock_timeout = '3s'`"),
        ("merge_requests", 21, "Superseded by !22"),
        ("issues", 11, "Yes: move, format, split, in this order."),
        ("issues", 12, "Decided: access token in memory only"),
    ],
)
def test_each_decision_can_be_found(harbor, kind, iid, sentence):
    entity = next(entity for key, entity in harbor.entities() if key == (kind, iid))
    texts = [entity["description"]] + [note["body"] for key, note in harbor.notes() if key == (kind, iid)]
    assert any(sentence in text for text in texts)


def test_shapes_are_what_gitlab_documents(project, shared):
    def schema(name):
        return json.loads((shared / "contract" / name).read_text())

    def check(instance, name):
        jsonschema.validate(instance, schema(name))

    for issue in project["issues"]:
        check(issue, "issue.json")
    for request in project["merge_requests"]:
        check(request, "merge_request.json")
    for kind in ("state", "label", "milestone"):
        for events in project.per_entity(f"resource_{kind}_events").values():
            check(events, f"resource_{kind}_events.entity.json")
    for line in project["mr_diffs"]:
        check(line["items"], "diffs.entity.json")
    # The stored schema of notes is older than position, project_id and the object in resolved_by.
    notes = schema("notes.json")
    known = notes["items"]["properties"]
    known["resolved_by"] = {"type": ["object", "null"]}
    jsonschema.validate(
        [{name: value for name, value in note.items() if name in known} for _, note in project.notes()], notes
    )
