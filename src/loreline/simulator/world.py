"""A simulated GitLab: its projects, who may read them, and how it behaves."""

from __future__ import annotations

import hashlib
import threading
from typing import TYPE_CHECKING, Any, Self

import msgspec

from loreline.errors import InvalidValue
from loreline.simulator.clock import Clock
from loreline.simulator.corpus import Corpus, Kind, open_corpora
from loreline.simulator.faults import Faults
from loreline.simulator.groups import Groups
from loreline.simulator.limits import RateLimit, Throttle
from loreline.simulator.log import RequestLog
from loreline.simulator.moments import show_moment
from loreline.simulator.place import Place
from loreline.simulator.tokens import DEFAULT_TOKEN, Token

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from types import TracebackType

    from loreline.simulator.live import Live

_ITEM_SUBJECTS = {
    "notes": "discussions",
    "state_events": "resource_state_events",
    "label_events": "resource_label_events",
    "milestone_events": "resource_milestone_events",
}


class Behaviour(msgspec.Struct):
    """How this GitLab differs from the newest one; may be changed while it serves."""

    version: str = "18.5.0"
    revision: str = "b2a9f6cd1e5"
    enterprise: bool = False
    # GitLab before 18.3 does not heed the wish for keyset pagination of a project's issues.
    keyset_issues: bool = True
    offset_limit: int = 50_000
    count_limit: int = 10_000
    latency: float = 0.0


class World:
    """Everything a simulated instance knows.

    `lock` guards all of it: requests are answered under it, and every function of `edits` takes it, so a
    test may edit from any thread while the server runs.
    """

    def __init__(self, corpora: Iterable[Corpus] = (), *, copies: int = 1) -> None:
        self.lock = threading.RLock()
        self.clock = Clock()
        self.behaviour = Behaviour()
        self.faults = Faults()
        self.throttle = Throttle(self.clock)
        self.log = RequestLog()
        self.places: dict[int, Place] = {}
        self.groups = Groups()
        self.user: dict[str, Any] = {
            "id": 1,
            "username": "simulator",
            "name": "Simulator",
            "state": "active",
            "locked": False,
            "avatar_url": "https://gitlab.example.com/uploads/-/system/user/avatar/simulator.png",
            "web_url": "https://gitlab.example.com/simulator",
        }
        self.tokens: dict[str, Token] = {}
        self._counters: dict[str, int] = {}
        self.add_token(DEFAULT_TOKEN)
        for corpus in corpora:
            self.add_place(Place(corpus, copies))

    @classmethod
    def open(cls, *folders: Path, copies: int = 1) -> Self:
        """A world over corpora on disk; each folder is a corpus or holds several."""
        return cls([corpus for folder in folders for corpus in open_corpora(folder)], copies=copies)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the disk space of the corpora back; no world can serve them any more."""
        for place in self.places.values():
            place.corpus.spool.close()

    def add_place(self, place: Place) -> None:
        if place.id in self.places or any(other.path == place.path for other in self.places.values()):
            raise InvalidValue(
                f"Two projects claim id {place.id} or path {place.path}.",
                hint="Serve one of them, or give one another id and path_with_namespace.",
            )
        self.places[place.id] = place
        self.groups.admit(place.fields)

    def add_token(self, value: str, **fields: Any) -> Token:
        """Let a token in; the fields are those of `Token`."""
        with self.lock:
            fields.setdefault("user", self.user)
            fields.setdefault("id", len(self.tokens) + 1)
            token = Token(value=value, **fields)
            self.tokens[value] = token
            return token

    def remove_token(self, value: str) -> None:
        with self.lock:
            self.tokens.pop(value, None)

    def limit_rate(self, limit: RateLimit | None) -> None:
        with self.lock:
            self.throttle.start(limit)

    def place(self, project: int | str) -> Place:
        """The project with an id or path. Raises InvalidValue."""
        for place in self.places.values():
            if project in (place.id, place.path, str(place.id)):
                return place
        raise InvalidValue(f"The simulator has no project {project!r}.")

    def live(self, project: int | str, kind: Kind, iid: int) -> Live:
        """An issue or merge request, ready to be edited. Raises InvalidValue."""
        place = self.place(project)
        row = place.shelves[kind].row(iid)
        if row is None:
            raise InvalidValue(f"{place.path} has nothing numbered {iid} among its {kind}.")
        return place.thaw(kind, row)

    def person(self, username: str | None) -> dict[str, Any]:
        """A user in the form that authors have; an unknown name is a new account."""
        if username is None:
            return _basic(self.user)
        for place in self.places.values():
            for user in place.users.values():
                if user["username"] == username:
                    return _basic(user)
        number = self.next_id("users")
        user = {
            **self.user,
            "id": number,
            "username": username,
            "name": username,
            "avatar_url": f"https://gitlab.example.com/uploads/-/system/user/avatar/{username}.png",
            "web_url": f"https://gitlab.example.com/{username}",
        }
        for place in self.places.values():
            place.users[number] = dict(user)
        return _basic(user)

    def next_id(self, table: str) -> int:
        """The next id of a table of GitLab's database, counting up from the corpora's highest."""
        top = self._counters.get(table)
        if top is None:
            top = max((self._top(place, table) for place in self.places.values()), default=0)
        self._counters[table] = top + 1
        return top + 1

    def next_sha(self, subject: str) -> str:
        """A made-up 40-digit name that is the same in every run."""
        number = self._counters[f"sha {subject}"] = self._counters.get(f"sha {subject}", 0) + 1
        return hashlib.sha1(f"{subject} {number}".encode()).hexdigest()

    def now(self) -> str:
        return show_moment(self.clock.now())

    def _top(self, place: Place, table: str) -> int:
        for kind, shelf in place.shelves.items():
            if kind == table:
                return shelf.top_id()
        if table in _ITEM_SUBJECTS:
            return place.top_ids(_ITEM_SUBJECTS[table])
        if table == "projects":
            return max(self.places)
        rows: dict[str, dict[int, Any]] = {
            "users": {self.user["id"]: self.user, **place.users},
            "labels": place.labels,
            "milestones": place.milestones,
        }
        return max(rows.get(table, {}), default=0)


def _basic(user: dict[str, Any]) -> dict[str, Any]:
    names = ("id", "username", "name", "state", "locked", "avatar_url", "web_url")
    return {name: user[name] for name in names if name in user}


def replicate(corpora: Iterable[Corpus], factor: int) -> World:
    """A world in which each history is `factor` times as large, at the memory and disk of one."""
    return World(corpora, copies=factor)
