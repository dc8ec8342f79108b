"""The commits that move, format and split the identity module."""

from __future__ import annotations

from loreline.simulator.demo.story import Move, Requote, commit, replace, write

MOVE = commit(
    "move", "daiki", "2023-05-15 09:20",
    "Move auth.py into the identity package",
    Move("harbor/auth.py", "harbor/identity/session.py"),
    write("harbor/identity/__init__.py", "# Who somebody is, and for how long we believe it."),
    replace("harbor/login.py", "from harbor.auth import", "from harbor.identity.session import"),
    Move("tests/test_auth.py", "tests/test_identity.py"),
    replace(
        "tests/test_identity.py",
        "from harbor.auth import ACCESS_TOKEN_TTL, InvalidToken, issue_access_token, read_access_token",
        """
from harbor.identity.session import (
    ACCESS_TOKEN_TTL,
    InvalidToken,
    issue_access_token,
    read_access_token,
)
""",
    ),
)  # fmt: skip

FORMAT = commit(
    "format", "oskar", "2023-05-22 08:50",
    """
    Format the code base

    The formatter's output and nothing else.
    """,
    Requote("harbor/__init__.py"),
    Requote("harbor/app.py"),
    Requote("harbor/database.py"),
    Requote("harbor/identity/session.py"),
    Requote("harbor/login.py"),
    Requote("harbor/migrate.py"),
    Requote("harbor/parcels.py"),
    Requote("harbor/settings.py"),
    Requote("harbor/tracking.py"),
    Requote("harbor/webhooks.py"),
    Requote("tests/test_identity.py"),
    Requote("tests/test_tracking.py"),
)  # fmt: skip

IGNORE = commit(
    "ignore", "oskar", "2023-05-22 09:05",
    "Let blame look through the formatting commit",
    write(".git-blame-ignore-revs", """
        # git config blame.ignoreRevsFile .git-blame-ignore-revs
        # Format the code base
        {{format}}
        """),
)  # fmt: skip

TOKENS = """
# Access tokens: claims signed with our key, never stored.
import base64
import hmac
import json

from harbor.settings import SECRET_KEY

ACCESS_TOKEN_TTL = 15 * 60
CLOCK_SKEW_LEEWAY = 30


class InvalidToken(Exception):
    pass


def signature(body: bytes) -> bytes:
    return hmac.new(SECRET_KEY, body, "sha256").digest()


def sign(claims: dict) -> str:
    body = base64.urlsafe_b64encode(json.dumps(claims, sort_keys=True).encode())
    return b".".join([body, base64.urlsafe_b64encode(signature(body))]).decode()


def verify(token: str) -> dict:
    body, dot, mark = token.encode().partition(b".")
    if not dot or not hmac.compare_digest(base64.urlsafe_b64decode(mark), signature(body)):
        raise InvalidToken("wrong signature")
    return json.loads(base64.urlsafe_b64decode(body))


def issue_access_token(account: str, now: int) -> str:
    return sign({"sub": account, "iat": now, "exp": now + ACCESS_TOKEN_TTL})


def read_access_token(token: str, now: int) -> str:
    claims = verify(token)
    if claims["iat"] > now + CLOCK_SKEW_LEEWAY:
        raise InvalidToken("issued in the future")
    if claims["exp"] <= now:
        raise InvalidToken("expired")
    return claims["sub"]
"""

SESSIONS = """
# Signing in and staying signed in: refresh tokens are stored as digests and replaced on every use.
import hashlib
import hmac
import secrets
import uuid

from harbor.database import connection
from harbor.identity.tokens import InvalidToken, issue_access_token
from harbor.settings import SECRET_KEY

PASSWORD_ROUNDS = 310_000
REFRESH_TOKEN_TTL = 60 * 24 * 60 * 60
# An app that wakes up refreshes twice at once, and answers get lost in tunnels: not a theft (#9).
REFRESH_REUSE_GRACE = 10


class NotSignedIn(Exception):
    pass


def password_digest(password: str, salt: bytes) -> bytes:
    return hashlib.pbkdf2_hmac("sha256", password.encode(), salt + SECRET_KEY, PASSWORD_ROUNDS)


def check_password(account: str, password: str) -> bool:
    with connection() as database:
        row = database.execute(
            "SELECT salt, digest FROM accounts WHERE name = %s AND NOT disabled", [account]
        ).fetchone()
    if row is None:
        return False
    return hmac.compare_digest(row["digest"], password_digest(password, row["salt"]))


def token_digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def store_refresh_token(database, account: str, family: str, now: int) -> str:
    token = secrets.token_urlsafe(32)
    database.execute(
        "INSERT INTO refresh_tokens (digest, family, account, expires_at) VALUES (%s, %s, %s, %s)",
        [token_digest(token), family, account, now + REFRESH_TOKEN_TTL],
    )
    return token


def sign_in(account: str, password: str, now: int) -> tuple[str, str]:
    if not check_password(account, password):
        raise NotSignedIn(account)
    with connection() as database:
        refresh = store_refresh_token(database, account, str(uuid.uuid4()), now)
    return issue_access_token(account, now), refresh


def revoke_family(database, family: str) -> None:
    database.execute("DELETE FROM refresh_tokens WHERE family = %s", [family])


def rotate_refresh_token(token: str, now: int) -> tuple[str, str]:
    with connection() as database:
        row = database.execute(
            "SELECT * FROM refresh_tokens WHERE digest = %s FOR UPDATE", [token_digest(token)]
        ).fetchone()
        if row is None or row["expires_at"] <= now:
            raise InvalidToken("unknown refresh token")
        if row["replaced_at"] is not None and now - row["replaced_at"] > REFRESH_REUSE_GRACE:
            revoke_family(database, row["family"])
            # Or the exception would roll it back.
            database.commit()
            raise InvalidToken("refresh token was used before")
        database.execute(
            "UPDATE refresh_tokens SET replaced_at = %s WHERE digest = %s", [now, row["digest"]]
        )
        refresh = store_refresh_token(database, row["account"], row["family"], now)
    return issue_access_token(row["account"], now), refresh
"""

RENAME = commit(
    "split-rename", "daiki", "2023-11-20 09:50",
    """
    Rename identity/session.py to tokens.py

    Only the name, so that blame follows the tokens through the split.
    """,
    Move("harbor/identity/session.py", "harbor/identity/tokens.py"),
    replace("harbor/login.py", "from harbor.identity.session import", "from harbor.identity.tokens import"),
    replace("tests/test_identity.py", "from harbor.identity.session import (", "from harbor.identity.tokens import ("),
)  # fmt: skip

SPLIT = commit(
    "split", "daiki", "2023-11-20 10:05",
    """
    Take sessions out of tokens.py

    Tokens know no database, sessions know no claims.
    """,
    write("harbor/identity/sessions.py", SESSIONS),
    write("harbor/identity/tokens.py", TOKENS),
    replace(
        "harbor/login.py",
        "from harbor.identity.tokens import InvalidToken, NotSignedIn, rotate_refresh_token, sign_in",
        """
from harbor.identity.sessions import NotSignedIn, rotate_refresh_token, sign_in
from harbor.identity.tokens import InvalidToken
""",
    ),
)  # fmt: skip

SPLIT_TESTS = commit(
    "split-tests", "daiki", "2023-11-20 14:00",
    "Test that tokens know no database",
    write("tests/test_architecture.py", """
        from pathlib import Path


        def test_tokens_know_no_database():
            source = Path("harbor/identity/tokens.py").read_text()
            assert "harbor.database" not in source
        """),
)  # fmt: skip
