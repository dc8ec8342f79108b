"""What a run came to, for those who asked for it."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from loreline.errors import PartialFailure
from loreline.services.mirror import steps
from loreline.services.runs.journal import Journal
from loreline.services.runs.writer import Writer
from loreline.store import runs


class SyncReport(Struct, frozen=True):
    """What a run did, as robots are told."""

    run: runs.Run
    projects: list[str]
    failures: list[runs.Failure]
    failure_count: int
    put_off: int
    """Dependents that failed and wait for a later sync."""
    warnings: list[str]


async def report(writer: Writer, journal: Journal, clock: Callable[[], int]) -> SyncReport:
    """The report of a run that has ended."""
    return SyncReport(
        run=journal.run("partial" if journal.failure_count else "succeeded", finished_at=clock()),
        projects=journal.projects_done,
        failures=journal.failures,
        failure_count=journal.failure_count,
        put_off=await writer.ask(steps.put_off_count, clock()),
        warnings=journal.warnings,
    )


def partial_failure(report: SyncReport) -> PartialFailure | None:
    """The error that ends a sync of which some parts failed."""
    if not report.failure_count:
        return None
    first = report.failures[0]
    what = f"{first.project} {first.subject} could not be synced: {first.message}"
    if report.failure_count > 1:
        what = f"{report.failure_count} things could not be synced"
    return PartialFailure(
        what,
        hint="the rest is done; lore sync-status lists what failed, and the next lore sync tries again",
        failures=report.failure_count,
    )
