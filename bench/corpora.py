"""What search quality is measured on: real histories without their links, and retrieval sets as GitLab projects."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import zstandard

_WINDOW = 1 << 27
_ADDRESS = re.compile(r"<?https?://[^\s)>\]]*/(?:issues|merge_requests|pull|commit)/[^\s)>\]]*>?")
_NUMBER = re.compile(
    r"(?:[\w.-]+/[\w.-]+)?[#!]\d+\b|\b(?:PRs?|pulls?|pull requests?|issues?|bug)\s+\d{2,}\b", re.IGNORECASE
)
_LINKING = re.compile(r"mentioned in|closed via|marked .* as (?:a )?duplicate|marked .* as related", re.IGNORECASE)


def without_links(text: str | None) -> str | None:
    """A text that names no other issue or merge request: links would name the answers."""
    return _NUMBER.sub("", _ADDRESS.sub("", text)) if text else text


def lines(path: Path) -> Iterator[Any]:
    with path.open("rb") as file:
        reader = zstandard.ZstdDecompressor(max_window_size=_WINDOW).stream_reader(file)
        rest = b""
        while chunk := reader.read(1 << 20):
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                yield msgspec.json.decode(line)
        if rest.strip():
            yield msgspec.json.decode(rest)


def unlinked_history(source: Path, target: Path) -> None:
    """A history whose texts, notes and lists tell nothing of which entity belongs to which."""
    ready = target / "ready"
    if ready.exists():
        return
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    kept: dict[str, Callable[[Any], Any]] = {
        "project": _same, "users": _same, "labels": _same, "milestones": _same,
        "issues": _entity, "merge_requests": _entity, "discussions": _threads,
    }  # fmt: skip
    for name, change in kept.items():
        with (target / f"{name}.jsonl").open("wb") as file:
            for line in lines(source / f"{name}.jsonl.zst"):
                file.write(msgspec.json.encode(change(line)) + b"\n")
    for name in ("mr_commits", "mr_diffs", "resource_state_events", "resource_label_events"):
        (target / f"{name}.jsonl").touch()
    for name in ("resource_milestone_events", "closes_issues"):
        (target / f"{name}.jsonl").touch()
    ready.touch()


def _same(line: Any) -> Any:
    return line


def _entity(line: Any) -> Any:
    return line | {"title": without_links(line["title"]), "description": without_links(line["description"])}


def _threads(line: Any) -> Any:
    kept = []
    for thread in line["items"]:
        notes = [
            note | {"body": without_links(note["body"])}
            for note in thread["notes"]
            if not (note["system"] and _LINKING.search(note["body"]))
        ]
        if notes:
            kept.append(thread | {"notes": notes})
    return line | {"items": kept}


def retrieval_set(path: Path) -> tuple[dict[str, str], dict[str, str], dict[str, list[str]]]:
    """Documents, queries and answers of one file of `ir`."""
    with path.open("rb") as file:
        told = json.loads(zstandard.ZstdDecompressor().stream_reader(file).read())
    return told["docs"], told["queries"], told["qrels"]


def as_project(docs: dict[str, str], target: Path) -> dict[int, str]:
    """Texts as the issues of a project; which number is which text."""
    numbers = dict(enumerate(docs, start=1))
    target.mkdir(parents=True, exist_ok=True)
    person = {
        "id": 1, "username": "author", "name": "Author", "state": "active", "locked": False,
        "avatar_url": None, "web_url": "https://gitlab.example.com/author",
    }  # fmt: skip
    address = "https://gitlab.example.com/sets/texts"
    project = {
        "id": 1, "name": "texts", "name_with_namespace": "sets / texts", "path": "texts", "description": None,
        "path_with_namespace": "sets/texts", "created_at": _MOMENT, "last_activity_at": _MOMENT, "web_url": address,
        "default_branch": "main", "visibility": "private", "archived": False, "issues_enabled": True,
        "merge_requests_enabled": True,
        "namespace": {"id": 1, "name": "sets", "path": "sets", "kind": "group", "full_path": "sets"},
    }  # fmt: skip
    _write(target / "project.jsonl", [project])
    _write(target / "users.jsonl", [person])
    _write(target / "issues.jsonl", (_issue(number, docs[key], person, address) for number, key in numbers.items()))
    for name in (
        "labels", "milestones", "merge_requests", "discussions", "mr_commits", "mr_diffs", "closes_issues",
        "resource_state_events", "resource_label_events", "resource_milestone_events",
    ):  # fmt: skip
        (target / f"{name}.jsonl").touch()
    return numbers


_MOMENT = "2024-01-01T00:00:00.000Z"
_TITLE = 200


def _issue(number: int, text: str, person: dict[str, Any], address: str) -> dict[str, Any]:
    """The first line or sentence is the title, as whoever files an issue writes it."""
    first = re.split(r"\n|(?<=\s)\.\s|(?<=[a-z])\.\s", text.strip(), maxsplit=1)[0][:_TITLE].strip() or "untitled"
    rest = text.strip()[len(first) :].lstrip(" .\n")
    return {
        "id": 1000 + number, "iid": number, "project_id": 1, "title": first, "description": rest,
        "created_at": _MOMENT, "updated_at": _MOMENT, "state": "opened", "closed_at": None, "closed_by": None,
        "labels": [], "milestone": None, "assignees": [], "author": person, "assignee": None, "user_notes_count": 0,
        "upvotes": 0, "downvotes": 0, "discussion_locked": False, "confidential": False, "issue_type": "issue",
        "web_url": f"{address}/-/issues/{number}", "due_date": None,
    }  # fmt: skip


def _write(path: Path, rows: Any) -> None:
    with path.open("wb") as file:
        for row in rows:
            file.write(msgspec.json.encode(row) + b"\n")
