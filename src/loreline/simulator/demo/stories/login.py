"""Story 1: from sessions in the process to short-lived access tokens with rotating refresh tokens."""

from __future__ import annotations

from loreline.simulator.demo.stories import login_commits as commits
from loreline.simulator.demo.story import (
    Approve,
    AskReview,
    Assign,
    Duplicate,
    Label,
    Merge,
    Milestone,
    Picked,
    Redescribe,
    Relate,
    Story,
    issue,
    merge_request,
    on_line,
    say,
    thread,
)

SIGNED_OUT_BY_DEPLOYS = issue(
    3, "jonah", "2023-01-23 08:55",
    "People are signed out whenever we deploy",
    """
    every deploy signs out every courier. they are on a bike, with gloves, and they have to type a password.

    yesterday we deployed three times. support got 41 calls, i got 6 of them because people have my number.

    the cause is no mystery: `sessions = {}` in `harbor/auth.py` lives in the process and the process is gone.
    """,
    Label("maren", "2023-01-23 09:30", add=("auth", "mobile"), remove=("triage",)),
    say("ines", "2023-01-23 09:41", """
        Confirmed, and it is worse than deploys: the process is also recycled every night at 02:00 when the
        host rotates its logs.

        ```
        2023-01-23T02:00:04Z harbor-web-1 systemd[1]: Reloading harbor.service
        2023-01-23T02:00:05Z harbor-web-1 uvicorn[8812]: Shutting down
        2023-01-23T02:00:07Z harbor-web-1 uvicorn[9120]: Application startup complete.
        2023-01-23T02:00:09Z harbor-web-1 harbor: NotSignedIn x 312 in 60 s
        ```
        """),
    thread(
        say("daiki", "2023-01-23 10:15", """
            I wrote that and I am sorry. Quick fix: put the sessions into a database table? I can have it today.
            """),
        say("maren", "2023-01-23 10:32", """
            Not today. A table means one more query for every lookup, and the app needs something it can keep
            for days anyway. I would rather fix sign-in once. Give me two weeks.
            """),
        say("jonah", "2023-01-23 10:35", "two weeks of calls then 📞 ok. please deploy at noon, not at 8."),
    ),
    Relate("maren", "2023-02-13 10:20", to=6),
    say("maren", "2023-04-05 10:40", "Fixed by the work in #6, in production since 1.0.0 this morning."),
    labels=("bug", "triage"),
    milestone="1.0",
    upvotes=7,
)  # fmt: skip

REDESIGN = issue(
    6, "maren", "2023-02-13 10:10",
    "Login redesign: replace server sessions by tokens",
    """
    Sessions in the process do not survive a deploy (#3), and the mobile app cannot use a cookie at all.

    What sign-in has to do:

    - [x] survive a restart of any process
    - [x] cost no query on an ordinary lookup
    - [x] work for the app, which is offline for days, and for the page
    - [x] let us throw somebody out: a lost phone, a courier who left
    - [ ] single sign-on for the large shops (later, not in 1.0)

    Three ways are on the table:

    | | survives deploys | query per request | revocation |
    |---|---|---|---|
    | A: sessions in Postgres | yes | one | at once |
    | B: long-lived signed tokens | yes | none | never, until they end |
    | C: short access token + refresh token | yes | none (one per refresh) | within the access token's life |

    Please argue. I want a decision by the end of the month.
    """,
    thread(
        say("priya", "2023-02-13 11:47", """
            B is out for me. Somebody steals a phone, and the thief is signed in for as long as the token lives;
            the only remedy is to change `SECRET_KEY` and sign out everybody. That is #3 again, by our own hand.

            The question for C is how long "within the access token's life" is. Who would abuse an hour?
            A dismissed courier would: an hour is enough to export the addresses of a whole tour.
            """),
        say("tomasz", "2023-02-13 13:05", """
            I measured A on the staging copy. Session lookup by primary key, 50 connections:

            | | p50 | p95 | p99 |
            |---|---|---|---|
            | lookup today | 38 ms | 120 ms | 210 ms |
            | lookup + session query | 41 ms | 131 ms | 390 ms |

            The p99 is not the query, it is waiting for a second connection from the pool. A is affordable until
            the pool is full. Then it is not.
            """),
        say("jonah", "2023-02-13 14:22", """
            for the app: A is a no. i have to hold *something* for days without network, and a session that ends
            after 8 hours means a password prompt in the rain.

            C is fine if refreshing is one request and i am told clearly when it's over (401 with a code, not a
            redirect to html please).
            """),
        say("priya", "2023-02-14 09:10", """
            Then C with these conditions:

            1. the access token lives minutes, not hours;
            2. the refresh token is replaced on **every** use (rotation), stored only as a digest;
            3. a refresh token that comes a second time is theft until proven otherwise: end the whole chain.
            """),
        say("camille", "2023-02-14 10:03", """
            For the page I do not care much as long as the refresh token is in an `HttpOnly` cookie. I do not
            want to see it from JavaScript. The access token I can hold in memory.
            """),
    ),
    thread(
        say("ines", "2023-02-15 08:35", """
            What about clocks? web-2 was 4 seconds off last month and nobody noticed for a week, because nothing
            we do depends on time. With `iat` and `exp` everything does.
            """),
        say("priya", "2023-02-15 09:02", """
            NTP on the hosts. I do not want a leeway in the code "just in case": each second of leeway is a
            second more for an expired token.
            """),
        say("ines", "2023-02-15 09:20", "I will remind you of this comment 🙂"),
    ),
    say("camille", "2023-02-16 16:48", """
        Pour mémoire, après la réunion de ce matin avec l'équipe mobile : tout le monde préfère l'option C. Le seul
        vrai désaccord porte sur la durée de vie du jeton d'accès (quinze minutes ou une heure). Je propose de
        commencer court et de mesurer le nombre de rafraîchissements avant d'allonger quoi que ce soit.
        """),
    thread(
        say("maren", "2023-02-27 17:05", """
            **We decided on C: short-lived access tokens with rotating refresh tokens.**

            - access tokens are signed, never stored, and live for 15 minutes;
            - refresh tokens are stored as digests, replaced on every use, and a second use ends the chain;
            - A was rejected because of the second connection per lookup (see @tomasz's p99), B because it cannot
              be revoked;
            - no clock leeway, the hosts run NTP.

            @priya does the access tokens, @daiki the rotation. Both before 1.0.
            """),
        say("jonah", "2023-02-27 17:31", """
            👍 and refresh lifetime? opening a separate issue so this one can end
            """),
    ),
    Assign("maren", "2023-02-27 17:10", "priya"),
    Assign("maren", "2023-02-27 17:11", "daiki"),
    Label("maren", "2023-02-27 17:12", add=("decision",)),
    Redescribe("maren", "2023-04-03 16:30"),
    labels=("feature", "auth"),
    milestone="1.0",
    upvotes=4,
)  # fmt: skip

NIGHTLY_SIGN_OUT = issue(
    7, "ruth", "2023-02-16 07:50",
    "Customers report being signed out at two o'clock every night",
    """
    Four shops with night shifts wrote this week: at about 02:00 everybody has to sign in again. One of them
    (Blumen Petersen) prints labels from a script and the script just stops.

    Is this planned maintenance? If yes I would like a sentence I can send them.
    """,
    say("ines", "2023-02-16 08:20", "Log rotation. Same cause as #3, different alarm clock."),
    Duplicate("ines", "2023-02-16 08:21", of=3),
    labels=("bug", "triage"),
)  # fmt: skip

ACCESS_TOKENS = merge_request(
    5, "priya", "2023-03-06 12:10",
    "Issue short-lived access tokens",
    """
    First half of #6: claims signed with our key, no new dependency, no table.

    The refresh side comes from @daiki; until then the session cookie stays.
    """,
    thread(
        say("daiki", "2023-03-06 14:02", """
            Why not PyJWT? I would have used it without thinking.
            """),
        say("priya", "2023-03-06 14:40", """
            Because we need one algorithm and it must be impossible to choose another. Half of the JWT advisories
            are about a header that says `alg: none` or swaps HMAC for RSA. Forty lines we can read are less risk
            here than four thousand we cannot.
            """),
        say("maren", "2023-03-06 15:15", """
            Agreed, as long as it stays forty lines. The day we need keys of others: PyJWT.
            """),
        resolved=("daiki", "2023-03-06 15:30"),
    ),
    on_line(
        "harbor/auth.py", "ACCESS_TOKEN_TTL = 60 * 60",
        say("maren", "2023-03-07 09:12", "#6 says 15 minutes. This is an hour."),
        say("priya", "2023-03-07 09:40", """
            On purpose, to start a discussion: with 15 minutes a page that is open all day refreshes 32 times
            instead of 8. @jonah's app does it on mobile data.
            """),
        say("jonah", "2023-03-07 10:21", """
            measured: one refresh is 1.1 kB and 90 ms on 3G. 32 a day is nothing. take the 15.
            """),
        say("maren", "2023-03-07 10:30", "Then 15. Revocation has to be felt within a coffee break."),
        say("priya", "2023-03-08 08:45", "Changed in {{tokens-quarter:8}}."),
        resolved=("maren", "2023-03-08 09:00"),
    ),
    on_line(
        "harbor/auth.py", "if claims['iat'] > now:",
        say("ines", "2023-03-07 11:05", """
            No leeway at all? Token issued on web-1, read 20 ms later on web-2, whose clock is 50 ms behind:
            rejected.
            """),
        say("priya", "2023-03-07 11:31", """
            `now` is in whole seconds, so most of it rounds away. And we decided so in #6: hosts run NTP. If it
            bites we will see `issued in the future` in the log and can talk about a number instead of a fear.
            """),
        say("ines", "2023-03-07 11:40", "For the record: I disagree. Not blocking."),
    ),
    Approve("maren", "2023-03-09 10:15"),
    Merge("maren", "2023-03-09 11:00", "squash"),
    branch="access-tokens",
    commits=(commits.SIGNING, commits.ISSUING, commits.QUARTER_HOUR, commits.TOKEN_TESTS),
    labels=("feature", "auth", "security"),
    milestone="1.0",
    assignees=("priya",),
    reviewers=("maren", "ines"),
)  # fmt: skip

REFRESH_LIFETIME = issue(
    8, "jonah", "2023-03-13 13:30",
    "How long may the app stay away? Lifetime of refresh tokens",
    """
    from #6: the app is offline for days. couriers have 4 weeks of holiday and i don't want a password prompt on
    the first morning back.

    proposal: 90 days, restarted by every refresh.
    """,
    thread(
        say("priya", "2023-03-13 15:12", """
            Restarted by every refresh means a stolen phone that is used daily never ends. I can live with a
            sliding window because rotation shows us the theft as soon as the owner's phone refreshes too. But
            90 days for a phone in a drawer is long.
            """),
        say("ruth", "2023-03-14 09:05", """
            From support: longest break I find in last year's data is 47 days (parental leave). 99 % are back
            within 31.
            """),
        say("maren", "2023-03-14 09:30", """
            We decided: 60 days, sliding. Covers the 47 with room, and is a third less drawer.
            """),
    ),
    labels=("feature", "auth", "mobile"),
    milestone="1.0",
    assignees=("jonah",),
)  # fmt: skip

ROTATION = merge_request(
    6, "daiki", "2023-03-27 15:20",
    "Rotate refresh tokens on every use",
    """
    Second half of the login redesign.

    - `refresh_tokens` keeps digests, never tokens
    - each use replaces the token; the chain of replacements is a *family*
    - using a replaced token ends the family

    Server sessions are gone, so a deploy signs nobody out.

    Closes #6, #8 and #3
    """,
    on_line(
        "harbor/auth.py", "raise InvalidToken('refresh token was used before')",
        say("priya", "2023-03-28 09:20", """
            This refuses the second use, but the *first* user may be the thief. He keeps a good token and the owner
            gets the error. Condition 3 in #6: end the whole family here, both have to sign in again.
            """),
        say("daiki", "2023-03-28 10:44", """
            Oh. Yes. I only looked at it from the owner's side. Done in {{rotation-family:8}}.
            """),
        say("priya", "2023-03-29 08:30", "Good. And thank you for the test."),
        resolved=("priya", "2023-03-29 08:31"),
    ),
    on_line(
        "migrations/0004_refresh_tokens.sql", "family uuid NOT NULL",
        say("tomasz", "2023-03-28 11:15", """
            `revoke_family` deletes by this column and there is no index on it. With 60 days of rotations I expect
            about 2.3 million rows.
            """),
        say("daiki", "2023-03-28 13:02", "Added in the same commit, `refresh_tokens_family`."),
        resolved=("tomasz", "2023-03-28 13:30"),
    ),
    thread(
        say("jonah", "2023-03-30 09:50", """
            what happens if my request goes through but the answer gets lost in a tunnel? then i have the old
            token and you think i'm a thief
            """),
        say("daiki", "2023-03-30 10:11", "Then you have to sign in again. How often does that happen?"),
        say("jonah", "2023-03-30 10:20", "no idea. will count once it's out"),
    ),
    Approve("priya", "2023-03-30 14:05"),
    Approve("maren", "2023-03-31 09:20"),
    Merge("maren", "2023-03-31 09:25"),
    branch="refresh-rotation",
    commits=(commits.REFRESH_TABLE, commits.ROTATION, commits.FAMILY),
    labels=("feature", "auth"),
    milestone="1.0",
    assignees=("daiki",),
    reviewers=("priya",),
)  # fmt: skip

SIGNED_OUT_AT_RANDOM = issue(
    9, "jonah", "2023-04-11 08:05",
    "Signed out at random when the app refreshes twice",
    """
    since 1.0.0 about 3 % of couriers per day land on the sign-in screen. i found it:

    1. the app wakes up and sends two requests at once
    2. both get 401, **both** refresh with the same refresh token
    3. the second one counts as theft, the family is ended, courier is out

    it's the tunnel again (see !6) plus our own concurrency. counted since thursday: 212 ended families,
    0 real thefts.
    """,
    thread(
        say("priya", "2023-04-11 09:15", """
            I do not want to weaken the theft check. Can the app hold a lock around the refresh?
            """),
        say("jonah", "2023-04-11 09:33", """
            i can for the double wake-up (that's 80 % of it). not for the lost answer.
            """),
        say("daiki", "2023-04-11 10:02", """
            Idea: a replaced token stays good for a few seconds. Both requests get a token of the same family.
            A thief would have to be within those seconds.
            """),
        say("priya", "2023-04-11 11:20", """
            A grace of 10 seconds I can defend: a thief who can replay within ten seconds sits on the phone already.
            60 I could not. **Decided: ten seconds of grace for a replaced refresh token, not configurable.**
            """),
    ),
    Label("maren", "2023-04-11 11:40", add=("incident",)),
    Milestone("maren", "2023-04-11 11:41", "1.0"),
    labels=("bug", "auth", "mobile"),
    assignees=("daiki",),
    upvotes=3,
)  # fmt: skip

PREPARE_RELEASE = merge_request(
    7, "maren", "2023-04-04 14:00",
    "Prepare 1.0.0",
    'Version and changelog. The branch `release/1.0` is cut from the result; see %"1.0".',
    Approve("oskar", "2023-04-04 15:10"),
    Merge("maren", "2023-04-05 09:00"),
    branch="prepare-1.0",
    commits=(commits.RELEASE,),
    milestone="1.0",
)  # fmt: skip

GRACE = merge_request(
    8, "daiki", "2023-04-12 09:40",
    "Accept a replaced refresh token for ten seconds",
    """
    The follow-up of !6: two refreshes at once are not a theft.

    Closes #9
    """,
    on_line(
        "harbor/auth.py", "REFRESH_REUSE_GRACE = 10",
        say("maren", "2023-04-12 10:05", """
            A comment with the reason, please. In a year somebody will delete this as a magic number.
            """),
        say("daiki", "2023-04-12 10:30", "Added one line above, with the issue."),
        resolved=("maren", "2023-04-12 11:00"),
    ),
    Approve("priya", "2023-04-12 13:20"),
    Merge("maren", "2023-04-13 09:00"),
    Picked("maren", "2023-04-14 10:05", "release/1.0", "grace-picked"),
    say("jonah", "2023-04-24 08:30", """
        one week later: 4 ended families instead of 212. and one of the 4 was a real stolen phone 🎉
        """),
    branch="refresh-grace",
    commits=(commits.GRACE, commits.GRACE_REASON),
    labels=("bug", "auth"),
    milestone="1.0",
    assignees=("daiki",),
    reviewers=("priya",),
)  # fmt: skip

BACKPORT = merge_request(
    9, "maren", "2023-04-14 10:10",
    "Accept a replaced refresh token for ten seconds (1.0)",
    """
    Cherry-pick of !8 for `release/1.0`. The fix for #9 cannot wait for the next release.
    """,
    AskReview("maren", "2023-04-14 10:12", "daiki"),
    Approve("daiki", "2023-04-14 11:30"),
    Merge("maren", "2023-04-14 15:00"),
    branch="refresh-grace-1.0",
    commits=(commits.GRACE_PICKED,),
    into="release/1.0",
    labels=("bug", "auth"),
    milestone="1.0",
)  # fmt: skip

CLOCK_SKEW = issue(
    10, "ines", "2023-04-24 07:20",
    "Fresh tokens are rejected as issued in the future",
    """
    The reminder I promised in #6:

    ```
    2023-04-24T05:58:11Z harbor-web-2 harbor: InvalidToken: issued in the future (iat - now = 2)
    2023-04-24T05:58:12Z harbor-web-2 harbor: InvalidToken: issued in the future (iat - now = 2)
    2023-04-24T05:58:14Z harbor-web-2 harbor: InvalidToken: issued in the future (iat - now = 1)
    … 1,904 more
    ```

    web-2 came back from a live migration with its clock 2 s behind and NTP slews 0.5 ms per second. That is
    **67 minutes** of rejected tokens. NTP was running the whole time.
    """,
    thread(
        say("priya", "2023-04-24 08:50", """
            You were right and I was wrong. NTP bounds the error over days, not over minutes.
            """),
        say("tomasz", "2023-04-24 09:15", """
            Largest jump after a live migration in our monitoring of the last year: 11.4 s. So not 5.
            """),
        say("priya", "2023-04-24 09:40", """
            30 seconds for `iat`, and **only** there. For `exp` I keep zero: a leeway on expiry makes a
            15-minute token a 15:30 token for everybody, every day; on `iat` it only helps a clock that is behind.

            **This supersedes "no clock leeway" in #6: we allow thirty seconds of skew on `iat`, none on `exp`.**
            """),
        say("ines", "2023-04-24 09:44", "Framing this."),
    ),
    labels=("bug", "auth", "incident"),
    milestone="1.0",
    assignees=("priya",),
)  # fmt: skip

LEEWAY = merge_request(
    10, "priya", "2023-04-26 10:30",
    "Allow thirty seconds of clock skew when reading tokens",
    "Fixes #10. Nothing changes for `exp`.",
    on_line(
        "harbor/auth.py", "if claims['iat'] > now + CLOCK_SKEW_LEEWAY:",
        say("daiki", "2023-04-26 11:12", "Should `exp` get the same, for symmetry?"),
        say("priya", "2023-04-26 11:20", "No. See the last paragraph of #10; symmetry is not a reason."),
        resolved=("daiki", "2023-04-26 11:25"),
    ),
    Approve("ines", "2023-04-26 12:00"),
    Merge("priya", "2023-04-26 13:10"),
    branch="clock-skew",
    commits=(commits.LEEWAY,),
    labels=("bug", "auth"),
    milestone="1.0",
    assignees=("priya",),
    reviewers=("ines",),
)  # fmt: skip

STORY = Story(
    "login",
    entities=(
        SIGNED_OUT_BY_DEPLOYS, REDESIGN, NIGHTLY_SIGN_OUT, ACCESS_TOKENS, REFRESH_LIFETIME, ROTATION,
        SIGNED_OUT_AT_RANDOM, PREPARE_RELEASE, GRACE, BACKPORT, CLOCK_SKEW, LEEWAY,
    ),
)  # fmt: skip
