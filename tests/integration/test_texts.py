"""Whatever people write comes through unharmed."""

import json

import pytest
from tests.integration import oracle
from tests.integration.harness import Process, config, query, settings, sync, truth
from tests.simulator import building

from loreline.simulator import World, running

NASTY = {
    "a megabyte": "ab" * 524_288,
    "NUL bytes": "before\x00after #2",
    "lone surrogates": "high \ud83d low \udc00 end #3",
    "terminal escapes": "\x1b]0;owned\x07\x1b[31mred\x1b[0m\x9b2J",
    "direction marks": "abc\u202edcba\u2066x\u2069\u200f",
    "line ends": "a\r\nb\rc\u2028d\x0be",
    "quotes": "'; DROP TABLE notes; -- \"\\ %s {} ${x}",
    "nothing": "",
    "astral": "👩‍👩‍👧‍👦 𝕳𝖊𝖑𝖑𝖔 \U0010ffff",
    "unbalanced code": "`` ` ``` #2\n~~~\n#3",
    "many sigils": "#" * 10_000 + "!" * 10_000 + "a/" * 5_000 + "#1",
    "a number beyond all": "#99999999999999999999 !4294967296 #0",
}


@pytest.fixture
def nasty(tmp_path):
    """A world written to disk, because lone surrogates stand in no Python text that can be sent."""
    names = [f"label {number} \u202e{'x' * (number % 50)}" for number in range(10_000)]
    labels = [
        {"id": 5_000 + number, "name": name, "color": "#FF0000", "description": None}
        for number, name in enumerate(names)
    ]
    texts = list(NASTY.values())
    issues = [building.issue(number, description=text, labels=[]) for number, text in enumerate(texts, 1)]
    issues.append(building.issue(len(texts) + 1, labels=names, title="Ten thousand labels"))
    threads = [
        {
            "kind": "issues",
            "iid": number,
            "items": [building.thread(100 + number, number, body=text), building.thread(200 + number, number)],
        }
        for number, text in enumerate(texts, 1)
    ]
    folder = building.write(
        tmp_path / "corpus", users=[building.AUTHOR], labels=labels, issues=issues, discussions=threads
    )
    with World.open(folder) as world, running(world) as served:
        yield served


def expected(text):
    return "".join("\ufffd" if 0xD800 <= ord(character) < 0xE000 else character for character in text)


def test_nasty_texts_come_through_unharmed(nasty, tmp_path):
    database = tmp_path / "mirror.db"
    code, answer = Process(config(tmp_path, database, nasty.url)).wait()
    assert (code, answer["ok"]) == (0, True), answer
    for number, (name, text) in enumerate(NASTY.items(), 1):
        [(description,)] = query(database, "SELECT description FROM issues WHERE iid = ?", number)
        assert description == expected(text), name
        [(body,)] = query(database, "SELECT body FROM notes WHERE gitlab_id = ?", 100 + number)
        assert body == expected(text), name
    assert query(database, "SELECT count(*) FROM issue_labels") == [(10_000,)]
    assert query(database, "SELECT count(*) FROM labels WHERE gitlab_id IS NOT NULL") == [(10_000,)]
    with nasty.world.lock:
        place = nasty.world.places[1]
        surrogates = list(NASTY).index("lone surrogates") + 1
    lines = truth_lines(nasty, place, without=surrogates)
    found = [
        told
        for told in oracle.differences(database, oracle.Truth(nasty.url, [lines]))
        if f"team/app#{surrogates} " not in told and f"('issue', 1, {surrogates})" not in told
    ]
    assert found == []


def truth_lines(served, place, *, without):
    from loreline.simulator.state import state_lines

    lines = b"".join(state_lines(served.world, place.path)).splitlines()
    assert json.loads(lines[-1])["iid"] == len(NASTY) + 1
    assert len(lines) > without
    return lines


def test_nasty_texts_do_not_change_on_the_second_sync(nasty, tmp_path):
    wanted = settings(tmp_path / "mirror.db", nasty.url)
    sync(wanted, nasty.world)
    before = oracle.fingerprint(wanted.database)
    report = sync(wanted, nasty.world)
    assert report.run.rows == {}
    assert oracle.fingerprint(wanted.database) == before
    sync(wanted, nasty.world, full=True)
    assert oracle.fingerprint(wanted.database) == before


def test_the_mirror_of_a_first_sync_has_nothing_left_to_do(nasty, tmp_path):
    wanted = settings(tmp_path / "mirror.db", nasty.url)
    sync(wanted, nasty.world)
    assert query(wanted.database, "SELECT count(*) FROM pending_dependent_fetches") == [(0,)]
    assert truth(nasty.url, nasty.world, "team/app").projects
