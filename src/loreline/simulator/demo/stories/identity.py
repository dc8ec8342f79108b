"""Story 4: one module is renamed, reformatted and split, and its history must stay readable."""

from __future__ import annotations

from loreline.simulator.demo.stories import identity_commits as commits
from loreline.simulator.demo.story import (
    Approve,
    Assign,
    Label,
    Merge,
    Retitle,
    Story,
    issue,
    merge_request,
    on_line,
    say,
    thread,
)

FIVE_JOBS = issue(
    11, "daiki", "2023-05-08 10:00",
    "auth.py is doing five jobs",
    """
    `harbor/auth.py` checks passwords, signs claims, issues access tokens, rotates refresh tokens and ends
    families. I changed it four times this spring and had a merge conflict every time.

    Proposal: a package `harbor/identity/`.

    1. move the file as it is, nothing else
    2. split it into `tokens.py` (claims and access tokens) and `sessions.py` (sign-in, refresh, sign-out)

    Two steps so that `git log --follow` and blame survive.
    """,
    thread(
        say("maren", "2023-05-08 11:20", """
            Yes to both, and yes to two steps. One condition: no "while I am here". A commit that moves a file
            moves a file.
            """),
        say("oskar", "2023-05-08 11:52", """
            I have been waiting to run a formatter over everything. May I go between 1 and 2? Then the new modules
            start clean, and there is one commit to ignore in blame instead of three.
            """),
        say("maren", "2023-05-08 12:10", """
            Yes: move, format, split, in this order. The formatting commit goes into `.git-blame-ignore-revs`.
            """),
    ),
    Assign("daiki", "2023-05-08 12:15", "daiki"),
    thread(
        say("tomasz", "2023-11-13 09:00", "Step 2 is still open. Did we stop on purpose?"),
        say("daiki", "2023-11-13 09:25", "No, the cache happened (#17). This week."),
    ),
    labels=("auth", "triage"),
)  # fmt: skip

MOVE = merge_request(
    11, "daiki", "2023-05-15 09:30",
    "Move auth.py into the identity package",
    """
    Step 1 of #11. `harbor/auth.py` becomes `harbor/identity/session.py`; only imports change.
    """,
    thread(
        say("oskar", "2023-05-15 10:10", """
            Why `session.py`, when half of it is tokens? The name will be wrong on the day it is merged.
            """),
        say("daiki", "2023-05-15 10:32", """
            Because it is gone in step 2. Any name is wrong for a file with five jobs.
            """),
        resolved=("oskar", "2023-05-15 10:40"),
    ),
    Approve("oskar", "2023-05-15 10:41"),
    Merge("maren", "2023-05-15 13:00"),
    branch="identity-package",
    commits=(commits.MOVE,),
    labels=("auth",),
    assignees=("daiki",),
    reviewers=("oskar",),
)  # fmt: skip

FORMAT = merge_request(
    12, "oskar", "2023-05-22 09:15",
    "Format the code base",
    """
    Double quotes everywhere. No behaviour changes: the first commit is the output of the formatter, the second
    tells `git blame` to look through it.

    **Please do not squash.** The second commit names the SHA of the first; a squash would make it point at
    nothing.
    """,
    on_line(
        ".git-blame-ignore-revs", "{{format}}",
        say("daiki", "2023-05-22 10:05", """
            Does GitLab read this file? On the command line it needs

            ```sh
            git config blame.ignoreRevsFile .git-blame-ignore-revs
            ```
            """),
        say("oskar", "2023-05-22 10:25", """
            I have put that line into the README of the handbook, see northwind/harbor-docs#2.
            """),
    ),
    Approve("maren", "2023-05-22 11:00"),
    Merge("oskar", "2023-05-22 11:30"),
    branch="format",
    commits=(commits.FORMAT, commits.IGNORE),
    labels=("docs",),
    reviewers=("maren",),
)  # fmt: skip

SPLIT = merge_request(
    20, "daiki", "2023-11-20 10:30",
    "Draft: Split identity/session.py into tokens.py and sessions.py",
    """
    Step 2 of #11.

    - `tokens.py`: claims, signatures, access tokens. Knows no database.
    - `sessions.py`: passwords, sign-in, refresh, families. Knows no cryptography beyond digests.

    The first commit only renames, the second takes the sessions out. Blame can follow one half through a split,
    and people ask about the numbers in `tokens.py`.

    Closes #11
    """,
    say("daiki", "2023-11-20 10:35", "Draft until the tests follow the split."),
    on_line(
        "harbor/identity/sessions.py", "from harbor.identity.tokens import InvalidToken, issue_access_token",
        say("priya", "2023-11-20 13:10", """
            I like that the arrow points one way now: sessions know tokens, tokens know nothing. Can we keep it
            so with a test?
            """),
        say("daiki", "2023-11-20 14:02", "`test_tokens_know_no_database` in {{split-tests:8}}."),
        resolved=("priya", "2023-11-20 15:00"),
    ),
    on_line(
        "harbor/identity/tokens.py", "CLOCK_SKEW_LEEWAY = 30",
        say("maren", "2023-11-20 15:30", """
            For whoever lands here from blame: the why of this number is in #10, not in the move. Do we want a
            comment?
            """),
        say("priya", "2023-11-20 15:41", "The commit says it. I would rather people learn to ask blame."),
    ),
    Retitle("daiki", "2023-11-21 08:54", "Split identity/session.py into tokens.py and sessions.py"),
    Label("daiki", "2023-11-21 08:55", add=("auth",)),
    Approve("priya", "2023-11-21 10:00"),
    Merge("maren", "2023-11-21 11:00"),
    branch="split-identity",
    commits=(commits.RENAME, commits.SPLIT, commits.SPLIT_TESTS),
    assignees=("daiki",),
    reviewers=("priya", "maren"),
)  # fmt: skip

STORY = Story("identity", entities=(FIVE_JOBS, MOVE, FORMAT, SPLIT))
