from urllib.parse import parse_qs, urlparse

import pytest

API = "/api/v4/projects/1"


def test_an_offset_page_names_its_neighbours(client):
    answer = client.get(f"{API}/issues", params={"per_page": 2, "page": 2})
    assert [issue["iid"] for issue in answer.json()] == [3, 2]
    headers = answer.headers
    assert headers["x-page"] == "2"
    assert headers["x-per-page"] == "2"
    assert headers["x-next-page"] == "3"
    assert headers["x-prev-page"] == "1"
    assert headers["x-total"] == "5"
    assert headers["x-total-pages"] == "3"
    assert set(answer.links) == {"prev", "next", "first", "last"}


def test_the_last_page_has_an_empty_next_page(client):
    answer = client.get(f"{API}/issues", params={"per_page": 2, "page": 3})
    assert answer.headers["x-next-page"] == ""
    assert "next" not in answer.links


def test_the_page_size_is_20_unless_asked_and_100_at_most(client):
    assert client.get(f"{API}/issues").headers["x-per-page"] == "20"
    assert client.get(f"{API}/issues", params={"per_page": 500}).headers["x-per-page"] == "100"


def test_totals_disappear_beyond_the_counting_limit(client, world):
    world.behaviour.count_limit = 4
    answer = client.get(f"{API}/issues", params={"per_page": 2})
    assert "x-total" not in answer.headers
    assert "x-total-pages" not in answer.headers
    assert "last" not in answer.links
    assert answer.headers["x-next-page"] == "2"


@pytest.mark.parametrize("order", ["created_at", "updated_at", "title", "id"])
@pytest.mark.parametrize("sort", ["asc", "desc"])
def test_keyset_pages_reach_every_issue_once(client, order, sort):
    url = f"{API}/issues?pagination=keyset&per_page=2&order_by={order}&sort={sort}"
    seen = []
    while url:
        answer = client.get(url)
        assert "x-total" not in answer.headers
        seen += [issue["iid"] for issue in answer.json()]
        url = answer.links["next"]["url"] if "next" in answer.links else None
    assert seen == ([1, 2, 3, 4, 5] if sort == "asc" else [5, 4, 3, 2, 1])


def test_a_gitlab_before_18_3_gives_numbered_pages_whatever_is_wished_for(client, world):
    world.behaviour.keyset_issues = False
    answer = client.get(f"{API}/issues", params={"pagination": "keyset", "per_page": 2})
    assert (answer.status_code, len(answer.json())) == (200, 2)
    assert answer.headers["x-next-page"] == "2"


def test_merge_requests_refuse_keyset(client):
    assert client.get(f"{API}/merge_requests", params={"pagination": "keyset"}).status_code == 405


def test_a_far_offset_is_refused_where_keyset_exists(client, world):
    world.behaviour.offset_limit = 4
    answer = client.get(f"{API}/issues", params={"per_page": 2, "page": 3})
    assert answer.status_code == 405
    assert "maximum allowed offset of 4" in answer.json()["error"]
    assert client.get(f"{API}/merge_requests", params={"per_page": 2, "page": 3}).status_code == 200


def test_links_keep_the_filters(client):
    answer = client.get(f"{API}/issues", params={"per_page": 2, "state": "opened", "order_by": "updated_at"})
    query = parse_qs(urlparse(answer.links["next"]["url"]).query)
    assert query == {"per_page": ["2"], "page": ["2"], "state": ["opened"], "order_by": ["updated_at"]}


def test_updated_after_includes_its_moment(client):
    def count(moment):
        return len(client.get(f"{API}/issues", params={"updated_after": moment}).json())

    assert count("2024-03-04T10:00:00Z") == 3
    assert count("2024-03-04T10:00:00.001Z") == 2
    assert client.get(f"{API}/issues", params={"updated_after": "soon"}).status_code == 400


def test_lists_are_filtered(client):
    def iids(**params):
        return [issue["iid"] for issue in client.get(f"{API}/issues", params={"sort": "asc", **params}).json()]

    assert iids(labels="bug") == [1, 3, 5]
    assert iids(labels="None") == [2, 4]
    assert iids(**{"iids[]": ["2", "5"]}) == [2, 5]
    assert iids(search="issue 4") == [4]
    assert iids(author_username="nobody") == []
    assert iids(state="closed") == []


def test_the_page_of_threads_is_cut_before_notes_are_hidden(client, world):
    from loreline.simulator import edits

    edits.hide_note(world, 1, "issues", 1, 101)
    first = client.get(f"{API}/issues/1/discussions", params={"per_page": 1})
    assert first.json() == []
    assert first.headers["x-next-page"] == "2"
    second = client.get(f"{API}/issues/1/discussions", params={"per_page": 1, "page": 2})
    assert [thread["notes"][0]["id"] for thread in second.json()] == [102]
