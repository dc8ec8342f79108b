"""The first week: the service as it stood before anybody had written an issue."""

from __future__ import annotations

from loreline.simulator.demo.story import Branch, Push, Story, Tag, commit, replace, write

START = commit(
    "start", "maren", "2023-01-03 09:15",
    """
    Start Harbor: parcels, lookup and a health page

    Taken over from the prototype; the carrier screens stay behind.
    """,
    write("README.md", """
        # Harbor

        Where is my parcel? Harbor answers for every carrier Northwind works with.

            python -m harbor.migrate && uvicorn harbor.app:app
        """),
    write("requirements.txt", """
        starlette==0.23.1
        uvicorn==0.20.0
        psycopg==3.1.7
        httpx==0.23.1
        pytest==7.2.0
        """),
    write("CHANGELOG.md", """
        # Changes

        ## Unreleased

        - Look up a parcel by its number
        """),
    write("harbor/__init__.py", """
        __version__ = '0.9.0'
        """),
    write("harbor/settings.py", """
        # Everything that differs between a laptop and production comes from the environment.
        import os

        DATABASE_URL = os.environ.get('HARBOR_DATABASE_URL', 'postgresql:///harbor')
        SECRET_KEY = os.environ.get('HARBOR_SECRET_KEY', 'only for laptops').encode()
        PUBLIC_URL = os.environ.get('HARBOR_PUBLIC_URL', 'http://localhost:8000')
        """),
    write("harbor/database.py", """
        from contextlib import contextmanager

        import psycopg
        from psycopg.rows import dict_row

        from harbor.settings import DATABASE_URL


        @contextmanager
        def connection():
            with psycopg.connect(DATABASE_URL, row_factory=dict_row) as database:
                yield database
        """),
    write("harbor/parcels.py", """
        from dataclasses import dataclass

        from harbor.database import connection


        @dataclass(frozen=True)
        class Parcel:
            number: str
            carrier: str


        def clean_number(number: str) -> str:
            return number.replace(' ', '').upper()


        def find_parcel(number: str) -> Parcel | None:
            with connection() as database:
                row = database.execute(
                    'SELECT number, carrier FROM parcels WHERE number = %s', [clean_number(number)]
                ).fetchone()
            return Parcel(**row) if row else None
        """),
    write("harbor/tracking.py", """
        # Where a parcel is: its newest scan decides.
        from datetime import datetime

        from harbor.database import connection
        from harbor.parcels import find_parcel


        def newest_scan(scans):
            # Some hand scanners have lost their clock and stamp the year 2099.
            believable = [scan for scan in scans if scan['scanned_at'] <= datetime.now()]
            return max(believable, key=lambda scan: scan['scanned_at'], default=None)


        def lookup(number: str) -> dict:
            parcel = find_parcel(number)
            if parcel is None:
                raise LookupError(number)
            with connection() as database:
                scans = database.execute(
                    'SELECT place, status, scanned_at FROM scans WHERE parcel = %s', [parcel.number]
                ).fetchall()
            scan = newest_scan(scans)
            return {
                'number': parcel.number,
                'carrier': parcel.carrier,
                'status': scan['status'] if scan else 'unknown',
                'place': scan['place'] if scan else None,
            }
        """),
    write("harbor/webhooks.py", """
        # Carriers tell us about scans by calling us.
        from harbor.database import connection


        def record_scan(event: dict) -> None:
            with connection() as database:
                database.execute(
                    'INSERT INTO scans (parcel, place, status, scanned_at) VALUES (%s, %s, %s, %s)',
                    [event['parcel'], event['place'], event['status'], event['scanned_at']],
                )
        """),
    write("harbor/app.py", """
        from starlette.applications import Starlette
        from starlette.responses import JSONResponse
        from starlette.routing import Route

        from harbor.tracking import lookup


        async def health(request):
            return JSONResponse({'status': 'ok'})


        def parcel(request):
            try:
                return JSONResponse(lookup(request.path_params['number']))
            except LookupError:
                return JSONResponse({'error': 'no such parcel'}, status_code=404)


        routes = [Route('/health', health), Route('/parcels/{number}', parcel)]
        app = Starlette(routes=routes)
        """),
    write("harbor/migrate.py", """
        # Applies migrations/*.sql in the order of their numbers, each in its own transaction.
        from pathlib import Path

        from harbor.database import connection

        FOLDER = Path(__file__).parent.parent / 'migrations'


        def applied(database) -> set[str]:
            database.execute('CREATE TABLE IF NOT EXISTS applied_migrations (name text PRIMARY KEY)')
            return {row['name'] for row in database.execute('SELECT name FROM applied_migrations')}


        def migrate() -> None:
            with connection() as database:
                done = applied(database)
            for file in sorted(FOLDER.glob('*.sql')):
                if file.name in done:
                    continue
                with connection() as database:
                    database.execute(file.read_text())
                    database.execute('INSERT INTO applied_migrations VALUES (%s)', [file.name])


        if __name__ == '__main__':
            migrate()
        """),
    write("migrations/0001_parcels.sql", """
        CREATE TABLE parcels (
            number text PRIMARY KEY,
            carrier text NOT NULL
        );

        CREATE TABLE scans (
            id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            parcel text NOT NULL REFERENCES parcels,
            place text NOT NULL,
            status text NOT NULL,
            scanned_at timestamptz NOT NULL
        );
        """),
    write("tests/test_tracking.py", """
        from datetime import datetime

        from harbor.tracking import newest_scan


        def test_the_newest_scan_decides():
            early = {'status': 'accepted', 'scanned_at': datetime(2022, 12, 1, 8)}
            late = {'status': 'in transit', 'scanned_at': datetime(2022, 12, 1, 20)}
            assert newest_scan([late, early]) is late


        def test_a_scan_from_the_future_is_a_broken_clock():
            assert newest_scan([{'status': 'delivered', 'scanned_at': datetime(2099, 1, 1)}]) is None
        """),
)  # fmt: skip

SESSIONS = commit(
    "sessions", "daiki", "2023-01-05 14:40",
    """
    Add session login for couriers and shops

    The cookie holds a random number; what it stands for stays in the process.
    """,
    write("harbor/auth.py", """
        # Signing in. Sessions live in this process; the browser holds only a random cookie.
        import hashlib
        import hmac
        import secrets
        import time

        from harbor.database import connection
        from harbor.settings import SECRET_KEY

        SESSION_LIFETIME = 8 * 60 * 60
        PASSWORD_ROUNDS = 310_000

        sessions = {}


        class NotSignedIn(Exception):
            pass


        def password_digest(password: str, salt: bytes) -> bytes:
            return hashlib.pbkdf2_hmac('sha256', password.encode(), salt + SECRET_KEY, PASSWORD_ROUNDS)


        def check_password(account: str, password: str) -> bool:
            with connection() as database:
                row = database.execute(
                    'SELECT salt, digest FROM accounts WHERE name = %s AND NOT disabled', [account]
                ).fetchone()
            if row is None:
                return False
            return hmac.compare_digest(row['digest'], password_digest(password, row['salt']))


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
        """),
    write("harbor/login.py", """
        from starlette.responses import JSONResponse, RedirectResponse

        from harbor.auth import NotSignedIn, sign_in


        def login(request):
            form = request.query_params
            try:
                cookie = sign_in(form['account'], form['password'])
            except NotSignedIn:
                return JSONResponse({'error': 'wrong account or password'}, status_code=401)
            response = RedirectResponse(form.get('next', '/'))
            response.set_cookie('session', cookie, httponly=True, secure=True, samesite='lax')
            return response
        """),
    write("migrations/0002_accounts.sql", """
        CREATE TABLE accounts (
            name text PRIMARY KEY,
            salt bytea NOT NULL,
            digest bytea NOT NULL,
            disabled boolean NOT NULL DEFAULT false
        );
        """),
    replace("harbor/app.py", "from harbor.tracking import lookup", """
from harbor.login import login
from harbor.tracking import lookup
"""),
    replace(
        "harbor/app.py",
        "routes = [Route('/health', health), Route('/parcels/{number}', parcel)]",
        "routes = [Route('/health', health), Route('/parcels/{number}', parcel), Route('/login', login)]",
    ),
)  # fmt: skip

PIPELINE = commit(
    "pipeline", "ines", "2023-01-06 10:05",
    "Run the tests in GitLab CI",
    write(".gitlab-ci.yml", """
        test:
          image: python:3.11
          services:
            - postgres:14
          variables:
            HARBOR_DATABASE_URL: postgresql://postgres@postgres/postgres
          script:
            - pip install -r requirements.txt
            - python -m harbor.migrate
            - pytest
        """),
)  # fmt: skip

PAGE = commit(
    "page", "camille", "2023-01-09 16:20",
    "Add the tracking page",
    write("web/package.json", """
        {
          "name": "harbor-web",
          "private": true,
          "devDependencies": { "typescript": "4.9.4", "esbuild": "0.16.14" }
        }
        """),
    write("web/src/track.ts", """
        import { authorized } from "./session";

        type Answer = { number: string; status: string; place: string | null };

        const COLOURS: Record<string, string> = {
          "in transit": "#c8a2ff",
          delivered: "#9be29b",
          unknown: "#dddddd",
        };

        export async function track(number: string): Promise<Answer> {
          const response = await authorized(`/parcels/${encodeURIComponent(number)}`);
          if (response.status === 404) throw new Error("We do not know this parcel.");
          return response.json();
        }

        export function show(answer: Answer, box: HTMLElement): void {
          box.textContent = answer.place ? `${answer.status}, ${answer.place}` : answer.status;
          box.style.background = COLOURS[answer.status] ?? COLOURS.unknown;
        }
        """),
    write("web/src/session.ts", """
        export async function authorized(path: string): Promise<Response> {
          return fetch(path, { credentials: "include" });
        }
        """),
)  # fmt: skip

STORY = Story(
    "foundation",
    entities=(),
    pushes=tuple(Push("main", first) for first in (START, SESSIONS, PIPELINE, PAGE)),
    branches=(Branch("release/1.0", "main", "2023-04-05 09:30"),),
    tags=(
        Tag("v1.0.0", "release/1.0", "maren", "2023-04-05 10:00", "Harbor 1.0.0: sign-in with tokens"),
        Tag("v1.0.1", "release/1.0", "maren", "2023-04-14 15:30", "Harbor 1.0.1: refreshing twice is no theft"),
    ),
)
