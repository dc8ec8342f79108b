"""Every option, resolved once at the edge: flag over environment over file over default."""

from __future__ import annotations

import difflib
import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_type_hints
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from loreline.errors import ConfigInvalid, ConfigMissing

FILE_NAME = "loreline.toml"
LEGACY_NAMES = ("lore.config.json", "gi.config.json")


class Instance(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One GitLab server and what to mirror of it."""

    url: str
    name: str = "gitlab"
    token_env: str | None = None
    token_file: str | None = None
    token_command: str | None = None
    token_keyring: str | None = None
    token_type: str = "access"  # noqa: S105 - a kind of token, 'access' or 'oauth'
    projects: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    include_archived: bool = False
    ca_bundle: str | None = None
    client_cert: str | None = None
    client_key: str | None = None
    proxy: str | None = None


class Sync(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to talk to GitLab, and how much of it to keep."""

    concurrency: int = 8
    requests_per_second: float = 0
    timeout_seconds: float = 60
    retries: int = 5
    retry_seconds: float = 0.5
    events: bool = True
    file_changes: bool = True
    sweep_days: int = 7


class Documents(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What of the mirror is made searchable."""

    longest_thread: int = 1_000_000
    bot_notes: bool = True
    bots: tuple[str, ...] = ("*[bot]", "*_bot", "*-bot", "project_*_bot*", "group_*_bot*")


class Embedding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What makes vectors of texts, and how it is reached."""

    provider: str = "bundled"
    model: str | None = None
    url: str | None = None
    api_key_env: str | None = None
    dimensions: int | None = None
    query_prefix: str | None = None
    document_prefix: str | None = None
    batch: int = 32
    concurrency: int = 2
    timeout_seconds: float = 120
    threads: int = 0


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    database: Path
    instances: tuple[Instance, ...] = ()
    sync: Sync = Sync()
    documents: Documents = Documents()
    embedding: Embedding = Embedding()
    file: Path | None = None
    """Where they were read from."""
    warnings: tuple[str, ...] = ()


class Places(Struct, frozen=True):
    """Where to look, as the edge found it."""

    working: Path
    config: Path
    data: Path

    @property
    def default_database(self) -> Path:
        return self.data / "mirror.db"


def find_file(given: str | None, environ: Mapping[str, str], places: Places) -> Path | None:
    """The configuration file: the one named, else the working folder's, else the user's."""
    named = given or environ.get("LORELINE_CONFIG")
    if named:
        path = Path(named).expanduser()
        if not path.is_file():
            raise ConfigMissing(f"there is no configuration file {path}", hint="check the path, or run lore init")
        return path
    for folder in (places.working, places.config):
        for name in (FILE_NAME, *LEGACY_NAMES):
            if (folder / name).is_file():
                return folder / name
    return None


def load(
    *,
    file: Path | None,
    environ: Mapping[str, str],
    flags: Mapping[str, Any],
    places: Places,
) -> Settings:
    """Settings from all sources. `flags` are dotted keys such as `sync.concurrency`; None is not given."""
    warnings: list[str] = []
    raw = _read(file, warnings) if file else {}
    where = str(file) if file else "the environment"
    _check_keys(raw, where)
    _merge_environment(raw, environ, places.working)
    for key, value in flags.items():
        if value is not None:
            value = _from_here(key, value, places.working)  # noqa: PLW2901 - the same value, made absolute
            section, _, name = key.rpartition(".")
            (raw.setdefault(section, {}) if section else raw)[name] = value
    return _settled(raw, file, where, places, tuple(warnings))


def require_instances(settings: Settings) -> tuple[Instance, ...]:
    if not settings.instances:
        raise ConfigMissing(
            "no GitLab instance is configured" + (f" in {settings.file}" if settings.file else ""),
            hint="run lore init, or set LORELINE_INSTANCE_URL and LORELINE_INSTANCE_PROJECTS",
        )
    return settings.instances


def _read(file: Path, warnings: list[str]) -> dict[str, Any]:
    try:
        text = file.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigInvalid(f"{file} is no UTF-8 text (byte {error.start})", hint="save it as UTF-8") from error
    except OSError as error:
        raise ConfigInvalid(f"{file} cannot be read: {error.strerror}", hint="check its owner and mode") from error
    try:
        if file.suffix == ".json":
            return _from_json(json.loads(text), str(file), warnings)
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigInvalid(
            f"{file} is no valid TOML: {error}", hint="see docs/configuration.md for examples"
        ) from error
    except (json.JSONDecodeError, RecursionError) as error:
        raise ConfigInvalid(f"{file} is no valid JSON: {error}", hint="check it with a JSON linter") from error


# ── the older camelCase JSON file ───────────────────────────────────────────────────────────────────────

_JSON_SYNC = {
    "fetchResourceEvents": "events",
    "fetchMrFileChanges": "file_changes",
    "concurrency": "concurrency",
    "requestsPerSecond": "requests_per_second",
    "timeoutSeconds": "timeout_seconds",
}
_JSON_EMBEDDING = {
    "provider": "provider",
    "model": "model",
    "baseUrl": "url",
    "concurrency": "concurrency",
    "dimensions": "dimensions",
    "timeoutSeconds": "timeout_seconds",
    "apiKeyEnvVar": "api_key_env",
}
_JSON_LATER = {
    "backfillDays": "the sweep covers it: sync.sweep_days",
    "staleLockMinutes": "a dead sync is noticed by its heartbeat",
    "heartbeatIntervalSeconds": "it is fixed",
    "cursorRewindSeconds": "it is fixed at two minutes",
    "primaryConcurrency": "use concurrency",
    "dependentConcurrency": "use concurrency",
}


def _from_json(data: Any, where: str, warnings: list[str]) -> dict[str, Any]:
    data = _table(data, where)
    known = {"gitlab", "projects", "sync", "storage", "embedding", *_JSON_LATER}
    _known(data, known, where)
    gitlab = _table(data.get("gitlab", {}), f"{where}, gitlab")
    _known(gitlab, {"baseUrl", "tokenEnvVar"}, f"{where}, gitlab")
    instance: dict[str, Any] = {}
    if "baseUrl" in gitlab:
        instance["url"] = gitlab["baseUrl"]
    if "tokenEnvVar" in gitlab:
        instance["token_env"] = gitlab["tokenEnvVar"]
    projects = data.get("projects", [])
    if not isinstance(projects, list):
        raise ConfigInvalid(f"{where}: projects is no list", hint='it looks like [{"path": "group/project"}]')
    instance["projects"] = [_table(item, f"{where}, projects").get("path") for item in projects]
    raw: dict[str, Any] = {"instance": [instance]}
    storage = _table(data.get("storage", {}), f"{where}, storage")
    _known(storage, {"dbPath", "backupDir", "compressRawPayloads"}, f"{where}, storage")
    if "dbPath" in storage:
        raw["database"] = storage["dbPath"]
    sync = _table(data.get("sync", {}), f"{where}, sync")
    _known(sync, {*_JSON_SYNC, *_JSON_LATER}, f"{where}, sync")
    raw["sync"] = {name: sync[key] for key, name in _JSON_SYNC.items() if key in sync}
    embedding = _table(data.get("embedding", {}), f"{where}, embedding")
    _known(embedding, set(_JSON_EMBEDDING), f"{where}, embedding")
    raw["embedding"] = {name: embedding[key] for key, name in _JSON_EMBEDDING.items() if key in embedding}
    left_aside = sorted({*data, *sync} & set(_JSON_LATER))
    warnings.extend(f"{where}: {key} is left aside ({_JSON_LATER[key]})" for key in left_aside)
    return raw


# ── keys ────────────────────────────────────────────────────────────────────────────────────────────────

_SECTIONS: dict[str, type[Struct]] = {"sync": Sync, "documents": Documents, "embedding": Embedding}
_TOP = {"database", "instance", *_SECTIONS}


def _check_keys(raw: dict[str, Any], where: str) -> None:
    places: list[tuple[str, type[Struct]]] = [(f"[{name}]", kind) for name, kind in _SECTIONS.items()]
    places.append(("[[instance]]", Instance))
    for key in raw:
        for section, struct in places:
            if key not in _TOP and difflib.get_close_matches(key, struct.__struct_fields__, n=1, cutoff=0.8):
                (near,) = difflib.get_close_matches(key, struct.__struct_fields__, n=1, cutoff=0.8)
                raise ConfigInvalid(
                    f"{where}: there is no key {key!r} at the top",
                    hint=f"did you mean {near!r} under {section}?",
                    key=key,
                )
    _known(raw, _TOP, where)
    for name, kind in _SECTIONS.items():
        place = f"{where}, [{name}]"
        _known(_table(raw.get(name, {}), place), set(kind.__struct_fields__), place)
    instances = raw.get("instance", [])
    if not isinstance(instances, list):
        raise ConfigInvalid(f"{where}: [instance] is one table", hint="write [[instance]], in double brackets")
    for instance in instances:
        place = f"{where}, [[instance]]"
        _known(_table(instance, place), set(Instance.__struct_fields__), place)


def _table(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigInvalid(f"{where}: that is no table", hint="see docs/configuration.md for examples")
    return value


def _known(table: Mapping[str, Any], known: set[str], where: str) -> None:
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
            raise ConfigInvalid(
                f"{where}: there is no key {key!r}",
                hint=f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(sorted(known))}",
                key=key,
            )


# ── environment ─────────────────────────────────────────────────────────────────────────────────────────


_VARIABLES = ("LORELINE_DATABASE", "LORELINE_CONFIG", "LORELINE_TOKEN", "LORELINE_TRACEBACK")


def _merge_environment(raw: dict[str, Any], environ: Mapping[str, str], working: Path) -> None:
    for name in environ:
        near = difflib.get_close_matches(name, _VARIABLES, n=1, cutoff=0.85)
        if name.startswith("LORELINE_") and name not in _VARIABLES and near:
            raise ConfigInvalid(f"there is no {name} in the environment's settings", hint=f"did you mean {near[0]}?")
    if environ.get("LORELINE_DATABASE"):
        raw["database"] = _from_here("database", environ["LORELINE_DATABASE"], working)
    instance_types = get_type_hints(Instance)
    instances: list[dict[str, Any]] = raw.setdefault("instance", [])
    for name, value in sorted(environ.items()):
        section, _, key = name.removeprefix("LORELINE_").lower().partition("_")
        if name.startswith("LORELINE_") and section in _SECTIONS:
            types = get_type_hints(_SECTIONS[section])
            _known({key: value}, set(types), f"{name} in the environment")
            raw.setdefault(section, {})[key] = _typed(name, value, types[key])
        elif name.startswith("LORELINE_INSTANCE_"):
            rest = name.removeprefix("LORELINE_INSTANCE_").lower()
            target, key = _instance_of(rest, instances)
            _known({key: value}, set(instance_types), f"{name} in the environment")
            target[key] = _from_here(key, _typed(name, value, instance_types[key]), working)


def _instance_of(rest: str, instances: list[dict[str, Any]]) -> tuple[dict[str, Any], str]:
    """`url` is the first instance's; `work_url` that of the instance named 'work'."""
    slugs = [re.sub(r"[^a-z0-9]+", "_", str(one.get("name", "gitlab")).lower()) for one in instances]
    # The longest name that fits: 'work_two' is not 'work'.
    for slug, instance in sorted(zip(slugs, instances, strict=True), key=lambda pair: -len(pair[0])):
        if slug and rest.startswith(f"{slug}_"):
            return instance, rest.removeprefix(f"{slug}_")
    if not instances:
        instances.append({})
    return instances[0], rest


_PATHS = ("token_file", "ca_bundle", "client_cert", "client_key")


def _from_here(key: str, value: Any, working: Path) -> Any:
    """A path given by flag or environment is relative to where the command runs, not to the file."""
    return str(_path(value, working)) if key in {"database", *_PATHS} and isinstance(value, str) and value else value


def _typed(name: str, value: str, kind: Any) -> Any:
    if kind is bool:
        if value.lower() not in {"1", "true", "yes", "on", "0", "false", "no", "off"}:
            raise ConfigInvalid(f"{name} in the environment is no yes or no: {value!r}", hint="use true or false")
        return value.lower() in {"1", "true", "yes", "on"}
    if kind in {int, float, int | None}:
        try:
            return float(value) if kind is float else int(value)
        except ValueError as error:
            raise ConfigInvalid(
                f"{name} in the environment is no number: {value!r}", hint="use a plain number"
            ) from error
    if kind == tuple[str, ...]:
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


# ── values ──────────────────────────────────────────────────────────────────────────────────────────────


def _settled(raw: dict[str, Any], file: Path | None, where: str, places: Places, warnings: tuple[str, ...]) -> Settings:
    base = file.parent if file else places.working
    for number, item in enumerate(raw.get("instance", [])):
        if not item.get("url"):
            raise ConfigInvalid(
                f"{where}: instance {number + 1} has no url", hint='write url = "https://gitlab.example.com"'
            )
    try:
        instances = tuple(msgspec.convert(item, Instance) for item in raw.get("instance", []))
        sync = msgspec.convert(raw.get("sync", {}), Sync)
        documents = msgspec.convert(raw.get("documents", {}), Documents)
        embedding = msgspec.convert(raw.get("embedding", {}), Embedding)
        database = msgspec.convert(raw.get("database", str(places.default_database)), str)
    except msgspec.ValidationError as error:
        raise ConfigInvalid(f"{where}: {_plainly(str(error))}", hint="see docs/configuration.md") from error
    if not database:
        raise ConfigInvalid(f"{where}: database is empty", hint="write the path of a file, or leave the key out")
    for problem, hint in (
        *_instance_problems(instances),
        *_sync_problems(sync),
        *_search_problems(documents, embedding),
    ):
        raise ConfigInvalid(f"{where}: {problem}", hint=hint)
    return Settings(
        database=_path(database, base),
        instances=tuple(_rooted(instance, base) for instance in instances),
        sync=sync,
        documents=documents,
        embedding=_rooted_model(embedding, base),
        file=file,
        warnings=warnings,
    )


def _instance_problems(instances: Sequence[Instance]) -> Iterator[tuple[str, str]]:
    names = [instance.name for instance in instances]
    if len(set(names)) < len(names):
        yield "two instances have one name", "give each [[instance]] a name of its own"
    for instance in instances:
        try:
            parts = urlsplit(instance.url)
            sound = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
            (parts.hostname or "").encode("idna")
        except ValueError:  # a port or host name that is none
            sound = False
        if not sound:
            yield f"the url of {instance.name} is no address", 'it looks like "https://gitlab.example.com"'
            return
        if parts.username or parts.password or "token=" in parts.query:
            yield f"the url of {instance.name} holds a secret", "name the token with token_env, token_file or the like"
        if instance.token_type not in {"access", "oauth"}:
            yield f"the token_type of {instance.name} is neither", 'use "access" (any access token) or "oauth"'
        given = [instance.token_env, instance.token_file, instance.token_command, instance.token_keyring]
        if sum(source is not None for source in given) > 1:
            yield f"{instance.name} names more than one place for its token", "keep one of the token_… keys"
        for path in (*instance.projects, *instance.groups):
            if not path.strip("/"):
                yield f"{instance.name} names a project or group with an empty path", "write its full path"
        for path in instance.projects:
            if "/" not in path.strip("/") and not path.isdigit():
                yield f"{path!r} is no full project path", 'it looks like "group/project"'


def _sync_problems(sync: Sync) -> Iterator[tuple[str, str]]:
    if not 1 <= sync.concurrency <= 64:
        yield f"sync.concurrency is {sync.concurrency}", "use 1 to 64"
    for key in ("requests_per_second", "timeout_seconds", "retry_seconds"):
        if not math.isfinite(getattr(sync, key)):
            yield f"sync.{key} is no finite number", "use a plain number"
    if sync.requests_per_second < 0:
        yield "sync.requests_per_second is negative", "use 0 for no cap"
    if sync.timeout_seconds <= 0:
        yield "sync.timeout_seconds is not positive", "use 60 or so"
    if not 0 <= sync.retries <= 100:
        yield f"sync.retries is {sync.retries}", "use 0 to 100"
    if sync.retry_seconds < 0:
        yield "sync.retry_seconds is negative", "use 0.5 or so"
    if sync.sweep_days < 1:
        yield f"sync.sweep_days is {sync.sweep_days}", "use 1 or more"


PROVIDERS = ("bundled", "onnx", "ollama", "openai", "fastembed", "none")


def _search_problems(documents: Documents, embedding: Embedding) -> Iterator[tuple[str, str]]:
    if documents.longest_thread < 1_000:
        yield f"documents.longest_thread is {documents.longest_thread}", "use 1000 characters or more"
    if embedding.provider not in PROVIDERS:
        near = difflib.get_close_matches(embedding.provider, PROVIDERS, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(PROVIDERS)}"
        yield f"there is no embedding.provider {embedding.provider!r}", hint
    if embedding.url is not None and not embedding.url.startswith(("http://", "https://")):
        yield "embedding.url is no address", 'it looks like "http://localhost:11434"'
    for key, least, most in (("batch", 1, 2048), ("concurrency", 1, 64), ("threads", 0, 1024)):
        if not least <= getattr(embedding, key) <= most:
            yield f"embedding.{key} is {getattr(embedding, key)}", f"use {least} to {most}"
    if embedding.dimensions is not None and not 1 <= embedding.dimensions <= 16_384:
        yield f"embedding.dimensions is {embedding.dimensions}", "leave it out, or use what the model has"
    if not (math.isfinite(embedding.timeout_seconds) and embedding.timeout_seconds > 0):
        yield "embedding.timeout_seconds is not positive", "use 120 or so"


def _rooted_model(embedding: Embedding, base: Path) -> Embedding:
    """The folder of a local model is relative to the file that names it."""
    if embedding.provider != "onnx" or embedding.model is None:
        return embedding
    return msgspec.structs.replace(embedding, model=str(_path(embedding.model, base)))


def _plainly(message: str) -> str:
    """msgspec's words with the path people know."""
    return re.sub(r" - at `\$\.?(.*?)`", r" (at \1)", message).replace("`", "'")


def _rooted(instance: Instance, base: Path) -> Instance:
    """Paths in a file are relative to it; addresses and project paths lose their stray slashes."""
    changes: dict[str, Any] = {
        "url": instance.url.rstrip("/"),
        "projects": tuple(path.strip("/") for path in instance.projects),
        "groups": tuple(path.strip("/") for path in instance.groups),
    }
    for key in _PATHS:
        value = getattr(instance, key)
        if value is not None:
            changes[key] = str(_path(value, base))
    return msgspec.structs.replace(instance, **changes)


def _path(text: str, base: Path) -> Path:
    try:
        path = Path(text).expanduser()
    except RuntimeError as error:
        raise ConfigInvalid(f"{text}: there is no such user", hint="write the path in full") from error
    return path if path.is_absolute() else base / path
