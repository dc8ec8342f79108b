"""Documents, words and vectors follow what is mirrored, and nothing is made twice."""

import pytest
from tests.search.harness import WRITTEN, Mirror, differences

from loreline.core.documents import SourceType
from loreline.core.query import Filters
from loreline.services.search.request import Mode
from loreline.simulator import edits

APP = "team/app"


@pytest.fixture
def talk(mirror):
    """Two issues and a merge request with a thread each, synced."""
    world = mirror.world
    edits.create_issue(world, APP, "Login fails", description="The walrus cannot sign in.", author="ada")
    edits.add_note(world, APP, "issues", 1, "Seen on the iguana cluster.", author="grace")
    edits.create_issue(world, APP, "Slow start", description="Booting takes a minute.", author="ada")
    edits.add_note(world, APP, "issues", 2, "It waits for the network.", author="grace")
    edits.create_merge_request(
        world, APP, "Cache tokens", description="Keeps a pelican around.", author="ada", diffs=[{"new_path": "auth.py"}]
    )
    edits.add_note(world, APP, "merge_requests", 1, "Why not a flamingo?", author="grace", thread=True)
    mirror.sync()
    return mirror


def first_note(world, kind, iid):
    return world.live(APP, kind, iid).discussions[0]["notes"][0]["id"]


def rows_by_document(mirror):
    """(table, document) → its rows, ids and all."""
    found = {}
    for table in WRITTEN:
        owner = {"documents": "id", "vectors": "(SELECT document_id FROM passages WHERE id = passage_id)"}
        for document, *row in mirror.query(f"SELECT {owner.get(table, 'document_id')}, * FROM {table} ORDER BY 1, 2"):
            found.setdefault((table, document), []).append(row)
    return found


def document_of(mirror, source_type, iid):
    join = {"issue": "issues e ON e.id = d.source_id", "merge_request": "merge_requests e ON e.id = d.source_id"}
    ((found,),) = mirror.query(
        f"SELECT d.id FROM documents d JOIN {join[source_type]} WHERE d.source_type = ? AND e.iid = ?", source_type, iid
    )
    return found


def test_a_document_that_is_written_twice_in_a_sync_is_reported_once(mirror, world):
    for number in range(3):
        iid = edits.create_issue(world, APP, f"Issue {number}", description="It has a thread.")
        edits.add_note(world, APP, "issues", iid, "Here it is.", author="grace")
    report = mirror.sync()
    assert mirror.query("SELECT count(*) FROM documents") == [(report.run.rows["documents"],)] == [(6,)]


def test_a_sync_makes_documents_words_and_vectors_of_all_it_brings(talk):
    assert talk.query("SELECT source_type, count(*) FROM documents GROUP BY 1 ORDER BY 1") == [
        ("discussion", 3),
        ("issue", 2),
        ("merge_request", 1),
    ]
    assert talk.found("walrus") == {"issue 1"}
    assert talk.found("iguana") == {"issue 1", "discussion 1"}
    assert talk.found("flamingo", filters=Filters(path="auth.py")) == {"merge_request 1"}
    ((passages, vectors, waiting),) = talk.query(
        "SELECT (SELECT count(*) FROM passages), (SELECT count(*) FROM vectors), count(*) FROM pending_embeddings"
    )
    assert passages == vectors == 6
    assert waiting == 0
    best = talk.search(
        "a person is unable to log on", Mode.SEMANTIC, filters=Filters(source_type=SourceType.ISSUE)
    ).results
    assert [hit.iid for hit in best] == [1, 2]


EDITS = [
    pytest.param(
        lambda world: edits.edit_text(world, APP, "issues", 1, description="The narwhal cannot sign in."),
        "walrus", "narwhal", {"issue 1"},
        id="an issue's description",
    ),
    pytest.param(
        lambda world: edits.edit_text(world, APP, "merge_requests", 1, description="Keeps an ostrich around."),
        "pelican", "ostrich", {"merge_request 1"},
        id="a merge request's description",
    ),
    pytest.param(
        lambda world: edits.edit_note(world, APP, "issues", 1, first_note(world, "issues", 1), "Seen on the gecko."),
        "iguana", "gecko", {"issue 1", "discussion 1"},
        id="a comment on an issue",
    ),
    pytest.param(
        lambda world: edits.edit_note(
            world, APP, "merge_requests", 1, first_note(world, "merge_requests", 1), "Why not a heron?"
        ),
        "flamingo", "heron", {"merge_request 1", "discussion 1"},
        id="a comment in a thread of a merge request",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("edit", "old", "new", "found"), EDITS)
def test_an_edited_text_is_found_by_its_new_words_and_no_longer_by_its_old_ones_and_the_rest_is_not_written_again(
    talk, edit, old, new, found
):
    assert talk.found(old) == found
    assert talk.found(new) == set()
    before = rows_by_document(talk)
    edit(talk.world)
    talk.sync()
    assert talk.found(old) == set()
    hits = talk.search(new, Mode.LEXICAL).results
    assert {f"{hit.type} {hit.iid}" for hit in hits} == found
    assert any(new in hit.snippet.text for hit in hits)
    assert not any(old in hit.snippet.text for hit in hits)
    after = rows_by_document(talk)
    assert before.keys() == after.keys()
    same = {key for key in before if before[key] == after[key]}
    assert {key for key in before if key[1] not in {hit.document_id for hit in hits}} <= same
    written = {key[0] for key in before.keys() - same}
    assert {"documents", "document_texts", "passages", "vectors"} >= written >= {"documents"}
    assert talk.query(
        "SELECT count(*) FROM passages p JOIN vectors v ON v.passage_id = p.id AND v.text_hash = p.text_hash"
    ) == [(6,)]


def test_a_sync_without_news_writes_nothing_at_all(talk):
    before, files = talk.ids(), talk.query("SELECT * FROM feed_followers")
    report = talk.sync()
    assert "documents" not in report.run.rows
    assert "vectors" not in report.run.rows
    assert talk.ids() == before
    assert talk.query("SELECT * FROM feed_followers") == files


def test_a_paragraph_that_is_added_leaves_the_passages_beside_it_and_their_vectors(talk):
    long = "The walrus cannot sign in. " * 30
    edits.edit_text(talk.world, APP, "issues", 1, description=f"{long}\n\n{long.replace('walrus', 'seal')}")
    talk.sync()
    document = document_of(talk, "issue", 1)
    both = "SELECT p.id, v.id FROM passages p JOIN vectors v ON v.passage_id = p.id WHERE document_id = ? ORDER BY 1"
    before = talk.query(both, document)
    assert len(before) == 2
    edits.edit_text(
        talk.world, APP, "issues", 1, description=f"{long}\n\nIn between. {long}\n\n{long.replace('walrus', 'seal')}"
    )
    talk.sync()
    after = talk.query(both, document)
    assert len(after) == 3
    assert after[:2] == before
    positions = talk.query("SELECT id, position FROM passages WHERE document_id = ? ORDER BY position", document)
    assert [place for _, place in positions] == [0, 1, 2]
    assert [id_ for id_, _ in positions] == [before[0][0], after[2][0], before[1][0]]


def test_a_changed_label_is_filtered_by_and_keeps_passages_and_vectors(talk):
    before = talk.ids()
    edits.add_label(talk.world, APP, "issues", 1, "urgent")
    talk.sync()
    labelled = Filters(labels=("urgent",))
    assert talk.found("walrus iguana", filters=labelled) == {"issue 1", "discussion 1"}
    assert talk.search("walrus", filters=labelled).results[0].labels == ["urgent"]
    ((text,),) = talk.query(
        "SELECT content_text FROM document_texts WHERE document_id = ?", document_of(talk, "issue", 1)
    )
    assert 'Labels: ["urgent"]' in text
    for table in ("passages", "vectors"):
        ids = [row[0] for row in before[table]]
        assert [row[0] for row in talk.ids()[table]] == ids
    edits.remove_label(talk.world, APP, "issues", 1, "urgent")
    talk.sync()
    assert talk.found("walrus iguana", filters=labelled) == set()
    assert talk.query("SELECT count(*) FROM document_labels") == [(0,)]


def test_a_changed_state_is_shown_and_filtered_by(talk):
    edits.close(talk.world, APP, "issues", 1)
    edits.merge(talk.world, APP, 1)
    talk.sync()
    assert talk.found("walrus pelican", filters=Filters(state="closed")) == {"issue 1"}
    assert talk.found("walrus pelican", filters=Filters(state="merged")) == {"merge_request 1"}
    assert talk.found("walrus pelican", filters=Filters(state="opened")) == set()
    states = dict(talk.query("SELECT title, content_text FROM documents JOIN document_texts ON id = document_id"))
    assert "State: closed" in states["Login fails"] or "[[Discussion]]" in states["Login fails"]
    ((text,),) = talk.query(
        "SELECT content_text FROM document_texts WHERE document_id = ?", document_of(talk, "issue", 1)
    )
    assert "\nState: closed\n" in text


def test_a_changed_title_is_that_of_its_threads_too_and_is_embedded_with_them(talk):
    edits.edit_text(talk.world, APP, "issues", 1, title="Zebra crossing")
    talk.sync()
    assert talk.found("zebra") == {"issue 1"}
    assert talk.found('+zebra +"iguana cluster"') == {"issue 1"}
    assert talk.found("login fails") == set()
    assert {hit.title for hit in talk.search("iguana", Mode.LEXICAL).results} == {"Zebra crossing"}
    titles = talk.query("SELECT DISTINCT title FROM documents ORDER BY 1")
    assert titles == [("Cache tokens",), ("Slow start",), ("Zebra crossing",)]
    assert talk.query(
        "SELECT count(*) FROM passages p JOIN vectors v ON v.passage_id = p.id AND v.text_hash = p.text_hash"
    ) == [(6,)]


LOOKS = [{"reconcile": True}, {"full": True}]


@pytest.mark.parametrize("look", LOOKS, ids=["reconcile", "full"])
def test_what_was_deleted_goes_with_its_passages_words_and_vectors(talk, look):
    edits.delete(talk.world, APP, "issues", 1)
    talk.sync()
    assert talk.found("walrus") == {"issue 1"}  # nothing tells of it
    talk.world.clock.advance(7_200)
    talk.sync(**look)
    assert talk.found("walrus iguana") == set()
    assert "issue 1" not in talk.found("walrus cannot sign in", Mode.SEMANTIC)
    held = talk.contents()
    assert {row[0].split()[0] for row in held["documents"]} == {"issue", "merge_request", "discussion"}
    assert [len(held[name]) for name in ("documents", "passages", "vectors")] == [4, 4, 4]
    assert not [row for name in ("entity words", "thread words") for row in held[name] if row[0] is None]
    assert {row[1] for row in held["entity words"]} & {"walru", "iguana", "walrus"} == set()


def test_a_deleted_comment_goes_and_its_issue_stays(talk):
    edits.delete_note(talk.world, APP, "merge_requests", 1, first_note(talk.world, "merge_requests", 1))
    talk.sync(reconcile=True)
    talk.world.clock.advance(7_200)
    talk.sync()
    assert talk.found("flamingo") == set()
    assert talk.found("pelican") == {"merge_request 1"}
    assert [len(talk.contents()[name]) for name in ("documents", "passages", "vectors")] == [5, 5, 5]


def test_what_gitlab_wrote_itself_is_in_no_document(talk):
    edits.assign(talk.world, APP, "issues", 1, ["hedwig"])
    edits.edit_text(talk.world, APP, "merge_requests", 1, description="As in #2, with a pelican.")
    talk.sync()
    system = talk.query("SELECT body FROM notes WHERE is_system")
    assert any("hedwig" in body for (body,) in system)
    assert any("mentioned in" in body for (body,) in system)
    assert talk.found("hedwig mentioned") == set()
    assert talk.query("SELECT count(*) FROM documents WHERE source_type = 'discussion'") == [(3,)]


@pytest.mark.parametrize("bot_notes", [True, False])
def test_notes_of_bots_are_searchable_unless_the_settings_leave_them_out(tmp_path, served, world, model, bot_notes):
    mirror = Mirror(tmp_path, served, world, model, bot_notes=bot_notes, bots=("*_bot", "robo-*"))
    edits.create_issue(world, APP, "Build", description="It broke.", author="release_bot")
    edits.add_note(world, APP, "issues", 1, "Pipeline quokka failed.", author="project_1_bot")
    note = edits.add_note(world, APP, "issues", 1, "Looking into the wombat.", author="ada", thread=True)
    edits.add_note(
        world, APP, "issues", 1, "Retried the axolotl.", author="Robo-Ci", discussion_id=note["discussion_id"]
    )
    mirror.sync(vectors=False)
    assert mirror.found("quokka") == ({"issue 1", "discussion 1"} if bot_notes else set())
    assert mirror.found("axolotl") == ({"issue 1", "discussion 1"} if bot_notes else set())
    assert mirror.found("wombat") == {"issue 1", "discussion 1"}
    assert mirror.found("broke") == {"issue 1"}  # what a bot opened is no note
    # Whoever changes the setting has everything made anew.
    name = mirror.lore.folder / "loreline.toml"
    name.write_text(
        f"{name.read_text()}[documents]\nbot_notes = {str(not bot_notes).lower()}\nbots = ['*_bot', 'robo-*']\n"
    )
    assert mirror.lore("generate-docs", "--full", "-J").code == 0
    assert mirror.found("quokka axolotl") == (set() if bot_notes else {"issue 1", "discussion 1"})


def test_documents_and_vectors_made_later_are_those_a_plain_sync_makes(talk, tmp_path_factory, served):
    folder = tmp_path_factory.mktemp("later")
    later = Mirror(folder, served, talk.world, talk.model)
    assert later.lore("sync", "--no-docs", "-J").code == 0
    assert later.query("SELECT count(*) FROM documents") == [(0,)]
    assert later.lore("search", "walrus", "-J").answer["error"]["message"] == "nothing is indexed yet"
    made = later.lore("generate-docs", "-J").data
    assert (made["issues"], made["merge_requests"], made["discussions"], made["unchanged"]) == (2, 1, 3, 0)
    assert later.found("walrus") == {"issue 1"}
    assert later.query("SELECT count(*) FROM vectors") == [(0,)]
    assert later.lore("embed", "-J").data == {"embedded": 6, "reused": 0, "failed": 0}
    assert differences(later.contents(), talk.contents()) == {}


def test_a_sync_that_leaves_vectors_out_is_searchable_by_words_and_embed_adds_them(talk, tmp_path_factory, served):
    folder = tmp_path_factory.mktemp("words")
    later = Mirror(folder, served, talk.world, talk.model)
    assert later.lore("sync", "--no-embed", "-J").code == 0
    answer = later.search("walrus")
    assert (answer.mode, [hit.iid for hit in answer.results]) == (Mode.LEXICAL, [1])
    assert "nothing is embedded yet" in answer.warnings[0]
    assert later.lore("embed", "-J").data["embedded"] == 6
    assert later.search("walrus").mode is Mode.HYBRID
    assert differences(later.contents(), talk.contents()) == {}


def test_making_all_documents_anew_changes_nothing_that_was_right(talk):
    before, words = talk.ids(), talk.contents()
    made = talk.lore("generate-docs", "--full", "-J").data
    assert made["removed"] == made["failed"] == 0
    assert made["issues"] + made["merge_requests"] + made["discussions"] == 6
    assert talk.ids() == before
    assert differences(talk.contents(), words) == {}


def test_making_all_documents_anew_puts_right_what_was_wrong(talk):
    before = talk.contents()
    with_fault = "UPDATE document_texts SET content_text = replace(content_text, 'walrus', 'badger')"
    talk.query(with_fault)
    talk.query("DELETE FROM entities_fts WHERE rowid = ?", document_of(talk, "issue", 2))
    assert differences(talk.contents(), before) != {}
    assert talk.lore("generate-docs", "--full", "-J").code == 0
    assert differences(talk.contents(), before) == {}


def test_a_text_that_is_embedded_already_gets_the_vector_it_has_elsewhere(talk):
    for _ in range(5):
        edits.create_issue(talk.world, APP, "Slow start", description="Booting takes a minute.")
    talk.sync(vectors=False)
    assert talk.lore("embed", "-J").data == {"embedded": 0, "reused": 5, "failed": 0}
    assert talk.query(
        "SELECT count(*), count(DISTINCT components) FROM vectors v JOIN passages p ON p.id = v.passage_id"
        " JOIN documents d ON d.id = p.document_id WHERE d.title = 'Slow start' AND d.source_type = 'issue'"
    ) == [(6, 1)]


def test_embedding_everything_anew_replaces_every_vector(talk):
    before = dict(talk.query("SELECT passage_id, components FROM vectors"))
    talk.query("UPDATE vectors SET components = zeroblob(384), scale = 1.0")
    assert talk.lore("embed", "--full", "-J").data == {"embedded": 6, "reused": 0, "failed": 0}
    after = dict(talk.query("SELECT passage_id, components FROM vectors"))
    assert after.keys() == before.keys()
    assert not [passage for passage, vector in after.items() if not any(vector)]


def test_a_new_thread_may_take_the_place_of_a_deleted_one_of_another_issue(talk):
    """SQLite gives a new row the number of the last one where that has gone."""
    edits.add_note(talk.world, APP, "merge_requests", 1, "An afterthought about camels.", author="ada", thread=True)
    talk.sync()
    last = talk.world.live(APP, "merge_requests", 1).discussions[-1]["notes"][0]["id"]
    ((taken,),) = talk.query("SELECT max(id) FROM discussions")
    edits.delete_note(talk.world, APP, "merge_requests", 1, last)
    edits.add_label(talk.world, APP, "merge_requests", 1, "soon")
    talk.sync(documents=False)
    edits.add_note(talk.world, APP, "issues", 2, "Ask the camels.", author="ada")
    talk.sync(documents=False)
    assert talk.query("SELECT issue_id IS NOT NULL FROM discussions WHERE id = ?", taken) == [(1,)]
    edits.add_label(talk.world, APP, "merge_requests", 1, "later")
    talk.sync(documents=False)
    made = talk.lore("generate-docs", "-J")
    assert made.code == 0, made.out
    assert talk.found("camels") == {"issue 2", "discussion 2"}
    assert talk.found("afterthought") == set()
