"""timeline: the demo's stories in order, for people, pipes and robots."""

from __future__ import annotations

import re

import pytest
from tests.lore import Lore, without_colour

from loreline.simulator import Running, edits

HARBOR = "northwind/harbor"


def told(lore: Lore, *words: str) -> dict:
    return lore("-J", "timeline", *words).data


def references(entities: list[dict]) -> list[str]:
    return [f"{'#' if one['type'] == 'issue' else '!'}{one['iid']}" for one in entities]


def test_a_question_brings_the_whole_story_of_the_cache_in_order(mirrored: Lore) -> None:
    answer = mirrored("-J", "timeline", "why was the cache removed").answer
    data, meta = answer["data"], answer["meta"]
    assert {"!15", "!16", "!17", "#17"} <= set(references(data["seed_entities"]))
    expanded = dict(zip(references(data["expanded_entities"]), data["expanded_entities"], strict=True))
    assert expanded["#16"]["depth"] == 1
    assert references([expanded["#16"]["via"]["from"]]) == ["!17"]
    assert expanded["#16"]["via"] | {"from": None} == {
        "from": None, "direction": "out", "reference_type": "closes", "source_method": "api_closes_issues"
    }  # fmt: skip
    times = [event["timestamp"] for event in data["events"]]
    assert times == sorted(times)
    story = [
        ("created", 15, "Add a read-through cache for tracking lookups"),
        ("merged", 15, "Add a read-through cache for tracking lookups"),
        ("created", 16, "Delivered parcels are shown as in transit"),
        ("merged", 17, 'Revert "Add a read-through cache for tracking lookups"'),
        ("state_changed", 16, "closed by !17"),
        ("created", 17, "Decision: no cache in front of tracking lookups"),
    ]
    happened = [(event["event_type"], event["entity_iid"], event["summary"]) for event in data["events"]]
    places = [happened.index(one) for one in story]
    assert places == sorted(places)
    said = [event for event in data["events"] if event["event_type"] == "note_evidence"]
    assert any("Rejected because" in event["summary"] for event in said)
    assert all(event["url"].endswith(f"#note_{event['details']['note_id']}") for event in said)
    assert meta["evidence_notes_included"] == len(said) <= 10
    assert meta["total_events"] == data["event_count"] == len(data["events"])


def test_one_that_is_named_is_told_with_what_it_closes(mirrored: Lore) -> None:
    data = told(mirrored, "!17")
    assert references(data["seed_entities"]) == ["!17"]
    assert references(data["expanded_entities"]) == ["#16"]
    by = [event["details"]["by"] for event in data["events"] if event["event_type"] == "state_changed"]
    assert references(by) == ["!17"]
    back = told(mirrored, "#16")
    ways = {
        name: one["via"]
        for name, one in zip(references(back["expanded_entities"]), back["expanded_entities"], strict=True)
    }
    assert ways["!17"]["direction"] == "in"


@pytest.mark.parametrize("depth", ["0", "1", "2", "3"])
def test_the_depth_says_how_far(mirrored: Lore, depth: str) -> None:
    depths = {one["depth"] for one in told(mirrored, "!17", "--depth", depth, "--expand-mentions")["expanded_entities"]}
    assert depths == set(range(1, int(depth) + 1))


def test_mentions_are_followed_when_asked_for_and_what_closes_comes_before(mirrored: Lore) -> None:
    ways = {
        name: one["via"]["reference_type"]
        for one in told(mirrored, "!17", "--expand-mentions")["expanded_entities"]
        for name in references([one])
    }
    assert ways["#16"] == "closes"
    assert ways["#29"] == "mentioned"


def test_references_that_lead_out_are_told(ready: Lore, gitlab: Running) -> None:
    iid = edits.create_issue(gitlab.world, HARBOR, "Elsewhere", description="As they found in other/place#7.")
    assert ready("sync", "-q", "--no-docs").code == 0
    data = told(ready, f"{HARBOR}#{iid}", "--expand-mentions")
    assert data["unresolved_references"] == [
        {
            "source": {"type": "issue", "iid": iid, "project": HARBOR},
            "target_project": "other/place", "target_type": "issue", "target_iid": 7,
            "reference_type": "mentioned", "source_method": "description_parse",
        }
    ]  # fmt: skip
    assert told(ready, f"{HARBOR}#{iid}")["unresolved_references"] == []


def test_since_and_until_cut_events_and_limit_keeps_the_latest(mirrored: Lore) -> None:
    whole = told(mirrored, "!17")["events"]
    assert told(mirrored, "!17", "--since", "2023-10-10")["events"] == [
        event for event in whole if event["timestamp"] >= "2023-10-10"
    ]
    assert told(mirrored, "!17", "--until", "2023-10-10")["events"] == [
        event for event in whole if event["timestamp"] < "2023-10-10"
    ]
    answer = mirrored("-J", "timeline", "!17", "-n", "3").answer
    assert answer["data"]["events"] == whole[-3:]
    assert answer["meta"]["truncated"] is True
    assert answer["meta"]["total_events"] == len(whole)


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_people_get_a_page_that_fits(mirrored: Lore, columns: int) -> None:
    seen = without_colour(mirrored.on_terminal("timeline", "!17", columns=columns))
    lines = seen.splitlines()
    assert max(map(len, lines)) <= columns
    assert lines[0] == "Timeline: !17 (12 events, 2 entities)"
    assert re.search(r"^2023-10-09  CREATED    #16    Delivered parcels are", seen, re.MULTILINE)
    assert re.search(r"^ {12}expanded via !17, which closes it", seen, re.MULTILINE)
    assert re.search(r"^2023-10-19  CLOSED     #16    closed by !17 +@maren", seen, re.MULTILINE)
    assert "found: !17 · expanded: #16" in seen
    assert seen.count("LABEL") == 1  # those it was made with stand below its creation


def test_a_pipe_gets_a_line_for_each_event(mirrored: Lore) -> None:
    done = mirrored("timeline", "!17")
    events = told(mirrored, "!17")["events"]
    rows = [line.split("\t") for line in done.out.splitlines()]
    assert [row[:2] for row in rows] == [[event["timestamp"], event["event_type"]] for event in events]
    assert {len(row) for row in rows} == {7}
    assert "\x1b" not in done.out


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        ((), 2, "Missing argument"),
        (("#999",), 17, "#999 is not mirrored"),
        (("#1",), 18, "#1 may be northwind/harbor#1, northwind/harbor-docs#1"),
        (("cache", "--depth", "4"), 13, "use 0 to 3"),
        (("cache", "-n", "0"), 13, "use 1 to 1000"),
        (("cache", "--since", "soon"), 13, "'soon' is no date"),
        (("cache", "-t", "discussion"), 13, "--type issue, or --type mr"),
        (("cache", "-t", "isue"), 13, "did you mean issue?"),
        (("cache", "-p", "no/such"), 17, "mirrored are"),
    ],
)
def test_what_is_wrong_is_told_with_what_to_do(mirrored: Lore, words: tuple[str, ...], code: int, text: str) -> None:
    done = mirrored("timeline", *words)
    assert done.code == code, done
    assert text in done.err


def test_nothing_found_says_so(mirrored: Lore) -> None:
    done = mirrored("timeline", "xyzzyqwert", "--since", "2w")
    assert (done.code, done.out) == (0, "")
    assert "nothing is known to have happened with 'xyzzyqwert'" in done.err
