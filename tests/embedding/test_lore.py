"""`lore` as a process, with an embedding server of ours that is well, unwell or gone."""

import contextlib
import shutil
import subprocess
import sys
import time

import pytest
from tests.embedding.servers import ModelServer, nobody_there
from tests.lore import Lore

from loreline.simulator import DEFAULT_TOKEN, World, running

NOMIC = "ollama:nomic-embed-text+search_query: |search_document: :32:passages-1"
QUESTION = ("search", "-J", "why was the cache invalidated after a commit")
KEY = "sk-Zq81hT5vLmX0pRs7"


SMALL = "northwind/harbor-docs"


@pytest.fixture
def unsynced(lore, gitlab, server):
    """Configured for the smaller of the demo's projects and our embedding server."""
    lore.configure(gitlab.url, [SMALL])
    return behind(lore, server)


@pytest.fixture(scope="module")
def mirror(demo, tmp_path_factory):
    """The folder of a whole demo, synced and embedded; it is copied and not touched."""
    lore = Lore(tmp_path_factory.mktemp("embedded"), {"GITLAB_TOKEN": DEFAULT_TOKEN})
    with ModelServer() as server, World.open(*demo.projects.values()) as world, running(world) as gitlab:
        lore.configure(gitlab.url, list(demo.projects))
        done = behind(lore, server)("sync", "-J")
        assert done.code == 0, done
        assert warnings(done) == ""
    return lore.folder


@pytest.fixture
def synced(lore, mirror, demo, server):
    """A copy of the mirror, with our embedding server; its GitLab is gone."""
    shutil.copytree(mirror, lore.folder, dirs_exist_ok=True)
    lore.configure("http://127.0.0.1:1", list(demo.projects))
    return behind(lore, server)


def behind(lore, server):
    lore.environ |= {"LORELINE_EMBEDDING_PROVIDER": "ollama", "LORELINE_EMBEDDING_URL": server.url}
    return lore


def spaces(lore):
    return lore("stats", "-J").data["stats"]["spaces"]


def only_space(lore):
    (space,) = spaces(lore)
    return space


def warnings(done):
    return " ".join(done.answer["meta"]["warnings"])


@contextlib.contextmanager
def started(lore, *arguments):
    process = subprocess.Popen(
        [sys.executable, "-m", "loreline", *arguments],
        cwd=lore.folder,
        env=lore.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_sync_embeds_everything_once_and_search_asks_by_meaning(server, unsynced):
    lore = unsynced
    lore.environ |= {"LORELINE_EMBEDDING_BATCH": "2", "LORELINE_EMBEDDING_CONCURRENCY": "3"}
    server.behaviour.seconds = 0.02
    done = lore("sync", "-J")
    assert done.code == 0, done
    assert done.data["warnings"] == []
    space = only_space(lore)
    assert (space["name"], space["active"], space["dimensions"]) == (NOMIC, True, 32)
    assert (space["pending"], space["failed"], space["coverage"]) == (0, 0, 1.0)
    assert space["embedded"] == done.data["run"]["rows"]["vectors"] == 8
    assert all(text.startswith("search_document: ") for text in server.texts)
    assert len(server.texts) <= space["embedded"] + 1
    assert max(len(asked.texts) for asked in server.asked) == 2
    assert 2 <= server.most_at_once <= 3
    server.forget()
    assert lore("sync", "-J").code == 0
    assert server.asked == []
    found = lore(*QUESTION, "--mode", "semantic")
    assert found.data["results"]
    assert "search_query: why was the cache invalidated after a commit" in server.texts


def test_a_text_that_the_server_refuses_waits_for_its_time_and_is_embedded_when_asked_for(server, unsynced):
    lore = unsynced
    server.behaviour.refused = rare = "laptop"  # it stands in one text only
    done = lore("sync", "-J")
    assert done.code == 0, done
    assert "1 passages could not be embedded" in warnings(done)
    space = only_space(lore)
    assert (space["pending"], space["failed"]) == (1, 1)
    (error,) = space["errors"]
    assert "the input length exceeds the context length" in error
    server.forget()
    assert lore("embed", "-J").data == {"embedded": 0, "reused": 0, "failed": 0}
    assert not any(rare in text for text in server.texts)
    again = lore("embed", "-J", "--retry-failed")
    assert (again.code, again.data["failed"]) == (19, 1)
    server.behaviour.refused = None
    healed = lore("embed", "-J", "--retry-failed")
    assert (healed.code, healed.data) == (0, {"embedded": 1, "reused": 0, "failed": 0})
    space = only_space(lore)
    assert (space["pending"], space["failed"], space["coverage"], space["errors"]) == (0, 0, 1.0, [])


@pytest.mark.parametrize("provider", ["ollama", "openai"])
def test_texts_on_which_the_server_fails_with_500_stop_nothing_else(server, unsynced, provider):
    """The longest are over the limit, and all of them in one batch, for batches go by length."""
    lore = unsynced
    lore.environ |= {"LORELINE_EMBEDDING_PROVIDER": provider, "LORELINE_EMBEDDING_BATCH": "4"}
    lore.environ["LORELINE_EMBEDDING_URL"] = server.url + "/v1" * (provider == "openai")
    server.behaviour.longest = 200
    done = lore("sync", "-J")
    assert done.code == 0, done
    space = only_space(lore)
    assert (space["embedded"], space["failed"], space["pending"]) == (4, 4, 4)


def test_a_sync_without_its_embedding_server_is_well_and_the_next_one_embeds(server, unsynced):
    lore = unsynced
    with nobody_there() as url:
        lore.environ["LORELINE_EMBEDDING_URL"] = url
        done = lore("sync", "-J")
    assert done.code == 0, done
    assert "not everything could be embedded" in warnings(done)
    assert "can't be reached" in warnings(done)
    assert "ollama serve" in warnings(done)
    assert done.data["run"]["rows"]["documents"] > 3
    lore.environ["LORELINE_EMBEDDING_URL"] = server.url
    done = lore("sync", "-J")
    assert (done.code, warnings(done)) == (0, "")
    assert only_space(lore)["coverage"] == 1.0


def test_a_sync_whose_server_lacks_the_model_says_how_to_fetch_it(server, unsynced):
    lore = unsynced
    lore.environ["LORELINE_EMBEDDING_MODEL"] = "bge-m3"
    done = lore("sync", "-J")
    assert done.code == 0, done
    assert "ollama pull bge-m3" in warnings(done)
    failed = lore("embed", "-J")
    assert (failed.code, failed.answer["error"]["code"]) == (15, "model_not_found")
    assert failed.answer["error"]["hint"] == "ollama pull bge-m3"


@pytest.mark.parametrize("fault", [{"body": b'{"embeddings": []}'}, {"body": b"<html>"}, {"extra": 1}])
def test_a_sync_is_well_whatever_its_embedding_server_answers(server, unsynced, fault):
    lore = unsynced
    for name, value in fault.items():
        setattr(server.behaviour, name, value)
    done = lore("sync", "-J")
    assert done.code == 0, done
    assert "not everything could be embedded" in warnings(done)


def test_without_the_server_search_by_meaning_ends_with_14_and_the_rest_goes_by_words(synced):
    lore = synced
    with nobody_there() as url:
        lore.environ["LORELINE_EMBEDDING_URL"] = url
        failed = lore(*QUESTION, "--mode", "semantic")
        assert (failed.code, failed.answer["error"]["code"]) == (14, "embedder_unavailable")
        assert failed.answer["error"]["hint"]
        hybrid, lexical = lore(*QUESTION), lore(*QUESTION, "--mode", "lexical")
        embed = lore("embed", "-J", "--full")
    assert hybrid.code == lexical.code == 0
    assert "searched by words alone" in warnings(hybrid)
    assert warnings(lexical) == ""
    told = [[hit["document_id"] for hit in done.data["results"]] for done in (hybrid, lexical)]
    assert told[0] == told[1] != []
    assert embed.code == 14


def test_another_model_embeds_beside_the_old_one_which_answers_until_it_is_done(server, synced):
    lore = synced
    server.behaviour.models["bge-m3:latest"] = 24
    server.behaviour.held = "bge-m3"
    lore.environ["LORELINE_EMBEDDING_MODEL"] = "bge-m3"
    with started(lore, "embed", "-J") as embedding:
        until(lambda: len(server.of_model("bge-m3")) > 1)
        old, new = sorted(spaces(lore), key=lambda space: not space["active"])
        assert (old["name"], old["active"], old["coverage"]) == (NOMIC, True, 1.0)
        assert (new["name"], new["active"], new["embedded"]) == ("ollama:bge-m3:24:passages-1", False, 0)
        assert new["pending"] == old["embedded"]
        asked = len(server.of_model("nomic-embed-text"))
        found = lore(*QUESTION, "--mode", "semantic")
        assert found.data["results"]
        assert len(server.of_model("nomic-embed-text")) > asked
        hybrid = lore(*QUESTION)
        assert hybrid.data["results"]
        assert warnings(hybrid) == ""
        assert embedding.poll() is None
        server.go_on.set()
        out, err = embedding.communicate(timeout=30)
        assert embedding.returncode == 0, (out, err)
    space = only_space(lore)
    assert (space["name"], space["active"], space["coverage"]) == ("ollama:bge-m3:24:passages-1", True, 1.0)
    asked = len(server.of_model("bge-m3"))
    assert lore(*QUESTION, "--mode", "semantic").data["results"]
    assert len(server.of_model("bge-m3")) > asked


def test_another_model_that_fails_on_every_text_does_not_take_the_place_of_the_old_one(server, synced):
    lore = synced
    lore.environ |= {"LORELINE_EMBEDDING_MODEL": "bge-m3", "LORELINE_EMBEDDING_DIMENSIONS": "1024"}
    server.behaviour.models["bge-m3:latest"] = 24
    failed = lore("embed", "-J")
    assert failed.code == 19
    active = [space for space in spaces(lore) if space["active"]]
    assert [(space["name"], space["coverage"]) for space in active] == [(NOMIC, 1.0)]


def test_switched_off_after_a_sync_search_goes_by_words(synced):
    lore = synced
    lore.environ["LORELINE_EMBEDDING_PROVIDER"] = "none"
    done = lore(*QUESTION)
    assert done.code == 0
    assert "searched by words alone" in warnings(done)
    assert lore(*QUESTION, "--mode", "semantic").code == 14


def test_a_refused_key_is_told_and_stands_in_nothing_that_is_written(server, unsynced):
    lore = unsynced
    server.behaviour.key = "another"
    server.behaviour.error = "{key} is wrong"
    lore.environ |= {"KEY_OF_MODELS": KEY, "LORELINE_EMBEDDING_API_KEY_ENV": "KEY_OF_MODELS"}
    done, doctor, embed = lore("sync", "-J"), lore("doctor", "-J"), lore("embed")
    assert done.code == 0
    assert "refuses the key" in warnings(done)
    assert embed.code == 14
    assert all(asked.headers["authorization"] == f"Bearer {KEY}" for asked in server.asked)
    for one in (done, doctor, embed):
        assert KEY not in one.out + one.err
    for path in lore.folder.rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes()
