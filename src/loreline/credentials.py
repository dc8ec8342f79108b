"""Where an instance's token comes from. It is read when needed, and never stored, logged or shown."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

from loreline.errors import AuthenticationFailed, ConfigInvalid
from loreline.settings import Instance

DEFAULT_VARIABLES = ("LORELINE_TOKEN", "GITLAB_TOKEN")


def token(instance: Instance, environ: Mapping[str, str]) -> str:
    """The token of an instance, from the one place its settings name."""
    found = _read(instance, environ).strip()
    if not found:
        raise AuthenticationFailed(
            f"there is no token for {instance.name}: {_place(instance)} is empty or not set",
            hint="make a personal access token with the scope read_api in GitLab's preferences and put it there",
        )
    if any(character.isspace() or not character.isprintable() for character in found) or not found.isascii():
        raise AuthenticationFailed(
            f"what {_place(instance)} holds for {instance.name} is no token: it has spaces or odd characters",
            hint="check that only the token stands there",
        )
    return found


def _read(instance: Instance, environ: Mapping[str, str]) -> str:
    if instance.token_env is not None:
        return environ.get(instance.token_env, "")
    if instance.token_file is not None:
        return _from_file(Path(instance.token_file))
    if instance.token_command is not None:
        return _from_command(instance.token_command)
    if instance.token_keyring is not None:
        return _from_keyring(instance.token_keyring, instance)
    return next((environ[name] for name in DEFAULT_VARIABLES if environ.get(name)), "")


def _place(instance: Instance) -> str:
    if instance.token_env is not None:
        return f"the environment variable {instance.token_env}"
    if instance.token_file is not None:
        return f"the file {instance.token_file}"
    if instance.token_command is not None:
        return "the output of its token_command"
    if instance.token_keyring is not None:
        return f"the keyring's entry {instance.token_keyring!r}"
    return f"the environment ({' or '.join(DEFAULT_VARIABLES)})"


def _from_file(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no text, or no path"
        raise AuthenticationFailed(
            f"the token file {path} cannot be read: {reason}", hint="check the path, its owner and mode"
        ) from error


def _from_command(command: str) -> str:
    try:
        finished = subprocess.run(  # noqa: S603 - the user's own command, run without a shell
            shlex.split(command), capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, ValueError, IndexError, subprocess.TimeoutExpired) as error:  # IndexError: it is empty
        raise AuthenticationFailed(
            f"token_command could not be run: {type(error).__name__}", hint="run it by hand to see what it says"
        ) from error
    if finished.returncode != 0:
        # Its output stays unseen: half of it may be the secret.
        raise AuthenticationFailed(
            f"token_command ended with exit code {finished.returncode}", hint="run it by hand to see what it says"
        )
    return finished.stdout


def _from_keyring(service: str, instance: Instance) -> str:
    try:
        import keyring  # noqa: PLC0415 - an optional extra
        import keyring.errors  # noqa: PLC0415
    except ImportError as error:
        raise ConfigInvalid(
            "token_keyring needs the extra 'keyring'", hint="pip install 'loreline[keyring]'"
        ) from error
    try:
        return keyring.get_password(service, instance.name) or ""
    except keyring.errors.KeyringError as error:
        raise AuthenticationFailed(
            f"the keyring could not be asked: {error}", hint="unlock it, or use token_env, token_file or token_command"
        ) from error
