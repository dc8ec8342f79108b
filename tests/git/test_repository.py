"""Opening clones of every kind, and keeping them from running anything."""

import os
import subprocess

import pytest

from loreline.errors import GitFailed, NotFound
from loreline.git.blame import blame
from loreline.git.program import Git
from loreline.git.repository import blob, commit_of, open_repository, present, remote_urls


def test_it_is_found_from_a_folder_within(clone):
    clone.write("deep/down/x.py", "x\n")
    clone.commit("Write")
    found = open_repository(clone.folder / "deep" / "down", os.environ)
    assert found.root == clone.folder
    assert (found.bare, found.shallow) == (False, False)


def test_outside_of_any_repository_it_says_so(tmp_path):
    with pytest.raises(NotFound, match="not in a git repository"):
        open_repository(tmp_path, os.environ)
    with pytest.raises(GitFailed, match="there is no folder"):
        open_repository(tmp_path / "nowhere", os.environ)


def test_without_git_it_says_what_to_install(clone):
    with pytest.raises(GitFailed, match="not found"):
        Git(clone.folder, {"PATH": "/nowhere"}).ask("status")


def test_bare_and_shallow_ones_are_known(clone, tmp_path):
    clone.commit("One", a_py="1\n")
    head = clone.commit("Two", a_py="2\n")
    clone("clone", "-q", "--bare", str(clone.folder), str(tmp_path / "bare.git"))
    clone("clone", "-q", "--depth", "1", f"file://{clone.folder}", str(tmp_path / "shallow"))
    assert open_repository(tmp_path / "bare.git", os.environ).bare
    shallow = open_repository(tmp_path / "shallow", os.environ)
    assert shallow.shallow
    (line,) = blame(shallow, head, "a.py", 1, 1)
    assert line.boundary
    with pytest.raises(NotFound) as caught:
        commit_of(shallow, "0" * 40)
    assert "git fetch --unshallow" in caught.value.hint


def test_remotes_are_told_origin_first(clone):
    assert remote_urls(clone.repository) == []
    clone("remote", "add", "fork", "git@gitlab.example.com:me/app.git")
    clone("remote", "add", "origin", "https://gitlab.example.com/team/app.git")
    assert remote_urls(clone.repository) == [
        "https://gitlab.example.com/team/app.git", "git@gitlab.example.com:me/app.git"
    ]  # fmt: skip


def test_revisions_commits_and_files(clone):
    first = clone.commit("One", a_py="1\n")
    head = clone.commit("Two", a_py="2\n")
    repository = clone.repository
    assert commit_of(repository, "HEAD~1") == first
    assert present(repository, [first, "f" * 40, head]) == {first, head}
    assert blob(repository, first, "a.py") == b"1\n"
    assert blob(repository, first, "b.py") is None
    for odd in ("--upload-pack=x", "nope", "HEAD:a.py"):
        with pytest.raises(NotFound):
            commit_of(repository, odd)


PROGRAM = "touch pwned; cat"


@pytest.mark.parametrize(
    ("setting", "attribute"),
    [
        ("core.fsmonitor", None),
        ("core.pager", None),
        ("pager.blame", None),
        ("diff.external", None),
        ("diff.evil.textconv", "*.py diff=evil"),
        ("diff.evil.command", "*.py diff=evil"),
        ("filter.evil.clean", "*.py filter=evil"),
        ("filter.evil.smudge", "*.py filter=evil"),
        ("core.alternateRefsCommand", None),
        ("core.sshCommand", None),
        ("gpg.program", None),
    ],
)
def test_what_a_repository_would_have_run_is_not_run(clone, setting, attribute):
    clone.commit("One", a_py="1\n")
    head = clone.commit("Two", a_py="2\n")
    if attribute:
        clone.write(".git/info/attributes", attribute + "\n")
        clone.write(".gitattributes", attribute + "\n")
    clone("config", setting, f"sh -c '{PROGRAM}' --")
    clone.write(".git/hooks/post-index-change", f"#!/bin/sh\n{PROGRAM}\n")
    (clone.folder / ".git/hooks/post-index-change").chmod(0o755)
    repository = clone.repository
    assert blame(repository, head, "a.py", 1, 1)[0].text == "2"
    assert blob(repository, head, "a.py") == b"2\n"
    assert present(repository, [head]) == {head}
    assert not list(clone.folder.rglob("pwned"))


def test_the_environment_of_the_user_does_not_reach_git(clone):
    clone.commit("One", a_py="1\n")
    environ = {
        **os.environ,
        "GIT_DIR": "/nowhere",
        "GIT_EXTERNAL_DIFF": "false",
        "GIT_TRACE": "1",
        "GIT_PAGER": "false",
    }
    assert open_repository(clone.folder, environ).root == clone.folder


def test_a_git_that_hangs_is_ended(clone, tmp_path, monkeypatch):
    fake = tmp_path / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\nexec sleep 30\n")
    fake.chmod(0o755)
    monkeypatch.setattr("loreline.git.program._SECONDS", 0.2)
    with pytest.raises(GitFailed, match="took longer"):
        Git(clone.folder, {"PATH": f"{fake.parent}:/usr/bin:/bin"}).ask("status")
    assert subprocess.run(["pgrep", "-f", str(fake)], check=False, capture_output=True).stdout == b""
