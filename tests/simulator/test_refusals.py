import pytest

from loreline.simulator import RateLimit, edits

API = "/api/v4/projects/1"


def test_unknown_things_are_missing_as_gitlab_says_it(client):
    for path, message in (
        ("/api/v4/projects/99", "404 Project Not Found"),
        ("/api/v4/projects/no%2Fwhere/issues", "404 Project Not Found"),
        (f"{API}/issues/99", "404 Not found"),
        (f"{API}/issues/99/discussions", "404 Not found"),
        ("/api/v4/groups/nobody", "404 Group Not Found"),
    ):
        answer = client.get(path)
        assert (answer.status_code, answer.json()) == (404, {"message": message})
    assert client.get("/api/v4/nowhere").json() == {"error": "404 Not Found"}


@pytest.mark.parametrize("headers", [{"PRIVATE-TOKEN": ""}, {"PRIVATE-TOKEN": "wrong"}])
def test_a_missing_or_wrong_token_is_unauthorized(client, headers):
    answer = client.get("/api/v4/user", headers=headers)
    assert (answer.status_code, answer.json()) == (401, {"message": "401 Unauthorized"})


def test_a_job_token_is_not_accepted(served):
    import httpx2

    with httpx2.Client(base_url=served.url, trust_env=False) as client:
        assert client.get("/api/v4/user", headers={"JOB-TOKEN": "glpat-simulator"}).status_code == 401
        bearer = client.get("/api/v4/user", headers={"Authorization": "Bearer glpat-simulator"})
        assert bearer.json()["username"] == "simulator"


def test_an_expired_token_says_so(client, world):
    world.add_token("old", expires=world.clock.now())
    answer = client.get("/api/v4/user", headers={"PRIVATE-TOKEN": "old"})
    assert answer.status_code == 401
    assert answer.json() == {
        "error": "invalid_token",
        "error_description": "Token is expired. You can either do re-authorization or token refresh.",
    }


def test_a_narrow_scope_is_refused(client, world):
    world.add_token("narrow", scopes=("read_user",))
    headers = {"PRIVATE-TOKEN": "narrow"}
    answer = client.get(f"{API}/issues", headers=headers)
    assert answer.status_code == 403
    assert answer.json() == {
        "error": "insufficient_scope",
        "error_description": "The request requires higher privileges than provided by the access token.",
        "scope": "api read_api",
    }
    assert client.get("/api/v4/user", headers=headers).status_code == 200
    assert client.get("/api/v4/personal_access_tokens/self", headers=headers).json()["scopes"] == ["read_user"]


def test_a_disabled_feature_is_forbidden(client, world):
    edits.set_feature(world, 1, "issues", enabled=False)
    answer = client.get(f"{API}/issues")
    assert (answer.status_code, answer.json()) == (403, {"message": "403 Forbidden"})
    assert client.get(f"{API}/issues/1").status_code == 404
    assert client.get(f"{API}/merge_requests").status_code == 200


def test_confidential_issues_are_for_insiders(client, world):
    edits.set_confidential(world, 1, 2)
    world.add_token("guest", insider=False)
    guest = {"PRIVATE-TOKEN": "guest"}
    assert client.get(f"{API}/issues/2").status_code == 200
    assert client.get(f"{API}/issues/2", headers=guest).status_code == 404
    assert client.get(f"{API}/issues", headers=guest).headers["x-total"] == "4"
    assert client.get(f"{API}/issues").headers["x-total"] == "5"


def test_rate_limits_are_told_and_kept(client, world):
    world.limit_rate(RateLimit(limit=2, period=60))
    first = client.get("/api/v4/version")
    assert first.headers["ratelimit-limit"] == "2"
    assert first.headers["ratelimit-remaining"] == "1"
    assert first.headers["ratelimit-observed"] == "1"
    assert first.headers["ratelimit-name"] == "throttle_authenticated_api"
    client.get("/api/v4/version")
    refused = client.get("/api/v4/version")
    assert refused.status_code == 429
    assert refused.text == "Retry later\n"
    assert refused.headers["content-type"].startswith("text/plain")
    assert refused.headers["retry-after"] == "60"
    assert "ratelimit-resettime" in refused.headers
    world.clock.advance(60)
    assert client.get("/api/v4/version").status_code == 200


def test_a_renamed_project_redirects(client, world):
    edits.rename_project(world, 1, "crew/tool")
    answer = client.get("/api/v4/projects/team%2Fapp/issues")
    assert answer.status_code == 301
    assert answer.headers["location"].endswith("/api/v4/projects/1/issues")
    issue = client.get("/api/v4/projects/crew%2Ftool/issues/1").json()
    assert issue["references"]["full"] == "crew/tool#1"
    assert issue["web_url"] == "https://gitlab.example.com/crew/tool/-/issues/1"


def test_internal_notes_are_for_insiders(client, world):
    edits.add_note(world, 1, "issues", 2, "secret", internal=True)
    edits.add_note(world, 1, "issues", 2, "open")
    world.add_token("guest", insider=False)

    def bodies(**headers):
        threads = client.get(f"{API}/issues/2/discussions", headers=headers).json()
        return [note["body"] for thread in threads for note in thread["notes"]]

    assert bodies() == ["secret", "open"]
    assert bodies(**{"PRIVATE-TOKEN": "guest"}) == ["open"]


def test_writing_needs_the_api_scope(client, world):
    assert client.post(f"{API}/issues").json()["scope"] == "api"
    world.add_token("full", scopes=("api",))
    assert client.post(f"{API}/issues", headers={"PRIVATE-TOKEN": "full"}).status_code == 405
