"""An issue or merge request that has been edited: held whole, in the form the API gives it."""

from __future__ import annotations

from typing import Any

import msgspec

from loreline.simulator.corpus import ONLY_SINGLE, Entity, Kind
from loreline.simulator.moments import show_moment


class Live(msgspec.Struct):
    kind: Kind
    fields: dict[str, Any]
    created: int
    updated: int
    discussions: list[dict[str, Any]] = []
    state_events: list[dict[str, Any]] = []
    label_events: list[dict[str, Any]] = []
    milestone_events: list[dict[str, Any]] = []
    commits: list[dict[str, Any]] = []
    diffs: list[dict[str, Any]] = []
    versions: list[dict[str, Any]] = []
    closes: list[int | dict[str, Any]] = []
    hidden: bool = False
    hidden_notes: set[int] = set()
    _columns: Entity | None = None

    @property
    def id(self) -> int:
        value: int = self.fields["id"]
        return value

    @property
    def iid(self) -> int:
        value: int = self.fields["iid"]
        return value

    @property
    def noteable_type(self) -> str:
        return "Issue" if self.kind == "issues" else "MergeRequest"

    @property
    def word(self) -> str:
        return "issue" if self.kind == "issues" else "merge request"

    def listed(self) -> dict[str, Any]:
        absent = ONLY_SINGLE[self.kind]
        return {name: value for name, value in self.fields.items() if name not in absent}

    def items(self, subject: str) -> list[dict[str, Any]]:
        """The items of a subject, by the name of its corpus file."""
        tables = {
            "discussions": self.discussions,
            "resource_state_events": self.state_events,
            "resource_label_events": self.label_events,
            "resource_milestone_events": self.milestone_events,
            "mr_commits": self.commits,
            "mr_diffs": self.diffs,
        }
        return tables[subject]

    def touch(self, moment: int) -> None:
        self.updated = moment
        self.fields["updated_at"] = show_moment(moment)
        self._columns = None

    def forget_columns(self) -> None:
        """Call after fields have been set."""
        self._columns = None

    def columns(self) -> Entity:
        if self._columns is None:
            fields = self.fields
            milestone = fields.get("milestone")
            self._columns = Entity(
                id=fields["id"],
                iid=fields["iid"],
                title=fields["title"],
                state=fields["state"],
                created=self.created,
                updated=self.updated,
                author=fields["author"]["username"],
                labels=tuple(fields["labels"]),
                milestone=milestone["title"] if milestone else None,
                confidential=bool(fields.get("confidential")),
                assignees=tuple(person["username"] for person in fields.get("assignees") or ()),
            )
        return self._columns
