"""kill -9 at any moment of making documents and vectors: what is there is right, and the next run completes it."""

import os
import random
import re
import signal
import subprocess
import sys
import time

import pytest
from tests.integration.harness import alive, children, query, until
from tests.search.harness import RULES, Mirror, contents, differences, opened, search

from loreline.errors import EmbedderUnavailable, NotFound
from loreline.services.search import checking
from loreline.services.search.request import Mode
from loreline.simulator import World, edits, running

APP = "team/app"
ISSUES, REQUESTS = 20, 8
SUBJECTS = ("login", "cache", "network", "invoice", "printer", "compiler", "garden", "whale", "guitar", "bridge")
VERBS = ("fails", "is slow", "leaks memory", "needs a test", "breaks at night", "was renamed", "cannot be found")
OLD, NEW = "walrus", "narwhal"

SYNC, DOCUMENTS, VECTORS = ("sync",), ("generate-docs", "--full"), ("embed", "--full")
CHAINS = [
    (SYNC, SYNC, DOCUMENTS, VECTORS, SYNC, DOCUMENTS, SYNC),
    (SYNC, DOCUMENTS, SYNC, VECTORS, VECTORS, SYNC, DOCUMENTS),
    (SYNC, VECTORS, SYNC, SYNC, DOCUMENTS, DOCUMENTS, VECTORS),
]
"""So many databases, each killed at so many moments before it is left to complete: 21 kills in all."""


def sentence(chance, word):
    one, two = chance.sample(SUBJECTS, 2)
    return f"The {one} {chance.choice(VERBS)} since the {two} {chance.choice(VERBS)}. So says the {word}, and again: "


def text_of(number, word):
    chance = random.Random(number)
    return "".join(sentence(chance, word) for _ in range(1 + number % 3)) + word


def build(world):
    edits.create_project(world, APP)
    for number in range(1, ISSUES + REQUESTS + 1):
        fields = {"description": text_of(number, OLD), "author": "ada"}
        if number <= ISSUES:
            kind, iid = "issues", edits.create_issue(world, APP, f"Issue {number}", **fields)
        else:
            diffs = [{"new_path": f"src/{number}.py"}]
            kind, iid = (
                "merge_requests",
                edits.create_merge_request(world, APP, f"Change {number}", diffs=diffs, **fields),
            )
        for comment in range(number % 3):
            edits.add_note(world, APP, kind, iid, text_of(number * 10 + comment, OLD), author="eve")
    world.clock.advance(600)


def rewrite(world, chance):
    """A third of all texts anew, and a little comes and goes."""
    for kind, last in (("issues", ISSUES), ("merge_requests", REQUESTS)):
        for iid in chance.sample(range(1, last + 1), last // 3):
            live = world.live(APP, kind, iid)
            edits.edit_text(world, APP, kind, iid, description=live.fields["description"].replace(OLD, NEW))
            comments = [note for thread in live.discussions for note in thread["notes"] if not note["system"]]
            for note in comments[:1]:
                edits.edit_note(world, APP, kind, iid, note["id"], note["body"].replace(OLD, NEW))
    edits.add_note(world, APP, "issues", chance.randint(1, ISSUES), text_of(chance.randrange(10**6), NEW))
    world.clock.advance(600)


class Killed:
    """`lore` as a process that is killed some time after it began to write."""

    def __init__(self, lore, arguments, *, after, writer_too):
        popen = subprocess.Popen(
            [sys.executable, "-m", "loreline", *arguments, "-J"],
            cwd=lore.folder, env=lore.environment(),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            until(lambda: children(popen.pid) or popen.poll() is not None, 30)
            time.sleep(after)
            writers = children(popen.pid)
            if writer_too:
                for writer in writers:
                    os.kill(writer, signal.SIGKILL)
        finally:
            popen.kill()
            popen.wait(30)
        assert until(lambda: not any(alive(writer) for writer in writers), 30), "the orphaned writer does not end"


def plain(text):
    return re.sub(r"\s+", " ", text).strip()


def assert_answers_are_right(mirror):
    """Whatever is found is there, and what is shown of it is a part of one text, of before or of now."""
    conversations = {}
    for entity, text in mirror.query(
        "SELECT entity_document_id, content_text FROM documents JOIN document_texts ON document_id = id ORDER BY id"
    ):
        conversations.setdefault(entity, []).append(plain(text))
    owners = dict(mirror.query("SELECT id, entity_document_id FROM documents"))
    for text, mode in ((OLD, Mode.LEXICAL), (NEW, Mode.LEXICAL), (OLD, Mode.HYBRID), ("memory leak", Mode.SEMANTIC)):
        try:
            answer = search(mirror.database, mirror.model, text, mode=mode, limit=100)
        except NotFound:
            assert owners == {}
            return
        except EmbedderUnavailable:
            assert mirror.query("SELECT count(*) FROM vectors") == [(0,)]
            continue
        assert answer.results or mode is Mode.SEMANTIC or text == NEW
        for hit in answer.results:
            texts = conversations[owners[hit.document_id]]
            shown = hit.snippet.text.removeprefix("… ").removesuffix(" …")
            assert any(shown in one for one in texts)
            if mode is Mode.LEXICAL:
                assert any(text in one for one in texts)
    documents = mirror.query("SELECT source_type, content_text, body_start FROM documents JOIN document_texts ON"
                             " document_id = id")  # fmt: skip
    for kind, text, start in documents:
        parts = [text[start:]] if kind != "discussion" else re.split(r"\n*@\w+ \(\d{4}-\d\d-\d\d\):\n", text[start:])
        assert not [part for part in parts if OLD in part and NEW in part], "a text is half old and half new"


def assert_nothing_is_torn(mirror):
    assert mirror.query("PRAGMA integrity_check") == [("ok",)]
    assert mirror.query("PRAGMA foreign_key_check") == []
    if not mirror.query("SELECT 1 FROM sqlite_master WHERE name = 'documents'"):
        return
    with opened(mirror.database) as db:
        found = {
            fault.name for fault in checking.found(checking.check(db, mirror.database, RULES, time.time_ns() // 10**6))
        }
    assert found <= {"stale_hash"}  # those are what --full has still to make anew
    for table in ("entities_fts", "threads_fts"):
        mirror.query(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")


@pytest.mark.parametrize("number", range(len(CHAINS)))
def test_a_killed_index_answers_rightly_and_is_completed_by_the_next_run(tmp_path, model, number):
    chance = random.Random(number)
    with World() as world:
        world.clock.set("2025-03-01T12:00:00Z")
        build(world)
        with running(world) as served:
            undisturbed = Mirror(folder_of(tmp_path, "undisturbed"), served, world, model)
            begun = time.monotonic()
            assert undisturbed.lore("sync", "-J").code == 0
            longest = time.monotonic() - begun
            mirror = Mirror(folder_of(tmp_path, "killed"), served, world, model)
            for turn, command in enumerate(CHAINS[number]):
                if turn and command is SYNC:
                    rewrite(world, chance)
                Killed(mirror.lore, command, after=chance.uniform(0, longest * 0.8), writer_too=chance.random() < 0.5)
                assert_nothing_is_torn(mirror)
                assert_answers_are_right(mirror)
            done = mirror.lore("sync", "-J")
            assert (done.code, done.answer["ok"]) == (0, True), done
            assert undisturbed.lore("sync", "-J").code == 0
    checked = mirror.lore("stats", "--check", "-J")
    assert (checked.code, checked.data["sound"]) == (0, True), checked.out
    assert differences(contents(mirror.database), contents(undisturbed.database)) == {}
    assert query(mirror.database, "SELECT count(*) FROM pending_embeddings") == [(0,)]
    assert_answers_are_right(mirror)


def folder_of(parent, name):
    folder = parent / name
    folder.mkdir()
    return folder
