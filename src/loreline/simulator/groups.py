"""The groups that the namespaces of projects imply."""

from __future__ import annotations

from typing import Any

import msgspec


class Group(msgspec.Struct):
    id: int
    name: str
    full_path: str
    parent: str | None

    @property
    def path(self) -> str:
        return self.full_path.rpartition("/")[2]


class Groups:
    def __init__(self) -> None:
        self.by_path: dict[str, Group] = {}

    def admit(self, project: dict[str, Any]) -> None:
        """Make sure the namespace of a project and all above it exist."""
        namespace = project["namespace"]
        if namespace.get("kind", "group") != "group":
            return
        steps = namespace["full_path"].split("/")
        for depth in range(1, len(steps) + 1):
            full_path = "/".join(steps[:depth])
            if full_path in self.by_path:
                continue
            parent = "/".join(steps[: depth - 1]) or None
            own = full_path == namespace["full_path"]
            taken = {group.id for group in self.by_path.values()}
            number = namespace["id"] if own and namespace["id"] not in taken else max(taken, default=1000) + 1
            name = namespace["name"] if own else steps[depth - 1]
            self.by_path[full_path] = Group(number, name, full_path, parent)
        namespace["id"] = self.by_path[namespace["full_path"]].id

    def find(self, key: str) -> Group | None:
        """A group by id or full path."""
        if key.isdigit():
            number = int(key)
            return next((group for group in self.by_path.values() if group.id == number), None)
        return self.by_path.get(key)

    def below(self, group: Group) -> list[Group]:
        """Direct subgroups, by name."""
        inner = (other for other in self.by_path.values() if other.parent == group.full_path)
        return sorted(inner, key=lambda other: (other.name, other.id))
