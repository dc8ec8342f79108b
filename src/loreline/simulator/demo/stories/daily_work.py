"""What else a team does in its first year: small bugs, pipelines, dependencies, a flaky test."""

from __future__ import annotations

from loreline.simulator.demo.story import (
    Approve,
    Assign,
    Label,
    Merge,
    MoveTo,
    StartMergeRequest,
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

UNKNOWN_AT_NIGHT = issue(
    1, "ruth", "2023-01-10 08:05",
    'Tracking page shows "unknown" for parcels handed over at night',
    """
    Three couriers of the night tour say the same: between midnight and one the page shows "unknown" although
    the scanner has beeped. In the morning it is right.

    Parcel for trying: `NW 4410 2207`, handed over on 9 January, 00:20 local time.
    """,
    say("daiki", "2023-01-10 09:25", """
        `newest_scan` drops scans "from the future" and compares with `datetime.now()`, which is local time on the
        server. From 00:00 to 01:00 the two disagree.
        """),
    StartMergeRequest("daiki", "2023-01-11 09:32", 1),
    labels=("bug", "triage"),
    assignees=("daiki",),
)  # fmt: skip

COMPARE_IN_UTC = merge_request(
    1, "daiki", "2023-01-11 09:32",
    "Compare scan times in UTC",
    "Closes #1",
    on_line(
        "harbor/tracking.py", "CLOCK_TOLERANCE = timedelta(minutes=10)",
        say("tomasz", "2023-01-11 10:20", "Why ten minutes and not zero?"),
        say("daiki", "2023-01-11 10:31", """
            Scanners drift. Of December's scans 0.4 % are up to 6 minutes ahead, and then nothing until 2099.
            """),
        resolved=("tomasz", "2023-01-11 10:40"),
    ),
    Approve("tomasz", "2023-01-11 10:41"),
    Merge("maren", "2023-01-11 13:00"),
    branch="scan-times-utc",
    commits=(
        commit(
            "utc", "daiki", "2023-01-11 09:20",
            """
            Compare scan times in UTC

            Between midnight and one o'clock every scan looked as if it came from
            the future and was dropped. See #1.
            """,
            replace("harbor/tracking.py", "from datetime import datetime", """
from datetime import datetime, timedelta, timezone
"""),
            replace("harbor/tracking.py", "from harbor.parcels import find_parcel", """
from harbor.parcels import find_parcel

# Hand scanners run up to six minutes ahead; what is later than this has lost its clock.
CLOCK_TOLERANCE = timedelta(minutes=10)
"""),
            replace("harbor/tracking.py", """
    believable = [scan for scan in scans if scan['scanned_at'] <= datetime.now()]
""", """
    latest = datetime.now(timezone.utc) + CLOCK_TOLERANCE
    believable = [scan for scan in scans if scan['scanned_at'] <= latest]
"""),
            write("tests/test_tracking.py", """
                from datetime import datetime, timezone

                from harbor.tracking import newest_scan


                def test_the_newest_scan_decides():
                    early = {'scanned_at': datetime(2022, 12, 1, 8, tzinfo=timezone.utc)}
                    late = {'scanned_at': datetime(2022, 12, 1, 20, tzinfo=timezone.utc)}
                    assert newest_scan([late, early]) is late


                def test_a_scan_from_the_future_is_a_broken_clock():
                    assert newest_scan([{'scanned_at': datetime(2099, 1, 1, tzinfo=timezone.utc)}]) is None
                """),
        ),
    ),
    labels=("bug",),
    assignees=("daiki",),
    reviewers=("tomasz",),
)  # fmt: skip

SLOW_PIPELINE = issue(
    2, "ines", "2023-01-16 09:10",
    "CI spends half of its time downloading packages",
    "3:40 per pipeline, of which `pip install` is 1:52. It is the same 40 MB each time.",
    labels=("ci",),
    assignees=("ines",),
)  # fmt: skip

PIP_CACHE = merge_request(
    2, "ines", "2023-01-17 08:30",
    "Keep pip's downloads between jobs",
    "Closes #2",
    say("daiki", "2023-01-17 09:00", "1:31 on my branch now. 🚀"),
    Approve("daiki", "2023-01-17 09:05"),
    Merge("ines", "2023-01-17 09:10"),
    branch="pip-cache",
    commits=(
        commit(
            "pip-cache", "ines", "2023-01-17 08:20",
            "Keep pip's downloads between jobs",
            replace(".gitlab-ci.yml", "  script:", """
    PIP_CACHE_DIR: $CI_PROJECT_DIR/.pip
  cache:
    paths:
      - .pip
  script:
"""),
        ),
    ),
    labels=("ci",),
)  # fmt: skip

DOCUMENT_LOOKUP = issue(
    4, "oskar", "2023-01-30 10:00",
    "Document the lookup API",
    """
    `GET /parcels/{number}` is used by eleven shops and described in one e-mail from 2021. I would start with:

    1. which spellings of a number are accepted (`nw 4410 2207`, `NW44102207`)
    2. every `status`, with what it means for the customer
    3. errors, with bodies
    """,
    say("maren", "2023-01-31 09:15", "Yes please. It belongs to the handbook's project, moving it there."),
    MoveTo("maren", "2023-01-31 09:16", "northwind/harbor-docs", 1),
    labels=("docs",),
)  # fmt: skip

WHOLE_TABLE = issue(
    5, "tomasz", "2023-02-06 08:40",
    "Looking up a parcel reads the whole scan table",
    """
    ```
    Seq Scan on scans  (cost=0.00..184211.00 rows=9 width=48) (actual time=0.412..1904.118 rows=11 loops=1)
      Filter: (parcel = 'NW44102207'::text)
      Rows Removed by Filter: 9214402
    ```

    A foreign key does not come with an index in Postgres. 1.9 s today, and growing by a million scans a month.
    """,
    say("daiki", "2023-02-06 09:00", "I thought `REFERENCES` makes one! Today I learned."),
    labels=("database", "performance"),
    assignees=("tomasz",),
)  # fmt: skip

SCAN_INDEX = merge_request(
    3, "tomasz", "2023-02-08 09:00",
    "Add an index of scans by parcel",
    "1,904 ms → 0.3 ms on the copy. Closes #5",
    Approve("daiki", "2023-02-08 09:30"),
    Merge("tomasz", "2023-02-08 10:00"),
    branch="scan-index",
    commits=(
        commit(
            "scan-index", "tomasz", "2023-02-08 08:50",
            "Add an index of scans by parcel",
            write("migrations/0003_scan_index.sql", "CREATE INDEX scans_parcel ON scans (parcel);"),
        ),
    ),
    labels=("database", "performance"),
    assignees=("tomasz",),
)  # fmt: skip

HTTPX_BUMP = merge_request(
    4, "harbor-bot", "2023-02-20 04:00",
    "Update dependency httpx to v0.23.3",
    """
    | Package | Change |
    |---|---|
    | httpx | `0.23.1` → `0.23.3` |

    This merge request was opened automatically. Close it to ignore this version.
    """,
    Approve("ines", "2023-02-21 08:10"),
    Merge("ines", "2023-02-21 08:12", "fast_forward"),
    branch="bot/httpx-0.23.x",
    commits=(
        commit(
            "httpx", "harbor-bot", "2023-02-20 03:58",
            "Update dependency httpx to v0.23.3",
            replace("requirements.txt", "httpx==0.23.1", "httpx==0.23.3"),
        ),
    ),
    labels=("dependencies",),
)  # fmt: skip

ORDER_DEPENDENT = issue(
    21, "oskar", "2024-03-04 09:30",
    "test_login fails when it runs before test_identity",
    """
    With `pytest -p randomly` one run in six:

    ```
    tests/test_login.py:3: in <module>
        from harbor.login import own_path
    harbor/settings.py:5: in <module>
        DATABASE_URL = os.environ["HARBOR_DATABASE_URL"]
    KeyError: 'HARBOR_DATABASE_URL'
    ```

    (the traceback is from my branch, where the default is gone)
    """,
    say("daiki", "2024-03-05 13:10", """
        テストの順番に依存していました。`test_identity` が環境変数を設定したまま戻さないので、後に走るテストだけが
        成功します。`monkeypatch` を使えば毎回元に戻ります。(In short: one test sets the variable and never takes it
        back, so only the tests after it pass.)
        """),
    Label("daiki", "2024-03-05 13:15", add=("bug",), remove=("triage",)),
    labels=("flaky-test", "triage"),
)  # fmt: skip

CLEAN_ENVIRONMENT = merge_request(
    24, "daiki", "2024-03-06 10:00",
    "Give every test a clean environment",
    "Closes #21",
    Approve("oskar", "2024-03-06 10:45"),
    Merge("oskar", "2024-03-06 10:50"),
    branch="clean-environment",
    commits=(
        commit(
            "clean", "daiki", "2024-03-06 09:50",
            "Give every test a clean environment",
            write("tests/conftest.py", """
                import pytest


                @pytest.fixture(autouse=True)
                def clean_environment(monkeypatch):
                    monkeypatch.setenv("HARBOR_DATABASE_URL", "postgresql:///harbor_test")
                    monkeypatch.setenv("HARBOR_SECRET_KEY", "for tests")
                """),
        ),
    ),
    labels=("flaky-test",),
    reviewers=("oskar",),
)  # fmt: skip

MISSING_CHANGES = issue(
    22, "oskar", "2024-03-11 09:00",
    "The changelog does not know 1.0.1",
    "The tag `v1.0.1` exists on `release/1.0`, the changelog on `main` goes from 1.0.0 to nothing. See !9.",
    say("maren", "2024-03-11 09:20", "My fault, I bumped the version on the branch and went home."),
    labels=("docs",),
)  # fmt: skip

CHANGELOG = merge_request(
    25, "oskar", "2024-03-12 09:10",
    "Add 1.0.1 to the changelog",
    "Closes #22",
    thread(
        say("maren", "2024-03-12 09:40", "Link the issue, people look for the symptom."),
        say("oskar", "2024-03-12 09:48", "It names #9 now."),
        resolved=("maren", "2024-03-12 10:00"),
    ),
    Assign("oskar", "2024-03-12 09:12", "oskar"),
    Merge("maren", "2024-03-12 10:01"),
    branch="changelog-1.0.1",
    commits=(
        commit(
            "changelog", "oskar", "2024-03-12 09:00",
            "Add 1.0.1 to the changelog",
            replace("CHANGELOG.md", "## 1.0.0 (2023-04-05)", """
## 1.0.1 (2023-04-14)

- Refreshing twice at once no longer signs anybody out

## 1.0.0 (2023-04-05)
"""),
        ),
        commit(
            "changelog-issue", "oskar", "2024-03-12 09:45",
            "Name the issue in the changelog",
            replace("CHANGELOG.md", "no longer signs anybody out", "no longer signs anybody out (#9)"),
        ),
    ),
    labels=("docs",),
)  # fmt: skip

PSYCOPG_BUMP = merge_request(
    26, "harbor-bot", "2024-03-18 04:00",
    "Update dependency psycopg to v3.1.18",
    """
    | Package | Change |
    |---|---|
    | psycopg | `3.1.7` → `3.1.18` |

    This merge request was opened automatically. Close it to ignore this version.
    """,
    say("tomasz", "2024-03-18 08:30", """
        3.1.9 changed how `with connect()` closes. Ran the suite against the copy: fine.
        """),
    Approve("tomasz", "2024-03-18 08:31"),
    Merge("tomasz", "2024-03-18 08:32"),
    branch="bot/psycopg-3.1.x",
    commits=(
        commit(
            "psycopg", "harbor-bot", "2024-03-18 03:58",
            "Update dependency psycopg to v3.1.18",
            replace("requirements.txt", "psycopg==3.1.7", "psycopg==3.1.18"),
        ),
    ),
    labels=("dependencies",),
)  # fmt: skip

STORY = Story(
    "daily work",
    entities=(
        UNKNOWN_AT_NIGHT, COMPARE_IN_UTC, SLOW_PIPELINE, PIP_CACHE, DOCUMENT_LOOKUP, WHOLE_TABLE, SCAN_INDEX,
        HTTPX_BUMP, ORDER_DEPENDENT, CLEAN_ENVIRONMENT, MISSING_CHANGES, CHANGELOG, PSYCOPG_BUMP,
    ),
)  # fmt: skip
