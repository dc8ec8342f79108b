"""The bundled model, a small project's mirror."""

import pytest
from tests.search.harness import Mirror

from loreline.embedding import onnx


@pytest.fixture(scope="session")
def model():
    """The bundled model, loaded once."""
    return onnx.bundled(1)


@pytest.fixture
def mirror(tmp_path, served, world, model):
    return Mirror(tmp_path, served, world, model)
