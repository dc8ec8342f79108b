"""Whatever people write comes through unharmed."""

import pytest
from tests.integration import oracle
from tests.integration.harness import Process, config, query, settings, sync
from tests.simulator import building

from loreline.simulator import World, running
from loreline.simulator.state import state_lines

HIGH, LOW = "@HIGH@", "@-LOW@"
"""They stand for lone surrogates, which no decoder of the simulator lets in, and are put in as answers go out."""

NASTY = {
    "a megabyte": "ab" * 524_288,
    "NUL bytes": "before\x00after #2",
    "lone surrogates": f"high {HIGH} low {LOW} end #3",
    "terminal escapes": "\x1b]0;owned\x07\x1b[31mred\x1b[0m\x9b2J",
    "direction marks": "abc\u202edcba\u2066x\u2069\u200f",
    "line ends": "a\r\nb\rc\u2028d\x0be",
    "quotes": "'; DROP TABLE notes; -- \"\\ %s {} ${x}",
    "nothing": "",
    "astral": "👩‍👩‍👧‍👦 \U0001d573\U0001d58a \U0010ffff",
    "unbalanced code": "`` ` ``` #2\n~~~\n#3",
    "many sigils": "#" * 10_000 + "!" * 10_000 + "a/" * 5_000 + "#1",
    "a number beyond all": "#99999999999999999999 !4294967296 #0",
}


@pytest.fixture
def nasty(tmp_path):
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
    with World.open(folder) as world:
        corpus = world.places[1].corpus
        read = corpus.read

        def with_surrogates(offset, length):
            data = read(offset, length)
            return data.replace(HIGH.encode(), rb"\ud83d").replace(LOW.encode(), rb"\udc00")

        corpus.read = with_surrogates
        with running(world) as served:
            yield served


def expected(text):
    return text.replace(HIGH, "\ufffd").replace(LOW, "\ufffd")


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
    del nasty.world.places[1].corpus.read  # the truth is read without surrogates, and gets their replacement
    lines = b"".join(state_lines(nasty.world, "team/app"))
    lines = lines.replace(HIGH.encode(), rb"\ufffd").replace(LOW.encode(), rb"\ufffd")
    oracle.check(database, oracle.Truth(nasty.url, [lines.splitlines()]))


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
