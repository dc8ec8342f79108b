"""The cast, and what the two projects are: their labels and milestones."""

from __future__ import annotations

from dataclasses import dataclass

from loreline.simulator.demo.story import HARBOR, HARBOR_DOCS


@dataclass(frozen=True, slots=True)
class Person:
    username: str
    name: str

    @property
    def email(self) -> str:
        return f"{self.username}@example.com"


@dataclass(frozen=True, slots=True)
class LabelKind:
    project: str
    name: str
    color: str
    description: str
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class Goal:
    """A milestone."""

    project: str
    iid: int
    title: str
    description: str
    created: str
    updated: str
    start: str
    due: str
    state: str


@dataclass(frozen=True, slots=True)
class Project:
    path: str
    name: str
    description: str
    created: str


PEOPLE = (
    Person("maren", "Maren Aldous"),  # leads, decides, writes decisions down
    Person("tomasz", "Tomasz Wilk"),  # the database; argues with numbers
    Person("priya", "Priya Raghavan"),  # security; asks who would abuse it
    Person("jonah", "Jonah Feld"),  # the mobile app, in lower case
    Person("camille", "Camille Roux"),  # the web page
    Person("ines", "Ines Okafor"),  # operations; pastes logs
    Person("daiki", "Daiki Mori"),  # the newest, and the most productive
    Person("ruth", "Ruth Lindqvist"),  # support; speaks for customers
    Person("oskar", "Oskar Brandt"),  # documentation; exact
    Person("harbor-bot", "Harbor Bot"),  # keeps dependencies fresh
)

PROJECTS = (
    Project(HARBOR, "harbor", "Parcel tracking: where is it, and when does it arrive?", "2022-12-19 08:30"),
    Project(HARBOR_DOCS, "harbor-docs", "The public handbook and API reference of Harbor", "2022-12-19 08:40"),
)

LABELS = (
    LabelKind(HARBOR, "auth", "#6699cc", "Signing in, tokens and sessions"),
    LabelKind(HARBOR, "bug", "#d9534f", "Something does not do what it says"),
    LabelKind(HARBOR, "ci", "#8e44ad", "Pipelines and runners"),
    LabelKind(HARBOR, "database", "#1f7e8c", "Schema, queries and migrations"),
    LabelKind(HARBOR, "decision", "#f0ad4e", "Settled: read this before asking again"),
    LabelKind(HARBOR, "dependencies", "#0366d6", "Updates of what we build on"),
    LabelKind(HARBOR, "docs", "#5cb85c", "Words for people"),
    LabelKind(HARBOR, "feature", "#428bca", "Something new"),
    LabelKind(HARBOR, "flaky-test", "#e67e22", "Fails now and then"),
    LabelKind(HARBOR, "frontend", "#ad4363", "The tracking page"),
    LabelKind(HARBOR, "incident", "#ae254c", "Customers noticed"),
    LabelKind(HARBOR, "mobile", "#7f8c8d", "The courier and customer apps"),
    LabelKind(HARBOR, "needs-info", "#ffecdb", "Waits for an answer from the author"),
    LabelKind(HARBOR, "performance", "#34495e", "Too slow, or too much of it"),
    LabelKind(HARBOR, "security", "#b10000", "Handle with care"),
    LabelKind(HARBOR, "triage", "#c0c0c0", "Nobody has looked yet", deleted=True),
    LabelKind(HARBOR_DOCS, "api", "#0e8a16", "The reference"),
    LabelKind(HARBOR_DOCS, "handbook", "#fbca04", "The long read"),
)

GOALS = (
    Goal(
        HARBOR, 1, "1.0", "Sign-in that survives a deploy, and a release we can support.",
        "2023-01-16 09:00", "2023-06-30 15:00", "2023-01-16", "2023-06-30", "closed",
    ),
    Goal(
        HARBOR, 2, "1.1", "Lookups under 200 ms at the Christmas peak, migrations without fear.",
        "2023-08-28 09:00", "2024-09-02 08:10", "2023-09-01", "2024-12-13", "active",
    ),
)  # fmt: skip

BY_USERNAME = {person.username: person for person in PEOPLE}
