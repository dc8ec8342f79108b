"""Embedders behind a server: what they ask, what they make of the answers, and which failure is told how."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.embedding.servers import cosine, nobody_there, vector_of

from loreline.errors import ConfigInvalid, EmbedderUnavailable, EmbeddingFailed, ModelNotFound

KEY = "sk-Zq81hT5vLmX0pRs7"
WITH_KEY = {"KEY_OF_MODELS": KEY}
LENGTH = 32


def is_vector(found):
    return isinstance(found, np.ndarray) and abs(float(np.linalg.norm(found)) - 1) < 1e-5


def vectors_of(embedder, *texts):
    """Which of the texts have got a vector."""
    return [is_vector(found) for found in embedder.documents(texts)]


# ── what is asked and what comes ────────────────────────────────────────────────────────────────────────


def test_vectors_have_unit_length_and_come_in_the_order_of_the_texts(remote):
    texts = [f"the text about subject{number}" for number in range(20)]
    found = remote(document_prefix="", query_prefix="").documents(texts)
    assert all(is_vector(vector) for vector in found)
    for text, vector in zip(texts, found, strict=True):
        assert any(cosine(vector, vector_of(text, LENGTH, model)) > 0.9999 for model in ("nomic-embed-text", "default"))


def test_an_answer_out_of_order_is_put_right_by_its_index(server, openai):
    server.behaviour.backwards = True
    texts = ["apples", "pears", "plums"]
    for text, vector in zip(texts, openai().documents(texts), strict=True):
        assert cosine(vector, vector_of(text, LENGTH, "default")) > 0.9999


def test_several_texts_go_in_one_request(server, remote):
    remote(dimensions=LENGTH).documents(["one", "two", "three"])
    assert [len(asked.texts) for asked in server.asked] == [3]


def test_no_texts_give_no_vectors(remote):
    assert remote().documents([]) == []


def test_a_query_is_one_vector_near_the_texts_with_its_words(remote):
    embedder = remote(document_prefix="", query_prefix="")
    near, far = embedder.documents(["the cache was cold", "mountains"])
    question = embedder.query("cold cache")
    assert is_vector(question)
    assert cosine(question, near) > cosine(question, far) + 0.3


def test_the_dimensions_are_those_of_the_model_and_asked_for_once(server, remote):
    embedder = remote()
    assert [embedder.dimensions, embedder.dimensions] == [LENGTH, LENGTH]
    assert len(server.asked) == 1


def test_dimensions_from_the_settings_need_no_question(server, remote):
    assert remote(dimensions=LENGTH).dimensions == LENGTH
    assert server.asked == []


def test_openai_is_asked_for_the_dimensions_of_the_settings_and_for_numbers(server, openai):
    openai(dimensions=LENGTH, model="small").documents(["one"])
    openai(model="small").query("two")
    first, second = server.asked[:2]
    assert first.body == {"model": "small", "input": ["one"], "encoding_format": "float", "dimensions": LENGTH}
    assert second.body == {"model": "small", "input": ["two"], "encoding_format": "float"}
    assert first.path == "/v1/embeddings"


def test_ollama_is_asked_at_api_embed_for_its_default_model(server, ollama):
    ollama(dimensions=LENGTH).documents(["one"])
    (asked,) = server.asked
    assert asked.path == "/api/embed"
    assert asked.body == {"model": "nomic-embed-text", "input": ["search_document: one"]}


@pytest.mark.parametrize("model", [None, "nomic-embed-text", "nomic-embed-text:latest"])
def test_nomic_gets_the_prefixes_it_was_trained_with(server, ollama, model):
    embedder = ollama(model=model, dimensions=LENGTH)
    embedder.documents(["one"])
    embedder.query("two")
    assert server.texts == ["search_document: one", "search_query: two"]
    assert embedder.name.endswith("+search_query: |search_document: ")


def test_another_model_gets_no_prefixes_of_its_own(server, ollama):
    server.behaviour.models = {"all-minilm:latest": LENGTH}
    embedder = ollama(model="all-minilm")
    embedder.documents(["one"])
    embedder.query("two")
    assert embedder.name == "ollama:all-minilm"
    assert {"one", "two"} <= set(server.texts)


def test_prefixes_can_be_given_and_are_a_part_of_the_name(server, remote):
    embedder = remote(dimensions=LENGTH, query_prefix="Q: ", document_prefix="D: ")
    embedder.documents(["one"])
    embedder.query("two")
    assert server.texts == ["D: one", "Q: two"]
    assert embedder.name.endswith("+Q: |D: ")


def test_empty_prefixes_switch_those_of_the_model_off(server, ollama):
    embedder = ollama(dimensions=LENGTH, query_prefix="", document_prefix="")
    embedder.documents(["one"])
    embedder.query("two")
    assert server.texts == ["one", "two"]
    assert embedder.name == "ollama:nomic-embed-text"


@pytest.mark.parametrize("text", ["", "\0", "naïve 日本語 🦜", 'quo"te\\back\nline', "x" * 200_000])
def test_any_text_reaches_the_server_as_it_is(server, openai, text):
    assert vectors_of(openai(dimensions=LENGTH), text) == [True]
    assert server.texts == [text]


def test_a_lone_surrogate_costs_neither_a_search_nor_the_texts_beside_it(remote):
    embedder = remote(dimensions=LENGTH)
    assert is_vector(embedder.query("half \ud83e a bird"))
    found = embedder.documents(["good", "half \ud83e a bird"])
    assert is_vector(found[0])


def test_many_threads_share_an_embedder_and_open_no_more_connections_than_they_may(server, remote):
    server.behaviour.seconds = 0.03
    embedder = remote(dimensions=LENGTH, concurrency=2, document_prefix="")
    texts = [f"word{number}" for number in range(16)]
    with ThreadPoolExecutor(8) as pool:
        found = [found for (found,) in pool.map(lambda text: embedder.documents([text]), texts)]
    assert 2 <= server.most_at_once <= 3
    for text, vector in zip(texts, found, strict=True):
        assert max(cosine(vector, vector_of(text, LENGTH, model)) for model in ("nomic-embed-text", "default")) > 0.99


def test_a_slash_at_the_end_of_the_address_changes_nothing(server, ollama):
    assert ollama(url=f"{server.url}/").dimensions == LENGTH
    assert [asked.path for asked in server.asked] == ["/api/embed"]


def test_a_server_that_closed_the_connection_between_two_questions_is_asked_anew(server, remote):
    server.behaviour.hang_up = True
    embedder = remote(dimensions=LENGTH)
    embedder.query("one")
    time.sleep(0.1)
    assert is_vector(embedder.query("two"))


# ── bad items do not cost the good ones ─────────────────────────────────────────────────────────────────


def test_a_text_that_the_server_refuses_fails_alone(server, remote):
    server.behaviour.refused = "forbidden"
    found = remote(dimensions=LENGTH).documents(["good", "forbidden fruit", "fine"])
    assert [is_vector(one) for one in found] == [True, False, True]
    assert isinstance(found[1], EmbeddingFailed)
    assert "the input length exceeds the context length" in found[1].message


@pytest.mark.parametrize("place", [0, 3, 7])
def test_a_text_on_which_the_server_fails_with_500_fails_alone(server, remote, place):
    """llama.cpp does this when a text is too long, and Ollama when a model gives NaN."""
    server.behaviour.longest = 60
    texts = ["x" * 100 if number == place else f"text {number}" for number in range(8)]
    assert vectors_of(remote(dimensions=LENGTH), *texts) == [number != place for number in range(8)]


def test_several_texts_at_the_head_of_a_batch_on_which_the_server_fails_do_not_cost_the_rest(server, openai):
    server.behaviour.longest = 60
    texts = ["x" * 100] * 5 + ["short"] * 3
    assert vectors_of(openai(dimensions=LENGTH), *texts) == [False] * 5 + [True] * 3


@pytest.mark.parametrize("count", [1, 2, 6])
def test_a_batch_of_nothing_but_texts_on_which_the_server_fails_is_the_fault_of_the_texts(server, openai, count):
    """Batches go by length: those too long are together, and would be asked for first in every run."""
    server.behaviour.longest = 60
    assert vectors_of(openai(dimensions=LENGTH), *["x" * 100] * count) == [False] * count


@pytest.mark.parametrize(
    "poison",
    [
        "[1.0, 2.0]",
        "[]",
        "null",
        "{}",
        '"AAAA"',
        "[[1.0], [2.0, 3.0]]",
        "[NaN" + ", 1.0" * (LENGTH - 1) + "]",
        "[null" + ", 1.0" * (LENGTH - 1) + "]",
        "[Infinity" + ", 1.0" * (LENGTH - 1) + "]",
        "[1e400" + ", 1.0" * (LENGTH - 1) + "]",
        "[0.0" + ", 0.0" * (LENGTH - 1) + "]",
        "[1e300" + ", 1.0" * (LENGTH - 1) + "]",
        "[" + "9" * 400 + ", 1.0" * (LENGTH - 1) + "]",
    ],
    ids=lambda poison: poison[:12],
)
def test_a_vector_that_is_none_fails_alone_and_says_so(server, remote, poison):
    server.behaviour.poison = poison
    found = remote(dimensions=LENGTH).documents(["good", "the poison", "fine"])
    assert [is_vector(one) for one in found] == [True, False, True]
    assert isinstance(found[1], EmbeddingFailed)


def test_wrong_dimensions_are_told_with_both_numbers(remote):
    (found,) = remote(dimensions=7).documents(["one"])
    assert isinstance(found, EmbeddingFailed)
    assert "32" in found.message
    assert "7" in found.message


def test_a_server_that_leaves_vectors_out_of_a_batch_is_asked_for_each_text(server, remote):
    server.behaviour.fewer = 1
    texts = ["apples", "pears", "plums"]
    found = remote(document_prefix="").documents(texts)
    for text, vector in zip(texts, found, strict=True):
        assert max(cosine(vector, vector_of(text, LENGTH, model)) for model in ("nomic-embed-text", "default")) > 0.99


def test_too_many_vectors_are_no_answer(server, remote):
    server.behaviour.extra = 1
    found = remote(dimensions=LENGTH).documents(["one", "two"])
    assert all(isinstance(one, EmbeddingFailed) for one in found)


def test_numbers_that_are_none_do_not_break_the_order(server, openai):
    server.behaviour.numbers = [None, None, None]
    found = openai(dimensions=LENGTH).documents(["one", "two"])
    assert all(is_vector(one) or isinstance(one, EmbeddingFailed) for one in found)


def test_a_query_that_the_server_refuses_says_why(server, remote):
    server.behaviour.refused = "forbidden"
    with pytest.raises(EmbeddingFailed, match="context length"):
        remote(dimensions=LENGTH).query("forbidden")


@pytest.mark.parametrize(
    "body",
    [b"{}", b"[]", b"null", b'{"embeddings": null, "data": null}', b'{"embeddings": [], "data": []}', b'{"data": [1]}'],
)
def test_an_answer_without_vectors_is_a_failure_told_in_words(server, remote, body):
    server.behaviour.body = body
    with pytest.raises(EmbeddingFailed):
        _ = remote().dimensions
    (found,) = remote(dimensions=LENGTH).documents(["one"])
    assert isinstance(found, EmbeddingFailed)


def test_two_vectors_where_the_dimensions_were_asked_for_are_a_failure_told_in_words(server, remote):
    server.behaviour.extra = 1
    with pytest.raises(EmbeddingFailed):
        _ = remote().dimensions


def test_a_page_instead_of_an_answer_sends_people_to_the_address(server, remote):
    server.behaviour.body = b"<!doctype html><title>Welcome</title>"
    with pytest.raises(EmbeddingFailed, match="no JSON") as caught:
        _ = remote().dimensions
    assert caught.value.hint == "check embedding.url"


# ── servers without hope ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("count", [1, 3, 32])
@pytest.mark.parametrize("status", [500, 502, 503])
def test_a_server_that_always_fails_is_unavailable_and_soon_left_alone(server, remote, status, count):
    server.behaviour.status = status
    with pytest.raises(EmbedderUnavailable, match=f"HTTP {status} .something broke") as caught:
        remote(dimensions=LENGTH).documents([f"text {number}" for number in range(count)])
    assert caught.value.hint
    assert len(server.asked) <= 8


def test_a_server_that_fails_tells_of_its_log_and_not_of_how_to_start_it(server, remote):
    server.behaviour.status = 500
    with pytest.raises(EmbedderUnavailable) as caught:
        remote(dimensions=LENGTH).query("one")
    assert caught.value.hint == "see the server's log"


def test_where_nobody_listens_it_is_told_where_that_was(remote):
    with nobody_there() as url, pytest.raises(EmbedderUnavailable, match="can't be reached") as caught:
        remote(url=url).documents(["one"])
    assert url in caught.value.message
    assert "embedding.url" in caught.value.hint


def test_where_no_ollama_listens_the_hint_says_how_to_start_one(ollama):
    with nobody_there() as url, pytest.raises(EmbedderUnavailable) as caught:
        ollama(url=url).query("one")
    assert "ollama serve" in caught.value.hint


def test_a_server_that_is_too_slow_is_given_up_after_its_time(server, remote):
    server.behaviour.seconds = 5
    embedder = remote(dimensions=LENGTH, timeout_seconds=0.2)
    begun = time.monotonic()
    with pytest.raises(EmbedderUnavailable, match="timed out") as caught:
        embedder.documents(["one", "two"])
    assert time.monotonic() - begun < 2
    assert caught.value.hint


def test_after_a_failure_the_same_embedder_goes_on_once_the_server_is_well(server, remote):
    embedder = remote()
    server.behaviour.status = 500
    with pytest.raises(EmbedderUnavailable):
        embedder.documents(["one"])
    server.behaviour.status = None
    assert vectors_of(embedder, "one") == [True]


def test_a_missing_model_is_told_with_the_command_that_fetches_it(server, ollama):
    with pytest.raises(ModelNotFound, match="no model bge-m3") as caught:
        ollama(model="bge-m3").documents(["one"])
    assert caught.value.hint == "ollama pull bge-m3"
    assert server.url in caught.value.message


def test_an_address_that_leads_nowhere_is_told_with_the_keys_to_look_at(server, openai):
    with pytest.raises(ModelNotFound) as caught:
        openai(url=f"{server.url}/v2").documents(["one"])
    assert caught.value.hint == "check embedding.model and embedding.url"


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:99999", "http://127.0.0.1:port", "http://[::1", "http://bücher.invalid:1", "http://"]
)
def test_an_address_that_is_none_is_told_as_an_error_of_the_configuration(remote, url):
    with pytest.raises((ConfigInvalid, EmbedderUnavailable)) as caught:
        _ = remote(url=url).dimensions
    assert "embedding.url" in f"{caught.value.message} {caught.value.hint}"


# ── the key ─────────────────────────────────────────────────────────────────────────────────────────────


def test_the_key_is_sent_as_a_bearer_and_spaces_around_it_are_not(server, remote):
    server.behaviour.key = KEY
    assert vectors_of(remote({"KEY_OF_MODELS": f" {KEY}\n"}, api_key_env="KEY_OF_MODELS"), "one") == [True]
    assert {asked.headers["authorization"] for asked in server.asked} == {f"Bearer {KEY}"}


def test_without_a_key_none_is_sent(server, remote):
    remote(WITH_KEY | {"OPENAI_API_KEY": KEY}).documents(["one"])
    assert all("authorization" not in asked.headers for asked in server.asked)


@pytest.mark.parametrize("environ", [{}, {"KEY_OF_MODELS": ""}, {"KEY_OF_MODELS": " \n"}])
def test_an_empty_key_is_told_with_the_name_of_its_variable(remote, environ):
    with pytest.raises(EmbedderUnavailable, match="KEY_OF_MODELS is empty or not set"):
        remote(environ, api_key_env="KEY_OF_MODELS")


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_told_with_the_setting_to_look_at(server, remote, status):
    server.behaviour.status = status
    with pytest.raises(EmbedderUnavailable, match="refuses the key") as caught:
        remote(WITH_KEY, api_key_env="KEY_OF_MODELS").documents(["one", "two"])
    assert caught.value.hint == "check embedding.api_key_env"


def told_by(embedder):
    """All that is said when it fails on a text."""
    try:
        (found,) = embedder.documents(["one"])
    except (EmbedderUnavailable, EmbeddingFailed, ModelNotFound) as error:
        found = error
    return all_of(found)


def all_of(error):
    """What an error says, with what it came from."""
    told = []
    while error is not None:
        told += [str(error), repr(error), str(getattr(error, "hint", "")), str(getattr(error, "details", ""))]
        error = error.__cause__
    return " ".join(told)


@pytest.mark.parametrize("before", [0, 120, 190, 195])
@pytest.mark.parametrize("status", [400, 401, 404, 422, 429, 500])
def test_a_server_that_repeats_the_key_in_its_error_does_not_make_us_say_it(server, remote, status, before):
    server.behaviour.status = status
    server.behaviour.error = "." * before + "{key} is wrong"
    told = told_by(remote(WITH_KEY, api_key_env="KEY_OF_MODELS", dimensions=LENGTH))
    assert f"HTTP {status}" in told or "..." in told or "is wrong" in told or "no model" in told
    assert KEY[:5] not in told


@pytest.mark.parametrize("key", ["sk-Z\nq81h", "sk-Z\0q81h"])
def test_a_key_that_no_header_can_carry_is_not_said_either(remote, key):
    with pytest.raises((ConfigInvalid, EmbedderUnavailable)) as caught:
        remote({"KEY_OF_MODELS": key}, api_key_env="KEY_OF_MODELS", dimensions=LENGTH).query("one")
    assert key[:4] not in all_of(caught.value)


def test_a_key_in_other_letters_than_ascii_is_an_error_in_words(remote):
    with pytest.raises((ConfigInvalid, EmbedderUnavailable)) as caught:
        remote({"KEY_OF_MODELS": "schlüssel"}, api_key_env="KEY_OF_MODELS").query("one")
    assert "schlüssel" not in f"{caught.value.message} {caught.value.hint}"


def test_the_key_stands_in_no_repr(server, remote):
    embedder = remote(WITH_KEY, api_key_env="KEY_OF_MODELS")
    embedder.documents(["one"])
    assert KEY not in f"{embedder!r} {embedder} {embedder.name} {embedder._server!r} {embedder._ask!r}"


def test_a_password_in_the_address_is_in_no_message(server, ollama):
    address = server.url.replace("http://", "http://jane:hunter2@")
    server.behaviour.status = 500
    told = told_by(ollama(url=address))
    assert "HTTP 500" in told
    assert "hunter2" not in told
