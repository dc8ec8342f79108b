import httpx2
import pytest

from loreline.simulator import World, edits, running

MEMBERS = ("team/a", "team/b", "team/sub/c", "other/d")


@pytest.fixture
def world():
    with World() as world:
        for path in MEMBERS:
            edits.create_project(world, path)
        yield world


@pytest.fixture
def client(world):
    with (
        running(world) as served,
        httpx2.Client(base_url=served.url, headers={"PRIVATE-TOKEN": "glpat-simulator"}, trust_env=False) as client,
    ):
        yield client


def paths(answer):
    return [project["path_with_namespace"] for project in answer.json()]


def test_groups_list_their_projects_and_subgroups(client):
    def listed(**params):
        return paths(client.get("/api/v4/groups/team/projects", params={"order_by": "id", "sort": "asc", **params}))

    assert listed() == ["team/a", "team/b"]
    assert listed(include_subgroups="true") == ["team/a", "team/b", "team/sub/c"]
    subgroups = client.get("/api/v4/groups/team/subgroups").json()
    assert [group["full_path"] for group in subgroups] == ["team/sub"]
    nested = client.get("/api/v4/groups/team%2Fsub").json()
    assert nested["id"] == subgroups[0]["id"]
    assert nested["parent_id"] == client.get("/api/v4/groups/team").json()["id"]


def test_archived_projects_can_be_left_out(client, world):
    edits.archive_project(world, "team/a")
    answer = client.get("/api/v4/groups/team/projects", params={"archived": "false"})
    assert paths(answer) == ["team/b"]


def test_projects_are_paged_by_keyset_on_id_only(client):
    assert client.get("/api/v4/projects?pagination=keyset").status_code == 405
    url, seen = "/api/v4/projects?pagination=keyset&order_by=id&sort=asc&per_page=3", []
    while url:
        answer = client.get(url)
        seen += paths(answer)
        url = answer.links["next"]["url"] if "next" in answer.links else None
    assert seen == list(MEMBERS)


def test_nested_paths_are_given_encoded(client, world):
    assert client.get("/api/v4/projects/team%2Fsub%2Fc").json()["id"] == 3
    edits.hide_project(world, "team/sub/c")
    assert client.get("/api/v4/projects/team%2Fsub%2Fc").status_code == 404
    assert client.get("/api/v4/projects/3/issues").status_code == 404


def test_edits_from_another_thread_are_safe_while_serving(client, world):
    import threading

    def work():
        for number in range(200):
            edits.create_issue(world, 1, f"Issue {number}")

    thread = threading.Thread(target=work)
    thread.start()
    totals = []
    while thread.is_alive():
        totals.append(int(client.get("/api/v4/projects/1/issues").headers["x-total"]))
    thread.join()
    assert totals == sorted(totals)
    assert client.get("/api/v4/projects/1/issues").headers["x-total"] == "200"
