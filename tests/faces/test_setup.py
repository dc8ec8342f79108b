"""init, auth-test and doctor."""

from __future__ import annotations

import stat
import tomllib

from tests.lore import Lore

from loreline.simulator import Running


def test_init_writes_what_the_flags_say_for_nobody_else_to_read(lore: Lore) -> None:
    done = lore("init", "--url", "https://gitlab.example.com", "-p", "a/b", "-g", "c", "--token-env", "MY_TOKEN")
    assert done.code == 0
    path = lore.folder / "loreline.toml"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    (instance,) = tomllib.loads(path.read_text())["instance"]
    assert instance == {
        "url": "https://gitlab.example.com",
        "token_env": "MY_TOKEN",
        "projects": ["a/b"],
        "groups": ["c"],
    }


def test_init_never_overwrites_unasked(lore: Lore) -> None:
    path = lore.folder / "loreline.toml"
    path.write_text("# mine\n")
    flags = ("init", "--url", "https://gitlab.example.com", "-p", "a/b")
    done = lore(*flags)
    assert (done.code, path.read_text()) == (4, "# mine\n")
    assert "--overwrite" in done.err
    assert lore(*flags, "--overwrite").code == 0
    assert "gitlab.example.com" in path.read_text()


def test_init_asks_on_a_terminal(lore: Lore) -> None:
    seen = lore.on_terminal("init", keys="https://git.example.org\ngroup/one, group/two\nSECRET_VAR\n")
    assert "next: lore doctor" in seen
    (instance,) = tomllib.loads((lore.folder / "loreline.toml").read_text())["instance"]
    assert instance["projects"] == ["group/one", "group/two"]
    assert instance["token_env"] == "SECRET_VAR"


def test_init_refuses_what_could_not_be_read_back(lore: Lore) -> None:
    done = lore("init", "--url", "https://user:secret@gitlab.example.com", "-p", "a/b")
    assert done.code == 13
    assert "secret" not in done.err.replace("holds a secret", "")
    assert not (lore.folder / "loreline.toml").exists()


def test_auth_test_says_whose_token_it_is(ready: Lore) -> None:
    done = ready("auth-test")
    assert done.code == 0
    assert done.out.startswith("Authenticated as @")


def test_a_wrong_token_is_told_and_never_shown(ready: Lore) -> None:
    ready.environ["GITLAB_TOKEN"] = "glpat-WRONG-TOKEN-VALUE"
    for command in ("auth-test", "sync", "doctor"):
        done = ready(command)
        assert done.code == 5, done
        assert "glpat-WRONG" not in done.out + done.err


def test_no_token_says_where_it_was_looked_for(ready: Lore) -> None:
    del ready.environ["GITLAB_TOKEN"]
    done = ready("auth-test")
    assert done.code == 5
    assert "LORELINE_TOKEN or GITLAB_TOKEN" in done.err


def test_an_expired_token_and_a_poor_scope_are_told_apart(ready: Lore, gitlab: Running) -> None:
    gitlab.world.add_token("old", expires=1)
    gitlab.world.add_token("poor", scopes=("read_user",))
    ready.environ["GITLAB_TOKEN"] = "old"
    assert "expired" in ready("auth-test").err
    ready.environ["GITLAB_TOKEN"] = "poor"
    done = ready("sync")
    assert done.code == 5
    assert "read_api" in done.err


def test_doctor_checks_everything_and_answers_robots(ready: Lore) -> None:
    assert ready("sync", "-q").code == 0
    done = ready("doctor", "--json")
    assert done.code == 0
    assert done.data["success"] is True
    names = {check["name"] for check in done.data["checks"]}
    assert {"configuration", "token of gitlab", "scopes of gitlab", "database", "disk", "git"} <= names
    assert "northwind/harbor" in names


def test_doctor_names_each_failure_with_a_hint(ready: Lore, gitlab: Running) -> None:
    path = ready.folder / "loreline.toml"
    path.write_text(path.read_text().replace('"northwind/harbor"', '"northwind/harbour"'))
    done = ready("doctor", "-J")
    assert done.code == 6
    assert done.data["success"] is False
    (failed,) = [check for check in done.data["checks"] if check["status"] == "failed"]
    assert failed["name"] == "northwind/harbour"
    assert failed["hint"]


def test_doctor_tells_a_damaged_database(ready: Lore) -> None:
    (ready.folder / "mirror.db").write_bytes(b"this is no database" * 1000)
    done = ready("doctor")
    assert done.code == 10
    assert "damaged or no SQLite database" in done.out


def test_doctor_goes_on_when_gitlab_refuses_the_projects(ready: Lore, gitlab: Running) -> None:
    gitlab.world.add_token("poor", scopes=("read_user",))
    ready.environ["GITLAB_TOKEN"] = "poor"
    done = ready("doctor", "-J")
    assert done.code == 5
    checks = {check["name"]: check for check in done.data["checks"]}
    assert checks["scopes of gitlab"]["exit_code"] == checks["projects of gitlab"]["exit_code"] == 5
    assert "read_api" in checks["projects of gitlab"]["hint"]
    assert {"database", "disk", "git"} <= set(checks)
