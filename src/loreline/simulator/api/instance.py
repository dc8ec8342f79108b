"""The instance itself and who is asking."""

from __future__ import annotations

from datetime import UTC, datetime

from loreline.simulator.api.exchange import Answer, Question, Refused, answer
from loreline.simulator.moments import SECOND, show_moment


def version(question: Question) -> Answer:
    behaviour = question.world.behaviour
    return answer({"version": behaviour.version, "revision": behaviour.revision})


def metadata(question: Question) -> Answer:
    behaviour = question.world.behaviour
    return answer(
        {
            "version": behaviour.version,
            "revision": behaviour.revision,
            "kas": {
                "enabled": False,
                "externalUrl": None,
                "externalK8sProxyUrl": None,
                "version": None,
            },
            "enterprise": behaviour.enterprise,
        }
    )


def user(question: Question) -> Answer:
    who = question.token.user
    return answer(
        {
            **who,
            "created_at": "2020-01-01T00:00:00.000Z",
            "bio": "",
            "location": "",
            "public_email": "",
            "website_url": "",
            "organization": "",
            "job_title": "",
            "bot": question.token.kind in ("group", "project"),
            "last_sign_in_at": None,
            "confirmed_at": "2020-01-01T00:00:00.000Z",
            "email": f"{who['username']}@example.com",
            "theme_id": 1,
            "color_scheme_id": 1,
            "projects_limit": 100000,
            "current_sign_in_at": None,
            "identities": [],
            "can_create_group": False,
            "can_create_project": False,
            "two_factor_enabled": False,
            "external": False,
            "private_profile": False,
            "commit_email": f"{who['username']}@example.com",
        }
    )


def own_token(question: Question) -> Answer:
    token = question.token
    if token.kind == "oauth":
        raise Refused(
            400,
            {"message": "400 Bad request - This endpoint requires token type to be a personal access token"},
        )
    expires = None
    if token.expires is not None:
        expires = datetime.fromtimestamp(token.expires // SECOND, UTC).date().isoformat()
    return answer(
        {
            "id": token.id,
            "name": token.name,
            "revoked": token.revoked,
            "created_at": show_moment(token.created),
            "description": None,
            "scopes": list(token.scopes),
            "user_id": token.user["id"],
            "last_used_at": show_moment(question.world.clock.now()),
            "active": not token.revoked,
            "expires_at": expires,
        }
    )


ROUTES = {
    "version": version,
    "metadata": metadata,
    "user": user,
    "personal_access_tokens/self": own_token,
}
