"""What is handled with care: a confidential issue fixed under an innocent title, and a revocation gap."""

from __future__ import annotations

from loreline.simulator.demo.story import (
    Approve,
    Close,
    Label,
    Merge,
    Story,
    commit,
    issue,
    merge_request,
    on_line,
    replace,
    say,
    thread,
    whisper,
    write,
)

TOKEN_ON_THE_PAGE = issue(
    12, "camille", "2023-06-05 09:00",
    "Where does the tracking page keep its access token?",
    """
    `session.ts` still sends cookies and nothing else. It needs an access token now, and every tutorial puts it
    into `localStorage`. I would like to do better but not to ask for a password after each reload.
    """,
    thread(
        say("priya", "2023-06-05 09:48", """
            Not `localStorage`: any script on the page reads it, and our page loads the shop's theme script.
            """),
        say("camille", "2023-06-05 10:15", """
            Then in a variable. After a reload the variable is empty, we call `/refresh` once (the cookie is
            `HttpOnly`) and have a new one. Costs one request per reload.
            """),
        say("priya", "2023-06-05 10:20", """
            **Decided: access token in memory only, never in `localStorage`.** The request is worth it.
            """),
    ),
    labels=("frontend", "auth", "security"),
    assignees=("camille",),
)  # fmt: skip

MEMORY_ONLY = merge_request(
    13, "camille", "2023-06-07 11:00",
    "Keep the access token in memory on the web",
    "Closes #12",
    on_line(
        "web/src/session.ts", "refreshing ??= refresh()",
        say("jonah", "2023-06-07 13:05", """
            nice, one refresh for many requests. this is exactly the lock i had to write for the app (#9)
            """),
        say("camille", "2023-06-07 13:12", "I read yours first 😇"),
    ),
    Approve("priya", "2023-06-08 09:00"),
    Merge("camille", "2023-06-08 09:30"),
    branch="token-in-memory",
    commits=(
        commit(
            "memory", "camille", "2023-06-07 10:40",
            "Keep the access token in memory on the web",
            write("web/src/session.ts", """
                let access: string | null = null;
                let refreshing: Promise<string | null> | null = null;

                async function refresh(): Promise<string | null> {
                  const response = await fetch("/refresh", { method: "POST", credentials: "include" });
                  return response.ok ? (await response.json()).access : null;
                }

                export async function authorized(path: string): Promise<Response> {
                  if (access === null) {
                    // Several requests at once must not refresh several times.
                    refreshing ??= refresh();
                    access = await refreshing;
                    refreshing = null;
                  }
                  const headers = access === null ? undefined : { Authorization: `Bearer ${access}` };
                  const response = await fetch(path, { headers });
                  if (response.status === 401 && access !== null) {
                    access = null;
                    return authorized(path);
                  }
                  return response;
                }
                """),
        ),
    ),
    labels=("frontend", "auth"),
    assignees=("camille",),
    reviewers=("priya",),
)  # fmt: skip

OPEN_REDIRECT = issue(
    13, "priya", "2023-06-19 08:10",
    "Open redirect through the next parameter of /login",
    """
    `/login?next=https://evil.example.net/` signs the person in on our real page and then sends them to a copy
    of it, which says "wrong password, try again". The link begins with our name, so people trust it.

    Found by reading; the logs show no use: `next` pointed outside 0 times in 180 days.

    Fix: only paths of our own. `//evil.example.net` is a URL too and must be refused.
    """,
    thread(
        say("maren", "2023-06-19 08:32", "How soon, and how quietly?"),
        say("priya", "2023-06-19 08:45", """
            Today, under a title that says nothing. We tell the two shops with their own sign-in pages after the
            deploy, and write it down here.
            """),
    ),
    whisper("ruth", "2023-06-20 15:10", """
        Told Blumen Petersen and Kornhaus by phone at 15:00. Neither had seen odd links. Both asked us **not** to
        name them when we publish.
        """),
    say("priya", "2023-06-20 15:40", "Deployed at 14:20, see !14. Publishing in the 1.0 notes of September."),
    Close("priya", "2023-06-20 15:41"),
    labels=("security", "auth", "bug"),
    assignees=("priya",),
    confidential=True,
)  # fmt: skip

TIDY_LOGIN = merge_request(
    14, "priya", "2023-06-20 09:30",
    "Tidy up login helpers",
    "Small clean-up of `login.py`.",
    on_line(
        "harbor/login.py", 'return path if path.startswith("/") and not path.startswith("//") else "/"',
        say(
            "maren", "2023-06-20 10:02",
            r"What about `/\evil.example.net`? Some browsers read the backslash as a slash.",
        ),
        say("priya", "2023-06-20 10:20", "They do. Added, with a test for each spelling I know."),
        resolved=("maren", "2023-06-20 11:00"),
    ),
    Approve("maren", "2023-06-20 11:01"),
    Merge("maren", "2023-06-20 11:05"),
    branch="tidy-login",
    commits=(
        commit(
            "own-path", "priya", "2023-06-20 09:20",
            "Tidy up login helpers",
            replace("harbor/login.py", "def login(request):", """
def own_path(path: str) -> str:
    return path if path.startswith("/") and not path.startswith("//") else "/"


def login(request):
"""),
            replace(
                "harbor/login.py",
                'response = RedirectResponse(form.get("next", "/"))',
                'response = RedirectResponse(own_path(form.get("next", "/")))',
            ),
        ),
        commit(
            "own-path-test", "priya", "2023-06-20 10:15",
            "Refuse backslashes too",
            replace("harbor/login.py", """
    return path if path.startswith("/") and not path.startswith("//") else "/"
""", """
    # Some browsers read a backslash as a slash, so "/\\\\host" leaves us as "//host" does.
    return path if path.startswith("/") and path[1:2] not in ("/", "\\\\") else "/"
"""),
            write("tests/test_login.py", """
                import pytest

                from harbor.login import own_path


                @pytest.mark.parametrize("path", ["https://host/", "//host/", "/\\\\host/", "host", ""])
                def test_signing_in_never_leaves_the_site(path):
                    assert own_path(path) == "/"
                """),
        ),
    ),
    labels=("auth",),
    reviewers=("maren",),
)  # fmt: skip

DISABLED_ACCOUNTS = issue(
    26, "priya", "2024-06-10 09:20",
    "Refresh tokens of disabled accounts stay valid",
    """
    `check_password` looks at `disabled`, `rotate_refresh_token` does not. A dismissed courier who stays signed
    in refreshes for ever; our promise in #6 was fifteen minutes.
    """,
    thread(
        say("daiki", "2024-06-10 09:55", """
            Delete the families when the account is disabled, or check on every refresh?
            """),
        say("priya", "2024-06-10 10:12", """
            Check on refresh. There are three ways to disable an account (admin page, import, SQL by hand) and only
            one way to refresh.
            """),
    ),
    labels=("security", "bug", "auth"),
    milestone="1.1",
    assignees=("daiki",),
)  # fmt: skip

CHECK_DISABLED = merge_request(
    29, "daiki", "2024-06-11 10:00",
    "Refuse to refresh for disabled accounts",
    "Closes #26",
    on_line(
        "harbor/identity/sessions.py", "JOIN accounts ON accounts.name = refresh_tokens.account",
        say("tomasz", "2024-06-11 10:45", """
            `FOR UPDATE` now locks the account row as well, and two devices of one account wait for each other.
            `FOR UPDATE OF refresh_tokens`.
            """),
        say("daiki", "2024-06-11 11:03", "Right, fixed. I would not have seen that."),
        resolved=("tomasz", "2024-06-11 11:20"),
    ),
    Label("priya", "2024-06-11 11:30", add=("security",)),
    Approve("priya", "2024-06-11 11:31"),
    Merge("priya", "2024-06-11 12:00"),
    branch="disabled-accounts",
    commits=(
        commit(
            "disabled", "daiki", "2024-06-11 09:50",
            "Refuse to refresh for disabled accounts",
            replace("harbor/identity/sessions.py", """
            "SELECT * FROM refresh_tokens WHERE digest = %s FOR UPDATE", [token_digest(token)]
""", """
            "SELECT refresh_tokens.* FROM refresh_tokens"
            " JOIN accounts ON accounts.name = refresh_tokens.account"
            " WHERE digest = %s AND NOT accounts.disabled FOR UPDATE",
            [token_digest(token)],
"""),
        ),
        commit(
            "disabled-lock", "daiki", "2024-06-11 11:00",
            "Lock only the token, not its account",
            replace(
                "harbor/identity/sessions.py",
                'NOT accounts.disabled FOR UPDATE",',
                'NOT accounts.disabled FOR UPDATE OF refresh_tokens",',
            ),
        ),
    ),
    labels=("auth", "bug"),
    milestone="1.1",
    assignees=("daiki",),
    reviewers=("tomasz", "priya"),
)  # fmt: skip

STORY = Story(
    "security",
    entities=(TOKEN_ON_THE_PAGE, MEMORY_ONLY, OPEN_REDIRECT, TIDY_LOGIN, DISABLED_ACCOUNTS, CHECK_DISABLED),
)  # fmt: skip
