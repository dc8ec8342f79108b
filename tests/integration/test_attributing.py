"""From the commits of the demo's repository to the merge requests they came by, against what its stories say."""

import os
import subprocess

import pytest

from loreline.core.attribution import Shown
from loreline.git.repository import commit_of, open_repository
from loreline.services.history.attributing import attribute
from loreline.store.connection import open_database


@pytest.fixture(scope="module")
def clone(demo):
    return open_repository(demo.repository, os.environ)


@pytest.fixture
def db(mirrored, tmp_path):
    """A copy, of which a test may take away what GitLab says."""
    copy = tmp_path / "mirror.db"
    copy.write_bytes((mirrored.folder / "mirror.db").read_bytes())
    db = open_database(copy)
    yield db
    db.close()


def all_commits(clone):
    return clone.git.tell("rev-list", "main").decode().split()


def told(db, clone, sha, *, with_clone=True):
    found = attribute(db, clone if with_clone else None, sha, commit_of(clone, "main"), None)
    if found is None:
        return None
    ((iid,),) = db.execute("SELECT iid FROM merge_requests WHERE id = ?", (found.merge_request_id,)).fetchall()
    return iid, found.shown


def truth(db):
    """sha → iid, of everything merged, by what GitLab says."""
    rows = db.execute(
        "SELECT c.sha, m.iid FROM mr_commits c JOIN merge_requests m ON m.id = c.merge_request_id"
        " WHERE m.merged_at IS NOT NULL ORDER BY m.merged_at DESC"
    ).fetchall()
    return dict(rows)


def test_what_gitlab_says_is_taken_and_the_surest_first(db, clone):
    wanted = truth(db)
    squashes = dict(db.execute("SELECT squash_commit_sha, iid FROM merge_requests WHERE squash_commit_sha NOT NULL"))
    merges = dict(db.execute("SELECT merge_commit_sha, iid FROM merge_requests WHERE merge_commit_sha NOT NULL"))
    assert squashes
    assert merges
    for sha in all_commits(clone):
        found = told(db, clone, sha, with_clone=False)
        if sha in squashes:
            assert found == (squashes[sha], Shown.SQUASH)
        elif sha in merges:
            assert found == (merges[sha], Shown.MERGE)
        elif sha in wanted:
            assert found == (wanted[sha], Shown.OWN)
        else:
            assert found is None


def test_without_the_lists_of_commits_the_merges_in_the_clone_show_the_same(db, clone):
    wanted = truth(db)
    db.execute("DELETE FROM mr_commits")
    shown = {}
    for sha in all_commits(clone):
        if sha in wanted:
            found = told(db, clone, sha)
            assert found is None or found[0] == wanted[sha]
            shown[sha] = found
    assert Shown.CONTAINED in {found[1] for found in shown.values() if found}


def test_without_any_sha_the_messages_name_them(db, clone):
    merges = dict(db.execute("SELECT merge_commit_sha, iid FROM merge_requests WHERE merge_commit_sha NOT NULL"))
    db.execute("DELETE FROM mr_commits")
    db.execute("UPDATE merge_requests SET merge_commit_sha = NULL, squash_commit_sha = NULL")
    found = {sha: told(db, clone, sha) for sha in all_commits(clone) if sha in merges}
    assert {one[1] for one in found.values() if one} == {Shown.NAMED}
    assert all(one is None or one[0] == merges[sha] for sha, one in found.items())


def test_a_pick_goes_back_to_what_it_was_picked_from(db, demo, tmp_path):
    sha = next(iter(truth(db)))
    folder = tmp_path / "clone"
    names = {f"GIT_{who}_{what}": "ada" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **names}

    def git(*arguments):
        subprocess.run(["git", *arguments], env=environment, check=True, capture_output=True)

    git("clone", "-q", str(demo.repository), str(folder))
    message = f"Carry it over\n\n(cherry picked from commit {sha})"
    git("-C", str(folder), "commit", "-q", "--allow-empty", "-m", message)
    clone = open_repository(folder, os.environ)
    found = attribute(db, clone, commit_of(clone, "HEAD"), commit_of(clone, "HEAD"), None)
    assert (found.shown, found.by) == (Shown.PICKED, sha)


def test_what_nothing_shows_is_nobodys(db, clone):
    assert told(db, clone, "f" * 40) is None
