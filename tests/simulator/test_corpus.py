import json

import pytest
import zstandard
from tests.simulator import building

from loreline.errors import InvalidValue
from loreline.simulator import World, open_corpora


def test_plain_and_compressed_corpora_are_the_same(tmp_path):
    plain = building.write(tmp_path / "plain", compressed=False, issues=[building.issue(1)])
    packed = building.write(tmp_path / "packed", issues=[building.issue(1)])
    shown = []
    for folder in (plain, packed):
        with World.open(folder) as world:
            shown.append(world.place(1).single("issues", 0))
    assert shown[0] == shown[1]


def test_a_folder_of_corpora_serves_several_projects(tmp_path):
    building.write(tmp_path / "a")
    building.write(tmp_path / "b", project=[building.project(2, "team/sub/lib")])
    with World.open(tmp_path) as world:
        assert [place.path for place in world.places.values()] == ["team/app", "team/sub/lib"]
        assert set(world.groups.by_path) == {"team", "team/sub"}


def test_a_broken_line_is_named(tmp_path):
    folder = building.write(tmp_path / "c", compressed=False, issues=[building.issue(1)])
    with (folder / "issues.jsonl").open("a") as file:
        file.write('{"id": 2,\n')
    with pytest.raises(InvalidValue, match=r"issues\.jsonl line 2") as caught:
        open_corpora(folder)
    assert caught.value.hint
    assert caught.value.details["line"] == 2


@pytest.mark.parametrize("damage", ["noise", "cut"])
def test_broken_compression_is_named(tmp_path, damage):
    folder = building.write(tmp_path / "c")
    data = zstandard.compress(json.dumps(building.issue(1)).encode())
    broken = b"not zstd at all" if damage == "noise" else data[:-8]
    (folder / "issues.jsonl.zst").write_bytes(broken)
    with pytest.raises(InvalidValue, match=r"issues\.jsonl\.zst"):
        open_corpora(folder)


def test_a_folder_without_a_project_is_named(tmp_path):
    with pytest.raises(InvalidValue, match="holds no corpus"):
        open_corpora(tmp_path)
    with pytest.raises(InvalidValue, match="no folder"):
        open_corpora(tmp_path / "absent")


def test_two_projects_with_one_id_are_refused(tmp_path):
    building.write(tmp_path / "a")
    building.write(tmp_path / "b")
    with pytest.raises(InvalidValue, match="Two projects claim id 1"):
        World.open(tmp_path)
