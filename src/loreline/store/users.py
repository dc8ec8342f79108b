"""The people whose names stand in what is mirrored."""

from __future__ import annotations

from collections.abc import Iterable

import apsw

from loreline.core.entities import User


def upsert(db: apsw.Connection, instance_id: int, users: Iterable[User | None]) -> None:
    """The newest name, state and address of each; what an answer leaves out stays as it was."""
    rows = {
        user.gitlab_id: (
            instance_id,
            user.gitlab_id,
            user.username,
            user.name,
            user.state,
            user.web_url,
            user.bot,
        )
        for user in users
        if user is not None
    }
    db.executemany(
        "INSERT INTO users (instance_id, gitlab_id, username, name, state, web_url, bot)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (instance_id, gitlab_id) DO UPDATE SET username = excluded.username, name = excluded.name,"
        " state = coalesce(excluded.state, state), web_url = coalesce(excluded.web_url, web_url),"
        " bot = coalesce(excluded.bot, bot)"
        " WHERE (username, name) IS NOT (excluded.username, excluded.name)"
        " OR state IS NOT coalesce(excluded.state, state) OR web_url IS NOT coalesce(excluded.web_url, web_url)"
        " OR bot IS NOT coalesce(excluded.bot, bot)",
        list(rows.values()),
    )
