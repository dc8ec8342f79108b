"""The account of one run while it runs: rows, failures and traffic, from which its audit row is made."""

from __future__ import annotations

import asyncio
from collections import Counter

from loreline.errors import LoreError
from loreline.gitlab.traffic import Traffic
from loreline.services.runs.progress import Progress
from loreline.store.runs import Failure, Run

_FAILURES_KEPT = 1_000


class Journal:
    def __init__(self, run_id: int, command: str, started_at: int, progress: Progress) -> None:
        self.run_id = run_id
        self.command = command
        self.started_at = started_at
        self.progress = progress
        self.rows: Counter[str] = Counter()
        self.failures: list[Failure] = []
        self.failure_count = 0
        self.projects_done: list[str] = []
        self.warnings: list[str] = []
        self.first_error: LoreError | None = None
        self._traffic: list[Traffic] = []

    def follow(self, traffic: Traffic) -> None:
        """Count this client's traffic as the run's."""
        self._traffic.append(traffic)

    def failed(self, project: str, subject: str, error: BaseException) -> None:
        if isinstance(error, asyncio.CancelledError):
            return
        told = error if isinstance(error, LoreError) else LoreError(f"{type(error).__name__}: {error}")
        self.first_error = self.first_error or told
        self.failure_count += 1
        if len(self.failures) < _FAILURES_KEPT:
            self.failures.append(Failure(project, subject, told.code, told.message))

    def run(self, status: str, *, finished_at: int | None = None, error: str | None = None) -> Run:
        return Run(
            id=self.run_id,
            started_at=self.started_at,
            finished_at=finished_at,
            status=status,
            command=self.command,
            error=error,
            requests=sum(traffic.requests for traffic in self._traffic),
            bytes_received=sum(traffic.bytes_received for traffic in self._traffic),
            retries=sum(traffic.retries for traffic in self._traffic),
            rate_limited=sum(traffic.rate_limited for traffic in self._traffic),
            rows=dict(self.rows),
        )
