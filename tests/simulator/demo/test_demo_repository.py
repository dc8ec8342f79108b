import ast
import re

from loreline.simulator.demo.corpus import build_demo


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_two_builds_are_equal(demo, git, tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_AUTHOR_DATE", "2001-01-01T00:00:00Z")
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    again = build_demo(tmp_path / "again")
    assert contents(again.corpus) == contents(demo.corpus)
    assert contents(again.repository / "harbor") == contents(demo.repository / "harbor")
    refs = (again.repository / ".git").glob("refs/**/*")
    named = {str(ref.relative_to(again.repository / ".git")): ref.read_text().strip() for ref in refs if ref.is_file()}
    assert named
    for name, sha in named.items():
        assert git("rev-parse", name).strip() == sha


def test_main_is_checked_out_and_clean(git):
    assert git("symbolic-ref", "HEAD").strip() == "refs/heads/main"
    assert git("status", "--porcelain") == ""
    assert git("fsck", "--strict", "--no-dangling") == ""


def test_the_history_has_the_shapes_it_should_teach(git):
    assert 45 <= int(git("rev-list", "--count", "main")) <= 90
    assert len(git("rev-list", "--merges", "main").split()) >= 20
    assert git("tag", "--list").split() == ["v1.0.0", "v1.0.1"]
    assert "(cherry picked from commit" in git("log", "-1", "--format=%B", "v1.0.1^2")


def test_every_python_file_at_every_commit_parses(git):
    seen = set()
    for commit in git("rev-list", "--all").split():
        for line in git("ls-tree", "-r", commit).splitlines():
            _, _, blob, path = line.split(maxsplit=3)
            if path.endswith(".py") and blob not in seen:
                seen.add(blob)
                ast.parse(git("cat-file", "blob", blob))
    assert len(seen) > 30


def test_the_identity_module_can_be_followed_through_its_names(git):
    names = git("log", "--follow", "--name-status", "--format=", "--", "harbor/identity/tokens.py")
    renames = re.findall(r"^R\d+\t(\S+)\t(\S+)$", names, re.MULTILINE)
    assert renames == [
        ("harbor/identity/session.py", "harbor/identity/tokens.py"),
        ("harbor/auth.py", "harbor/identity/session.py"),
    ]


def test_blame_looks_through_the_formatting_commit(git, demo):
    ignored = (demo.repository / ".git-blame-ignore-revs").read_text().split()[-1]
    assert git("log", "-1", "--format=%s", ignored).strip() == "Format the code base"
    plain = git("blame", "--porcelain", "harbor/settings.py")
    looked_through = git("blame", "--porcelain", "--ignore-revs-file", ".git-blame-ignore-revs", "harbor/settings.py")
    assert ignored in plain
    assert ignored not in looked_through


def test_the_formatting_commit_changes_nothing_but_quotes(git, demo):
    ignored = (demo.repository / ".git-blame-ignore-revs").read_text().split()[-1]
    for path in git("diff", "--name-only", f"{ignored}^", ignored).split():
        before, after = git("show", f"{ignored}^:{path}"), git("show", f"{ignored}:{path}")
        assert ast.dump(ast.parse(before)) == ast.dump(ast.parse(after))


def test_the_cache_came_and_went(git):
    assert "harbor/cache.py" not in git("ls-tree", "-r", "--name-only", "main")
    touched = git("log", "--diff-filter=AD", "--format=%s", "main", "--", "harbor/cache.py").splitlines()
    assert touched == [
        'Revert "Add a read-through cache for tracking lookups"',
        "Add a read-through cache for tracking lookups",
    ]
    reverted = re.search(
        r"This reverts commit ([0-9a-f]{40})",
        git("log", "-1", "--format=%B", "--no-merges", "v1.0.0..main", '--grep=^Revert "Add'),
    )
    assert reverted is not None
    assert git("log", "-1", "--format=%s", reverted[1]).startswith("Merge branch 'lookup-cache'")
