import json

import httpx2
import pytest

from loreline.errors import InvalidValue
from loreline.simulator import World, edits, running, serve


def test_edits_faults_and_clock_are_within_reach(client, world):
    made = client.post("/_simulator/edit", json={"op": "create_issue", "project": 1, "title": "Remote"})
    assert made.json() == 6
    assert client.get("/api/v4/projects/1/issues/6").json()["title"] == "Remote"
    client.post("/_simulator/faults", json={"action": "error", "path": "version"})
    assert client.get("/api/v4/version").status_code == 500
    client.post("/_simulator/faults", json=[{"action": "error", "count": None}])
    client.request("DELETE", "/_simulator/faults")
    assert client.get("/api/v4/version").status_code == 200
    assert client.post("/_simulator/clock", json={"advance": 60}).json() == {"now": "2024-06-01T12:01:00.000Z"}
    assert client.get("/api/v4/version").headers["date"] == "Sat, 01 Jun 2024 12:01:00 GMT"


def test_mistakes_are_explained(client):
    for wrong in ({"op": "explode"}, {"op": "delete", "project": 9, "kind": "issues", "iid": 1}, {"op": "merge"}):
        answer = client.post("/_simulator/edit", json=wrong)
        assert answer.status_code == 400
        assert answer.json()["error"]


def test_the_log_tells_what_was_served(client, served):
    client.get("/api/v4/projects/1/issues", params={"page": 1})
    client.get("/api/v4/projects/7")
    log = client.get("/_simulator/log").json()
    assert log["total"] == 2
    assert log["statuses"] == {"200": 1, "404": 1}
    assert log["requests"][0] == {
        "method": "GET",
        "path": "/api/v4/projects/1/issues",
        "query": "page=1",
        "status": 200,
    }
    assert served.requests.total == 2


def test_the_state_is_what_the_api_says(client, world):
    iid = edits.create_merge_request(world, 1, "Work", description="Closes #1", labels=["bug"])
    edits.add_note(world, 1, "merge_requests", iid, "Look", position={"new_path": "a"})
    edits.hide(world, 1, "issues", 2)
    edits.hide_note(world, 1, "issues", 1, 101)
    lines = [json.loads(line) for line in client.get("/_simulator/state?project=team/app").content.splitlines()]
    entities = [line for line in lines if "kind" in line]
    assert [(line["kind"], line["iid"]) for line in entities] == [
        *(("issues", number) for number in (1, 3, 4, 5)),
        ("merge_requests", iid),
    ]
    for line in entities:
        base = f"/api/v4/projects/1/{line['kind']}/{line['iid']}"
        assert client.get(base).json() == line["entity"]
        for name in ("discussions", "resource_state_events", "resource_label_events"):
            assert client.get(f"{base}/{name}?per_page=100").json() == line[name]
    assert client.get(f"/api/v4/projects/1/merge_requests/{iid}/diffs").json() == entities[-1]["mr_diffs"]


def test_there_is_no_control_unless_asked_for(world):
    with running(world) as served:
        answer = httpx2.get(f"{served.url}/_simulator/log", trust_env=False)
    assert answer.status_code == 404


def test_only_loopback_is_bound_unasked():
    with pytest.raises(InvalidValue, match="reachable from elsewhere"):
        serve(World(), host="0.0.0.0")
