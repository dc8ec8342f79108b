"""Links lead somewhere, named folders and make targets are there, tables say what the code says."""

import re

import pytest
from tests.docs.pages import CONTRIBUTING, PAGES, README, ROOT, anchors, blocks, name, prose, rows, typed

from loreline.errors import LoreError

ARCHITECTURE = ROOT / "docs" / "architecture.md"
ROBOT_MODE = ROOT / "docs" / "robot-mode.md"

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_TARGET = re.compile(r"^([a-z][a-z-]*):", re.MULTILINE)
_MAKE = re.compile(r"\bmake((?: [a-z]+)+)")


def links():
    return [
        pytest.param(page, link, id=f"{name(page)} {link}")
        for page in PAGES
        for link in _LINK.findall(prose(page))
        if "://" not in link
    ]


def make_lines(page):
    """Calls of make where they are commands: in backticks and behind the `$` of console blocks."""
    return [*re.findall(r"`([^`\n]+)`", prose(page)), *typed(page)]


def make_targets(page):
    return {target for line in make_lines(page) for words in _MAKE.findall(line) for target in words.split()}


def kinds(kind=LoreError):
    """The error kinds of errors.py; what others derive from them in tests is none."""
    yield kind
    for one in kind.__subclasses__():
        if one.__module__ == LoreError.__module__:
            yield from kinds(one)


def bare(cell):
    return cell.strip("`")


@pytest.mark.parametrize(("page", "link"), links())
def test_a_relative_link_leads_to_a_file_and_a_heading(page, link):
    path, _, anchor = link.partition("#")
    target = page.parent / path if path else page
    assert target.exists()
    if anchor:
        assert anchor in anchors(target)


@pytest.mark.parametrize("page", [README, CONTRIBUTING], ids=name)
def test_every_make_target_named_is_in_the_makefile(page):
    named = make_targets(page)
    assert named
    assert named <= set(_TARGET.findall((ROOT / "Makefile").read_text("utf-8")))


def test_contributing_names_every_make_target():
    targets = set(_TARGET.findall((ROOT / "Makefile").read_text("utf-8")))
    assert targets == {bare(row[0]).removeprefix("make ") for row in rows(CONTRIBUTING) if row[0].startswith("`make ")}


def test_ci_runs_what_the_readme_says():
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    run = [line for line in script.splitlines() if line.startswith("make ")]
    assert run
    assert set(run) <= set(typed(README))


def test_the_exit_codes_of_robot_mode_are_those_of_the_errors():
    told = [(row[0], bare(row[1])) for row in rows(ROBOT_MODE) if row[0].isdigit() and row[1]]
    assert sorted(told) == sorted((str(kind.exit_code), kind.code) for kind in kinds())


def test_the_error_kinds_of_the_architecture_are_those_of_the_code():
    told = [tuple(map(bare, row)) for row in rows(ARCHITECTURE) if len(row) == 3 and row[2].isdigit()]
    assert sorted(told) == sorted((kind.__name__, kind.code, str(kind.exit_code)) for kind in kinds())


def test_the_folders_of_the_architecture_are_all_there_and_none_is_left_out():
    package = ROOT / "src" / "loreline"
    told = {bare(row[0]) for row in rows(ARCHITECTURE) if len(row) == 2 and bare(row[0]).endswith((".py", "/"))}
    assert not {path for path in told if not (package / path).exists()}
    layers = {path.name for path in package.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    assert layers <= {path.partition("/")[0] for path in told}


def test_the_test_folders_of_contributing_are_all_the_test_folders():
    told = {bare(row[0]) for row in rows(CONTRIBUTING) if row[0].startswith("`tests/")}
    there = {f"tests/{path.name}/" for path in (ROOT / "tests").iterdir() if (path / "__init__.py").exists()}
    assert told == there


def test_no_page_names_a_place_on_one_machine():
    for page in PAGES:
        text = page.read_text("utf-8")
        assert not re.search(r"(?<![\w.])/(home|root|tmp|work|Users)/", text), name(page)


def test_json_and_toml_blocks_can_be_read():
    import json
    import tomllib

    for page in PAGES:
        for block in blocks(page, "json"):
            json.loads(block)
        for block in blocks(page, "toml"):
            tomllib.loads(block)
