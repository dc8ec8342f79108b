"""search and related: what people and robots ask of the index, and what they are told."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.lore import Lore, without_colour
from tests.search.harness import all_found, searching

from loreline.services.search.request import Mode
from loreline.simulator import DEFAULT_TOKEN, World, edits, running
from loreline.simulator.demo.corpus import Demo

ADDRESS = re.compile(r"https://gitlab\.example\.com/northwind/[\w./-]+/-/(?:issues|merge_requests)/\d+(?:#note_\d+)?")
EVIL = "\x1b]0;owned\x07 \x1b[2J red \u202egnp.exe \x9b31m \u2066x\u2069"


@pytest.fixture(scope="session")
def everything(mirrored: Lore) -> dict[str, dict]:
    """All issues and merge requests by their reference, as `lore list` knows them."""
    found = {}
    for what, sigil in (("issues", "#"), ("mrs", "!")):
        for item in mirrored("-J", "list", what, "-n", "1000").data["items"]:
            found[f"{item['project']}{sigil}{item['iid']}"] = item
    return found


@pytest.fixture(scope="session")
def hostile(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Lore:
    """A mirror in which somebody wrote what drives a terminal into everything they could."""
    lore = Lore(tmp_path_factory.mktemp("hostile"), {"GITLAB_TOKEN": DEFAULT_TOKEN})
    with World.open(*demo.projects.values()) as world, running(world) as server:
        project = "northwind/harbor-docs"
        edits.create_label(world, project, f"lab{EVIL}el")
        iid = edits.create_issue(
            world,
            project,
            f"nasty {EVIL} title",
            description=f"gargoyle {EVIL} documents the lookup API for shops",
            labels=[f"lab{EVIL}el"],
        )
        edits.create_issue(world, project, "gargoyle of a neighbour", description="it shares a word with the nasty one")
        edits.add_note(world, project, "issues", iid, f"gargoyle note {EVIL} <script>", thread=True)
        lore.configure(server.url, [project])
        done = lore("sync", "-J")
        assert done.code == 0, done
    return lore


def found(lore: Lore, *words: str, mode: str = "lexical", limit: int = 100) -> list[str]:
    data = lore("-J", "search", "--group", "--mode", mode, "-n", str(limit), *words).data
    assert limit < 100 or data["next_cursor"] is None, "the rest is on another page"
    return [one["reference"] for one in data["results"]]


def references(lore: Lore, query: str) -> set[str]:
    """What a query finds, without starting a process for it."""
    with searching(lore.folder / "mirror.db", None) as session:
        hits = all_found(session, query, mode=Mode.LEXICAL, group=True)
    return {hit.reference for hit in hits}


@pytest.fixture(scope="session")
def about_tokens(mirrored: Lore) -> set[str]:
    return set(found(mirrored, "token"))


@pytest.fixture(scope="session")
def near_tokens(mirrored: Lore) -> list[dict]:
    return mirrored("-J", "related", "!6", "-n", "10").data["related"]


def is_safe(text: str) -> bool:
    return not re.search(r"\x1b\]|\x1b\[2J|[\x07\x9b\u202e\u2066\u2069]", text)


# ── what is found ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("question", "reference"),
    [
        ("why was the redis cache removed", "!17"),
        ("couriers have to sign in again after each deploy", "#3"),
        ("color blind people can't read the status", "!28"),
        ("REFRESH_REUSE_GRACE", "#31"),
        ("rotate_refresh_token", "#26"),
        ("harbor/identity/session.py", "!11"),
    ],
)
def test_sentences_and_identifiers_find_what_is_about_them(mirrored: Lore, question: str, reference: str) -> None:
    assert f"northwind/harbor{reference}" in found(mirrored, question, mode="hybrid", limit=3)


@pytest.mark.parametrize(
    ("named", "reference"),
    [
        ("#13", "northwind/harbor#13"),
        ("!6", "northwind/harbor!6"),
        ("harbor-docs#1", "northwind/harbor-docs#1"),
        ("5d2836823abd", "northwind/harbor!6"),
        ("https://gitlab.example.com/northwind/harbor/-/merge_requests/8", "northwind/harbor!8"),
    ],
)
def test_what_the_query_names_comes_first(mirrored: Lore, named: str, reference: str) -> None:
    first = mirrored("-J", "search", named, "--mode", "lexical").data["results"][0]
    assert (first["reference"], first["exact"]) == (reference, True)


def test_an_address_of_a_note_shows_that_note(mirrored: Lore) -> None:
    address = "https://gitlab.example.com/northwind/harbor/-/merge_requests/6"
    threads = mirrored("-J", "show", "!6").data["threads"]
    note = next(note for thread in threads for note in thread["notes"] if "no idea. will count" in note["body"])
    first = mirrored("-J", "search", note["web_url"], "--mode", "lexical", "--group").data["results"][0]
    assert first["snippet"]["url"] == note["web_url"] == f"{address}#note_{first['snippet']['note_id']}"
    assert "will count once it's out" in first["snippet"]["text"]


def test_a_minus_and_a_plus_share_the_results_between_them(mirrored: Lore, about_tokens: set[str]) -> None:
    without = set(found(mirrored, "token -refresh"))
    required = set(found(mirrored, "token +refresh"))
    assert without
    assert required
    assert without | required == about_tokens
    assert not without & required


def test_a_phrase_has_to_stand_there_as_it_is(mirrored: Lore) -> None:
    phrase = found(mirrored, '"refresh token"')
    assert phrase
    assert set(phrase) < set(found(mirrored, "+refresh +token"))
    assert found(mirrored, '"token refresh cookie deploy"') == []
    # The shell takes the quotes away; an argument with a space among others is still a phrase.
    assert set(found(mirrored, "people", "refresh token")) == set(phrase)


def test_a_star_stands_for_the_rest_of_a_word(mirrored: Lore) -> None:
    assert set(found(mirrored, "postg*")) >= set(found(mirrored, "postgres")) != set()
    assert found(mirrored, "postg") == []


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "semantic"])
def test_every_mode_answers_and_says_which_it_was(mirrored: Lore, mode: str) -> None:
    parts = {"hybrid": {"words", "opening", "passage"}, "lexical": {"words"}, "semantic": {"opening", "passage"}}
    data = mirrored("-J", "search", "access token", "--mode", mode, "-n", "5", "--group", "--explain").data
    assert data["mode"] == mode
    assert len(data["results"]) == 5
    assert set(data["results"][0]["explain"]) == parts[mode]


def test_fts5_expressions_are_taken_as_they_are_in_raw_mode(mirrored: Lore) -> None:
    raw = ("--fts-mode", "raw")
    redis = found(mirrored, "redis", *raw)
    assert set(found(mirrored, "cache AND redis", *raw)) == set(found(mirrored, "cache", *raw)) & set(redis) != set()
    assert "northwind/harbor!6" in found(mirrored, "title: rotate", *raw)
    assert found(mirrored, "redis", *raw, "-t", "mr") == [one for one in redis if "!" in one]


# ── filters ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("options", "query", "keeps"),
    [
        (("--type", "issue"), "type:issue", lambda one: one["kind"] == "issue"),
        (("-t", "merge_requests"), "is:mr", lambda one: one["kind"] == "merge_request"),
        (("--author", "priya"), "author:@priya", lambda one: one["author"] == "priya"),
        (("-A", "@Priya"), 'author:"priya"', lambda one: one["author"] == "priya"),
        (("--assignee", "daiki"), "assignee:daiki", lambda one: "daiki" in one["assignees"]),
        (("--label", "bug"), "label:~bug", lambda one: "bug" in one["labels"]),
        (("-l", "AUTH", "-l", "bug"), "label:auth label:bug", lambda one: {"auth", "bug"} <= set(one["labels"])),
        (("--milestone", "1.0"), "milestone:%1.0", lambda one: one["milestone"] == "1.0"),
        (("--state", "merged"), "is:merged", lambda one: one["state"] == "merged"),
        (("-s", "open"), "state:opened", lambda one: one["state"] == "opened"),
        (("--project", "harbor-docs"), "project:northwind/harbor-docs", lambda one: "docs" in one["project"]),
        (("--after", "2024-01-31"), "after:2024-01-31", lambda one: one["created_at"] >= "2024-01-31"),
        (("--before", "2023-03-01"), "created-before:2023-03-01", lambda one: one["created_at"] < "2023-03-01"),
        (("--updated-after", "2024-06-01"), "updated-after:2024-06-01", lambda one: one["updated_at"] >= "2024-06-01"),
        (("--updated-before", "2023-04-01"), "updated-before:2023-04-01", lambda one: one["updated_at"] < "2023-04-01"),
        (
            ("-s", "closed", "-t", "issue", "-l", "security"),
            "state:closed type:issue label:security",
            lambda one: one["state"] == "closed" and one["kind"] == "issue" and "security" in one["labels"],
        ),
    ],
)
def test_a_filter_keeps_what_it_says_as_an_option_and_in_the_query(
    mirrored: Lore, everything: dict[str, dict], about_tokens: set[str], options: tuple[str, ...], query: str, keeps
) -> None:
    expected = {reference for reference, item in everything.items() if keeps(item)}
    assert expected
    assert references(mirrored, query) == expected
    assert set(found(mirrored, "token", *options)) == expected & about_tokens


def test_by_default_all_entities_match_no_filter(mirrored: Lore, everything: dict[str, dict]) -> None:
    assert set(found(mirrored, "--after", "20y")) == set(everything)
    assert set(found(mirrored, "before:yesterday")) == set(everything)
    assert found(mirrored, "token", "--after", "2w") == []


def test_a_path_is_a_file_or_all_below_a_folder(mirrored: Lore) -> None:
    file = found(mirrored, "--path", "harbor/auth.py")
    folder = found(mirrored, "path:harbor/")
    assert "northwind/harbor!6" in file
    assert set(file) < set(folder)
    assert found(mirrored, "--path", "harbor") == []


def test_threads_can_be_asked_for_and_are_judged_by_who_began_them(mirrored: Lore) -> None:
    results = mirrored("-J", "search", "token", "-t", "discussion", "-A", "priya", "-n", "100").data["results"]
    assert results
    for one in results:
        assert (one["type"], one["author"]) == ("discussion", "priya")
        assert one["url"] == one["snippet"]["url"]
        assert re.search(r"/(issues|merge_requests)/\d+#note_\d+$", one["url"]), one["url"]


# ── order, pages ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("words", [(), ("--group", "--sort", "oldest")])
def test_pages_together_give_each_result_once(mirrored: Lore, words: tuple[str, ...]) -> None:
    asked = ("-J", "search", "--mode", "lexical", "token", *words)
    whole = [one["document_id"] for one in mirrored(*asked, "-n", "100").data["results"]]
    size = len(whole) // 3 + 1
    paged: list[int] = []
    cursor: tuple[str, ...] = ()
    for _ in range(3):
        answer = mirrored(*asked, "-n", str(size), *cursor).answer
        paged += [one["document_id"] for one in answer["data"]["results"]]
        assert answer["meta"]["truncated"] is (answer["data"]["next_cursor"] is not None)
        cursor = ("--cursor", answer["data"]["next_cursor"])
    assert cursor == ("--cursor", None)
    assert paged == whole
    assert len(set(paged)) == len(paged) > 3


@pytest.mark.parametrize("span", ["20y", "2023-01-01"])
def test_a_cursor_goes_on_whatever_way_a_date_was_given(mirrored: Lore, span: str) -> None:
    asked = ("-J", "search", "--mode", "lexical", "token", "-n", "2", "--after", span)
    first = mirrored(*asked).data
    second = mirrored(*asked, "--cursor", first["next_cursor"]).data
    ids = [one["document_id"] for page in (first, second) for one in page["results"]]
    assert len(set(ids)) == 4


def test_a_person_can_go_on_with_the_cursor_that_is_told(mirrored: Lore) -> None:
    asked = ("search", "token", "-n", "2", "--mode", "lexical")
    first = mirrored(*asked)
    cursor = re.search(r"the next page: --cursor (\S+)", first.err)
    assert cursor is not None, first
    second = mirrored(*asked, "--cursor", cursor[1])
    assert second.code == 0, second
    assert not set(first.out.splitlines()) & set(second.out.splitlines())
    assert mirrored(*asked, "-q").err == ""


@pytest.mark.parametrize("order", ["newest", "oldest"])
def test_results_can_be_ordered_by_the_time_of_their_last_change(mirrored: Lore, order: str) -> None:
    results = mirrored("-J", "search", "refresh token", "--sort", order, "-n", "50").data["results"]
    times = [one["updated_at"] for one in results]
    assert len(times) > 3
    assert times == sorted(times, reverse=order == "newest")


# ── what cannot be answered ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ((), 13, "nothing to look for"),
        (("--", "-token"), 13, "-words only take away"),
        (("-t", "issue", "--fts-mode", "raw"), 13, "nothing to look for"),
        (("lable:bug",), 13, "did you mean label:bug?"),
        (("autor:jane",), 13, "did you mean author:jane?"),
        (("token label:",), 13, "label: needs a value"),
        (("token -author:priya",), 13, "filters can't be negated"),
        (("state:opne", "x"), 13, "did you mean opened?"),
        (("x", "-s", "mergd"), 13, "did you mean merged?"),
        (("x", "--type", "isue"), 13, "did you mean issue?"),
        (("x", "--after", "tomorow"), 13, "'tomorow' is no date"),
        (("x", "--updated-before", "2024-13-45"), 13, "2024-01-31, 6m, 2w, 3d, today or yesterday"),
        (("before:soon", "x"), 13, "'soon' is no date"),
        (("x", "--limit", "0"), 13, "use 1 to 100"),
        (("x", "--limit", "101"), 13, "use 1 to 100"),
        (("x", "--mode", "magic"), 13, "'hybrid', 'lexical', 'semantic'"),
        (("x", "--cursor", "garbage"), 13, "that cursor"),
        # A cursor of `lore list`.
        (("x", "--cursor", "g6VvcmRlcqx1cGRhdGVkLWRlc2OldmFsdWXPAAABjhNib5CiaWQT"), 13, "that cursor"),
        (("x", "-p", "no/such"), 17, "mirrored are: northwind/harbor, northwind/harbor-docs"),
        (("token AND", "--fts-mode", "raw"), 13, "FTS5 does not understand that query"),
        (('"open', "--fts-mode", "raw"), 13, "without --fts-mode raw"),
        (("column:x", "--fts-mode", "raw"), 13, "no such column: column"),
        (("a " * 1001, "--fts-mode", "raw"), 13, "2,002 characters is too long"),
        (("token", "--open", "0", "--mode", "lexical"), 13, "there is no result 0"),
        (("token", "--open", "21", "--mode", "lexical"), 13, "there is no result 21"),
        (("token", "--no-such-option"), 2, "No such option"),
    ],
)
def test_what_cannot_be_answered_says_why_and_what_to_do(
    mirrored: Lore, words: tuple[str, ...], code: int, told: str
) -> None:
    done = mirrored("search", *words)
    assert done.code == code, done
    assert told in done.err
    assert done.err.count("error: ") == done.err.count("hint: ") == 1
    assert done.out == ""


def test_a_cursor_of_another_question_is_refused(mirrored: Lore) -> None:
    asked = ("search", "--mode", "lexical", "-n", "2")
    cursor = mirrored("-J", *asked, "token").data["next_cursor"]
    for other in (("session",), ("token", "--sort", "newest", "-s", "closed")):
        done = mirrored("-J", *asked, *other, "--cursor", cursor)
        assert done.code == 13, other
        assert done.answer["error"]["code"] == "invalid_value"


@pytest.mark.parametrize(
    ("words", "code"),
    [(("x", "-s", "opne"), "invalid_value"), (("x", "-p", "no/such"), "not_found"), (("-x",), "usage")],
)
def test_robots_get_errors_as_answers_and_nothing_beside(mirrored: Lore, words: tuple[str, ...], code: str) -> None:
    done = mirrored("-J", "search", *words)
    assert done.err == ""
    assert done.answer["ok"] is False
    assert done.answer["error"]["code"] == code
    assert done.answer["error"]["hint"]


@pytest.mark.parametrize(
    "words", [("search", "x"), ("related", "#1"), ("embed",), ("generate-docs",), ("stats", "--check", "--repair")]
)
def test_without_a_database_it_says_to_sync_and_makes_none(lore: Lore, words: tuple[str, ...]) -> None:
    lore.configure("http://127.0.0.1:9", ["a/b"])
    done = lore(*words)
    assert done.code == 17, done
    assert f"nothing has been synced yet: there is no {lore.folder / 'mirror.db'}" in done.err
    assert "hint: run lore sync" in done.err
    assert [path.name for path in lore.folder.iterdir()] == ["loreline.toml"]


# ── nothing found ───────────────────────────────────────────────────────────────────────────────────────


def test_a_misspelt_word_gets_its_nearest_spelling_to_paste(mirrored: Lore) -> None:
    done = mirrored("search", "sesions", "--mode", "lexical")
    assert (done.code, done.out) == (0, "")
    assert "nothing found for 'sesions' (lexical search)" in done.err
    assert re.search(r"no text has the word 'sesions': did you mean 'sessions?'\?", done.err)
    (pasted,) = [line.split() for line in done.err.splitlines() if line.startswith("  lore ")]
    assert pasted[:2] == ["lore", "search"]
    assert "northwind/harbor#6" in found(mirrored, *pasted[2:])


def test_the_rest_of_the_query_and_its_options_stay_in_what_is_suggested(mirrored: Lore) -> None:
    asked = 'refesh "access token" -it\'s author:priya'
    (suggestion,) = mirrored("-J", "search", asked, "--mode", "lexical").data["suggestions"]
    assert suggestion["query"] == asked.replace("refesh", "refresh")
    options = ["--mode", "lexical", "--label", "it's me", "--label", "auth", "--no-group"]
    told = mirrored("search", asked, *options).err
    (line,) = [line for line in told.splitlines() if line.startswith("  lore ")]
    assert shlex.split(line) == ["lore", "search", suggestion["query"], *options]


def test_the_filters_that_cost_the_results_are_named_with_what_there_would_be(
    mirrored: Lore, about_tokens: set[str]
) -> None:
    lexical = ("search", "token", "--mode", "lexical")
    done = mirrored(*lexical, "-t", "issue", "-s", "merged")
    assert (done.code, done.out) == (0, "")
    issues, merged = len(found(mirrored, "token", "-t", "issue")), len(found(mirrored, "token", "-s", "merged"))
    assert f"without state there are {issues}" in done.err
    assert f"without type there are {merged}" in done.err
    data = mirrored("-J", *lexical, "--group", "-l", "no-such-label").data
    assert data["suggestions"] == [
        {"text": "there is no label 'no-such-label'", "query": None, "without": None, "found": None},
        {"text": f"without label there are {len(about_tokens)}", "query": None, "without": "label",
         "found": len(about_tokens)},
    ]  # fmt: skip


# The last has a letter that SQLite doesn't know for one.
@pytest.mark.parametrize("query", ["日本語", '()*"^:-+', "x" * 3000, "std::vector", "rpc/\u19b0 cache of tokens"])
def test_any_text_is_a_query_and_none_is_an_error(mirrored: Lore, query: str) -> None:
    done = mirrored("-J", "search", "--mode", "lexical", "--", query)
    assert done.code == 0, done
    assert done.data["query"] == query


# ── how it looks ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("columns", [60, 80, 200])
@pytest.mark.parametrize("words", [("--explain",), ("-t", "discussion")])
def test_results_fit_the_terminal_and_their_addresses_stay_whole(
    mirrored: Lore, columns: int, words: tuple[str, ...]
) -> None:
    asked = ("search", "refresh token in the tunnel", "-n", "6", "--mode", "lexical", *words)
    results = mirrored("-J", *asked, "--group").data["results"]
    seen = without_colour(mirrored.on_terminal(*asked, columns=columns))
    rows = [line for line in seen.splitlines() if "--cursor" not in line and not ADDRESS.search(line)]
    assert max(map(len, rows)) <= columns
    together = re.sub(r"\s+", "", seen)
    for number, one in enumerate(results, start=1):
        assert f"{number}{one['reference'].removeprefix('northwind/harbor')}" in together
        assert re.sub(r"\s+", "", one["title"]) in together
        assert one["snippet"]["url"] in together


def test_a_terminal_shows_state_author_labels_and_the_words_that_matched(mirrored: Lore) -> None:
    seen = mirrored.on_terminal("search", "tunnel", "-n", "3", "--mode", "lexical", columns=200)
    assert re.search(r"\x1b\[1;33mtunnel", seen)
    plain = without_colour(seen)
    assert re.search(r"^ 1  [#!]\d+  \S", plain, re.MULTILINE)
    assert re.search(r"(issue|merge request) · (opened|closed|merged) · @\w+ · \d+ \w+ ago", plain)


def test_the_passage_that_says_it_is_shown_even_if_it_is_a_comment(mirrored: Lore) -> None:
    results = mirrored("-J", "search", "tunnel", "--mode", "lexical", "--group").data["results"]
    shown = {one["reference"]: one["snippet"] for one in results}
    said = shown["northwind/harbor#31"]
    assert "lost answers in tunnels" in said["text"]
    assert said["url"].endswith(f"/-/issues/31#note_{said['note_id']}")
    assert all(one["marks"] for one in shown.values())


def test_threads_stand_under_their_entity_or_by_themselves(mirrored: Lore) -> None:
    asked = ("search", "answer lost in a tunnel", "--mode", "lexical")
    grouped = mirrored("-J", *asked, "--group").data["results"]
    assert {one["type"] for one in grouped} <= {"issue", "merge_request"}
    threads = [thread for one in grouped for thread in one["threads"]]
    assert threads
    assert all(thread["snippet"]["url"].endswith(f"#note_{thread['snippet']['note_id']}") for thread in threads)
    apart = mirrored("-J", *asked).data["results"]
    assert "discussion" in {one["type"] for one in apart}
    assert all(one["threads"] == [] for one in apart)
    assert "    thread · " in without_colour(mirrored.on_terminal(*asked, "--no-group"))
    seen = without_colour(mirrored.on_terminal(*asked))
    assert "    thread · " not in seen
    assert "└ @" in seen


def test_a_pipe_gets_whole_tab_separated_lines_without_escapes(mirrored: Lore) -> None:
    done = mirrored("search", "refresh token", "-n", "7", "--explain")
    lines = [line.split("\t") for line in done.out.splitlines()]
    assert len(lines) == 7
    results = mirrored("-J", "search", "refresh token", "-n", "7", "--group").data["results"]
    for cells, one in zip(lines, results, strict=True):
        assert cells[:6] == [
            one["reference"], one["type"], one["title"], one["state"], one["author"], one["updated_at"]
        ]  # fmt: skip
        assert abs(float(cells[6]) - one["score"]) < 0.001
        assert cells[7] == one["snippet"]["url"]
        assert len(cells) == 10
        assert cells[9].startswith(cells[6])
    assert "\x1b" not in done.out + done.err


def test_scores_go_from_0_to_1_best_first(mirrored: Lore) -> None:
    scores = [one["score"] for one in mirrored("-J", "search", "redirect author:priya label:bug").data["results"]]
    assert scores == sorted(scores, reverse=True)
    assert 0 <= min(scores) <= max(scores) <= 1
    assert "\t-0.0" not in mirrored("search", "redirect author:priya label:bug").out


def test_shares_explain_the_score(mirrored: Lore) -> None:
    results = mirrored("-J", "search", "refresh token", "--explain").data["results"]
    for one in results:
        assert abs(sum(part["share"] for part in one["explain"].values()) - one["score"]) < 0.001
        assert all(set(part) == {"rank", "score", "share"} for part in one["explain"].values())
    assert "explain" not in mirrored("-J", "search", "refresh token", "-n", "1").data["results"][0]
    assert re.search(
        r"0\.\d{3} = opening 0\.\d{3} \(#\d+, \d\.\d\d\) \+ ",
        without_colour(mirrored.on_terminal("search", "refresh token", "-n", "1", "--explain", columns=200)),
    )


def test_the_robot_answer_has_the_documented_shape(mirrored: Lore) -> None:
    done = mirrored("-J", "search", "refresh token", "-n", "2")
    assert done.out.count("\n") == 1
    assert done.err == ""
    assert set(done.answer["meta"]) == {"elapsed_ms", "warnings", "truncated"}
    assert set(done.data) == {"query", "mode", "results", "next_cursor", "suggestions", "left_out"}
    for one in done.data["results"]:
        assert set(one) == {
            "type", "document_id", "reference", "project", "iid", "title", "state", "author", "created_at",
            "updated_at", "labels", "confidential", "url", "score", "exact", "snippet", "threads",
        }  # fmt: skip
        assert set(one["snippet"]) == {"text", "marks", "note_id", "url"}
        assert one["created_at"].endswith("Z")


def test_marks_are_the_places_of_the_words(mirrored: Lore) -> None:
    results = mirrored("-J", "search", "refresh", "--mode", "lexical").data["results"]
    marked = [one["snippet"]["text"][start:end].lower() for one in results for start, end in one["snippet"]["marks"]]
    assert marked
    assert {word[:7] for word in marked} == {"refresh"}


def test_what_is_confidential_is_marked(mirrored: Lore) -> None:
    seen = without_colour(mirrored.on_terminal("search", "#13", "--mode", "lexical", "-n", "3"))
    entries = re.split(r"^ ?\d+  (?=[#!])", seen, flags=re.MULTILINE)[1:]
    assert entries[0].startswith("#13")
    assert [" · confidential" in entry for entry in entries] == [True, *[False] * (len(entries) - 1)]
    assert len(entries) > 1
    results = mirrored("-J", "search", "author:priya", "-t", "issue").data["results"]
    assert {one["reference"] for one in results if one["confidential"]} == {"northwind/harbor#13"}


# ── opening ─────────────────────────────────────────────────────────────────────────────────────────────


def test_open_hands_the_very_note_to_the_browser(mirrored: Lore, tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> "{tmp_path}/opened"\n')
    browser.chmod(0o755)
    lore = Lore(mirrored.folder, mirrored.environ | {"BROWSER": str(browser)})
    asked = ("search", "token", "--mode", "lexical", "-t", "discussion")
    expected = lore("-J", *asked).data["results"][1]["snippet"]["url"]
    assert "#note_" in expected
    done = lore(*asked, "--open", "2")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert lore("-J", *asked, "--open", "2").data == {"url": expected, "opened": True}
    assert (tmp_path / "opened").read_text().splitlines() == [expected] * 2


def test_open_of_nothing_found_says_so(mirrored: Lore) -> None:
    done = mirrored("search", "xyzzyqwert", "--open", "1", "--mode", "lexical")
    assert done.code == 13
    assert "none was found" in done.err


# ── what others wrote ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("words", [("search", "gargoyle"), ("search", "gargoyle", "--no-group"), ("related", "#6")])
def test_what_users_wrote_cannot_drive_the_terminal(hostile: Lore, words: tuple[str, ...]) -> None:
    for seen in (hostile(*words).out, hostile.on_terminal(*words, columns=200)):
        assert "nasty" in seen
        assert is_safe(seen)
    answer = hostile("-J", *words)
    assert is_safe(answer.out)
    titles = [one["title"] for one in answer.data["results" if words[0] == "search" else "related"]]
    assert f"nasty {EVIL} title" in titles


@pytest.mark.parametrize(
    "words", [(f'+zzz "{EVIL}"',), ("x", "-s", EVIL), ("x", "-p", EVIL), ("x", "--after", EVIL), (f'is:"{EVIL}"',)]
)
def test_what_was_asked_cannot_drive_the_terminal_either(hostile: Lore, words: tuple[str, ...]) -> None:
    done = hostile("search", "--mode", "lexical", *words)
    assert "gnp.exe" in done.err
    assert is_safe(done.out + done.err)


# ── related ─────────────────────────────────────────────────────────────────────────────────────────────


def test_related_marks_what_is_linked(mirrored: Lore) -> None:
    data = mirrored("-J", "related", "!6", "-n", "60").data
    assert data["reference"] == "northwind/harbor!6"
    linked = {one["reference"]: one["linked"] for one in data["related"]}
    assert "northwind/harbor!6" not in linked
    assert linked["northwind/harbor#6"] == linked["northwind/harbor#8"] == linked["northwind/harbor#3"] == "closes"
    assert linked["northwind/harbor!8"] == "mentioned by"
    assert None in linked.values()
    back = {one["reference"]: one["linked"] for one in mirrored("-J", "related", "#6", "-n", "60").data["related"]}
    assert back["northwind/harbor!6"] == "closed by"
    assert back["northwind/harbor#3"] == "related"
    assert set(linked.values()) | set(back.values()) <= {
        None, "closes", "closed by", "related", "mentions", "mentioned by"
    }  # fmt: skip


def test_related_gives_the_nearest_first_with_the_documented_fields(mirrored: Lore) -> None:
    data = mirrored("-J", "related", "issue", "9", "-p", "northwind/harbor", "-n", "8", "--explain").data
    scores = [one["score"] for one in data["related"]]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 8
    for one in data["related"]:
        assert set(one) >= {
            "type", "reference", "project", "iid", "title", "state", "author", "updated_at", "labels", "confidential",
            "url", "score", "linked",
        }  # fmt: skip
        assert set(one["explain"]) <= {"words", "opening", "passage"}
    assert "northwind/harbor!8" in {one["reference"] for one in data["related"][:3]}


def test_related_takes_the_filters_of_search(mirrored: Lore, everything: dict[str, dict]) -> None:
    related = mirrored("-J", "related", "#6", "-n", "100", "-t", "issue", "-l", "auth").data["related"]
    assert {one["reference"] for one in related} == {
        reference
        for reference, item in everything.items()
        if item["kind"] == "issue" and "auth" in item["labels"] and reference != "northwind/harbor#6"
    }


@pytest.mark.parametrize("kind", ["discussion", "threads"])
def test_related_says_that_threads_are_not_compared(mirrored: Lore, kind: str) -> None:
    done = mirrored("related", "#6", "-t", kind)
    assert done.code == 13, done
    assert "hint: --type issue" in done.err


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ((), 2, "is missing"),
        (("#999",), 17, "there is no issue #999"),
        (("5",), 13, "lore related issue 5, or lore related mr 5"),
        (("#1",), 18, "#1 is in 2 projects: northwind/harbor, northwind/harbor-docs"),
        (("#6", "-n", "0"), 13, "0 is not in the range"),
        (("#6", "-t", "isue"), 13, "did you mean issue?"),
    ],
)
def test_related_says_what_is_wrong_and_what_to_do(
    mirrored: Lore, words: tuple[str, ...], code: int, told: str
) -> None:
    done = mirrored("related", *words)
    assert done.code == code, done
    assert told in done.err
    assert "hint: " in done.err


@pytest.mark.parametrize(("columns", "words"), [(60, ()), (80, ()), (80, ("--explain",)), (200, ("--explain",))])
def test_the_table_of_related_fits_and_keeps_references_and_scores(
    mirrored: Lore, near_tokens: list[dict], columns: int, words: tuple[str, ...]
) -> None:
    seen = without_colour(mirrored.on_terminal("related", "!6", "-n", "10", *words, columns=columns))
    header, _, *rows = seen.splitlines()
    assert header.startswith("nearest to northwind/harbor!6, Rotate refresh tokens")
    assert max(map(len, rows)) <= columns
    for row, one in zip([row for row in rows if row][1:], near_tokens, strict=True):
        assert row.split()[0] == one["reference"].removeprefix("northwind/harbor")
        assert re.search(rf"\b{one['score']:.2f}\b", row), row


def test_related_in_a_pipe_has_whole_references_and_times(mirrored: Lore, near_tokens: list[dict]) -> None:
    lines = [line.split("\t") for line in mirrored("related", "!6", "-n", "10").out.splitlines()]
    assert [cells[:3] for cells in lines] == [
        [one["reference"], one["title"], one["linked"] or ""] for one in near_tokens
    ]
    assert [cells[5] for cells in lines] == [one["updated_at"] for one in near_tokens]
