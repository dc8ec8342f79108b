"""Answers against GitLab's own schemas, and the large history end to end."""

import json
import time

import jsonschema
import pytest

from loreline.simulator import World, edits, running

API = "/api/v4/projects/1"


def schema(shared, name, change=None):
    found = json.loads((shared / "contract" / name).read_text())
    if change is not None:
        change(found)
    return found


def notes_schema(found):
    # The schema file is older than the code: DiffNotes carry more, and resolved_by is a user.
    item = found["items"]
    item["additionalProperties"] = True
    item["properties"]["resolved_by"] = {"type": ["object", "null"]}


@pytest.fixture(scope="module")
def history(shared):
    import httpx2

    folder = shared / "history" / "small"
    if not folder.is_dir():
        pytest.skip(f"no history at {folder}")
    with (
        World.open(folder) as world,
        running(world) as served,
        httpx2.Client(base_url=served.url, headers={"PRIVATE-TOKEN": "glpat-simulator"}, trust_env=False) as client,
    ):
        iid = edits.create_merge_request(world, 1, "Made here", description="Closes #24040")
        edits.add_note(world, 1, "merge_requests", iid, "On a line", position={"new_path": "a", "new_line": 1})
        edits.create_issue(world, 1, "Made here too", labels=["Bug"], milestone="23.0")
        edits.merge(world, 1, iid)
        yield client


@pytest.mark.corpus
def test_issues_fit_the_schema(shared, history):
    contract = schema(shared, "issue.json")
    listed = history.get(f"{API}/issues?per_page=100").json()
    for issue in listed:
        jsonschema.validate(issue, contract)
        assert "subscribed" not in issue
    single = history.get(f"{API}/issues/{listed[0]['iid']}").json()
    jsonschema.validate(single, contract)
    assert single["subscribed"] is False


@pytest.mark.corpus
def test_merge_requests_fit_the_schema(shared, history):
    contract = schema(shared, "merge_request.json")
    listed = history.get(f"{API}/merge_requests?per_page=100").json()
    single_only = {"diff_refs", "changes_count", "subscribed", "merge_error", "user", "first_contribution"}
    for merge_request in listed:
        jsonschema.validate(merge_request, contract)
        assert single_only.isdisjoint(merge_request)
    for merge_request in (listed[0], listed[-1]):
        single = history.get(f"{API}/merge_requests/{merge_request['iid']}").json()
        jsonschema.validate(single, contract)
        assert single_only <= single.keys()


@pytest.mark.corpus
@pytest.mark.parametrize("kind", ["issues", "merge_requests"])
def test_what_belongs_to_them_fits_too(shared, history, kind):
    notes = schema(shared, "notes.json", notes_schema)
    names = ("resource_label_events", "resource_state_events", "resource_milestone_events")
    contracts = {name: schema(shared, f"{name}.entity.json") for name in names}
    for entity in history.get(f"{API}/{kind}?per_page=100").json()[:30]:
        base = f"{API}/{kind}/{entity['iid']}"
        for thread in history.get(f"{base}/discussions?per_page=100").json():
            jsonschema.validate(thread["notes"], notes)
        for name, contract in contracts.items():
            jsonschema.validate(history.get(f"{base}/{name}").json(), contract)
        if kind == "merge_requests":
            jsonschema.validate(history.get(f"{base}/diffs").json(), schema(shared, "diffs.entity.json"))


@pytest.mark.corpus
def test_the_project_and_its_parts_fit(shared, history):
    project = schema(shared, "gitlab-15.3/project.json", lambda found: found.pop("additionalProperties"))
    jsonschema.validate(history.get(API).json(), project)
    milestone = schema(shared, "gitlab-15.3/milestone.json")
    milestone["required"] = sorted(set(milestone["required"]))
    for one in history.get(f"{API}/milestones?per_page=100").json():
        jsonschema.validate(one, milestone)


@pytest.mark.corpus
def test_every_stored_thing_is_reached_through_pages(shared, history):
    stats = json.loads((shared / "history" / "small" / "stats.json").read_text())
    count, page = 0, "1"
    while page:
        answer = history.get(f"{API}/merge_requests", params={"per_page": 100, "page": page, "sort": "asc"})
        count += len(answer.json())
        page = answer.headers["x-next-page"]
    assert count == stats["merge_requests"] + 1


@pytest.mark.corpus
def test_the_large_history_starts_quickly(shared):
    import httpx2

    folder = shared / "history" / "large"
    if not folder.is_dir():
        pytest.skip(f"no history at {folder}")
    started = time.process_time()
    with World.open(folder) as world:
        assert time.process_time() - started < 20
        with running(world) as served:
            answer = httpx2.get(
                f"{served.url}{API}/merge_requests?per_page=100",
                headers={"PRIVATE-TOKEN": "glpat-simulator"},
                trust_env=False,
            )
            assert len(answer.json()) == 100
            assert "x-total" not in answer.headers
