"""Is search in order? The model, and what was made of the mirror."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import apsw

from loreline.embedding import choice
from loreline.errors import LoreError
from loreline.services.mirror.health import FAILED, OK, WARNING, Check
from loreline.services.search.checking import SpaceStats, stats
from loreline.settings import Settings
from loreline.store.connection import open_database, translated


def check_search(settings: Settings, environ: Mapping[str, str], now: int) -> Iterator[Check]:
    """Whether texts can be embedded, and whether all that is mirrored can be found."""
    yield _model(settings, environ)
    if not settings.database.exists():
        return  # that nothing is mirrored yet is told already
    try:
        with translated(settings.database):
            db = open_database(settings.database)
            try:
                yield from _indexes(db, now, wanted=settings.embedding.provider != "none")
            finally:
                db.close()
    except LoreError:
        return  # told by the check of the database


def _model(settings: Settings, environ: Mapping[str, str]) -> Check:
    try:
        told = choice.check(settings.embedding, environ)
    except LoreError as error:
        return Check("embedding", FAILED, error.message, error.hint, error.exit_code)
    return Check("embedding", OK, told)


def _indexes(db: apsw.Connection, now: int, *, wanted: bool) -> Iterator[Check]:
    found = stats(db, now)
    if found.queues.changes:
        message = f"{found.queues.changes:,} issues and merge requests can't be searched yet"
        yield Check("search by words", WARNING, message, "run lore sync, or lore generate-docs")
    elif found.queues.documents_failed:
        message = f"{found.queues.documents_failed:,} issues and merge requests could not be made searchable"
        yield Check("search by words", WARNING, message, "lore generate-docs --full makes all anew")
    else:
        yield Check("search by words", OK, f"{found.documents.total:,} documents")
    for space in found.spaces:
        yield _space(space, found.documents.passages)
    if wanted and not found.spaces and found.documents.total:
        yield Check("search by meaning", WARNING, "nothing is embedded yet", "run lore embed")


def _space(space: SpaceStats, passages: int) -> Check:
    name = "search by meaning"
    if space.failed:
        return Check(
            name,
            WARNING,
            f"{space.failed:,} passages could not be embedded",
            "lore stats tells why; lore embed --retry-failed",
        )
    forgotten = passages - space.embedded - space.pending
    if forgotten > 0:
        told = f"{forgotten:,} passages have no vector, and none is asked for"
        return Check(name, WARNING, told, "lore stats --check --repair")
    if space.pending:
        return Check(name, WARNING, f"{space.pending:,} passages wait for their vectors", "run lore embed")
    return Check(name, OK, f"{space.embedded:,} vectors of {space.name}")
