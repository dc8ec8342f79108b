"""The simulator as a process of its own."""

import subprocess
import sys

import httpx2
import pytest
from tests.simulator import building


def start(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "loreline", "simulator", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_it_serves_and_says_where(tmp_path):
    folder = building.small(tmp_path / "corpus")
    with start("--corpus", str(folder), "--token", "other", "--control", "--rate-limit", "100") as process:
        try:
            url = process.stdout.readline().strip()
            answer = httpx2.get(
                f"{url}/api/v4/projects/team%2Fapp", headers={"PRIVATE-TOKEN": "other"}, trust_env=False
            )
            assert answer.json()["id"] == 1
            assert answer.headers["ratelimit-limit"] == "100"
            assert httpx2.get(f"{url}/_simulator/log", trust_env=False).json()["total"] == 1
        finally:
            process.terminate()


@pytest.mark.parametrize("wrong", [["--corpus", "absent"], ["--host", "0.0.0.0"]])
def test_it_refuses_in_one_line_with_a_hint(tmp_path, wrong):
    folder = building.small(tmp_path / "corpus")
    with start("--corpus", str(folder), *wrong) as process:
        output, complaint = process.communicate(timeout=30)
    assert process.returncode == 13
    assert output == ""
    assert complaint.startswith("error: ")
    assert "hint: " in complaint
