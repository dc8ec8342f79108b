import json
import os
import subprocess
from pathlib import Path

import pytest


class Corpus:
    """One project's files, read once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __getitem__(self, name: str) -> list:
        return [json.loads(line) for line in (self.folder / f"{name}.jsonl").read_text().splitlines()]

    def per_entity(self, name: str) -> dict[tuple[str, int], list]:
        return {(line["kind"], line["iid"]): line["items"] for line in self[name]}

    def entities(self):
        for kind in ("issues", "merge_requests"):
            for entity in self[kind]:
                yield (kind, entity["iid"]), entity

    def notes(self):
        for key, discussions in self.per_entity("discussions").items():
            for discussion in discussions:
                for note in discussion["notes"]:
                    yield key, note


@pytest.fixture(scope="session")
def harbor(demo) -> Corpus:
    return Corpus(demo.projects["northwind/harbor"])


@pytest.fixture(scope="session")
def handbook(demo) -> Corpus:
    return Corpus(demo.projects["northwind/harbor-docs"])


@pytest.fixture(params=["harbor", "handbook"])
def project(request) -> Corpus:
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session")
def git(demo):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}

    def run(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(demo.repository), *arguments], check=True, capture_output=True, env=environment
        ).stdout.decode()

    return run
