"""Changes to what many entities repeat: users, labels, milestones and the project's path.

GitLab stores those once and joins them in; a corpus repeats them in every object. So a change is kept here
and laid over stored objects as they are read.
"""

from __future__ import annotations

from typing import Any


class Patches:
    def __init__(self) -> None:
        self.users: dict[int, dict[str, Any]] = {}
        self.labels: dict[int, dict[str, Any] | None] = {}
        self.label_names: dict[str, str | None] = {}
        self.milestones: dict[int, dict[str, Any] | None] = {}
        self.path: tuple[str, str] | None = None

    def __bool__(self) -> bool:
        return bool(self.users or self.labels or self.milestones or self.path)

    def apply(self, value: Any) -> Any:
        """A stored JSON value as it reads today."""
        if isinstance(value, list):
            return [self.apply(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "username" in value:
            return {**value, **self.users.get(value.get("id", 0), {})}
        return {name: self._field(name, item) for name, item in value.items()}

    def _field(self, name: str, value: Any) -> Any:
        if name == "labels" and isinstance(value, list):
            return self._label_list(value)
        if name == "label" and isinstance(value, dict) and value.get("id") in self.labels:
            label = self.labels[value["id"]]
            return {key: label.get(key, old) for key, old in value.items()} if label else None
        if name == "milestone" and isinstance(value, dict) and value.get("id") in self.milestones:
            return self.milestones[value["id"]]
        if self.path and isinstance(value, str):
            return self._relocated(name, value, *self.path)
        return self.apply(value)

    def _label_list(self, labels: list[str]) -> list[str]:
        names = (self.label_names.get(label, label) for label in labels)
        return sorted(name for name in names if name is not None)

    def _relocated(self, name: str, value: str, old: str, new: str) -> str:
        if name == "web_url":
            return value.replace(f"/{old}/-/", f"/{new}/-/", 1)
        if name == "full" and value.startswith((f"{old}#", f"{old}!")):
            return new + value[len(old) :]
        return value
