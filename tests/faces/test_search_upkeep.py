"""generate-docs, embed, stats and doctor: what keeps search up to date, and what says how it is."""

from __future__ import annotations

import re
from pathlib import Path

import apsw
import pytest
from tests.lore import Lore, copied, synced, without_colour

from loreline.simulator.demo.corpus import Demo

DOCS = ["northwind/harbor-docs"]
SPACE = "bundled:all-MiniLM-L6-v2:384:passages-1"


@pytest.fixture(scope="session")
def small(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Lore:
    """One small project, embedded; only to be copied."""
    return synced(tmp_path_factory.mktemp("small"), demo, DOCS)


@pytest.fixture(scope="session")
def bare(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Lore:
    """The same, mirrored without anything to search in; only to be copied."""
    return synced(tmp_path_factory.mktemp("bare"), demo, DOCS, "--no-docs")


@pytest.fixture
def own(small: Lore, tmp_path: Path) -> Lore:
    return copied(small, tmp_path / "own")


def change(lore: Lore, *statements: str) -> None:
    db = apsw.Connection(str(lore.folder / "mirror.db"))
    for statement in statements:
        db.execute(statement)
    db.close()


def checks(lore: Lore) -> dict[str, dict]:
    return {check["name"]: check for check in lore("-J", "doctor").data["checks"]}


def set_embedding(lore: Lore, *lines: str) -> None:
    path = lore.folder / "loreline.toml"
    path.write_text(path.read_text().partition("[embedding]")[0] + "\n".join(["[embedding]", *lines, ""]))


# ── from a bare mirror to search by meaning ─────────────────────────────────────────────────────────────


def test_each_step_says_what_the_next_one_is(bare: Lore, tmp_path: Path) -> None:
    lore = copied(bare, tmp_path / "steps")

    refused = lore("search", "lookup")
    assert refused.code == 17
    assert "nothing is indexed yet" in refused.err
    assert "lore generate-docs" in refused.err
    assert lore("related", "#1").code == 17
    waiting = checks(lore)["search by words"]
    assert (waiting["status"], waiting["message"]) == ("warning", "4 issues and merge requests can't be searched yet")
    assert "lore generate-docs" in waiting["hint"]

    made = lore("generate-docs")
    assert made.out == "written: 4 issues, 3 threads; 0 unchanged, 0 removed\n"
    by_words = lore("search", "lookup")
    assert by_words.out.startswith("northwind/harbor-docs#")
    assert "searched by words alone: nothing is embedded yet (lore embed does it)" in by_words.err
    robot = lore("-J", "search", "lookup")
    assert robot.data["mode"] == "lexical"
    assert "nothing is embedded yet" in robot.answer["meta"]["warnings"][0]
    assert robot.err == ""
    semantic = lore("search", "lookup", "--mode", "semantic")
    assert semantic.code == 14
    assert "hint: run lore embed" in semantic.err
    assert checks(lore)["search by meaning"]["hint"] == "run lore embed"

    embedded = lore("embed")
    passages = lore("-J", "stats").data["stats"]["documents"]["passages"]
    assert embedded.out == f"{passages} passages embedded\n"
    by_meaning = lore("-J", "search", "lookup")
    assert by_meaning.data["mode"] == "hybrid"
    assert by_meaning.answer["meta"]["warnings"] == []
    assert checks(lore)["search by meaning"]["status"] == "ok"


# ── generate-docs ───────────────────────────────────────────────────────────────────────────────────────


def test_generate_docs_does_what_is_new_and_with_full_everything(own: Lore) -> None:
    before = own("search", "lookup").out
    assert own("generate-docs").out == "written: nothing; 0 unchanged, 0 removed\n"
    answer = own("-J", "generate-docs", "--full")
    assert answer.err == ""
    assert answer.data == {
        "entities": 4, "issues": 4, "merge_requests": 0, "discussions": 3, "unchanged": 0, "removed": 0,
        "truncated": 0, "failed": 0,
    }  # fmt: skip
    quiet = own("generate-docs", "-q")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")
    assert own("search", "lookup").out == before


# ── embed ───────────────────────────────────────────────────────────────────────────────────────────────


def test_embed_has_nothing_to_do_when_all_is_embedded(own: Lore) -> None:
    assert own("embed").out == "0 passages embedded\n"
    assert own("-J", "embed", "--retry-failed").data == {"embedded": 0, "reused": 0, "failed": 0}
    quiet = own("embed", "-q")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")


def test_embed_full_makes_every_vector_anew(own: Lore) -> None:
    change(own, "UPDATE vectors SET components = zeroblob(length(components))")
    done = own("-J", "embed", "--full")
    assert done.data["failed"] == 0
    assert done.data["embedded"] > 0
    db = apsw.Connection(str(own.folder / "mirror.db"))
    wrong = db.execute("SELECT count(*) FROM vectors WHERE components = zeroblob(length(components))").fetchone()
    db.close()
    assert wrong == (0,)


def test_what_waits_is_told_and_embedded(own: Lore) -> None:
    change(
        own,
        "INSERT INTO pending_embeddings (space_id, passage_id, written_at) SELECT 1, passage_id, 0 FROM vectors"
        " WHERE id <= 2",
        "DELETE FROM vectors WHERE id <= 2",
    )
    assert own("stats").out.count("waiting for their vectors\t2") == 1
    assert checks(own)["search by meaning"]["message"] == "2 passages wait for their vectors"
    done = own("-J", "embed").data
    assert done["embedded"] + done["reused"] == 2
    assert own("-J", "stats").data["stats"]["spaces"][0]["coverage"] == 1.0


def test_what_failed_is_told_and_tried_again_when_asked(own: Lore) -> None:
    change(
        own,
        "INSERT INTO pending_embeddings (space_id, passage_id, written_at, attempts, last_error, next_attempt_at)"
        " SELECT 1, passage_id, 0, 3, 'a broken \x1b[2J text', 99999999999999 FROM vectors WHERE id = 1",
        "DELETE FROM vectors WHERE id = 1",
    )
    told = own("stats").out
    assert "1 failed" in told
    assert "not embedded: a broken ␛[2J text" in told
    check = checks(own)["search by meaning"]
    assert check["status"] == "warning"
    assert "lore embed --retry-failed" in check["hint"]
    assert own("-J", "embed").data["embedded"] == 0
    assert own("-J", "embed", "--retry-failed").data["embedded"] == 1
    assert "failed" not in own("stats").out


def test_an_embedding_server_that_is_away_is_told_with_what_to_do(bare: Lore, tmp_path: Path) -> None:
    lore = copied(bare, tmp_path / "away")
    set_embedding(lore, 'provider = "ollama"', 'url = "http://127.0.0.1:9"')
    assert lore("generate-docs", "-q").code == 0
    done = lore("embed")
    assert done.code == 14
    assert "http://127.0.0.1:9 can't be reached" in done.err
    assert "hint: start it with ollama serve, or check embedding.url" in done.err
    robot = lore("-J", "embed")
    assert (robot.code, robot.err) == (14, "")
    assert robot.answer["error"]["code"] == "embedder_unavailable"
    assert checks(lore)["embedding"]["status"] == "failed"
    assert lore("search", "lookup").code == 0


def test_with_the_provider_none_embed_does_nothing_and_no_hint_asks_for_it(bare: Lore, tmp_path: Path) -> None:
    lore = copied(bare, tmp_path / "none")
    set_embedding(lore, 'provider = "none"')
    assert lore("generate-docs", "-q").code == 0
    done = lore("embed")
    assert done.code == 0
    assert 'embedding.provider is "none": there is nothing to do' in done.err
    assert lore("-J", "embed").answer["meta"]["warnings"] == ['embedding.provider is "none": there is nothing to do']
    assert "switched off" in checks(lore)["embedding"]["message"]
    assert all(check["hint"] != "run lore embed" for check in checks(lore).values())
    assert "lore embed does it" not in lore("search", "lookup").err


# ── stats ───────────────────────────────────────────────────────────────────────────────────────────────


def test_stats_counts_what_the_mirror_holds(mirrored: Lore) -> None:
    data = mirrored("-J", "stats").data
    assert (data["faults"], data["sound"]) == (None, None)
    documents = data["stats"]["documents"]
    assert documents["issues"] == mirrored("-J", "count", "issues").data["total"]
    assert documents["merge_requests"] == mirrored("-J", "count", "mrs").data["total"]
    assert documents["total"] == documents["issues"] + documents["merge_requests"] + documents["discussions"]
    entities = documents["issues"] + documents["merge_requests"]
    assert data["stats"]["words"] == {"entities": entities, "threads": documents["discussions"]}
    (space,) = data["stats"]["spaces"]
    assert space == {
        "name": SPACE, "dimensions": 384, "active": True, "embedded": documents["passages"], "pending": 0,
        "failed": 0, "coverage": 1.0, "errors": [],
    }  # fmt: skip
    assert data["stats"]["queues"] == {"changes": 0, "documents_failed": 0, "fetches": 0, "fetches_failed": 0}


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_the_numbers_of_stats_can_be_read_on_any_terminal(mirrored: Lore, columns: int) -> None:
    seen = without_colour(mirrored.on_terminal("stats", "--check", columns=columns))
    assert max(map(len, seen.splitlines())) <= columns
    assert re.search(r"^documents +162\b", seen, re.MULTILINE)
    assert re.search(r"^ *merge requests +32\b", seen, re.MULTILINE)
    assert re.search(r"^vectors \(bundled\S+ +252 +100\.0%", seen, re.MULTILINE)
    assert seen.count("✓ 0 ") == 10


def test_stats_in_a_pipe_are_tab_separated_without_escapes(mirrored: Lore) -> None:
    out = mirrored("stats").out
    assert "documents\t162\t" in out
    assert f"vectors ({SPACE})\t252\t100.0%" in out
    assert "\x1b" not in out


def test_repair_goes_with_check(mirrored: Lore) -> None:
    done = mirrored("stats", "--repair")
    assert done.code == 2
    assert "hint: lore stats --check --repair" in done.err


def test_what_is_sound_is_said_to_be(own: Lore) -> None:
    data = own("-J", "stats", "--check").data
    assert data["sound"] is True
    assert {fault["count"] for fault in data["faults"]} == {0}
    assert own("-J", "stats", "--check", "--repair").data == {"repaired": [], "left": [], "sound": True}
    assert own("stats", "--check", "--repair").out == "nothing to repair\n"


def test_faults_are_found_and_mended(own: Lore) -> None:
    before = own("-J", "search", "lookup", "--mode", "lexical").data["results"]
    change(
        own,
        "UPDATE documents SET content_hash = x'00' WHERE id = (SELECT min(id) FROM documents)",
        "DELETE FROM vectors WHERE id = (SELECT max(id) FROM vectors)",
        "DELETE FROM threads_fts WHERE rowid = (SELECT max(id) FROM documents WHERE source_type = 'discussion')",
    )
    robot = own("-J", "stats", "--check")
    assert (robot.code, robot.data["sound"]) == (19, False)
    counts = {fault["name"]: fault["count"] for fault in robot.data["faults"]}
    assert {name for name, count in counts.items() if count} == {"stale_hash", "missing_words", "forgotten_passage"}

    told = own("stats", "--check")
    assert told.code == 19
    assert "✗ 1 documents whose text is not what its hash says" in told.out
    assert "3 faults found" in told.err
    assert "hint: lore stats --check --repair mends them" in told.err

    mended = own("stats", "--check", "--repair")
    assert mended.code == 0
    assert "mended; lore embed makes the vectors that are missing now" in mended.out
    assert own("-J", "stats", "--check").data["sound"] is True
    assert own("-J", "embed").data["embedded"] >= 1
    after = own("-J", "search", "lookup", "--mode", "lexical").data["results"]
    assert [one["reference"] for one in after] == [one["reference"] for one in before]


def test_a_torn_matrix_loses_no_result_and_is_made_again(mirrored: Lore, tmp_path: Path) -> None:
    lore = copied(mirrored, tmp_path / "torn")
    whole = lore("search", "who may change the lookup page").out
    (file,) = (lore.folder / "mirror.db-vectors").iterdir()
    file.write_bytes(file.read_bytes()[:100])
    assert lore("search", "who may change the lookup page").out == whole
    (fault,) = lore("-J", "stats", "--check", "--repair").data["repaired"]
    assert (fault["name"], fault["count"]) == ("torn_matrix", 1)
    assert lore("-J", "stats", "--check").data["sound"] is True


# ── doctor ──────────────────────────────────────────────────────────────────────────────────────────────


def test_doctor_looks_at_search_even_if_gitlab_is_away(mirrored: Lore) -> None:
    robot = mirrored("-J", "doctor")
    assert robot.code == 8
    checked = {check["name"]: check for check in robot.data["checks"]}
    assert checked["embedding"]["message"] == "bundled:all-MiniLM-L6-v2, 384 dimensions"
    assert checked["search by words"]["message"] == "162 documents"
    assert checked["search by meaning"]["message"] == f"252 vectors of {SPACE}"
    assert {checked[name]["status"] for name in ("embedding", "search by words", "search by meaning")} == {"ok"}
    done = mirrored("doctor")
    assert done.code == 8
    assert "✓ search by words: 162 documents" in done.out


def test_doctor_does_not_call_search_well_while_passages_have_no_vector(own: Lore) -> None:
    change(own, "DELETE FROM vectors WHERE id <= 2")
    assert checks(own)["search by meaning"]["status"] == "warning"
