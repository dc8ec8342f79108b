"""Walking GitLab's lists: by its links, through short pages, with and without totals."""

import asyncio
import re
from datetime import datetime
from functools import partial

import pytest
from tests.contract.conftest import run
from tests.contract.scripted import Said, scripted
from tests.simulator import building

from loreline.core.entities import Kind
from loreline.core.times import from_datetime
from loreline.errors import GitLabNotFound
from loreline.gitlab import decode, endpoints
from loreline.gitlab.failures import KeysetRefused
from loreline.simulator import RateLimit, World, edits, running

ISSUES = endpoints.entities(Kind.ISSUE, 1)


def walked(target, decoder):
    async def work(client):
        return [answer async for answer in client.pages(target, decoder)]

    return work


issues_of = partial(decode.entities, Kind.ISSUE)


def iids(answers):
    return [entity.iid for answer in answers for entity, _ in answer.value.entities]


def test_a_list_is_walked_to_its_end_page_by_page(ask, served):
    answers = ask(walked(ISSUES, issues_of))
    assert [len(answer.value.entities) for answer in answers] == [100, 100, 50]
    assert sorted(iids(answers)) == list(range(1, 251))
    assert [answer.total for answer in answers] == [250, 250, 250]
    assert len(served.requests.requests) == 3


def test_an_answer_tells_gitlabs_own_clock(ask, world):
    (answer, *_) = ask(walked(ISSUES, issues_of))
    assert answer.server_time == world.clock.now() // 1_000_000 * 1_000


def test_totals_that_gitlab_stopped_counting_are_unknown_and_nothing_is_lost(ask, world):
    world.behaviour.count_limit = 10
    answers = ask(walked(ISSUES, issues_of))
    assert {answer.total for answer in answers} == {None}
    assert len(iids(answers)) == 250


def test_short_and_empty_pages_do_not_end_a_list(tmp_path):
    threads = [building.thread(number, 1, internal=number <= 150) for number in range(1, 351)]
    corpus = building.small(tmp_path / "corpus", discussions=[{"kind": "issues", "iid": 1, "items": threads}])
    with World.open(corpus) as world:
        world.add_token("outsider", insider=False)
        with running(world) as served:
            target = endpoints.dependents(Kind.ISSUE, 1, 1, "discussions")
            answers = run(walked(target, decode.split_items), url=served.url, token="outsider")
    assert [len(answer.value) for answer in answers] == [0, 50, 100, 50]


def test_keyset_pages_follow_gitlabs_link(ask, served):
    answers = ask(walked(endpoints.entities(Kind.ISSUE, 1, keyset=True), issues_of))
    assert sorted(iids(answers)) == list(range(1, 251))
    assert all("cursor=" in request.query for request in list(served.requests.requests)[1:])
    assert answers[-1].next_target is None


def test_a_release_without_keyset_numbers_its_pages_as_ever(ask, world):
    keyset = walked(endpoints.entities(Kind.ISSUE, 1, keyset=True), issues_of)
    assert {answer.by_offset for answer in ask(keyset)} == {False}
    world.behaviour.keyset_issues = False
    assert {answer.by_offset for answer in ask(keyset)} == {True}


def test_keyset_is_refused_for_merge_requests(ask):
    async def work(client):
        await client.get(endpoints.entities(Kind.MERGE_REQUEST, 1, keyset=True), decode.split_items)

    with pytest.raises(KeysetRefused):
        ask(work)


def test_a_list_by_numbers_shows_those_and_no_others(ask):
    answers = ask(walked(endpoints.entities(Kind.ISSUE, 1, iids=[3, 77, 9999]), issues_of))
    assert sorted(iids(answers)) == [3, 77]


def test_a_list_from_a_moment_on_includes_that_moment(ask):
    all_of_them = [entity for answer in ask(walked(ISSUES, issues_of)) for entity, _ in answer.value.entities]
    moment = sorted(entity.updated_at for entity in all_of_them)[100]
    found = iids(ask(walked(endpoints.entities(Kind.ISSUE, 1, updated_after=moment), issues_of)))
    assert sorted(found) == sorted(entity.iid for entity in all_of_them if entity.updated_at >= moment)


def test_x_next_page_leads_on_where_a_proxy_dropped_the_links():
    pages = [
        Said(body=b'["a"]', headers=(("X-Next-Page", "2"),)),
        Said(body=b"[]", headers=(("X-Next-Page", "3"),)),
        Said(body=b'["b"]', headers=(("X-Next-Page", ""),)),
    ]
    with scripted(*pages) as server:
        answers = run(walked("projects/1/labels?per_page=100&x%5B%5D=1", decode.split_items), url=server.url)
    assert [answer.value for answer in answers] == [[b'"a"'], [], [b'"b"']]
    assert [re.findall(r"[?&]page=(\d+)", target) for _, target, _ in server.requests] == [[], ["2"], ["3"]]
    assert all("x%5B%5D=1" in target for _, target, _ in server.requests)


def test_a_link_to_another_address_is_followed_on_the_instances_own():
    pages = [
        Said(headers=(("Link", '<http://internal.example.com:8181/prefix/x?page=2&q=1>; rel="next"'),)),
        Said(headers=(("Link", '<http://internal.example.com:8181/x?page=1>; rel="first"'), ("X-Next-Page", "9"))),
    ]
    with scripted(*pages) as server:
        answers = run(walked("projects/1/labels", decode.split_items), url=server.url)
    assert len(answers) == 2
    assert [target for _, target, _ in server.requests] == [
        "/api/v4/projects/1/labels",
        "/api/v4/projects/1/labels?page=2&q=1",
    ]


def test_an_instance_below_a_path_is_asked_below_it():
    with scripted() as server:
        run(walked("projects/1/labels", decode.split_items), url=f"{server.url}/gitlab/")
    assert [target for _, target, _ in server.requests] == ["/gitlab/api/v4/projects/1/labels"]


def test_an_event_of_a_deleted_label_has_none(ask, world):
    edits.delete_label(world, 1, "bug")
    (answer,) = ask(walked(endpoints.dependents(Kind.ISSUE, 1, 1, "resource_label_events"), decode.label_events))
    (event,) = answer.value
    assert event.label_name is None
    assert (event.action, event.actor.username) == ("add", "ada")


def test_issues_of_another_tracker_are_closed_too(ask, world):
    iid = edits.create_merge_request(world, 1, "Fix")
    edits.set_closes(world, 1, iid, [{"id": "JIRA-1", "title": "Elsewhere"}, 2])
    (answer,) = ask(walked(endpoints.dependents(Kind.MERGE_REQUEST, 1, iid, "closes_issues"), decode.closed_issues))
    external, own = answer.value
    assert (external.external, external.iid) == ("JIRA-1", None)
    assert (own.external, own.gitlab_project_id, own.iid) == (None, 1, 2)


def test_what_is_new_in_gitlab_passes_by(tmp_path):
    fields = {"brand_new": {"nested": [1, None]}, "author": {**building.AUTHOR, "mood": "good"}}
    corpus = building.small(tmp_path / "corpus", issues=1, discussions=[])
    building.write(corpus, issues=[building.issue(1, **fields)])
    with World.open(corpus) as world, running(world) as served:
        (answer,) = run(walked(ISSUES, issues_of), url=served.url)
    (entity, raw) = answer.value.entities[0]
    assert entity.author.username == "ada"
    assert b"brand_new" in raw


MINIMAL = {
    "issue": (
        b'{"id":1,"iid":2,"state":"opened","created_at":"2015-01-02T03:04:05Z","updated_at":"2015-01-02T03:04:05Z"}'
    ),
    "discussion": b'{"id":"abc","notes":[{"id":1,"created_at":"2015-01-02T03:04:05.678+01:00"}]}',
}


@pytest.mark.parametrize("kind", list(Kind))
def test_what_an_old_gitlab_leaves_out_has_a_default(kind):
    entity = decode.entity(kind, MINIMAL["issue"])
    assert (entity.gitlab_id, entity.iid, entity.title, entity.author) == (1, 2, "", None)
    assert (entity.labels, entity.assignees, entity.milestone, entity.user_notes_count) == ((), (), None, 0)


def test_a_note_with_nothing_but_its_date_is_a_note():
    (note,) = decode.thread(MINIMAL["discussion"]).notes
    assert (note.body, note.author, note.is_system, note.resolvable, note.position) == ("", None, False, False, None)
    assert note.updated_at == note.created_at == from_datetime_text("2015-01-02T02:04:05.678+00:00")


def from_datetime_text(text):
    return from_datetime(datetime.fromisoformat(text))


def test_the_words_of_old_and_new_releases_mean_the_same():
    old = decode.merge_request(
        MINIMAL["issue"][:-1] + b',"work_in_progress":true,"assignee":{"id":7,"username":"ada"},'
        b'"merged_by":{"id":8,"username":"bob"},"labels":[]}'
    )
    new = decode.merge_request(
        MINIMAL["issue"][:-1] + b',"draft":true,"assignees":[{"id":7,"username":"ada"}],'
        b'"merge_user":{"id":8,"username":"bob"},"labels":[]}'
    )
    assert old == new
    assert (old.draft, old.merged_by, [one.username for one in old.assignees]) == (True, "bob", ["ada"])


def test_labels_are_read_as_names_or_in_detail():
    detailed = decode.issue(MINIMAL["issue"][:-1] + b',"labels":[{"id":3,"name":"bug","color":"#fff"},"old","bug"]}')
    assert detailed.labels == ("bug", "old")


def test_the_resolver_of_a_thread_is_a_user_or_a_name():
    note = b'{"id":1,"created_at":"2015-01-02T03:04:05Z","resolvable":true,"resolved":true,"resolved_by":%b}'
    for resolver in (b'"ada"', b'{"id":7,"username":"ada"}'):
        (read,) = decode.thread(b'{"id":"a","notes":[' + note % resolver + b"]}").notes
        assert (read.resolved, read.resolved_by) == (True, "ada")


def test_a_diff_that_gitlab_withheld_has_no_line_counts():
    withheld = b'{"new_path":"a","old_path":"a","diff":"","too_large":true,"collapsed":false}'
    shown = rb'{"new_path":"b","old_path":"a","renamed_file":true,"diff":"@@ -1,2 +1,2 @@\n-x\n+y\n+z\n same\n"}'
    hidden, moved = decode.file_changes(b"[%b,%b]" % (withheld, shown))
    assert (hidden.added_lines, hidden.removed_lines, hidden.too_large) == (None, None, True)
    assert (moved.change_type, moved.added_lines, moved.removed_lines) == ("renamed", 2, 1)


# ── odd texts ───────────────────────────────────────────────────────────────────────────────────────────


def test_a_megabyte_of_note_arrives_whole(ask, world):
    text = "lore 🦉 " * 150_000
    edits.add_note(world, 1, "issues", 2, text)
    (answer,) = ask(walked(endpoints.dependents(Kind.ISSUE, 1, 2, "discussions"), decode.split_items))
    (thread,) = [decode.thread(item) for item in answer.value]
    assert thread.notes[0].body == text


def test_a_nul_in_a_note_stays():
    body = rb'[{"id":"a","notes":[{"id":1,"created_at":"2024-01-01T00:00:00Z","body":"x\u0000y"}]}]'
    with scripted(Said(body=body)) as server:
        (answer,) = run(walked("x", decode.split_items), url=server.url)
    assert decode.thread(answer.value[0]).notes[0].body == "x\x00y"


@pytest.mark.parametrize("decoder", [decode.check_list, decode.split_items, decode.anything])
@pytest.mark.parametrize(
    "text", [rb"x\ud800y", rb"x\udc00y", b"x\xed\xa0\x80y"], ids=["high escape", "low escape", "raw bytes"]
)
def test_text_that_is_no_unicode_is_mended_in_the_bytes_that_are_kept(decoder, text):
    """The writer decodes the kept bytes again: they must not fail there, run after run."""
    body = b'[{"id":"a","notes":[{"id":1,"created_at":"2024-01-01T00:00:00Z","body":"%b","type":"\xc3\xa9"}]}]' % text
    with scripted(Said(body=body)) as server:
        (answer,) = run(walked("x", decoder), url=server.url)
    (item,) = decode.split_items(answer.body)
    (note,) = decode.thread(item).notes
    assert note.body.startswith("x\ufffd")
    assert note.body.endswith("y")
    assert note.type == "é"


# ── projects ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_renamed_project_is_found_under_its_old_path(ask, world):
    edits.rename_project(world, 1, "team/renamed")

    async def work(client):
        return await client.get(endpoints.project("team/app"), decode.project)

    assert ask(work).value.path == "team/renamed"


def test_a_renamed_projects_lists_keep_their_query(ask, world):
    edits.rename_project(world, 1, "team/renamed")

    async def work(client):
        return await client.get("projects/team%2Fapp/labels?per_page=1", decode.labels)

    assert [label.name for label in ask(work).value] == ["bug"]


def test_a_project_is_gone_when_gitlab_says_404(ask, world):
    edits.delete_project(world, 1)

    async def work(client):
        await client.get(endpoints.project("team/app"), decode.project)

    with pytest.raises(GitLabNotFound):
        ask(work)


def test_many_at_once_never_exceed_the_concurrency(ask, world, served):
    world.behaviour.latency = 0.01

    async def work(client):
        most = 0

        async def one(iid):
            nonlocal most
            await client.get(endpoints.entity(Kind.ISSUE, 1, iid), decode.entity_id)
            most = max(most, client.pacer._in_flight)

        await asyncio.gather(*(one(iid) for iid in range(1, 41)))
        return most

    assert ask(work, concurrency=3) <= 3
    assert len(served.requests.requests) == 40


def test_scarce_quota_spreads_requests_instead_of_hitting_the_limit(ask, world):
    world.limit_rate(RateLimit(limit=20, period=60))

    async def work(client):
        for iid in range(1, 19):
            await client.get(endpoints.entity(Kind.ISSUE, 1, iid), decode.entity_id)
        return client.pacer._scarcity_interval, client.traffic.rate_limited

    interval, limited = ask(work)
    assert interval > 1
    assert limited == 0


@pytest.mark.parametrize(
    "link", ["<http://[?page=2>; rel=next", '<?page=2#x>; rel="next"', "<x?page=2>;  rel=next, <y>; rel=last"]
)
def test_only_the_query_of_a_link_counts_whatever_its_address(link):
    with scripted(Said(headers=(("Link", link),)), Said()) as server:
        run(walked("x", decode.split_items), url=server.url)
    assert [target for _, target, _ in server.requests] == ["/api/v4/x", "/api/v4/x?page=2"]
