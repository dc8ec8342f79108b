import pytest
from tests.simulator import building

from loreline.simulator import open_corpora, replicate, running

API = "/api/v4/projects/1"


@pytest.fixture
def client(tmp_path):
    import httpx2

    world = replicate(open_corpora(building.small(tmp_path / "corpus")), 3)
    with (
        world,
        running(world) as served,
        httpx2.Client(base_url=served.url, headers={"PRIVATE-TOKEN": "glpat-simulator"}, trust_env=False) as client,
    ):
        yield client


def test_copies_have_their_own_numbers(client):
    issues = client.get(f"{API}/issues", params={"per_page": 100}).json()
    assert sorted(issue["iid"] for issue in issues) == [1, 2, 3, 4, 5, 11, 12, 13, 14, 15, 21, 22, 23, 24, 25]
    assert len({issue["id"] for issue in issues}) == 15
    for issue in issues:
        single = client.get(f"{API}/issues/{issue['iid']}").json()
        assert single == {**issue, "subscribed": False}
        assert issue["web_url"].endswith(f"/issues/{issue['iid']}")
        assert issue["references"]["full"] == f"team/app#{issue['iid']}"


def test_what_belongs_to_a_copy_has_its_numbers_too(client):
    first = client.get(f"{API}/issues/1/discussions").json()
    copy = client.get(f"{API}/issues/11/discussions").json()
    issue = client.get(f"{API}/issues/11").json()
    assert {thread["id"] for thread in first}.isdisjoint(thread["id"] for thread in copy)
    notes = [note for thread in copy for note in thread["notes"]]
    assert {note["id"] for note in notes}.isdisjoint(n["id"] for t in first for n in t["notes"])
    assert {note["noteable_iid"] for note in notes} == {11}
    assert {note["noteable_id"] for note in notes} == {issue["id"]}
    assert notes[0]["author"] == first[0]["notes"][0]["author"]
    event = client.get(f"{API}/issues/11/resource_label_events").json()[0]
    assert event["resource_id"] == issue["id"]
    assert event["label"] == building.BUG


def test_keyset_passes_through_all_copies(client):
    url, seen = f"{API}/issues?pagination=keyset&per_page=4&order_by=updated_at&sort=asc", []
    while url:
        answer = client.get(url)
        seen += [issue["iid"] for issue in answer.json()]
        url = answer.links["next"]["url"] if "next" in answer.links else None
    assert len(seen) == len(set(seen)) == 15
