"""How people and GitLab name issues and merge requests."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loreline.core.entities import Kind
from loreline.core.references import (
    EntityRef,
    ReferenceType,
    find_mentions,
    parse_reference,
    parse_system_note,
    parse_url,
)

HOME = "team/app"
ORIGIN = "https://gitlab.example.com"
ORIGINS = frozenset({ORIGIN})
ISSUE, REQUEST = Kind.ISSUE, Kind.MERGE_REQUEST


def mentions(text, home=HOME):
    return [str(ref) for ref in find_mentions(text, home, ORIGINS)]


# ── what a person types ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7", EntityRef(7)),
        ("123", EntityRef(123)),
        (" 9999999999 ", EntityRef(9_999_999_999)),
        ("#123", EntityRef(123, ISSUE)),
        ("!123", EntityRef(123, REQUEST)),
        ("group/project#123", EntityRef(123, ISSUE, "group/project")),
        ("group/project!123", EntityRef(123, REQUEST, "group/project")),
        ("group/sub/deep/project#1", EntityRef(1, ISSUE, "group/sub/deep/project")),
        ("project#4", EntityRef(4, ISSUE, "project")),
        ("4dots.and-dashes/_under.score#4", EntityRef(4, ISSUE, "4dots.and-dashes/_under.score")),
        (f"{ORIGIN}/group/project/-/issues/12", EntityRef(12, ISSUE, "group/project", ORIGIN)),
        (f"{ORIGIN}/group/project/issues/12", EntityRef(12, ISSUE, "group/project", ORIGIN)),
        (f"{ORIGIN}/group/project/-/work_items/12", EntityRef(12, ISSUE, "group/project", ORIGIN)),
        (f"{ORIGIN}/a/b/c/d/-/merge_requests/12", EntityRef(12, REQUEST, "a/b/c/d", ORIGIN)),
        (f"{ORIGIN}/a/b/merge_requests/12/diffs?view=inline", EntityRef(12, REQUEST, "a/b", ORIGIN)),
        (f"{ORIGIN}/a/b/-/issues/12#note_345", EntityRef(12, ISSUE, "a/b", ORIGIN, 345)),
        (f"{ORIGIN}/a/b/-/merge_requests/12/diffs?x=1#note_345", EntityRef(12, REQUEST, "a/b", ORIGIN, 345)),
        ("HTTPS://GitLab.Example.com/A/b/-/issues/12", EntityRef(12, ISSUE, "A/b", ORIGIN)),
        ("http://localhost:8080/a/b/-/issues/12", EntityRef(12, ISSUE, "a/b", "http://localhost:8080")),
    ],
)
def test_every_way_to_type_a_reference_is_understood(text, expected):
    assert parse_reference(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "#",
        "0",
        "#0",
        "007",
        "-1",
        "12 34",
        "abc",
        "group/project",
        "group/project12",
        "group/project 12",
        "##12",
        "#12a",
        "12345678901",
        "٣",
        "/project#1",
        "group//project#1",
        "https://",
        "http://[",
        "http://℀.com/a/b/-/issues/1",
        f"{ORIGIN}/group/project",
        f"{ORIGIN}/group/project/-/issues",
        f"{ORIGIN}/group/project/-/issues/new",
        f"{ORIGIN}/group/project/-/commit/12",
        f"{ORIGIN}/project/-/issues/12",
    ],
)
def test_what_names_nothing_is_none(text):
    assert parse_reference(text) is None


def test_a_note_number_no_database_could_hold_is_left_out():
    assert parse_url(f"{ORIGIN}/a/b/-/issues/5#note_{'1' * 5000}") == EntityRef(5, ISSUE, "a/b", ORIGIN)


@given(
    iid=st.integers(1, 9_999_999_999),
    sigil=st.sampled_from("#!"),
    path=st.none() | st.from_regex(r"[a-z][a-z0-9_.-]{0,8}(/[a-z][a-z0-9_.-]{0,8}){0,3}", fullmatch=True),
)
def test_a_printed_reference_parses_back_to_itself(iid, sigil, path):
    ref = EntityRef(iid, ISSUE if sigil == "#" else REQUEST, path)
    assert parse_reference(str(ref)) == ref


# ── mentions in people's texts ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See #5.", ["#5"]),
        ("#5", ["#5"]),
        ("(#5)", ["#5"]),
        ("[#5]", ["#5"]),
        ('"#5"', ["#5"]),
        ("'!5'", ["!5"]),
        ("**#5**", ["#5"]),
        ("#5, #6; !7: #8? !9!", ["#5", "#6", "!7", "#8", "!9"]),
        ("fixes:#5", ["#5"]),
        ("> quoted #5", ["#5"]),
        ("- [ ] #5\n* !6", ["#5", "!6"]),
        ("|#5|!6|", ["#5", "!6"]),
        ("line\n#5\r\n!6", ["#5", "!6"]),
        ("#5…", ["#5"]),
        ("see group/project#5.", ["group/project#5"]),
        ("see group/project!5, other/one#6", ["group/project!5", "other/one#6"]),
        ("a/b/c/d#5", ["a/b/c/d#5"]),
        ("my.group/my.project-2#5", ["my.group/my.project-2#5"]),
        ("(group/project#5)", ["group/project#5"]),
        ("sibling#5", ["team/sibling#5"]),
        (f"{ORIGIN}/group/project/-/issues/5", ["group/project#5"]),
        (f"{ORIGIN}/group/project/-/issues/5.", ["group/project#5"]),
        (f"({ORIGIN}/a/b/c/-/merge_requests/5)", ["a/b/c!5"]),
        (f"[words]({ORIGIN}/a/b/-/work_items/5)", ["a/b#5"]),
        (f"<{ORIGIN}/a/b/issues/5#note_9>", ["a/b#5"]),
        (f"{ORIGIN}/a/b/-/merge_requests/5/diffs?commit_id=abc#note_1 and #6", ["a/b!5", "#6"]),
    ],
)
def test_mentions_are_found_whatever_stands_around_them(text, expected):
    assert mentions(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no reference at all",
        "# 5 is a heading",
        "## 5 is one too",
        "##5",
        "#",
        "#0",
        "#abc",
        "a#1b",
        "#1b",
        "#5_suffix",
        "colour #12ab34",
        "&#39; is an apostrophe",
        "mail me@team.example#5",
        "someone@example.com#12",
        "@user!5",
        "wow!!1",
        "/absolute/path#5",
        "file.c#L5",
        "#12345678901",
        "https://elsewhere.example.com/group/project/-/issues/5",
        "http://gitlab.example.com/group/project/-/issues/5",
        "https://gitlab.example.com.evil.example/group/project/-/issues/5",
        "https://elsewhere.example.com/page#5",
        "https://elsewhere.example.com/a/b!5",
        f"{ORIGIN}/group/project/-/issues/new",
        f"{ORIGIN}/group/project/-/commits/5",
    ],
)
def test_what_only_looks_like_a_mention_is_none(text):
    assert mentions(text) == []


def test_a_language_or_brand_before_a_number_is_never_an_issue_of_this_project():
    assert "#7" not in mentions("Since C#7 and F#4")
    assert all("/" in found for found in mentions("Since C#7 and F#4"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`#1` #2", ["#2"]),
        ("``a ` #1`` #2", ["#2"]),
        ("`` `#1` `` #2", ["#2"]),
        ("a ` alone #2", ["#2"]),
        ("a ` alone\n\n#2 and ` another", ["#2"]),
        ("`spans\none break #1` #2", ["#2"]),
        ("```\n#1\n```\n#2", ["#2"]),
        ("```python\n#1\n```\n#2", ["#2"]),
        ("```\r\n#1\r\n```\r\n#2", ["#2"]),
        ("  ~~~~\n#1\n~~~\n#1\n~~~~~\n#2", ["#2"]),
        ("```\n~~~\n#1\n```\n#2", ["#2"]),
        ("#2\n```\n#1 is never closed", ["#2"]),
        ("```\n```\n#2", ["#2"]),
        ("```not a `fence` #2", ["#2"]),
        ("#2 ```#1``` #3", ["#2", "#3"]),
        ("<!-- #1 --> #2", ["#2"]),
        ("<!--\n#1\n\n#1\n-->#2", ["#2"]),
        ("#2\n<!-- #1 is never closed", ["#2"]),
        ("`<!--` opens a comment, see #2", ["#2"]),
        ("<!-- ` --> #2 ` #3", ["#2", "#3"]),
        ("an inline <!-- that never ends, #2", ["#2"]),
        ("~~#2~~", ["#2"]),
    ],
)
def test_code_and_comments_mention_nothing(text, expected):
    assert mentions(text) == expected


def test_each_entity_is_mentioned_once_in_order_of_appearance():
    assert mentions("!2 #1 #1 team/app#1 TEAM/APP!2 #3") == ["!2", "#1", "#3"]


def test_a_bare_project_of_a_project_without_a_group_stays_as_written():
    assert mentions("other#5", home="alone") == ["other#5"]


def test_the_issue_and_the_merge_request_of_one_number_are_two():
    assert mentions("#5 !5") == ["#5", "!5"]


def test_a_mention_by_address_knows_its_note():
    (ref,) = find_mentions(f"{ORIGIN}/a/b/-/issues/5#note_77", HOME, ORIGINS)
    assert ref == EntityRef(5, ISSUE, "a/b", ORIGIN, 77)


# ── the sentences GitLab writes ─────────────────────────────────────────────────────────────────────────

C, M, R = ReferenceType.CLOSES, ReferenceType.MENTIONED, ReferenceType.RELATED


def observed(body):
    return [
        (str(one.target), one.reference_type, one.relation, one.inward, one.withdrawn)
        for one in parse_system_note(body, HOME, ORIGINS)
    ]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("mentioned in #5", ("#5", M, "mentioned_in", True, False)),
        ("mentioned in issue #5", ("#5", M, "mentioned_in", True, False)),
        ("mentioned in merge request !5", ("!5", M, "mentioned_in", True, False)),
        ("mentioned in merge request other/app!5", ("other/app!5", M, "mentioned_in", True, False)),
        ("mentioned in issue a/b/c#5", ("a/b/c#5", M, "mentioned_in", True, False)),
        ("mentioned in incident sibling#5", ("team/sibling#5", M, "mentioned_in", True, False)),
        ("Mentioned in issue #5", ("#5", M, "mentioned_in", True, False)),
        ("*mentioned in issue #5*", ("#5", M, "mentioned_in", True, False)),
        ("_mentioned in issue #5_", ("#5", M, "mentioned_in", True, False)),
        ("closed via merge request !5", ("!5", C, "closed_by", True, False)),
        ("closed via merge request other/app!5", ("other/app!5", C, "closed_by", True, False)),
        ("closed by !5", ("!5", C, "closed_by", True, False)),
        ("Status changed to closed by !5", ("!5", C, "closed_by", True, False)),
        ("_Status changed to closed by !5_", ("!5", C, "closed_by", True, False)),
        ("marked this issue as a duplicate of #5", ("#5", R, "duplicate_of", False, False)),
        ("marked #5 as a duplicate of this issue", ("#5", R, "duplicated_by", True, False)),
        ("marked this issue as related to #5", ("#5", R, "relates_to", False, False)),
        ("marked this work item as linked to a/b#5", ("a/b#5", R, "relates_to", False, False)),
        ("marked this issue as blocked by #5", ("#5", R, "blocked_by", True, False)),
        ("marked this issue as blocking #5", ("#5", R, "blocks", False, False)),
        ("removed the relation with #5", ("#5", R, "relates_to", False, True)),
        ("moved to other/app#5", ("other/app#5", R, "moved_to", False, False)),
        ("moved from other/app#5", ("other/app#5", R, "moved_from", True, False)),
        ("*Moved to other/app#5*", ("other/app#5", R, "moved_to", False, False)),
        ("cloned to other/app#5", ("other/app#5", R, "cloned_to", False, False)),
        ("cloned from other/app#5", ("other/app#5", R, "cloned_from", True, False)),
        ("added #5 as child task", ("#5", R, "parent_of", False, False)),
        ("added #5 as child key result", ("#5", R, "parent_of", False, False)),
        ("removed child task #5", ("#5", R, "parent_of", False, True)),
        ("added #5 as parent issue", ("#5", R, "child_of", True, False)),
        ("added #5 as parent objective", ("#5", R, "child_of", True, False)),
        ("removed parent issue #5", ("#5", R, "child_of", True, True)),
        ("created merge request !5 to address this issue", ("!5", R, "addressed_by", True, False)),
        ("created #5 to continue this discussion", ("#5", R, "continued_in", False, False)),
    ],
)
def test_each_sentence_gitlab_writes_tells_its_relation(body, expected):
    assert observed(body) == [expected]


@pytest.mark.parametrize(
    ("body", "targets"),
    [
        ("marked this issue as related to #1, #2, and #3", ["#1", "#2", "#3"]),
        ("marked this issue as related to #1 and a/b#2", ["#1", "a/b#2"]),
        ("removed the relation with #1, #2, and #3", ["#1", "#2", "#3"]),
        ("added #1, #2, and #3 as child tasks", ["#1", "#2", "#3"]),
    ],
)
def test_a_list_in_a_sentence_is_one_relation_each(body, targets):
    assert [one[0] for one in observed(body)] == targets
    assert len({one[1:] for one in observed(body)}) == 1


@pytest.mark.parametrize(
    "body",
    [
        "mentioned in commit 8b5b4c31e1e3",
        "mentioned in commit team/other@8b5b4c31e1e3",
        "mentioned in epic &5",
        "closed via commit 8b5b4c31e1e3",
        "closed",
        "changed title from **#5 is broken** to **fix #5**",
        "changed the description",
        "changed milestone to %5",
        "assigned to @ada",
        "added 2 commits\n\n<ul><li>abc - closes #5</li></ul>",
        "marked the checklist item **closes #5** as completed",
        "created branch [`5-fix`](/team/app/-/compare/main...5-fix) to address this issue",
        "enabled an automatic merge when the pipeline for abc succeeds",
        "I think this was mentioned in #5",
    ],
)
def test_other_sentences_tell_of_no_entity(body):
    assert observed(body) == []


def test_only_the_first_line_of_a_sentence_counts():
    assert [one[0] for one in observed("mentioned in issue #5\n\nsee also #6")] == ["#5"]


# ── whatever users wrote ────────────────────────────────────────────────────────────────────────────────

PIECES = (
    "#", "!", "#1", "!2", "`", "```", "~~~", "\n", "\r\n", "\n\n", "<!--", "-->", "/", "a", "g/p", ".", "-", "@", "&",
    " ", "https://", ORIGIN, "/-/issues/", "/merge_requests/5", "#note_", "9" * 30, "é", "\x00", "\ud800", "[", "]",
    "mentioned in ", "closed by ", "marked ", " as child task", "created ", "*", "_", "?", "%2F", "%00",
)  # fmt: skip
HOSTILE = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=40).map("".join)


@settings(deadline=None, max_examples=300)
@given(HOSTILE)
def test_no_text_makes_reading_fail(text):
    parse_reference(text)
    for ref in find_mentions(text, HOME, ORIGINS):
        assert 1 <= ref.iid <= 9_999_999_999
        assert ref.note_id is None or ref.note_id < 2**63
    for prefix in ("", "mentioned in ", "marked "):
        list(parse_system_note(prefix + text, HOME, ORIGINS))


@settings(deadline=None)
@given(HOSTILE)
def test_a_mention_survives_any_paragraph_before_it_that_opens_nothing(text):
    for opener in ("`", "~", "<!--"):
        text = text.replace(opener, "")
    assert "zz/last#77" in mentions(f"{text}\n\nzz/last#77\n")


MEGABYTE = 1_000_000


@pytest.mark.parametrize(
    "text",
    [
        "a/" * 500_000,
        "a/" * 500_000 + "#1",
        "a-" * 500_000 + "#1",
        "a" * MEGABYTE + "#1",
        "." * MEGABYTE + "#1",
        "#" * MEGABYTE,
        "#1" * 500_000,
        "(a#1" * 250_000,
        "a#1 " * 250_000,
        "a/#1" * 250_000,
        "a b c d e f " * 80_000 + "#1",
        "`" * 100_000 + "#1",
        "`" * 100_000 + "\nx#1",
        "` #1" * 250_000,
        "``` " * 250_000 + "#1",
        " ".join("`" * length for length in range(1, 1400)) + "#1",
        "```a\n" * 200_000 + "#1 x",
        "~~~a\n" * 200_000 + "#1 x",
        "`" * 100_000 + "\n" + "x#1\n" * 200_000 + "x",
        "<!--" * 250_000 + "#1",
        "x <!--" * 160_000 + "#1",
        "\n" * MEGABYTE + "`#1",
        " " * MEGABYTE + "#1",
        "http://" * 140_000,
        "https://h/" + "a/" * 500_000,
        "https://h/" + "a" * MEGABYTE,
        f"{ORIGIN}/a/b/-/issues/" * 28_000,
        f"{ORIGIN}/a/b/-/issues/5#note_" * 28_000,
        "marked " + "#1 as " * 160_000,
        "created " + "#" * MEGABYTE,
        "mentioned in " + "#1, " * 250_000,
    ],
    ids=lambda text: f"{text[:12]!r}…{text[-6:]!r}",
)
def test_a_megabyte_of_hostile_text_is_read_in_linear_time(text):
    started = time.process_time()
    parse_reference(text)
    list(find_mentions(text, HOME, ORIGINS))
    list(parse_system_note(text, HOME, ORIGINS))
    assert time.process_time() - started < 3


def test_a_gitlab_below_a_path_is_told_from_its_projects():
    origins = frozenset({"https://host.example/gitlab"})
    text = "see https://host.example/gitlab/group/app/-/issues/7 and https://host.example/group/app/-/issues/8"
    assert [(ref.project_path, ref.iid) for ref in find_mentions(text, "a/b", origins)] == [("group/app", 7)]
