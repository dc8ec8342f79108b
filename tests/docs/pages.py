"""The pages that are written for people, and how their parts are found."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
PAGES = (README, CONTRIBUTING, *sorted((ROOT / "docs").glob("*.md")))

_BLOCK = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


def name(page):
    return page.relative_to(ROOT).as_posix()


def blocks(page, language):
    return [match["text"] for match in _BLOCK.finditer(page.read_text("utf-8")) if match["language"] == language]


def prose(page):
    """The page without its blocks."""
    return _BLOCK.sub("", page.read_text("utf-8"))


def typed(page):
    """What follows the `$` in console blocks, a line each."""
    lines = (line.strip() for block in blocks(page, "console") for line in block.splitlines())
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


def anchors(page):
    """The names under which the page's headings can be linked to."""
    slugs = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in _HEADING.findall(prose(page)))
    return {slug.replace(" ", "-") for slug in slugs}


def rows(page):
    """The rows of all tables, as lists of cells."""
    lines = (line.strip() for line in prose(page).splitlines())
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [cells for cells in found if not set("".join(cells)) <= set("-: ")]
