import pytest
from tests.embedding.servers import ModelServer

from loreline.embedding import choice
from loreline.settings import Embedding


@pytest.fixture
def server():
    with ModelServer() as server:
        yield server


@pytest.fixture
def connect():
    """Embedders by their settings, closed at the end."""
    made = []

    def connected(environ=None, **settings):
        made.append(choice.connect(Embedding(**settings), environ or {}))
        return made[-1]

    yield connected
    for embedder in made:
        embedder.close()


@pytest.fixture
def ollama(server, connect):
    return lambda environ=None, **settings: connect(environ, provider="ollama", **({"url": server.url} | settings))


@pytest.fixture
def openai(server, connect):
    return lambda environ=None, **settings: connect(
        environ, provider="openai", **({"url": f"{server.url}/v1"} | settings)
    )


@pytest.fixture(params=["ollama", "openai"])
def remote(request):
    """Either of those that ask a server."""
    return request.getfixturevalue(request.param)
