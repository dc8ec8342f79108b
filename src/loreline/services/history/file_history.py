"""The history of a file: the merge requests that touched it, under whatever name it had."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

import apsw
from msgspec import Struct

from loreline.core import renames
from loreline.core.entities import Kind
from loreline.core.references import ReferenceType
from loreline.core.walk import Node
from loreline.errors import Ambiguous, InvalidValue, NotFound
from loreline.services.mirror import browse
from loreline.store import file_changes, graph, happenings
from loreline.store.file_changes import Remark, Touch
from loreline.store.happenings import Named

MOST = 1_000
_NEAR = 5


class Request(Struct, frozen=True, kw_only=True):
    path: str
    project: str | None = None
    follow: bool = True
    """Through renames."""
    discussions: bool = False
    """With what was said on lines of the file."""
    merged: bool = False
    """Only what was merged."""
    limit: int = 30


class Change(Struct, frozen=True):
    touch: Touch
    closes: list[Named]
    remarks: list[Remark]


class FileHistory(Struct, frozen=True, kw_only=True):
    path: str
    project: str
    rename_chain: list[str]
    """All its names, the oldest first; one, where it was never renamed."""
    chain_truncated: bool
    changes: list[Change]
    total: int


def file_history(db: apsw.Connection, request: Request) -> FileHistory:
    """The merge requests that touched a file, the latest first."""
    if not 1 <= request.limit <= MOST:
        raise InvalidValue(f"a limit of {request.limit} is out of range", hint=f"use 1 to {MOST}")
    path = posixpath.normpath(request.path.strip().replace("\\", "/")).lstrip("/")
    project_id, project = _project(db, path, request)
    chain = renames.Chain([path], truncated=False)
    if request.follow:
        chain = renames.chain(path, lambda names: file_changes.renames(db, project_id, names))
    touches = file_changes.touching(db, project_id, chain.paths, merged=request.merged)
    shown = touches[: request.limit]
    remarks: dict[int, list[Remark]] = {}
    if request.discussions:
        for remark in file_changes.remarks(db, [touch.id for touch in shown], chain.paths):
            remarks.setdefault(remark.merge_request_id, []).append(remark)
    closes = _closed_by(db, [touch.id for touch in shown])
    return FileHistory(
        path=path,
        project=project,
        rename_chain=chain.paths,
        chain_truncated=chain.truncated,
        changes=[Change(touch, closes.get(touch.id, []), remarks.get(touch.id, [])) for touch in shown],
        total=len(touches),
    )


def _project(db: apsw.Connection, path: str, request: Request) -> tuple[int, str]:
    """The one project that has such a file."""
    found = file_changes.projects_with(db, path)
    if request.project is not None:
        wanted = browse.project_ids(db, (request.project,))
        found = [one for one in found if wanted is None or one[0] in wanted]
    if len(found) > 1:
        paths = [one[1] for one in found]
        raise Ambiguous(
            f"{path} is in {len(found)} projects: {', '.join(paths[:5])}", hint=f"-p {paths[0]}", candidates=paths
        )
    if not found:
        raise _unknown(db, path)
    return found[0]


def _unknown(db: apsw.Connection, path: str) -> NotFound:
    if not file_changes.any_at_all(db):
        return NotFound("no file changes are mirrored", hint="set file_changes = true in [sync], and run lore sync")
    if file_changes.below(db, path):
        return NotFound(f"{path} is a folder", hint=f"name a file, or lore search --path {path.rstrip('/')}/")
    near = file_changes.ending_in(db, posixpath.basename(path), _NEAR)
    return NotFound(
        f"no merge request touches {path}", hint=f"there is {', '.join(near)}" if near else "check how it is written"
    )


def _closed_by(db: apsw.Connection, request_ids: Sequence[int]) -> dict[int, list[Named]]:
    """The issues that merge requests close."""
    nodes = [Node(Kind.MERGE_REQUEST, id_) for id_ in request_ids]
    pairs = [
        (edge.source.id, edge.target)
        for edge in graph.edges_of(db, nodes, [ReferenceType.CLOSES])
        if isinstance(edge.source, Node) and isinstance(edge.target, Node) and edge.source.kind is Kind.MERGE_REQUEST
    ]
    names = happenings.named(db, [target for _, target in pairs])
    closed: dict[int, list[Named]] = {}
    for request_id, target in pairs:
        if target in names:
            closed.setdefault(request_id, []).append(names[target])
    return closed
