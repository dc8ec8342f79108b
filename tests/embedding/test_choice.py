"""Which embedder the settings name, and which one made the vectors of a space."""

import importlib.util

import pytest
from tests.embedding.servers import nobody_there

from loreline.embedding import choice
from loreline.errors import ConfigInvalid, EmbedderUnavailable, EmbeddingFailed, LoreError, ModelNotFound
from loreline.settings import PROVIDERS, Embedding

BUNDLED_SPACE = "bundled:all-MiniLM-L6-v2:384:passages-1"
NOMIC_SPACE = "ollama:nomic-embed-text+search_query: |search_document: :32:passages-1"


@pytest.fixture
def of_space():
    """The embedder of a space by its name, closed at the end."""
    made = []

    def found(name, environ=None, **settings):
        made.append(choice.of_space(name, Embedding(**settings), environ or {}))
        return made[-1]

    yield found
    for embedder in made:
        embedder.close()


def test_none_is_no_embedder():
    assert choice.connect(Embedding(provider="none"), {}) is None


def test_the_default_is_the_bundled_model(connect):
    assert connect().name == "bundled:all-MiniLM-L6-v2"


def test_an_unknown_provider_is_told_with_those_there_are():
    with pytest.raises(ConfigInvalid, match="'word2vec'") as caught:
        choice.connect(Embedding(provider="word2vec"), {})
    assert all(name in caught.value.hint for name in PROVIDERS)


def test_openai_without_an_address_is_an_error_of_the_configuration():
    with pytest.raises(ConfigInvalid, match=r"embedding\.url is missing") as caught:
        choice.connect(Embedding(provider="openai"), {})
    assert "http://" in caught.value.hint


def test_onnx_without_a_folder_is_an_error_of_the_configuration():
    with pytest.raises(ConfigInvalid, match=r"embedding\.model is missing"):
        choice.connect(Embedding(provider="onnx"), {})


def test_a_key_that_nobody_needs_is_not_looked_for(connect):
    assert connect(api_key_env="NOT_SET").dimensions == 384


def test_fastembed_that_is_not_installed_is_told_with_how_to_install_it():
    if importlib.util.find_spec("fastembed") is not None:
        pytest.skip("fastembed is installed here: that it is missing can't be shown")
    with pytest.raises(ConfigInvalid, match="needs the extra") as caught:
        choice.connect(Embedding(provider="fastembed"), {})
    assert caught.value.hint == "pip install 'loreline[fastembed]'"


def test_fastembed_never_fetches_a_model():
    if importlib.util.find_spec("fastembed") is None:
        pytest.skip("fastembed is not installed here")
    with pytest.raises(EmbedderUnavailable, match="no model nobody/nothing"):
        choice.connect(Embedding(provider="fastembed", model="nobody/nothing"), {})


# ── names ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({}, "bundled:all-MiniLM-L6-v2"),
        ({"provider": "ollama"}, "ollama:nomic-embed-text+search_query: |search_document: "),
        ({"provider": "ollama", "model": "bge-m3"}, "ollama:bge-m3"),
        ({"provider": "ollama", "model": "bge-m3", "query_prefix": "q "}, "ollama:bge-m3+q |"),
        ({"provider": "openai", "url": "http://127.0.0.1:1/v1"}, "openai:default"),
        ({"provider": "openai", "url": "http://127.0.0.1:1/v1", "model": "e5"}, "openai:e5"),
        ({"provider": "openai", "url": "http://127.0.0.1:1", "model": "e5", "document_prefix": "p "}, "openai:e5+|p "),
    ],
)
def test_the_name_is_known_without_asking_anybody_and_is_the_one_the_embedder_has(connect, settings, name):
    assert choice.name_of(Embedding(**settings)) == name
    assert connect(**settings).name == name


@pytest.mark.parametrize("settings", [{"provider": "none"}, {"provider": "onnx", "model": "folder"}])
def test_a_name_that_only_the_model_can_tell_is_none(settings):
    assert choice.name_of(Embedding(**settings)) is None


# ── the embedder of a space ─────────────────────────────────────────────────────────────────────────────


def test_the_space_of_the_configured_model_is_asked_with_that(server, of_space):
    embedder = of_space(NOMIC_SPACE, provider="ollama", url=server.url)
    embedder.query("one")
    assert embedder.name == "ollama:nomic-embed-text+search_query: |search_document: "
    assert "search_query: one" in server.texts


def test_while_another_model_of_the_server_is_on_its_way_the_one_before_answers(server, of_space):
    server.behaviour.models["bge-m3:latest"] = 24
    embedder = of_space(NOMIC_SPACE, provider="ollama", url=server.url, model="bge-m3", dimensions=24)
    assert len(embedder.query("one")) == 32
    assert "search_query: one" in [text for asked in server.of_model("nomic-embed-text") for text in asked.texts]
    assert server.of_model("bge-m3") == []


def test_the_one_before_is_found_when_it_had_a_tag(server, of_space):
    server.behaviour.models = {"qwen3-embedding:8b": 16, "bge-m3:latest": 24}
    embedder = of_space("ollama:qwen3-embedding:8b:16:passages-1", provider="ollama", url=server.url, model="bge-m3")
    assert embedder.name == "ollama:qwen3-embedding:8b"
    assert len(embedder.query("one")) == 16


def test_a_model_is_not_mistaken_for_another_tag_of_it(server, of_space):
    """Vectors of two models never mix: the name of one begins with the name of the other."""
    server.behaviour.models = {"qwen3-embedding:0.6b": 16, "qwen3-embedding:latest": 24}
    space = "ollama:qwen3-embedding:0.6b:16:passages-1"
    embedder = of_space(space, provider="ollama", url=server.url, model="qwen3-embedding")
    assert embedder.name == "ollama:qwen3-embedding:0.6b"


@pytest.mark.parametrize("model", ["bge-m3", "e5"])
def test_the_one_before_keeps_the_prefixes_its_vectors_were_made_with(server, of_space, model):
    embedder = of_space(
        "openai:e5+query: |passage: :32:passages-1",
        provider="openai",
        url=f"{server.url}/v1",
        model=model,
        query_prefix="ask: ",
        document_prefix="text: ",
    )
    embedder.query("one")
    assert "query: one" in server.texts


def test_the_bundled_model_answers_for_its_space_while_a_server_is_configured(server, of_space):
    embedder = of_space(BUNDLED_SPACE, provider="ollama", url=server.url)
    assert embedder.name == "bundled:all-MiniLM-L6-v2"
    assert server.asked == []


@pytest.mark.parametrize("space", [BUNDLED_SPACE, NOMIC_SPACE])
def test_where_embeddings_are_switched_off_search_goes_by_words_alone(space):
    with pytest.raises(EmbedderUnavailable, match="switched off"):
        choice.of_space(space, Embedding(provider="none"), {})


@pytest.mark.parametrize(
    ("space", "settings"),
    [
        (NOMIC_SPACE, {}),
        (NOMIC_SPACE, {"provider": "openai", "url": "http://127.0.0.1:1/v1"}),
        ("onnx:mine-0123456789ab:384:passages-1", {}),
    ],
)
def test_a_space_that_the_configuration_no_longer_reaches_is_told_with_what_makes_a_new_one(space, settings):
    with pytest.raises(EmbedderUnavailable, match="no longer reaches") as caught:
        choice.of_space(space, Embedding(**settings), {})
    assert "lore embed" in caught.value.hint


# ── the check ───────────────────────────────────────────────────────────────────────────────────────────


def check(environ=None, **settings):
    return choice.check(Embedding(**settings), environ or {})


def test_a_check_names_model_and_dimensions_or_place(server):
    assert check() == "bundled:all-MiniLM-L6-v2, 384 dimensions"
    assert check(provider="none").startswith("switched off")
    assert check(provider="ollama", url=server.url) == f"nomic-embed-text at {server.url}"
    assert check(provider="openai", url=f"{server.url}/v1") == "openai:default, 32 dimensions"


def test_a_check_of_ollama_embeds_nothing_and_sends_the_key(server):
    server.behaviour.key = "sk-1"
    check({"K": "sk-1"}, provider="ollama", url=server.url, api_key_env="K")
    assert [(asked.path, asked.headers["authorization"]) for asked in server.asked] == [("/api/tags", "Bearer sk-1")]


@pytest.mark.parametrize(
    ("has", "wanted", "found"),
    [
        ("bge-m3:latest", "bge-m3", True),
        ("bge-m3:latest", "bge-m3:latest", True),
        ("bge-m3:567m", "bge-m3:567m", True),
        ("bge-m3:567m", "bge-m3", False),
        ("bge-m3:latest", "bge-m3:567m", False),
        ("bge-m3-large:latest", "bge-m3", False),
    ],
)
def test_a_check_of_ollama_finds_the_models_that_it_would_embed_with(server, ollama, has, wanted, found):
    server.behaviour.models = {has: 32}
    settings = {"provider": "ollama", "url": server.url, "model": wanted}
    if found:
        assert check(**settings) == f"{wanted} at {server.url}"
        assert ollama(model=wanted).dimensions == 32
        return
    with pytest.raises(ModelNotFound):
        _ = ollama(model=wanted).dimensions
    with pytest.raises(ModelNotFound) as caught:
        check(**settings)
    assert caught.value.hint == f"ollama pull {wanted}"


@pytest.mark.parametrize("body", [b'{"models": []}', b'{"models": null}', b"{}", b"[]", b'{"models": [null]}'])
def test_a_check_of_an_ollama_without_any_model_says_which_one_to_fetch(server, body):
    server.behaviour.body = body
    with pytest.raises(ModelNotFound) as caught:
        check(provider="ollama", url=server.url)
    assert caught.value.hint == "ollama pull nomic-embed-text"


@pytest.mark.parametrize("provider", ["ollama", "openai"])
def test_a_check_tells_that_nobody_is_there(provider):
    with nobody_there() as url, pytest.raises(EmbedderUnavailable, match="can't be reached"):
        check(provider=provider, url=url)


@pytest.mark.parametrize("provider", ["ollama", "openai"])
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ({"status": 500}, EmbedderUnavailable),
        ({"key": "other"}, EmbedderUnavailable),
        ({"body": b"<"}, EmbeddingFailed),
    ],
)
def test_a_check_raises_what_an_embedding_would(server, provider, fault, kind):
    for name, value in fault.items():
        setattr(server.behaviour, name, value)
    with pytest.raises(kind) as caught:
        check(provider=provider, url=server.url)
    assert isinstance(caught.value, LoreError)
    assert caught.value.hint
