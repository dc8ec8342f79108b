"""Options from flags, environment and file, and what is said when one is wrong."""

import ast
import json
import re
from pathlib import Path

import pytest
from msgspec import Struct

import loreline
from loreline.errors import ConfigInvalid, ConfigMissing
from loreline.settings import Instance, Places, Settings, Sync, find_file, load, require_instances

URL = 'url = "https://gitlab.example.com"'
TABLE = f"[[instance]]\n{URL}\n"


@pytest.fixture
def places(tmp_path):
    found = Places(tmp_path / "working", tmp_path / "config", tmp_path / "data")
    for folder in (found.working, found.config):
        folder.mkdir()
    return found


@pytest.fixture
def resolve(tmp_path, places):
    """Settings from the text of a file, an environment and flags."""

    def resolved(text=None, *, environ=None, flags=None, name="loreline.toml"):
        file = None
        if text is not None:
            file = tmp_path / "elsewhere" / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(text if isinstance(text, str) else json.dumps(text), "utf-8")
        return load(file=file, environ=environ or {}, flags=flags or {}, places=places)

    return resolved


@pytest.fixture
def refused(resolve):
    def told(*args, **kwargs):
        with pytest.raises(ConfigInvalid) as caught:
            resolve(*args, **kwargs)
        assert caught.value.hint, "every wrong value comes with what to do about it"
        return caught.value

    return told


# ── where from ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("key", "default", "in_file", "in_environ", "by_flag"),
    [
        ("concurrency", 8, 2, 3, 4),
        ("requests_per_second", 0, 2.5, 3.5, 4.5),
        ("timeout_seconds", 60, 2.5, 3.5, 4.5),
        ("retries", 5, 2, 3, 4),
        ("sweep_days", 7, 2, 3, 4),
    ],
)
def test_a_flag_beats_the_environment_beats_the_file_beats_the_default(
    resolve, key, default, in_file, in_environ, by_flag
):
    text = f"[sync]\n{key} = {in_file}"
    environ = {f"LORELINE_SYNC_{key.upper()}": str(in_environ)}
    flags = {f"sync.{key}": by_flag}
    assert getattr(resolve().sync, key) == default
    assert getattr(resolve(text).sync, key) == in_file
    assert getattr(resolve(text, environ=environ).sync, key) == in_environ
    assert getattr(resolve(text, environ=environ, flags=flags).sync, key) == by_flag
    assert getattr(resolve(text, environ=environ, flags={f"sync.{key}": None}).sync, key) == in_environ


def test_the_database_has_its_four_places_in_the_same_order(resolve, places, tmp_path):
    text, environ, flags = 'database = "file.db"', {"LORELINE_DATABASE": "environ.db"}, {"database": "flag.db"}
    assert resolve().database == places.data / "mirror.db"
    assert resolve(text).database == tmp_path / "elsewhere" / "file.db"
    assert resolve(text, environ=environ).database == places.working / "environ.db"
    assert resolve(text, environ=environ, flags=flags).database == places.working / "flag.db"


def test_paths_in_a_file_are_relative_to_it_and_absolute_ones_stay(resolve, tmp_path):
    away = tmp_path / "away" / "key.pem"
    text = f'{TABLE}token_file = "token"\nca_bundle = "tls/ca.pem"\nclient_cert = "../c.pem"\nclient_key = "{away}"'
    (instance,) = resolve(text).instances
    base = tmp_path / "elsewhere"
    assert Path(instance.token_file) == base / "token"
    assert Path(instance.ca_bundle) == base / "tls/ca.pem"
    assert Path(instance.client_cert) == base / "../c.pem"
    assert Path(instance.client_key) == away


def test_paths_in_the_environment_are_relative_to_the_working_folder(resolve, places):
    (instance,) = resolve(TABLE, environ={"LORELINE_INSTANCE_TOKEN_FILE": "token"}).instances
    assert Path(instance.token_file) == places.working / "token"


def test_a_tilde_is_the_home_folder(resolve, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert resolve('database = "~/mirror.db"').database == tmp_path / "mirror.db"


def test_the_environment_alone_is_enough(resolve):
    environ = {
        "LORELINE_INSTANCE_URL": "https://gitlab.example.com/",
        "LORELINE_INSTANCE_PROJECTS": "team/app, team/other ,",
        "LORELINE_INSTANCE_INCLUDE_ARCHIVED": "Yes",
        "LORELINE_SYNC_EVENTS": "off",
    }
    settings = resolve(environ=environ)
    (instance,) = require_instances(settings)
    assert instance.url == "https://gitlab.example.com"
    assert instance.projects == ("team/app", "team/other")
    assert instance.include_archived is True
    assert settings.sync.events is False


def test_several_instances_are_told_apart_by_their_names_in_the_environment(resolve):
    text = (
        f'{TABLE}name = "Work"\n[[instance]]\nurl = "https://b.example.com"\nname = "work two"\n'
        '[[instance]]\nurl = "https://c.example.com"\nname = "home-lab"'
    )
    environ = {
        "LORELINE_INSTANCE_WORK_TOKEN_ENV": "A",
        "LORELINE_INSTANCE_WORK_TWO_TOKEN_ENV": "B",
        "LORELINE_INSTANCE_HOME_LAB_TOKEN_ENV": "C",
        "LORELINE_INSTANCE_PROXY": "http://proxy.example.com",
    }
    instances = resolve(text, environ=environ).instances
    assert [instance.token_env for instance in instances] == ["A", "B", "C"]
    assert [instance.proxy for instance in instances] == ["http://proxy.example.com", None, None]


def test_an_instance_without_a_name_is_called_gitlab_in_the_environment_too(resolve):
    (instance,) = resolve(TABLE, environ={"LORELINE_INSTANCE_GITLAB_TOKEN_ENV": "A"}).instances
    assert (instance.name, instance.token_env) == ("gitlab", "A")


def test_stray_slashes_are_dropped(resolve):
    text = '[[instance]]\nurl = "https://gitlab.example.com/sub//"\nprojects = ["/team/app/"]\ngroups = ["team/"]'
    (instance,) = resolve(text).instances
    assert (instance.url, instance.projects, instance.groups) == (
        "https://gitlab.example.com/sub",
        ("team/app",),
        ("team",),
    )


def test_the_named_file_is_looked_for_before_the_working_folders_and_the_users(places, tmp_path):
    named = tmp_path / "named.toml"
    for file in (named, places.working / "loreline.toml", places.config / "loreline.toml"):
        file.touch()
    by_environ = {"LORELINE_CONFIG": str(places.config / "loreline.toml")}
    assert find_file(str(named), by_environ, places) == named
    assert find_file(None, by_environ, places) == places.config / "loreline.toml"
    assert find_file(None, {}, places) == places.working / "loreline.toml"
    (places.working / "loreline.toml").unlink()
    assert find_file(None, {}, places) == places.config / "loreline.toml"
    (places.working / "gi.config.json").touch()
    assert find_file(None, {}, places) == places.working / "gi.config.json"


def test_without_any_file_there_is_none(places):
    assert find_file(None, {}, places) is None


def test_a_named_file_that_is_missing_is_said(places, tmp_path):
    with pytest.raises(ConfigMissing, match="no configuration file") as caught:
        find_file(str(tmp_path / "absent.toml"), {}, places)
    assert caught.value.hint


def test_no_instance_at_all_is_said_when_one_is_needed(resolve):
    with pytest.raises(ConfigMissing, match="no GitLab instance") as caught:
        require_instances(resolve())
    assert caught.value.hint


# ── the older JSON file ─────────────────────────────────────────────────────────────────────────────────


def test_the_camel_case_json_of_the_older_tool_is_read(resolve, tmp_path):
    settings = resolve(
        {
            "gitlab": {"baseUrl": "https://gitlab.example.com", "tokenEnvVar": "MY_TOKEN"},
            "projects": [{"path": "group/one"}, {"path": "group/two"}],
            "sync": {"fetchResourceEvents": False, "fetchMrFileChanges": False, "requestsPerSecond": 5},
            "storage": {"dbPath": "data.db"},
        },
        name="gi.config.json",
    )
    (instance,) = settings.instances
    assert (instance.url, instance.token_env) == ("https://gitlab.example.com", "MY_TOKEN")
    assert instance.projects == ("group/one", "group/two")
    assert (settings.sync.events, settings.sync.file_changes, settings.sync.requests_per_second) == (False, False, 5)
    assert settings.database == tmp_path / "elsewhere" / "data.db"
    assert settings.warnings == ()


def test_what_the_older_file_asks_for_and_is_not_done_is_warned_of(resolve):
    settings = resolve(
        {"gitlab": {"baseUrl": "https://gitlab.example.com"}, "sync": {"staleLockMinutes": 5, "backfillDays": 14}},
        name="lore.config.json",
    )
    assert len(settings.warnings) == 2
    assert any("staleLockMinutes" in warning for warning in settings.warnings)
    assert any("backfillDays" in warning for warning in settings.warnings)


def test_the_older_file_names_the_embedder(resolve):
    settings = resolve(
        {
            "gitlab": {"baseUrl": "https://gitlab.example.com"},
            "embedding": {"provider": "ollama", "model": "nomic-embed-text", "baseUrl": "http://localhost:11434"},
        },
        name="lore.config.json",
    )
    embedding = settings.embedding
    assert (embedding.provider, embedding.model) == ("ollama", "nomic-embed-text")
    assert embedding.url == "http://localhost:11434"
    assert settings.warnings == ()


@pytest.mark.parametrize(
    "content",
    [
        [],
        "text",
        {"projects": "group/one"},
        {"projects": ["group/one"]},
        {"gitlab": {"baseUrl": "https://gitlab.example.com"}, "projects": [{}]},
        {"gitlab": []},
        {"gitlab": {"baseUrl": 5}},
        {"sync": 1},
        {"storage": []},
        {"gitlab": {"baseUrl": "https://gitlab.example.com"}, "storage": {"dbPath": 5}},
        {"gitlab": {"baseUrl": "https://gitlab.example.com"}, "sync": {"concurrency": "many"}},
    ],
)
def test_an_older_file_of_the_wrong_shape_is_refused(refused, content):
    refused(json.dumps(content), name="lore.config.json")


# ── wrong keys and values ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "environ", "nearest"),
    [
        ("snyc = 1", {}, "sync"),
        ("[sync]\nconcurency = 1", {}, "concurrency"),
        (f"{TABLE}project = []", {}, "projects"),
        (f"{TABLE}tokenenv = 'A'", {}, "token_env"),
        (None, {"LORELINE_SYNC_TIMEOUT": "5"}, "timeout_seconds"),
        (None, {"LORELINE_INSTANCE_CABUNDLE": "5"}, "ca_bundle"),
    ],
)
def test_an_unknown_key_is_told_with_the_nearest_known_one(refused, text, environ, nearest):
    assert f"{nearest!r}" in refused(text, environ=environ).hint


def test_an_unknown_key_of_the_older_file_is_told_likewise(refused):
    assert "'baseUrl'" in refused({"gitlab": {"baseurl": "x"}}, name="lore.config.json").hint


def test_an_unknown_key_like_no_other_is_told_with_all_known_ones(refused):
    assert "database" in refused("zzzzzz = 1").hint


@pytest.mark.parametrize(
    "text",
    [
        "not toml",
        "[sync",
        "sync = 3",
        "instance = 3",
        "instance = [3]",
        f"[instance]\n{URL}",
        "[[instance]]\nname = 'x'",
        "[[instance]]\nurl = ''",
        "[[instance]]\nurl = 5",
        "[[instance]]\nurl = 'gitlab.example.com'",
        "[[instance]]\nurl = 'ftp://gitlab.example.com'",
        "[[instance]]\nurl = 'https://'",
        "[[instance]]\nurl = 'https://['",
        "[[instance]]\nurl = 'https://gitlab..example.com'",
        "[[instance]]\nurl = 'https://gitlab.example.com:port'",
        "[[instance]]\nurl = 'https://gitlab.example.com:99999'",
        f"{TABLE}name = 5",
        f"{TABLE}{TABLE}",
        f"{TABLE}projects = 'team/app'",
        f"{TABLE}projects = ['app']",
        f"{TABLE}projects = ['/']",
        f"{TABLE}projects = [5]",
        f"{TABLE}groups = ['']",
        f"{TABLE}include_archived = 'yes'",
        f"{TABLE}token_type = 'password'",
        f"{TABLE}token_env = 'A'\ntoken_file = 'b'",
        f"{TABLE}token_command = 'a'\ntoken_keyring = 'b'",
        "database = 5",
        "database = ''",
        "[sync]\nconcurrency = 0",
        "[sync]\nconcurrency = 65",
        "[sync]\nconcurrency = '8'",
        "[sync]\nconcurrency = 1.5",
        "[sync]\nconcurrency = true",
        "[sync]\nrequests_per_second = -1",
        "[sync]\nrequests_per_second = inf",
        "[sync]\ntimeout_seconds = 0",
        "[sync]\ntimeout_seconds = nan",
        "[sync]\nretries = -1",
        "[sync]\nretries = 101",
        "[sync]\nretry_seconds = -1",
        "[sync]\nretry_seconds = nan",
        "[sync]\nevents = 1",
        "[sync]\nsweep_days = 0",
        "a = " + "[" * 5000,
    ],
)
def test_every_wrong_value_in_a_file_is_refused_with_a_hint(refused, text):
    assert "loreline.toml" in refused(text).message


def test_the_home_of_nobody_is_refused(refused):
    assert "~nobody-is-called-so" in refused(f"{TABLE}ca_bundle = '~nobody-is-called-so/ca.pem'").message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LORELINE_SYNC_CONCURRENCY", "many"),
        ("LORELINE_SYNC_CONCURRENCY", "1.5"),
        ("LORELINE_SYNC_CONCURRENCY", "0"),
        ("LORELINE_SYNC_TIMEOUT_SECONDS", "nan"),
        ("LORELINE_SYNC_TIMEOUT_SECONDS", "soon"),
        ("LORELINE_SYNC_EVENTS", "maybe"),
        ("LORELINE_SYNC_EVENTS", ""),
        ("LORELINE_INSTANCE_URL", "gitlab.example.com"),
        ("LORELINE_INSTANCE_PROXY", "without any url"),
    ],
)
def test_every_wrong_value_in_the_environment_is_refused_with_a_hint(refused, name, value):
    refused(environ={name: value})


def test_a_file_that_is_no_text_is_refused(places, tmp_path):
    file = tmp_path / "loreline.toml"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigInvalid, match="UTF-8"):
        load(file=file, environ={}, flags={}, places=places)


def test_a_folder_in_place_of_the_file_is_refused(places, tmp_path):
    with pytest.raises(ConfigInvalid, match="cannot be read"):
        load(file=tmp_path, environ={}, flags={}, places=places)


@pytest.mark.parametrize(
    "url",
    [
        "https://user:hunter2@gitlab.example.com",
        "https://hunter2@gitlab.example.com",
        "https://gitlab.example.com?private_token=hunter2",
    ],
)
def test_a_secret_in_an_address_is_refused_and_not_repeated(refused, url):
    error = refused(f'[[instance]]\nurl = "{url}"')
    assert "secret" in error.message
    assert "hunter2" not in f"{error} {error.hint} {error.details}"


# ── every option is real and documented ─────────────────────────────────────────────────────────────────

OPTIONS = [
    pytest.param(kind, name, id=f"{kind.__name__}.{name}")
    for kind in (Settings, Instance, Sync)
    for name in kind.__struct_fields__
]


@pytest.fixture(scope="module")
def attributes_read():
    root = Path(loreline.__file__).parent
    return {
        node.attr
        for path in root.rglob("*.py")
        if path != root / "settings.py" and "simulator" not in path.relative_to(root).parts
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)
    }


@pytest.mark.parametrize(("kind", "name"), OPTIONS)
def test_every_option_is_read_by_somebody(kind: type[Struct], name, attributes_read):
    assert name in attributes_read


@pytest.mark.parametrize(("kind", "name"), [one for one in OPTIONS if one.values[1] not in {"file", "warnings"}])
def test_every_option_is_documented(kind: type[Struct], name):
    page = Path(loreline.__file__).parents[2] / "docs" / "configuration.md"
    if not page.is_file():
        pytest.skip("docs/configuration.md is not written yet, or not beside this installation")
    word = "instance" if name == "instances" else name
    assert re.search(rf"\b{word}\b", page.read_text("utf-8"))
