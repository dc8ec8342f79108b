"""Story 2: a cache in front of tracking lookups, tried, measured, taken out again, and asked for again."""

from __future__ import annotations

from loreline.simulator.demo.story import (
    Approve,
    Close,
    Duplicate,
    Label,
    Merge,
    Relate,
    Remove,
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

TRACKING = "harbor/tracking.py"

SLOW_AT_PEAK = issue(
    14, "ines", "2023-09-04 07:45",
    "Tracking lookups are slow at peak: p95 480 ms",
    """
    Last Monday, 08:00 to 09:00, `/parcels/{number}`:

    | requests | p50 | p95 | p99 |
    |---|---|---|---|
    | 412,000 | 61 ms | 480 ms | 1,350 ms |

    Christmas is three times that. The goal for 1.1 is p95 below 200 ms.
    """,
    say("tomasz", "2023-09-04 09:30", """
        Before anybody reaches for a cache: we read **all** scans of a parcel to show one. Median 9 rows, but
        pallets have up to 4,000. My guess is that the p95 is the pallets.
        """),
    Relate("daiki", "2023-09-06 11:15", to=15),
    labels=("performance",),
    milestone="1.1",
    upvotes=2,
)  # fmt: skip

PROPOSAL = issue(
    15, "daiki", "2023-09-06 11:00",
    "Proposal: Redis read-through cache for tracking lookups",
    """
    People reload the tracking page. I assume most lookups repeat an earlier one within minutes, so a cache with
    a life of five minutes should take most of the load off Postgres.

    - read-through: on a miss read the database and store the answer
    - key: parcel number; value: the JSON answer; TTL 300 s
    - one small Redis, no persistence
    """,
    thread(
        say("tomasz", "2023-09-06 12:20", """
            *I assume* is doing a lot of work in that sentence. What is the hit rate? It is in the access log.
            """),
        say("daiki", "2023-09-06 15:48", """
            From yesterday's log, same number again within 300 s: **44 %** of requests.
            """),
        say("tomasz", "2023-09-06 16:10", """
            Over the day. At peak everybody looks for *another* parcel. I would expect 30 there.
            """),
        say("ines", "2023-09-07 08:05", "One more thing that can be down at Christmas. I am not in love."),
        say("maren", "2023-09-07 09:00", """
            Let us try it and measure for two weeks, behind a setting. If p95 at peak is not clearly better, it goes.
            """),
    ),
    labels=("performance", "feature"),
    milestone="1.1",
    assignees=("daiki",),
)  # fmt: skip

CACHE_IN = merge_request(
    15, "daiki", "2023-09-18 14:00",
    "Add a read-through cache for tracking lookups",
    """
    As discussed: five minutes, read-through, off unless `HARBOR_REDIS_URL` is set.

    Closes #15
    """,
    on_line(
        "harbor/cache.py", "LOOKUP_TTL = 300",
        say("ruth", "2023-09-19 09:20", """
            Five minutes means a parcel can be in the customer's hands and on our page "in transit"?
            """),
        say("daiki", "2023-09-19 09:35", """
            For at most five minutes, yes. Unless we delete the key when a scan arrives.
            """),
        say("ruth", "2023-09-19 09:41", "Please do. They call within two."),
        say("daiki", "2023-09-19 13:22", "Done for the webhook in {{cache-forget:8}}."),
        resolved=("ruth", "2023-09-19 14:00"),
    ),
    on_line(
        "harbor/webhooks.py", "cache.forget(event",
        say("tomasz", "2023-09-20 10:12", """
            This runs before the transaction commits (`with connection()` commits at its end). A reader between the
            two puts the old answer back for five minutes.
            """),
        say("daiki", "2023-09-20 10:50", """
            That window is about a millisecond. I will measure it in the two weeks.
            """),
    ),
    Approve("maren", "2023-09-26 15:00"),
    Merge("maren", "2023-09-27 08:30"),
    branch="lookup-cache",
    commits=(
        commit(
            "cache-add", "daiki", "2023-09-18 13:40",
            "Add a read-through cache for tracking lookups",
            write("harbor/cache.py", """
                # Answers of tracking lookups, kept in Redis for a while.
                import json

                import redis

                from harbor.settings import REDIS_URL

                LOOKUP_TTL = 300

                server = redis.Redis.from_url(REDIS_URL) if REDIS_URL else None


                def read_through(number: str, load) -> dict:
                    if server is None:
                        return load(number)
                    kept = server.get(f"lookup:{number}")
                    if kept is not None:
                        return json.loads(kept)
                    answer = load(number)
                    server.set(f"lookup:{number}", json.dumps(answer), ex=LOOKUP_TTL)
                    return answer
                """),
            replace("harbor/settings.py", "SECRET_KEY = os", """
REDIS_URL = os.environ.get("HARBOR_REDIS_URL")
SECRET_KEY = os
"""),
            replace("requirements.txt", "httpx==0.23.3", "httpx==0.23.3\nredis==5.0.0"),
            replace(
                "harbor/app.py", "from harbor.tracking import lookup",
                "from harbor.cache import read_through\nfrom harbor.tracking import lookup",
            ),
            replace(
                "harbor/app.py",
                'return JSONResponse(lookup(request.path_params["number"]))',
                'return JSONResponse(read_through(request.path_params["number"], lookup))',
            ),
        ),
        commit(
            "cache-forget", "daiki", "2023-09-19 13:15",
            "Forget a parcel's answer when a scan of it arrives",
            write("harbor/webhooks.py", """
                # Carriers tell us about scans by calling us.
                from harbor import cache
                from harbor.database import connection


                def record_scan(event: dict) -> None:
                    with connection() as database:
                        database.execute(
                            "INSERT INTO scans (parcel, place, status, scanned_at) VALUES (%s, %s, %s, %s)",
                            [event["parcel"], event["place"], event["status"], event["scanned_at"]],
                        )
                        cache.forget(event["parcel"])
                """),
            replace("harbor/cache.py", "def read_through(", """
def forget(number: str) -> None:
    if server is not None:
        server.delete(f"lookup:{number}")


def read_through(
"""),
        ),
    ),
    labels=("performance", "feature"),
    milestone="1.1",
    assignees=("daiki",),
    reviewers=("tomasz", "maren"),
)  # fmt: skip

STALE = issue(
    16, "ruth", "2023-10-09 08:20",
    "Delivered parcels are shown as in transit",
    """
    63 tickets since last Monday, all of the same kind: the parcel is on the kitchen table, our page says
    "in transit", five minutes later it is right. Two shops have refunded parcels that had arrived.
    """,
    thread(
        say("daiki", "2023-10-09 09:40", """
            Guess one: the import of the night files writes scans without `record_scan`, so nothing is forgotten.
            True, but 50 of the 63 came by webhook.
            """),
        say("daiki", "2023-10-09 14:55", """
            Guess two: the order @tomasz warned about in !15. I can reproduce it:

            ```
            webhook            reader
            -------            ------
            INSERT scan
            DEL lookup:NW77
                               GET lookup:NW77   -> miss
                               SELECT scans      -> old row, insert not committed
            COMMIT
                               SET lookup:NW77   -> old answer, for 300 s
            ```

            A carrier sends the scan and the customer's push message at the same moment, so the reader arrives
            *exactly* then. My millisecond is hit 70 times a day.
            """),
        say("ines", "2023-10-10 08:15", """
            And the two weeks are over. At peak, with and without:

            | 08:00-09:00 | without | with cache |
            |---|---|---|
            | hit rate | none | 31 % |
            | p50 | 61 ms | 44 ms |
            | p95 | 480 ms | 455 ms |
            | p99 | 1,350 ms | 1,410 ms |

            5 % off the p95. The hits are the lookups that were fast already.
            """),
        say("tomasz", "2023-10-10 08:40", """
            Because the slow ones are pallets, and each pallet is looked up once. Told you, with love.
            """),
    ),
    Label("maren", "2023-10-10 09:00", add=("incident",)),
    labels=("bug", "performance"),
    milestone="1.1",
    assignees=("daiki",),
)  # fmt: skip

INVALIDATE = merge_request(
    16, "daiki", "2023-10-11 10:10",
    "Invalidate the cache after the commit",
    "Moves `forget` behind the transaction and adds it to the night import. Should fix #16.",
    on_line(
        "harbor/webhooks.py", "# After the commit",
        say("tomasz", "2023-10-11 11:20", """
            Smaller, not gone: a reader that has read *before* the commit and writes *after* the delete still
            keeps the old answer. You need versions or locks to be right, and then it is a second database.
            """),
        say("daiki", "2023-10-11 11:58", "So the honest fix is a compare-and-set on a scan counter…"),
        say("maren", "2023-10-11 12:10", """
            …for five per cent of the p95. No. Rejected because it makes the cache correct at a price the numbers
            in #16 do not pay. Please close this, we take the cache out.
            """),
    ),
    say("daiki", "2023-10-11 12:25", "Fair. Closing, superseded by the revert."),
    Close("daiki", "2023-10-11 12:26"),
    branch="invalidate-after-commit",
    commits=(
        commit(
            "cache-after-commit", "daiki", "2023-10-11 10:00",
            "Forget cached answers after the commit",
            replace("harbor/webhooks.py", """
        cache.forget(event["parcel"])
""", """
    # After the commit, or a reader puts the old answer back.
    cache.forget(event["parcel"])
"""),
        ),
    ),
    labels=("bug", "performance"),
    milestone="1.1",
    assignees=("daiki",),
)  # fmt: skip

REVERT = merge_request(
    17, "tomasz", "2023-10-19 09:00",
    'Revert "Add a read-through cache for tracking lookups"',
    """
    This reverts merge request !15.

    Two weeks of measurements and one invalidation bug, all in #16. Redis itself goes with the next deploy.

    Closes #16
    """,
    on_line(
        "requirements.txt", "redis==5.0.0",
        say("ines", "2023-10-19 09:30", "Favourite line of the month."),
        removed=True,
    ),
    Approve("daiki", "2023-10-19 10:00"),
    Approve("ines", "2023-10-19 10:05"),
    Merge("maren", "2023-10-19 10:30"),
    branch="revert-lookup-cache",
    commits=(
        commit(
            "cache-revert", "tomasz", "2023-10-19 08:50",
            """
            Revert "Add a read-through cache for tracking lookups"

            This reverts commit {{!15}}.

            The hit rate at peak is 31 % and p95 went from 480 to 455 ms, while
            63 customers saw an old status. See #16.
            """,
            Remove("harbor/cache.py"),
            write("harbor/webhooks.py", """
                # Carriers tell us about scans by calling us.
                from harbor.database import connection


                def record_scan(event: dict) -> None:
                    with connection() as database:
                        database.execute(
                            "INSERT INTO scans (parcel, place, status, scanned_at) VALUES (%s, %s, %s, %s)",
                            [event["parcel"], event["place"], event["status"], event["scanned_at"]],
                        )
                """),
            replace("harbor/settings.py", 'REDIS_URL = os.environ.get("HARBOR_REDIS_URL")\n', ""),
            replace("requirements.txt", "\nredis==5.0.0", ""),
            replace("harbor/app.py", "from harbor.cache import read_through\n", ""),
            replace(
                "harbor/app.py",
                'read_through(request.path_params["number"], lookup)',
                'lookup(request.path_params["number"])',
            ),
        ),
    ),
    labels=("bug", "performance"),
    milestone="1.1",
    assignees=("tomasz",),
    reviewers=("daiki", "ines"),
)  # fmt: skip

DECISION = issue(
    17, "maren", "2023-10-23 08:30",
    "Decision: no cache in front of tracking lookups",
    """
    **We decided: tracking lookups read the database, there is no cache in front of them.**

    *Tried*: a Redis read-through cache, five minutes, !15, in production from 27 September to 19 October 2023.

    *Measured* (peak hour): hit rate 31 %, p95 480 → 455 ms, p99 worse.

    *Broke*: delivered parcels shown as in transit (#16). Invalidating after the commit (!16) makes the window
    smaller, not zero.

    *Rejected because* the slow lookups are pallets, which are looked up once; a cache helps the lookups that
    are fast already. The right place is the query (#14).

    *Ask again when* the hit rate at peak is above 70 % **and** the slow lookups are among the repeated ones.
    """,
    say("daiki", "2023-10-23 09:05", """
        I learned more from taking it out than from putting it in. Writing the file.
        """),
    labels=("decision", "performance"),
    assignees=("daiki",),
    upvotes=5,
)  # fmt: skip

RECORD = merge_request(
    18, "daiki", "2023-10-24 10:00",
    "Record the decision on caching lookups",
    "Closes #17",
    Approve("maren", "2023-10-24 11:00"),
    Merge("maren", "2023-10-24 11:05"),
    branch="decision-no-cache",
    commits=(
        commit(
            "cache-decision", "daiki", "2023-10-24 09:45",
            "Record the decision on caching lookups",
            write("docs/decisions/0001-no-lookup-cache.md", """
                # No cache in front of tracking lookups

                Decided 2023-10-23 in #17, after three weeks with one (!15).

                - Hit rate at peak: 31 %. p95 480 ms without, 455 ms with.
                - Invalidation cannot be made right without versions: a reader that has read before the commit
                  may store after the delete.
                - Slow lookups are pallets, and each pallet is looked up once.

                Ask again when the hit rate at peak is above 70 % and slow lookups are among the repeated ones.
                """),
        ),
    ),
    labels=("decision", "docs"),
    reviewers=("maren",),
)  # fmt: skip

ONE_QUERY = merge_request(
    19, "tomasz", "2023-11-02 09:10",
    "Read the last scan with one query",
    """
    `ORDER BY scanned_at DESC LIMIT 1` over an index that covers it. 4,000 rows become one.

    | peak hour, replayed | before | after |
    |---|---|---|
    | p50 | 61 ms | 12 ms |
    | p95 | 480 ms | 74 ms |
    | p99 | 1,350 ms | 160 ms |

    Closes #14
    """,
    on_line(
        TRACKING, "ORDER BY scanned_at DESC LIMIT 1",
        say("daiki", "2023-11-02 10:02", "So the cache would have cached… this one row. Ouch."),
        say("tomasz", "2023-11-02 10:10", "An index is a cache that the database keeps right for you."),
        resolved=("daiki", "2023-11-02 10:15"),
    ),
    on_line(
        "migrations/0005_last_scan_index.sql", "CREATE INDEX IF NOT EXISTS scans_last",
        say("ines", "2023-11-02 10:40", "How long does this block writes on production?"),
        say("tomasz", "2023-11-02 11:05", """
            Nine minutes on the copy if built plainly. I build it by hand with `CONCURRENTLY` the evening before;
            the migration then finds it there and does nothing.
            """),
    ),
    Approve("daiki", "2023-11-02 14:00"),
    Merge("tomasz", "2023-11-03 09:00"),
    say("ines", "2023-12-18 09:30", """
        Christmas peak, 1.31 million lookups between 8 and 9: p95 **81 ms**. Goal was 200. Thank you all.
        """),
    branch="last-scan",
    commits=(
        commit(
            "last-scan", "tomasz", "2023-11-02 08:55",
            """
            Read the last scan with one query

            A pallet has up to 4,000 scans and we showed one of them. The index
            covers the query, so the answer does not touch the table. See #14.
            """,
            replace(TRACKING, """
        scans = database.execute(
            "SELECT place, status, scanned_at FROM scans WHERE parcel = %s", [parcel.number]
        ).fetchall()
    scan = newest_scan(scans)
""", """
        scan = database.execute(
            "SELECT place, status FROM scans WHERE parcel = %s AND scanned_at <= %s"
            " ORDER BY scanned_at DESC LIMIT 1",
            [parcel.number, datetime.now(timezone.utc) + CLOCK_TOLERANCE],
        ).fetchone()
"""),
            replace(TRACKING, """
def newest_scan(scans):
    # Some hand scanners have lost their clock and stamp the year 2099.
    latest = datetime.now(timezone.utc) + CLOCK_TOLERANCE
    believable = [scan for scan in scans if scan["scanned_at"] <= latest]
    return max(believable, key=lambda scan: scan["scanned_at"], default=None)


def lookup(number: str) -> dict:
""", "def lookup(number: str) -> dict:"),
            write("tests/test_tracking.py", """
                from datetime import timedelta

                from harbor.tracking import CLOCK_TOLERANCE


                def test_a_wrong_clock_is_not_believed_for_long():
                    assert timedelta(0) < CLOCK_TOLERANCE <= timedelta(hours=1)
                """),
            write("migrations/0005_last_scan_index.sql", """
                CREATE INDEX IF NOT EXISTS scans_last ON scans (parcel, scanned_at DESC) INCLUDE (place, status);
                DROP INDEX IF EXISTS scans_parcel;
                """),
        ),
    ),
    labels=("performance", "database"),
    milestone="1.1",
    assignees=("tomasz",),
    reviewers=("daiki",),
)  # fmt: skip

ASKED_AGAIN = issue(
    29, "camille", "2024-08-12 09:10",
    "Could we cache lookups in Redis?",
    """
    The new widget for shops shows up to 40 parcels on one page, that is 40 lookups. A shared cache of a minute
    would help a lot and it is ten lines.
    """,
    thread(
        say("daiki", "2024-08-12 09:30", """
            I wrote those ten lines once 🙂 Please read #17 before anything else, it was !15 and ended in !17.
            """),
        say("camille", "2024-08-12 09:58", """
            Ah. I was on leave that autumn. The widget's repeated lookups: 12 % at peak, so far from the 70 in #17.
            """),
        say("tomasz", "2024-08-12 10:20", """
            40 lookups on one page want one query, `WHERE parcel = ANY(%s)`. 3 ms on the copy.
            """),
        say("camille", "2024-08-12 10:31", "Then that. Closing as answered by #17."),
    ),
    Label("maren", "2024-08-12 10:40", add=("performance",), remove=("triage",)),
    Duplicate("camille", "2024-08-12 10:32", of=17),
    labels=("feature", "triage"),
)  # fmt: skip

STORY = Story(
    "cache",
    entities=(
        SLOW_AT_PEAK, PROPOSAL, CACHE_IN, STALE, INVALIDATE, REVERT, DECISION, RECORD, ONE_QUERY, ASKED_AGAIN,
    ),
)  # fmt: skip
