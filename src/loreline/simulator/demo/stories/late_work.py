"""The second year's loose ends: fixes, open questions, work in progress."""

from __future__ import annotations

from loreline.simulator.demo.story import (
    Approve,
    Close,
    Label,
    Merge,
    Milestone,
    Relate,
    Reopen,
    Story,
    commit,
    issue,
    merge_request,
    on_line,
    replace,
    say,
    thread,
    write,
)

TWICE = issue(
    23, "ruth", "2024-04-02 08:15",
    "Fjordpost's scans appear twice in the history",
    """
    Since their new system each scan is listed twice, same second, same place. Shops ask if we lost the
    parcel once.
    """,
    say("daiki", "2024-04-02 09:40", """
        They send the event again when we answer slower than 500 ms, with the same `event_id`. Their manual says so on
        page 31: *at least once*.
        """),
    labels=("bug",),
    assignees=("daiki",),
)  # fmt: skip

SEEN_EVENTS = merge_request(
    27, "daiki", "2024-04-08 10:00",
    "Ignore webhook events we have seen",
    "`event_id` is unique per carrier; a second one does nothing. Resolves #23.",
    on_line(
        "harbor/webhooks.py", "ON CONFLICT DO NOTHING",
        say("tomasz", "2024-04-08 10:30", "Good. This is the only way that is right with two workers."),
        resolved=("daiki", "2024-04-08 10:35"),
    ),
    on_line(
        "migrations/0007_scan_events.sql", "CREATE UNIQUE INDEX",
        say("tomasz", "2024-04-08 10:36", """
            Partial, so the old rows without an id stay as they are? Then built in 4 s, no need for #20's
            by-hand way.
            """),
        say("daiki", "2024-04-08 10:50", "Yes, `WHERE event_id IS NOT NULL`."),
        resolved=("tomasz", "2024-04-08 11:00"),
    ),
    Approve("tomasz", "2024-04-08 11:01"),
    Merge("maren", "2024-04-08 13:00"),
    branch="seen-events",
    commits=(
        commit(
            "seen", "daiki", "2024-04-08 09:45",
            """
            Ignore webhook events we have seen

            Fjordpost delivers at least once.
            """,
            write("migrations/0007_scan_events.sql", """
                ALTER TABLE scans ADD COLUMN event_id text;
                CREATE UNIQUE INDEX scans_event ON scans (event_id) WHERE event_id IS NOT NULL;
                """),
            replace("harbor/webhooks.py", """
            "INSERT INTO scans (parcel, place, status, scanned_at) VALUES (%s, %s, %s, %s)",
            [event["parcel"], event["place"], event["status"], event["scanned_at"]],
""", """
            "INSERT INTO scans (parcel, place, status, scanned_at, event_id) VALUES (%s, %s, %s, %s, %s)"
            " ON CONFLICT DO NOTHING",
            [event["parcel"], event["place"], event["status"], event["scanned_at"], event.get("event_id")],
"""),
        ),
    ),
    labels=("bug", "database"),
    milestone="1.1",
    assignees=("daiki",),
    reviewers=("tomasz",),
)  # fmt: skip

PUSH_MESSAGES = issue(
    24, "jonah", "2024-05-06 09:00",
    "Tell customers about the delivery with a push message",
    """
    people reload the page because we don't tell them. one message "it's at your door" would replace ~6 lookups
    per parcel.

    open questions:

    - [ ] where do device tokens live, and who deletes them?
    - [ ] quiet hours?
    - [ ] does it need its own opt-in, legally
    """,
    thread(
        say("ruth", "2024-05-06 10:15", 'Support would love it. "Where is my parcel" is 38 % of all calls.'),
        say("priya", "2024-05-06 10:40", """
            A device token names a person's phone. It belongs to the refresh family: sign out, and it is gone.
            """),
        say("jonah", "2024-05-06 11:02", """
            makes sense, device table with a family column then. started in !30
            """),
    ),
    labels=("feature", "mobile"),
    milestone="1.1",
    assignees=("jonah",),
    upvotes=9,
)  # fmt: skip

COLOURS = issue(
    25, "camille", "2024-05-20 09:30",
    "Status colours cannot be told apart",
    """
    `#c8a2ff` on white has a contrast of 2.1 to 1, and for people with deuteranopia "delivered" and "in transit" are
    the same grey. WCAG asks for 4.5.
    """,
    labels=("frontend", "bug"),
    assignees=("camille",),
)  # fmt: skip

DARKER_COLOURS = merge_request(
    28, "camille", "2024-05-22 10:00",
    "Choose status colours that can be told apart",
    "Dark text on a pale ground, and a sign beside the word so that colour is never alone. Closes #25",
    on_line(
        "web/src/track.ts", 'delivered: "✓"',
        say("ruth", "2024-05-22 11:00", """
            Screen readers say "check mark delivered". Fine with me, just so you know.
            """),
        say("camille", "2024-05-22 11:20", """
            It is set with `aria-hidden` by the page's template, so they should not. I will listen to it.
            """),
    ),
    Approve("oskar", "2024-05-22 14:00"),
    Merge("camille", "2024-05-22 14:10", "squash"),
    branch="status-colours",
    commits=(
        commit(
            "colours", "camille", "2024-05-22 09:30",
            "Darker colours",
            replace("web/src/track.ts", """
  "in transit": "#c8a2ff",
  delivered: "#9be29b",
  unknown: "#dddddd",
""", """
  "in transit": "#0b4f9e",
  delivered: "#1d6b1d",
  unknown: "#555555",
"""),
        ),
        commit(
            "signs", "camille", "2024-05-22 09:50",
            "A sign beside each status",
            replace("web/src/track.ts", "export async function track(", """
const SIGNS: Record<string, string> = { "in transit": "→", delivered: "✓", unknown: "?" };

export async function track(
"""),
        ),
    ),
    labels=("frontend",),
    assignees=("camille",),
)  # fmt: skip

PARTITIONS = issue(
    28, "tomasz", "2024-07-08 08:30",
    "Partition the scan table by month",
    """
    `scans` has 61 million rows and 14 GB. 97 % of the lookups want the last 60 days.

    | | now | partitioned (copy) |
    |---|---|---|
    | vacuum | 48 min | 3 min (current month) |
    | dropping a year | `DELETE`, 5 h | `DETACH`, 20 ms |
    | p95 lookup | 84 ms | 83 ms |

    So it is for us, not for customers.
    """,
    Relate("tomasz", "2024-07-08 08:45", to=20),
    say("ines", "2024-07-08 09:20", "I am a customer of vacuum. 👍"),
    labels=("database", "performance"),
    milestone="1.1",
    assignees=("tomasz",),
)  # fmt: skip

CSV_EXPORT = issue(
    30, "ruth", "2024-09-16 10:00",
    "Let shops export their parcels as CSV",
    "Kornhaus asks every quarter, and I make the file by hand from the admin page.",
    say("maren", "2024-09-16 10:30", "Which columns, and how many parcels?"),
    Label("maren", "2024-09-16 10:31", add=("needs-info",)),
    Close("maren", "2024-10-21 09:00"),
    say("maren", "2024-10-21 09:01", "No answer for five weeks. Reopen when you have one, @ruth."),
    Reopen("ruth", "2024-10-22 08:10"),
    say("ruth", "2024-10-22 08:12", """
        Sorry, holidays. Number, carrier, last status, date. About 30,000 parcels per quarter.
        """),
    Label("ruth", "2024-10-22 08:13", remove=("needs-info",)),
    labels=("feature",),
)  # fmt: skip

DEVICES = merge_request(
    30, "jonah", "2024-09-09 14:00",
    "Draft: Device registration for push messages",
    """
    first half of #24. not ready: no endpoint yet, only the table.

    Related to #24
    """,
    on_line(
        "migrations/0008_devices.sql", "family uuid NOT NULL",
        say("priya", "2024-09-09 15:10", """
            Nothing deletes the row when the family ends: families have no table of their own, so there is no key
            to cascade from. Either `revoke_family` deletes both, or we give families a table.
            """),
        say("jonah", "2024-09-10 08:40", "hm. a table. can somebody who knows the schema look at it?"),
    ),
    branch="devices",
    commits=(
        commit(
            "devices", "jonah", "2024-09-09 13:45",
            "Add a table of devices",
            write("migrations/0008_devices.sql", """
                CREATE TABLE devices (
                    push_token text PRIMARY KEY,
                    family uuid NOT NULL
                );
                """),
        ),
    ),
    labels=("feature", "mobile"),
    assignees=("jonah",),
    reviewers=("priya",),
)  # fmt: skip

WHY_TEN = issue(
    31, "camille", "2024-10-07 09:00",
    "Why may a refresh token be used twice for ten seconds?",
    """
    I stumbled over `REFRESH_REUSE_GRACE` in `harbor/identity/sessions.py`. Is it left over from a
    migration?
    """,
    say("jonah", "2024-10-07 09:12", """
        no!! please leave it. it's #9: lost answers in tunnels + two requests at wake-up
        """),
    say("camille", "2024-10-07 09:20", """
        Thank you. The comment even says so, one line above. I need coffee ☕
        """),
    Close("camille", "2024-10-07 09:21"),
    labels=("auth",),
)  # fmt: skip

STARLETTE_BUMP = merge_request(
    31, "harbor-bot", "2024-10-14 04:00",
    "Update dependency starlette to v0.40.0",
    """
    | Package | Change |
    |---|---|
    | starlette | `0.23.1` → `0.40.0` |

    This merge request was opened automatically. Close it to ignore this version.
    """,
    say("daiki", "2024-10-14 09:00", """
        17 minor versions at once. `request.form()` and the test client changed on the way; 9 tests fail. I would
        rather go in three steps.
        """),
    Close("daiki", "2024-10-14 09:01"),
    branch="bot/starlette-0.x",
    commits=(
        commit(
            "starlette", "harbor-bot", "2024-10-14 03:58",
            "Update dependency starlette to v0.40.0",
            replace("requirements.txt", "starlette==0.23.1", "starlette==0.40.0"),
        ),
    ),
    labels=("dependencies",),
)  # fmt: skip

WINTER_TIME = issue(
    32, "ruth", "2024-11-04 07:55",
    "Estimated arrival is an hour off since the clocks changed",
    """
    Since 27 October "arrives between 14 and 15" means 13 to 14. It was the same last year and went away in March, we
    never looked.
    """,
    say("daiki", "2024-11-04 09:10", """
        The carrier sends local time without a zone and we add a fixed `+02:00`. Related in spirit to #1. I need one
        original message from October and one from November to be sure.
        """),
    Label("daiki", "2024-11-04 09:11", add=("needs-info",)),
    labels=("bug", "triage"),
)  # fmt: skip

MONTHLY = merge_request(
    32, "tomasz", "2024-11-12 09:00",
    "Partition scans by month",
    """
    For #28. The table is renamed, a partitioned one takes its place, old months are attached by a script.

    Not in this merge request: dropping anything.
    """,
    on_line(
        "scripts/attach_partitions.py", "ATTACH PARTITION",
        say("daiki", "2024-11-12 10:20", """
            `ATTACH` takes `ACCESS EXCLUSIVE` on the part and scans it to check the bounds, unless a `CHECK` says
            so already. For the big months that is minutes, see #20.
            """),
        say("tomasz", "2024-11-12 11:00", """
            Correct. I add the `CHECK … NOT VALID`, validate it (no exclusive lock), then attach. Give me a week.
            """),
    ),
    say("ines", "2024-12-02 08:30", "Not before the peak, please. After 6 January."),
    Milestone("tomasz", "2024-12-02 08:45", None),
    branch="partition-scans",
    commits=(
        commit(
            "partition", "tomasz", "2024-11-12 08:45",
            "Attach old months as partitions",
            write("scripts/attach_partitions.py", """
                # Attaches one month of old scans at a time; safe to stop and run again.
                import sys

                from harbor.database import connection


                def attach(month: str, following: str) -> None:
                    with connection() as database:
                        database.execute(
                            f"ALTER TABLE scans ATTACH PARTITION scans_{month.replace('-', '_')}"
                            f" FOR VALUES FROM ('{month}-01') TO ('{following}-01')"
                        )


                if __name__ == "__main__":
                    attach(*sys.argv[1:])
                """),
        ),
    ),
    labels=("database",),
    milestone="1.1",
    assignees=("tomasz",),
    reviewers=("daiki",),
    upvotes=1,
)  # fmt: skip

LIFETIMES_PAGE = issue(
    33, "oskar", "2024-11-18 09:00",
    "One page that explains all lifetimes",
    """
    Shops ask me how long a sign-in lasts. The answer is spread over #6, #8, #9 and #10. The handbook's side is
    northwind/harbor-docs#3; here I need somebody to confirm the numbers:

    | | |
    |---|---|
    | access token | 15 minutes |
    | refresh token | 60 days, sliding |
    | grace for a replaced refresh token | 10 seconds |
    | clock skew | 30 seconds, `iat` only |
    """,
    say("priya", "2024-11-18 09:30", """
        Confirmed, all four. Please do not publish the grace, it helps nobody but a thief.
        """),
    labels=("docs", "auth"),
    assignees=("oskar",),
)  # fmt: skip

PLAN = issue(
    34, "maren", "2024-12-09 10:00",
    "What goes into 1.2",
    """
    Candidates, in no order:

    - push messages (#24)
    - partitions (!32, #28)
    - CSV export (#30)
    - winter time (#32), which should not wait for 1.2
    - single sign-on for the large shops, the last open box of #6

    Not a candidate: caching lookups (#17).
    """,
    thread(
        say("jonah", "2024-12-09 10:20", "push 🙏"),
        say("ines", "2024-12-09 10:31", "Nothing before 6 January. Then whatever has a rollback."),
        say("maren", "2024-12-09 11:00", "Meeting on the 8th. Until then: please vote with thumbs."),
    ),
    labels=("feature",),
    due="2025-01-08",
    upvotes=3,
)  # fmt: skip

STORY = Story(
    "late work",
    entities=(
        TWICE, SEEN_EVENTS, PUSH_MESSAGES, COLOURS, DARKER_COLOURS, PARTITIONS, CSV_EXPORT, DEVICES, WHY_TEN,
        STARLETTE_BUMP, WINTER_TIME, MONTHLY, LIFETIMES_PAGE, PLAN,
    ),
)  # fmt: skip
