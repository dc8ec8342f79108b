"""The sibling project: the handbook, whose issues point at the service's and back."""

from __future__ import annotations

from loreline.simulator.demo.story import HARBOR_DOCS, Assign, Close, Label, Story, issue, say, thread

LOOKUP_REFERENCE = issue(
    1, "oskar", "2023-01-31 09:16",
    "Document the lookup API",
    """
    `GET /parcels/{number}` is used by eleven shops and described in one e-mail from 2021. I would start with:

    1. which spellings of a number are accepted (`nw 4410 2207`, `NW44102207`)
    2. every `status`, with what it means for the customer
    3. errors, with bodies
    """,
    Label("oskar", "2023-01-31 10:00", add=("api",)),
    Assign("oskar", "2023-01-31 10:00", "oskar"),
    say("oskar", "2023-03-20 15:00", """
        Published. The table of statuses is checked against `harbor/tracking.py` once a quarter.
        """),
    Close("oskar", "2023-03-20 15:01"),
    project=HARBOR_DOCS,
)  # fmt: skip

BLAME_SETUP = issue(
    2, "oskar", "2023-05-22 10:20",
    "Contributing: tell people to set blame.ignoreRevsFile",
    """
    Harbor has a formatting commit since northwind/harbor!12. Without the setting every line of the service was
    last changed by me, which flatters me and helps nobody.
    """,
    say("daiki", "2023-05-22 13:00", "Tried the page on a fresh laptop, works."),
    Close("oskar", "2023-05-22 13:05"),
    labels=("handbook",),
    project=HARBOR_DOCS,
)  # fmt: skip

LIFETIMES = issue(
    3, "oskar", "2024-11-18 08:40",
    "How long does a sign-in last?",
    """
    A page for shops, in plain words. Numbers to be confirmed in northwind/harbor#33.

    > You stay signed in for sixty days after you last used the app. If somebody removes your access, it takes at
    > most fifteen minutes.
    """,
    thread(
        say("ruth", "2024-11-18 11:00", "Second sentence is what they ask for. Put it first?"),
        say("oskar", "2024-11-18 11:15", "Yes."),
    ),
    labels=("handbook",),
    project=HARBOR_DOCS,
    assignees=("oskar",),
)  # fmt: skip

NIGHT_RULE = issue(
    4, "tomasz", "2024-11-25 09:00",
    "The handbook still says that migrations run at night",
    """
    Superseded in February by https://gitlab.example.com/northwind/harbor/-/issues/20; the runner of
    https://gitlab.example.com/northwind/harbor/-/merge_requests/22 makes daytime safe.
    """,
    labels=("handbook",),
    project=HARBOR_DOCS,
)  # fmt: skip

STORY = Story("handbook", entities=(LOOKUP_REFERENCE, BLAME_SETUP, LIFETIMES, NIGHT_RULE))
