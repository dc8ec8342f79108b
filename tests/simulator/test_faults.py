import time

import httpx2
import pytest

from loreline.simulator import Fault

PATH = "/api/v4/projects/1/issues"


def test_rate_limited_with_and_without_retry_after(client, world):
    world.faults.add(Fault("rate_limited", retry_after=7), Fault("rate_limited"))
    first, second, third = (client.get(PATH) for _ in range(3))
    assert (first.status_code, first.headers["retry-after"], first.text) == (429, "7", "Retry later\n")
    assert (second.status_code, "retry-after" in second.headers) == (429, False)
    assert third.status_code == 200


@pytest.mark.parametrize("status", [500, 502, 503])
def test_server_errors(client, world, status):
    world.faults.add(Fault("error", status=status))
    answer = client.get(PATH)
    assert answer.status_code == status
    assert ("html" in answer.headers["content-type"]) == (status != 500)


def test_reset_breaks_the_connection(client, world):
    world.faults.add(Fault("reset"))
    with pytest.raises(httpx2.TransportError):
        client.get(PATH)
    assert client.get(PATH).status_code == 200


@pytest.mark.parametrize("action", ["cut", "reset_midway"])
def test_a_body_that_ends_early_is_a_broken_answer(client, world, action):
    world.faults.add(Fault(action))
    with pytest.raises(httpx2.TransportError):
        client.get(PATH)
    assert client.get(PATH).status_code == 200


def test_hang_never_answers(client, world):
    world.faults.add(Fault("hang", seconds=30))
    with pytest.raises(httpx2.ReadTimeout):
        client.get(PATH, timeout=0.2)
    assert client.get(PATH).status_code == 200


def test_a_hang_is_bounded(client, world):
    world.faults.add(Fault("hang", seconds=0.1))
    with pytest.raises(httpx2.TransportError):
        client.get(PATH, timeout=5)


def test_stopping_does_not_wait_for_a_hanging_client(world):
    from loreline.simulator import running

    world.faults.add(Fault("hang", seconds=60))
    with running(world) as served:
        with pytest.raises(httpx2.ReadTimeout):
            httpx2.get(served.url + PATH, timeout=0.1, trust_env=False)
        started = time.monotonic()
    assert time.monotonic() - started < 3


@pytest.mark.parametrize("action", ["slow", "drip"])
def test_a_slow_answer_is_whole(client, world, action):
    whole = client.get(PATH).content
    world.faults.add(Fault(action, seconds=0.2))
    started = time.monotonic()
    assert client.get(PATH).content == whole
    assert time.monotonic() - started >= 0.2


def test_wrong_bodies(client, world):
    world.faults.add(Fault("html"), Fault("truncated_json"), Fault("wrong_type"), Fault("empty_list"))
    html, truncated, wrong, empty = (client.get(PATH) for _ in range(4))
    assert html.status_code == 200
    assert html.text.startswith("<!DOCTYPE html>")
    with pytest.raises(ValueError):
        truncated.json()
    assert isinstance(wrong.json(), dict)
    assert empty.json() == []
    assert empty.headers["x-next-page"] == ""


def test_rules_choose_path_method_and_turn(client, world):
    world.faults.add(Fault("error", path=r"/issues\?page=2", method="GET", skip=1, count=2))
    pages = [client.get(PATH, params={"page": 2}).status_code for _ in range(4)]
    assert pages == [200, 500, 500, 200]
    assert client.get(PATH).status_code == 200


def test_chance_repeats_with_its_seed(client, world):
    def run():
        world.faults.clear()
        world.faults.seed(5)
        world.faults.add(Fault("error", probability=0.5, count=None))
        return [client.get(PATH).status_code for _ in range(12)]

    first = run()
    assert first == run()
    assert set(first) == {200, 500}


def test_a_reset_is_a_reset_on_the_wire(served, world):
    import socket
    from urllib.parse import urlparse

    world.faults.add(Fault("reset"))
    where = urlparse(served.url)
    with socket.create_connection((where.hostname, where.port), timeout=5) as raw:
        raw.sendall(b"GET /api/v4/version HTTP/1.1\r\nhost: x\r\n\r\n")
        with pytest.raises(ConnectionResetError):
            raw.recv(1)
    assert [request.status for request in served.requests.requests] == [0]
