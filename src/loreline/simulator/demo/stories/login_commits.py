"""The commits of the login redesign."""

from __future__ import annotations

from loreline.simulator.demo.story import commit, replace, write

AUTH = "harbor/auth.py"

SIGNING = commit(
    "tokens-sign", "priya", "2023-03-06 10:05",
    """
    Sign and verify small claims

    One algorithm, no header: there is nothing an attacker could choose.
    """,
    replace(AUTH, "import hashlib\nimport hmac\nimport secrets\nimport time", """
import base64
import hashlib
import hmac
import json
import secrets
import time
"""),
    replace(AUTH, """
class NotSignedIn(Exception):
    pass
""", """
class NotSignedIn(Exception):
    pass


class InvalidToken(Exception):
    pass


def signature(body: bytes) -> bytes:
    return hmac.new(SECRET_KEY, body, 'sha256').digest()


def sign(claims: dict) -> str:
    body = base64.urlsafe_b64encode(json.dumps(claims, sort_keys=True).encode())
    return b'.'.join([body, base64.urlsafe_b64encode(signature(body))]).decode()


def verify(token: str) -> dict:
    body, dot, mark = token.encode().partition(b'.')
    if not dot or not hmac.compare_digest(base64.urlsafe_b64decode(mark), signature(body)):
        raise InvalidToken('wrong signature')
    return json.loads(base64.urlsafe_b64decode(body))
"""),
)  # fmt: skip

ISSUING = commit(
    "tokens-issue", "priya", "2023-03-06 11:40",
    "Issue access tokens that live for an hour",
    replace(AUTH, "PASSWORD_ROUNDS = 310_000", """
PASSWORD_ROUNDS = 310_000
ACCESS_TOKEN_TTL = 60 * 60
"""),
    replace(AUTH, "    return json.loads(base64.urlsafe_b64decode(body))", """
    return json.loads(base64.urlsafe_b64decode(body))


def issue_access_token(account: str, now: int) -> str:
    return sign({'sub': account, 'iat': now, 'exp': now + ACCESS_TOKEN_TTL})


def read_access_token(token: str, now: int) -> str:
    claims = verify(token)
    if claims['iat'] > now:
        raise InvalidToken('issued in the future')
    if claims['exp'] <= now:
        raise InvalidToken('expired')
    return claims['sub']
"""),
)  # fmt: skip

QUARTER_HOUR = commit(
    "tokens-quarter", "priya", "2023-03-08 08:40",
    """
    Let access tokens live for fifteen minutes

    Revocation takes effect when the token ends, so its life is how long a
    dismissed courier can still read addresses. See #6.
    """,
    replace(AUTH, "ACCESS_TOKEN_TTL = 60 * 60", "ACCESS_TOKEN_TTL = 15 * 60"),
)  # fmt: skip

TOKEN_TESTS = commit(
    "tokens-test", "priya", "2023-03-08 10:20",
    "Test that tokens end and cannot be forged",
    write("tests/test_auth.py", """
        import pytest

        from harbor.auth import ACCESS_TOKEN_TTL, InvalidToken, issue_access_token, read_access_token


        def test_a_token_names_its_account():
            assert read_access_token(issue_access_token('lotte', now=1000), now=1001) == 'lotte'


        def test_a_token_ends():
            token = issue_access_token('lotte', now=1000)
            with pytest.raises(InvalidToken, match='expired'):
                read_access_token(token, now=1000 + ACCESS_TOKEN_TTL)


        def test_a_changed_token_is_refused():
            body, mark = issue_access_token('lotte', now=1000).split('.')
            with pytest.raises(InvalidToken, match='wrong signature'):
                read_access_token(f'{body}x.{mark}', now=1001)
        """),
)  # fmt: skip

REFRESH_TABLE = commit(
    "rotation-table", "daiki", "2023-03-27 11:10",
    "Add a table of refresh tokens",
    write("migrations/0004_refresh_tokens.sql", """
        CREATE TABLE refresh_tokens (
            digest bytea PRIMARY KEY,
            family uuid NOT NULL,
            account text NOT NULL REFERENCES accounts,
            expires_at bigint NOT NULL,
            replaced_at bigint
        );
        """),
)  # fmt: skip

ROTATION = commit(
    "rotation", "daiki", "2023-03-27 14:55",
    """
    Replace server sessions by rotating refresh tokens

    A deploy no longer signs anybody out, because nothing about a sign-in
    lives in the process any more.
    """,
    replace(AUTH, "# Signing in. Sessions live in this process; the browser holds only a random cookie.", """
# Signing in: access tokens are signed and never stored, refresh tokens are stored as digests.
"""),
    replace(AUTH, "import secrets\nimport time", "import secrets\nimport uuid"),
    replace(AUTH, "SESSION_LIFETIME = 8 * 60 * 60\n", ""),
    replace(AUTH, "ACCESS_TOKEN_TTL = 15 * 60\n\nsessions = {}", """
ACCESS_TOKEN_TTL = 15 * 60
REFRESH_TOKEN_TTL = 60 * 24 * 60 * 60
"""),
    replace(AUTH, """
def sign_in(account: str, password: str) -> str:
    if not check_password(account, password):
        raise NotSignedIn(account)
    cookie = secrets.token_urlsafe(32)
    sessions[cookie] = (account, time.time() + SESSION_LIFETIME)
    return cookie


def session_account(cookie: str) -> str:
    account, ends = sessions.get(cookie, (None, 0))
    if account is None or ends <= time.time():
        raise NotSignedIn(cookie)
    return account


def sign_out(cookie: str) -> None:
    sessions.pop(cookie, None)
""", """
def token_digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def store_refresh_token(database, account: str, family: str, now: int) -> str:
    token = secrets.token_urlsafe(32)
    database.execute(
        'INSERT INTO refresh_tokens (digest, family, account, expires_at) VALUES (%s, %s, %s, %s)',
        [token_digest(token), family, account, now + REFRESH_TOKEN_TTL],
    )
    return token


def sign_in(account: str, password: str, now: int) -> tuple[str, str]:
    if not check_password(account, password):
        raise NotSignedIn(account)
    with connection() as database:
        refresh = store_refresh_token(database, account, str(uuid.uuid4()), now)
    return issue_access_token(account, now), refresh


def rotate_refresh_token(token: str, now: int) -> tuple[str, str]:
    with connection() as database:
        row = database.execute(
            'SELECT * FROM refresh_tokens WHERE digest = %s FOR UPDATE', [token_digest(token)]
        ).fetchone()
        if row is None or row['expires_at'] <= now:
            raise InvalidToken('unknown refresh token')
        if row['replaced_at'] is not None:
            raise InvalidToken('refresh token was used before')
        database.execute(
            'UPDATE refresh_tokens SET replaced_at = %s WHERE digest = %s', [now, row['digest']]
        )
        refresh = store_refresh_token(database, row['account'], row['family'], now)
    return issue_access_token(row['account'], now), refresh
"""),
    write("harbor/login.py", """
        import time

        from starlette.responses import JSONResponse, RedirectResponse

        from harbor.auth import InvalidToken, NotSignedIn, rotate_refresh_token, sign_in


        def login(request):
            form = request.query_params
            try:
                access, refresh = sign_in(form['account'], form['password'], int(time.time()))
            except NotSignedIn:
                return JSONResponse({'error': 'wrong account or password'}, status_code=401)
            response = RedirectResponse(form.get('next', '/'))
            response.set_cookie('refresh', refresh, httponly=True, secure=True, samesite='strict')
            return response


        def refresh(request):
            try:
                access, token = rotate_refresh_token(request.cookies['refresh'], int(time.time()))
            except (KeyError, InvalidToken) as problem:
                return JSONResponse({'error': str(problem), 'code': 'sign_in_again'}, status_code=401)
            response = JSONResponse({'access': access})
            response.set_cookie('refresh', token, httponly=True, secure=True, samesite='strict')
            return response
        """),
    replace("harbor/app.py", "from harbor.login import login", "from harbor.login import login, refresh"),
    replace(
        "harbor/app.py",
        "routes = [Route('/health', health), Route('/parcels/{number}', parcel), Route('/login', login)]",
        """
routes = [
    Route('/health', health),
    Route('/parcels/{number}', parcel),
    Route('/login', login, methods=['POST']),
    Route('/refresh', refresh, methods=['POST']),
]
""",
    ),
)  # fmt: skip

FAMILY = commit(
    "rotation-family", "daiki", "2023-03-28 10:40",
    """
    End the whole family when a refresh token comes twice

    Whoever came first may be the thief, so both have to sign in again.
    """,
    replace(AUTH, """
        if row['replaced_at'] is not None:
            raise InvalidToken('refresh token was used before')
""", """
        if row['replaced_at'] is not None:
            revoke_family(database, row['family'])
            # Or the exception would roll it back.
            database.commit()
            raise InvalidToken('refresh token was used before')
"""),
    replace(AUTH, "def rotate_refresh_token(token: str, now: int) -> tuple[str, str]:", """
def revoke_family(database, family: str) -> None:
    database.execute('DELETE FROM refresh_tokens WHERE family = %s', [family])


def rotate_refresh_token(token: str, now: int) -> tuple[str, str]:
"""),
    replace("migrations/0004_refresh_tokens.sql", """
    replaced_at bigint
);
""", """
    replaced_at bigint
);

CREATE INDEX refresh_tokens_family ON refresh_tokens (family);
"""),
)  # fmt: skip

RELEASE = commit(
    "release", "maren", "2023-04-04 13:45",
    "Prepare 1.0.0",
    replace("harbor/__init__.py", "__version__ = '0.9.0'", "__version__ = '1.0.0'"),
    replace("CHANGELOG.md", "## Unreleased\n\n- Look up a parcel by its number", """
## 1.0.0 (2023-04-05)

- Look up a parcel by its number
- Sign in with short-lived access tokens and rotating refresh tokens
"""),
)  # fmt: skip

GRACE_EDITS = (
    replace(AUTH, "REFRESH_TOKEN_TTL = 60 * 24 * 60 * 60", """
REFRESH_TOKEN_TTL = 60 * 24 * 60 * 60
REFRESH_REUSE_GRACE = 10
"""),
    replace(AUTH, """
        if row['replaced_at'] is not None:
            revoke_family(database, row['family'])
""", """
        if row['replaced_at'] is not None and now - row['replaced_at'] > REFRESH_REUSE_GRACE:
            revoke_family(database, row['family'])
"""),
)  # fmt: skip

REASON_EDIT = replace(AUTH, "REFRESH_REUSE_GRACE = 10", """
# An app that wakes up refreshes twice at once, and answers get lost in tunnels: not a theft (#9).
REFRESH_REUSE_GRACE = 10
""")  # fmt: skip

GRACE = commit(
    "grace", "daiki", "2023-04-12 09:30",
    "Accept a replaced refresh token for ten seconds",
    *GRACE_EDITS,
)  # fmt: skip

GRACE_REASON = commit("grace-reason", "daiki", "2023-04-12 10:25", "Say why the grace is there", REASON_EDIT)

GRACE_PICKED = commit(
    "grace-picked", "maren", "2023-04-14 10:00",
    """
    Accept a replaced refresh token for ten seconds

    (cherry picked from commit {{!8}})
    """,
    *GRACE_EDITS,
    REASON_EDIT,
    replace("harbor/__init__.py", "__version__ = '1.0.0'", "__version__ = '1.0.1'"),
)  # fmt: skip

LEEWAY = commit(
    "leeway", "priya", "2023-04-26 10:10",
    """
    Allow thirty seconds of clock skew when reading tokens

    NTP was running when web-2 rejected fresh tokens for 67 minutes: it slews
    slowly after a jump. The leeway is for `iat` only. See #10.
    """,
    replace(AUTH, "ACCESS_TOKEN_TTL = 15 * 60", """
ACCESS_TOKEN_TTL = 15 * 60
CLOCK_SKEW_LEEWAY = 30
"""),
    replace(AUTH, "    if claims['iat'] > now:", "    if claims['iat'] > now + CLOCK_SKEW_LEEWAY:"),
)  # fmt: skip
