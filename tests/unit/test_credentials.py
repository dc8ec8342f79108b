"""Where a token comes from, and that it stays there."""

import shlex
import sys
import traceback

import pytest

from loreline import credentials
from loreline.errors import AuthenticationFailed, ConfigInvalid
from loreline.settings import Instance

SECRET = "glpat-hunter2secret"


def instance(**fields):
    return Instance(url="https://gitlab.example.com", name="work", **fields)


def refused(of, environ=None):
    with pytest.raises(AuthenticationFailed) as caught:
        credentials.token(of, environ or {})
    error = caught.value
    assert error.hint
    told = f"{error} {error.hint} {error.details} {error!r} {''.join(traceback.format_exception(error))}"
    # The code lines of the traceback name variables, never their values.
    assert "hunter2" not in told
    return error


def command(code):
    return shlex.join([sys.executable, "-c", code])


def test_the_token_is_in_the_variable_the_settings_name():
    assert credentials.token(instance(token_env="MY_TOKEN"), {"MY_TOKEN": SECRET, "GITLAB_TOKEN": "no"}) == SECRET


def test_without_settings_the_usual_variables_are_asked_ours_first():
    assert credentials.token(instance(), {"GITLAB_TOKEN": "other", "LORELINE_TOKEN": SECRET}) == SECRET
    assert credentials.token(instance(), {"GITLAB_TOKEN": SECRET, "LORELINE_TOKEN": ""}) == SECRET


def test_a_named_variable_that_is_empty_is_not_replaced_by_another():
    error = refused(instance(token_env="MY_TOKEN"), {"MY_TOKEN": "", "GITLAB_TOKEN": SECRET})
    assert "MY_TOKEN" in error.message


def test_no_variable_at_all_is_said():
    assert "LORELINE_TOKEN" in refused(instance()).message


def test_the_token_is_in_a_file(tmp_path):
    file = tmp_path / "token"
    file.write_text(f"  {SECRET}\n")
    assert credentials.token(instance(token_file=str(file)), {}) == SECRET


def test_a_missing_file_is_said(tmp_path):
    assert "absent" in refused(instance(token_file=str(tmp_path / "absent"))).message


def test_a_folder_in_place_of_the_file_is_said(tmp_path):
    assert "cannot be read" in refused(instance(token_file=str(tmp_path))).message


def test_a_path_no_file_can_have_is_said():
    assert "cannot be read" in refused(instance(token_file="a\0b")).message


def test_a_file_that_is_no_text_is_said(tmp_path):
    file = tmp_path / "token"
    file.write_bytes(b"hunter2\xff\xfe")
    assert "no text" in refused(instance(token_file=str(file))).message


def test_an_empty_file_is_said(tmp_path):
    file = tmp_path / "token"
    file.write_text("\n")
    assert str(file) in refused(instance(token_file=str(file))).message


@pytest.mark.parametrize(
    "content", [f"{SECRET} {SECRET}", f"{SECRET}\nsecond line", f"tøken-{SECRET}", f"{SECRET}\x07"]
)
def test_what_cannot_be_a_token_is_refused_without_showing_it(tmp_path, content):
    file = tmp_path / "token"
    file.write_text(content, "utf-8")
    assert "no token" in refused(instance(token_file=str(file))).message


def test_the_token_is_what_a_command_prints():
    assert credentials.token(instance(token_command=command(f"print('{SECRET}')")), {}) == SECRET


def test_a_command_gets_no_shell():
    found = credentials.token(instance(token_command=f"{command('import sys; print(sys.argv[1])')} '$HOME;x'"), {})
    assert found == "$HOME;x"


def test_what_a_failing_command_says_stays_unseen():
    code = "import sys; print('hunter2'); print('hunter2', file=sys.stderr); sys.exit(3)"
    assert "exit code 3" in refused(instance(token_command=command("import os,sys;" + code))).message.replace(code, "")


@pytest.mark.parametrize("line", ["", "   ", "'unfinished", "no-such-command-anywhere", "/"])
def test_a_command_that_cannot_run_is_said(line):
    assert "token_command" in refused(instance(token_command=line)).message


def test_a_command_that_prints_no_text_is_said():
    code = r"import sys; sys.stdout.buffer.write(b'\xff\xfe')"
    assert "token_command" in refused(instance(token_command=command(code))).message


def test_a_command_that_prints_nothing_is_said():
    assert "token_command" in refused(instance(token_command=command("pass"))).message


def test_the_token_is_in_the_keyring_under_the_instances_name():
    keyring = pytest.importorskip("keyring", reason="the extra 'keyring' is not installed")
    before = keyring.get_keyring()
    keyring.set_keyring(_memory_keyring({("loreline", "work"): SECRET}))
    try:
        assert credentials.token(instance(token_keyring="loreline"), {}) == SECRET
        assert "keyring" in refused(instance(token_keyring="another")).message
    finally:
        keyring.set_keyring(before)


def test_a_keyring_that_cannot_be_asked_is_said():
    keyring = pytest.importorskip("keyring", reason="the extra 'keyring' is not installed")
    from keyring.backends import fail

    before = keyring.get_keyring()
    keyring.set_keyring(fail.Keyring())
    try:
        assert "keyring" in refused(instance(token_keyring="loreline")).message
    finally:
        keyring.set_keyring(before)


def test_without_the_extra_the_keyring_is_explained(monkeypatch):
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(ConfigInvalid, match="extra") as caught:
        credentials.token(instance(token_keyring="loreline"), {})
    assert "pip install" in caught.value.hint


def _memory_keyring(passwords):
    from keyring.backend import KeyringBackend

    class Memory(KeyringBackend):
        priority = 1

        def get_password(self, service, username):
            return passwords.get((service, username))

        def set_password(self, service, username, password):
            passwords[service, username] = password

        def delete_password(self, service, username):
            del passwords[service, username]

    return Memory()
