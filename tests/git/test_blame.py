"""Blame on real repositories: where a line comes from, through whatever was done to it."""

import pytest

from loreline.errors import NotFound
from loreline.git.blame import blame, ignored_commits

BODY = "".join(f"def function_number_{number}():\n    return {number} * {number}\n\n" for number in range(8))


def test_each_line_comes_from_the_commit_that_wrote_it(clone):
    first = clone.commit("Write three", a_py="one\ntwo\nthree\n")
    second = clone.commit("Change the second", a_py="one\nTWO\nthree\n")
    lines = blame(clone.repository, second, "a.py", 1, 3)
    assert [(line.number, line.text, line.sha) for line in lines] == [
        (1, "one", first), (2, "TWO", second), (3, "three", first)
    ]  # fmt: skip
    assert (lines[1].summary, lines[1].author, lines[1].author_email) == ("Change the second", "ada", "ada")
    assert lines[1].previous == (first, "a.py")
    assert lines[0].previous is None


def test_it_goes_through_renames_and_tells_the_name_there(clone):
    first = clone.commit("Write", a_py=BODY)
    clone("mv", "a.py", "b.py")
    head = clone.commit("Rename")
    (line,) = blame(clone.repository, head, "b.py", 4, 4)
    assert (line.sha, line.original_path, line.original_number) == (first, "a.py", 4)


def test_it_goes_through_moves_within_a_file_and_copies_from_another(clone):
    first = clone.commit("Write", a_py=BODY, b_py="other\n")
    lines = BODY.splitlines(keepends=True)
    clone.commit("Move", a_py="".join([*lines[12:], *lines[:12]]))
    head = clone.commit("Take over", a_py="".join(lines[12:]), b_py="other\n" + "".join(lines[:12]))
    assert {line.sha for line in blame(clone.repository, head, "a.py", 1, 10)} == {first}
    assert {line.sha for line in blame(clone.repository, head, "b.py", 3, 10)} == {first}


def test_it_passes_by_changes_of_whitespace(clone):
    first = clone.commit("Write", a_py="if x:\n  return 1\n")
    head = clone.commit("Indent", a_py="if x:\n        return 1\n")
    assert [line.sha for line in blame(clone.repository, head, "a.py", 1, 2)] == [first, first]


def test_it_passes_by_the_commits_the_repository_lists(clone):
    first = clone.commit("Write", a_py="x = {'a':1}\n")
    ugly = clone.commit("Format", a_py='x = {"a": 1}\n')
    listed = f"# formatting\n{ugly}\n\nnot a commit\n{'f' * 40}\n{ugly.upper()}  # again\n"
    clone.write(".git-blame-ignore-revs", listed)
    head = clone.commit("List it")
    ignored = ignored_commits(clone.repository, head)
    assert ignored == [ugly]
    assert blame(clone.repository, head, "a.py", 1, 1, ignored)[0].sha == first
    assert blame(clone.repository, head, "a.py", 1, 1)[0].sha == ugly
    assert ignored_commits(clone.repository, first) == []


@pytest.mark.parametrize("path", ["a b.py", "ü.py", 'q"uote.py', "tab\there.py", "-dash.py", ":(glob)x.py", "*.py"])
def test_any_path_is_a_path(clone, path):
    clone.write(path, "one\n")
    head = clone.commit("Odd")
    clone.write("b/" + path, "two\n")
    (clone.folder / path).rename(clone.folder / "moved.py")
    moved = clone.commit("Move it")
    assert blame(clone.repository, head, path, 1, 1)[0].original_path == path
    assert blame(clone.repository, moved, "moved.py", 1, 1)[0].original_path == path


def test_bytes_that_are_no_text_and_lines_without_an_end(clone):
    head = clone.commit("Latin", a_py=b"caf\xe9\r\nlast")
    lines = blame(clone.repository, head, "a.py", 1, 2)
    assert [line.text for line in lines] == ["caf\ufffd\r", "last"]


@pytest.mark.parametrize(
    ("path", "first", "told"),
    [("no.py", 1, "no.py is not in"), ("a.py", 9, "has 2 lines"), ("folder", 1, "folder")],
)
def test_what_is_not_there_is_told(clone, path, first, told):
    clone.write("folder/x.py", "x\n")
    head = clone.commit("Write", a_py="one\ntwo\n")
    with pytest.raises(NotFound, match=told):
        blame(clone.repository, head, path, first, first)
