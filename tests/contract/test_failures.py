"""Every way GitLab and the road to it fail: what is retried, what is told, and that no token is in it."""

import asyncio
import gzip
import time
import zlib

import pytest
from tests.contract.conftest import everything_told, run
from tests.contract.scripted import Said, scripted

from loreline.core.entities import Kind
from loreline.errors import AuthenticationFailed, GitLabForbidden, GitLabNotFound, NetworkFailed, RateLimited
from loreline.gitlab import decode, endpoints
from loreline.gitlab.client import GitLab
from loreline.gitlab.connection import Connection
from loreline.simulator import Fault, edits

SECRET = "glpat-hunter2secret"
LABELS = endpoints.labels(1)
ISSUES = endpoints.entities(Kind.ISSUE, 1)


def getting(target, decoder=decode.split_items):
    async def work(client):
        answer = await client.get(target, decoder)
        return answer, client.traffic

    return work


@pytest.fixture
def refused(ask, world):
    """The error a request ends with, its token looked for in all of it."""
    world.add_token(SECRET)

    def told(kind, target=LABELS, **options):
        with pytest.raises(kind) as caught:
            ask(getting(target), **{"token": SECRET} | options)
        assert type(caught.value) is kind
        assert "hunter2" not in everything_told(caught.value)
        assert caught.value.hint
        return caught.value

    return told


# ── refusals: not retried ───────────────────────────────────────────────────────────────────────────────


def test_a_wrong_token_is_refused(refused, served):
    error = refused(AuthenticationFailed, token="glpat-hunter2wrong")
    assert error.details["status"] == 401
    assert "expired" not in error.message
    assert len(served.requests.requests) == 1


def test_an_expired_token_is_told_to_have_expired(refused, world):
    world.add_token("glpat-hunter2old", expires=1)
    error = refused(AuthenticationFailed, token="glpat-hunter2old")
    assert "expired" in error.message
    assert "new personal access token" in error.hint


def test_a_revoked_token_is_refused(refused, world):
    world.add_token("glpat-hunter2gone", revoked=True)
    assert "expired" not in refused(AuthenticationFailed, token="glpat-hunter2gone").message


def test_a_token_without_the_scope_is_told_which_it_needs(refused, world):
    world.add_token("glpat-hunter2small", scopes=("read_user",))
    assert "read_api" in refused(AuthenticationFailed, token="glpat-hunter2small").hint


def test_an_oauth_token_goes_in_its_own_header(world, ask):
    world.add_token("oauth-token", kind="oauth")
    answer, _ = ask(getting("user", decode.user), token="oauth-token", bearer=True)
    assert answer.value.username == "simulator"


def test_a_switched_off_feature_is_forbidden_not_a_bad_token(refused, world):
    edits.set_feature(world, 1, "issues", enabled=False)
    assert refused(GitLabForbidden, ISSUES).details["status"] == 403


def test_what_is_not_there_is_said(refused, served):
    error = refused(GitLabNotFound, "projects/team%2Fabsent")
    assert error.details["status"] == 404
    assert "projects/team%2Fabsent" in error.message
    assert len(served.requests.requests) == 1


def test_a_bad_request_shows_gitlabs_own_words(refused):
    error = refused(NetworkFailed, "projects/1/issues?order_by=nonsense")
    assert "400" in error.message
    assert "order_by" in error.message


def test_the_words_of_a_refusal_are_one_line_and_bounded():
    with (
        scripted(Said(418, b'{"message":"a\\nb ' + b"x" * 10_000 + b'"}')) as server,
        pytest.raises(NetworkFailed) as caught,
    ):
        run(getting("x"), url=server.url)
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 500


# ── trouble that passes: retried ────────────────────────────────────────────────────────────────────────

PASSING = [
    pytest.param(Fault("rate_limited"), RateLimited, id="429"),
    pytest.param(Fault("rate_limited", retry_after=0), RateLimited, id="429 with Retry-After"),
    pytest.param(Fault("error", status=500), NetworkFailed, id="500"),
    pytest.param(Fault("error", status=502), NetworkFailed, id="502 as HTML"),
    pytest.param(Fault("error", status=503), NetworkFailed, id="503"),
    pytest.param(Fault("error", status=408), NetworkFailed, id="408"),
    pytest.param(Fault("reset"), NetworkFailed, id="reset"),
    pytest.param(Fault("reset_midway"), NetworkFailed, id="reset midway"),
    pytest.param(Fault("cut"), NetworkFailed, id="cut"),
    pytest.param(Fault("hang", seconds=5), NetworkFailed, id="hang"),
    pytest.param(Fault("html"), NetworkFailed, id="HTML with 200"),
    pytest.param(Fault("truncated_json"), NetworkFailed, id="truncated JSON"),
    pytest.param(Fault("wrong_type"), NetworkFailed, id="wrong type"),
]


def lasting(fault):
    return Fault(fault.action, status=fault.status, retry_after=fault.retry_after, seconds=fault.seconds, count=None)


@pytest.mark.parametrize(("fault", "kind"), PASSING)
def test_what_passes_is_asked_again(ask, world, fault, kind):
    world.faults.add(fault)
    answer, traffic = ask(getting(LABELS, decode.labels), timeout_seconds=0.3)
    assert [label.name for label in answer.value] == ["bug"]
    assert (traffic.requests, traffic.retries) == (2, 1)
    assert traffic.rate_limited == (kind is RateLimited)


@pytest.mark.parametrize(("fault", "kind"), PASSING)
def test_what_lasts_is_told_after_the_last_attempt(refused, world, served, fault, kind):
    world.faults.add(lasting(fault))
    error = refused(kind, timeout_seconds=0.3, attempts=3)
    assert "/api/v4/projects/1/labels" in error.message
    assert "per_page" not in error.message
    assert len(served.requests.requests) == 3


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault("html"), "an HTML page"),
        (Fault("error", status=502), "HTTP 502"),
        (Fault("hang", seconds=5), "no answer in time"),
        (Fault("reset"), "the connection broke"),
        (Fault("cut"), "the connection broke"),
        (Fault("rate_limited"), "rate limit"),
        (Fault("wrong_type"), "not what GitLab's API sends"),
    ],
)
def test_the_message_says_what_happened(refused, world, fault, words):
    world.faults.add(lasting(fault))
    kind = RateLimited if fault.action == "rate_limited" else NetworkFailed
    assert words in refused(kind, timeout_seconds=0.3, attempts=1).message


def test_a_list_where_one_thing_belongs_is_garbage(refused, world, ask):
    world.faults.add(Fault("wrong_type", count=None))
    with pytest.raises(NetworkFailed, match="not what GitLab's API sends"):
        ask(getting(endpoints.project(1), decode.project))


def test_an_empty_body_is_garbage():
    with scripted(Said(body=b"")) as server, pytest.raises(NetworkFailed, match="an empty body"):
        run(getting("x"), url=server.url)


def test_an_empty_list_is_believed(ask, world):
    world.faults.add(Fault("empty_list"))
    answer, traffic = ask(getting(ISSUES))
    assert (answer.value, answer.next_target, traffic.retries) == ([], None, 0)


@pytest.mark.parametrize("action", ["slow", "drip"])
def test_a_slow_answer_within_the_time_is_waited_for(ask, world, action):
    world.faults.add(Fault(action, seconds=0.2))
    answer, traffic = ask(getting(LABELS), timeout_seconds=5)
    assert (len(answer.value), traffic.retries) == (1, 0)


def test_a_body_that_trickles_is_no_timeout_while_something_comes(ask, world):
    world.faults.add(Fault("drip", seconds=1.0))
    answer, traffic = ask(getting(ISSUES), timeout_seconds=0.5)
    assert (len(answer.value), traffic.retries) == (100, 0)


def test_retry_after_is_waited_for(ask, world):
    world.faults.add(Fault("rate_limited", retry_after=1))
    started = time.monotonic()
    _, traffic = ask(getting(LABELS))
    assert 1 <= time.monotonic() - started < 10
    assert (traffic.requests, traffic.rate_limited) == (2, 1)


def test_a_retry_after_that_is_too_long_ends_the_request_at_once(refused, world, served):
    world.faults.add(Fault("rate_limited", retry_after=100_000, count=None))
    started = time.monotonic()
    refused(RateLimited, attempts=5)
    assert time.monotonic() - started < 5
    assert len(served.requests.requests) == 1


@pytest.mark.parametrize("value", ["soon", "nan", "inf", "-5", "", "Thu, 99 Foo 2024"])
def test_a_retry_after_that_means_nothing_breaks_nothing(value):
    started = time.monotonic()
    with scripted(Said(429, b"Retry later\n", (("Retry-After", value),))) as server, pytest.raises(RateLimited):
        run(getting("x"), url=server.url)
    assert time.monotonic() - started < 5


def test_a_failure_slows_the_pace_and_success_does_not(ask, world):
    async def work(client):
        await client.get(LABELS, decode.labels)
        before = client.pacer.allowed
        world.faults.add(Fault("error"))
        await client.get(LABELS, decode.labels)
        return before, client.pacer.allowed

    before, after = ask(work, concurrency=8)
    assert before == 8
    assert after < 8


def test_no_slot_is_lost_however_requests_end(ask, world):
    async def work(client):
        world.faults.add(Fault("reset", count=None, probability=0.5, path="/labels"))
        results = await asyncio.gather(
            *(client.get(target, decode.split_items) for target in [LABELS, "nothing/here"] * 10),
            return_exceptions=True,
        )
        world.faults.clear()
        world.faults.add(Fault("hang", seconds=5))
        hanging = asyncio.create_task(client.get(LABELS, decode.split_items))
        await asyncio.sleep(0.05)
        hanging.cancel()
        await asyncio.gather(hanging, return_exceptions=True)
        world.faults.clear()
        await client.get(LABELS, decode.split_items)
        return results, client.pacer._in_flight

    results, in_flight = ask(work, concurrency=2, timeout_seconds=2)
    assert in_flight == 0
    assert any(isinstance(result, GitLabNotFound) for result in results)


# ── redirects ───────────────────────────────────────────────────────────────────────────────────────────


def test_the_token_is_never_carried_to_another_host():
    with scripted() as other, scripted(Said(302, b"", (("Location", f"{other.url}/api/v4/x"),))) as server:
        with pytest.raises(NetworkFailed, match="redirects elsewhere") as caught:
            run(getting("x"), url=server.url, token=SECRET)
        assert other.requests == []
        assert f"127.0.0.1:{other.port}" in caught.value.hint
    assert [headers["private-token"] for _, _, headers in server.requests] == [SECRET]
    assert "hunter2" not in everything_told(caught.value)


@pytest.mark.parametrize(
    "location",
    [
        "https://{host}/api/v4/y",
        "//elsewhere.example.com/api/v4/y",
        "http://{host}@elsewhere.example.com/api/v4/y",
        "/users/sign_in",
        "http://[",
        "",
    ],
)
def test_a_redirect_out_of_the_api_is_not_followed(location):
    with scripted(Said(302)) as server:
        where = location.format(host=server.url.removeprefix("http://"))
        server.answers = [Said(302, b"", (("Location", where),))]
        with pytest.raises(NetworkFailed, match="redirects elsewhere"):
            run(getting("x"), url=server.url)
    assert len(server.requests) == 1


def test_a_circle_of_redirects_ends():
    with (
        scripted(Said(301, b"", (("Location", "/api/v4/x?again=1"),))) as server,
        pytest.raises(NetworkFailed, match="redirects elsewhere"),
    ):
        run(getting("x"), url=server.url)
    assert len(server.requests) <= 5


# ── bodies ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("encoding", "pack"), [("gzip", gzip.compress), ("x-gzip", gzip.compress), ("deflate", zlib.compress)]
)
def test_compressed_answers_are_unpacked(encoding, pack):
    with scripted(Said(body=pack(b'["a","b"]'), headers=(("Content-Encoding", encoding),))) as server:
        answer, _ = run(getting("x"), url=server.url)
    assert answer.value == [b'"a"', b'"b"']
    assert answer.body == b'["a","b"]'
    assert "gzip" in server.requests[0][2]["accept-encoding"]


@pytest.mark.parametrize(
    ("encoding", "body"), [("gzip", b"no gzip at all"), ("gzip", gzip.compress(b"[]", mtime=0)[:-9]), ("br", b"[]")]
)
def test_an_answer_that_cannot_be_unpacked_is_a_broken_connection(encoding, body):
    with (
        scripted(Said(body=body, headers=(("Content-Encoding", encoding),))) as server,
        pytest.raises(NetworkFailed, match="the connection broke"),
    ):
        run(getting("x"), url=server.url)
    assert len(server.requests) == 2


# ── the road ────────────────────────────────────────────────────────────────────────────────────────────


def unreachable(url, kind=NetworkFailed, **options):
    with pytest.raises(kind) as caught:
        run(getting("x"), url=url, token=SECRET, **options)
    assert "hunter2" not in everything_told(caught.value)
    assert caught.value.hint
    return caught.value


def test_an_unknown_host_is_said_at_once():
    error = unreachable("http://gitlab.invalid", attempts=50, retry_seconds=5)
    assert "gitlab.invalid was not found" in error.message


def test_a_closed_port_is_said_after_trying_again(unused_port):
    error = unreachable(f"http://127.0.0.1:{unused_port}")
    assert f"127.0.0.1:{unused_port} refuses the connection" in error.message


@pytest.fixture
def unused_port():
    import socket

    with socket.socket() as bound:  # bound and never listening, so nobody else gets it
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def test_plain_http_where_tls_is_spoken_is_said():
    with scripted() as server:
        error = unreachable(server.url.replace("http:", "https:"))
    assert "no secure connection" in error.message


def test_a_proxy_that_refuses_to_connect_is_said():
    with scripted(Said(407, b"")) as proxy:
        error = unreachable("https://gitlab.invalid", proxy=f"http://user:hunter2@127.0.0.1:{proxy.port}")
    assert "the proxy refuses (407" in error.message
    ((method, target, headers),) = proxy.requests
    assert (method, target) == ("CONNECT", "gitlab.invalid:443")
    assert "private-token" not in headers
    assert headers["proxy-authorization"].startswith("Basic ")


def test_a_dead_proxy_is_said(unused_port):
    unreachable("http://gitlab.invalid", proxy=f"http://127.0.0.1:{unused_port}")


def test_the_proxy_of_the_environment_is_used(monkeypatch):
    with scripted(Said(body=b'["by proxy"]')) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        answer, _ = run(getting("x"), url="http://gitlab.invalid")
    assert answer.value == [b'"by proxy"']
    assert proxy.requests[0][1] == "http://gitlab.invalid/api/v4/x"


def test_no_proxy_goes_past_the_proxy_of_the_environment(monkeypatch, ask):
    with scripted(Said(500)) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("no_proxy", "example.org,127.0.0.1")
        answer, _ = ask(getting(LABELS))
        assert proxy.requests == []
    assert len(answer.value) == 1


def test_the_configured_proxy_beats_the_environments_and_its_exceptions(monkeypatch):
    with scripted(Said(body=b'["configured"]')) as proxy:
        monkeypatch.setenv("no_proxy", "*")
        answer, _ = run(getting("x"), url="http://gitlab.invalid", proxy=proxy.url)
    assert answer.value == [b'"configured"']


def test_nothing_that_can_be_printed_of_a_client_shows_the_token():
    connection = Connection(url="https://gitlab.example.com", token=SECRET)

    async def main():
        async with GitLab(connection) as client:
            return repr(client) + repr(client._channel) + repr(client.__dict__)

    assert "hunter2" not in repr(connection) + str(connection) + f"{connection}" + asyncio.run(main())
