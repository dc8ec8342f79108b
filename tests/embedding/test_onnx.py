"""The bundled model, and models in a folder: real ones, on this machine's processor."""

import re
import shutil
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from tests.embedding.servers import cosine

from loreline.embedding import onnx
from loreline.errors import EmbedderUnavailable, ModelNotFound

FILES = ("model_quantized.onnx", "tokenizer.json")


@pytest.fixture(scope="module")
def bundled():
    return onnx.bundled()


@pytest.fixture
def folder(tmp_path):
    """A folder with the bundled model's files."""
    made = tmp_path / "my-model"
    made.mkdir()
    for name in FILES:
        (made / name).symlink_to(onnx.BUNDLED / name)
    return made


def is_vector(found):
    return isinstance(found, np.ndarray) and found.shape == (384,) and abs(float(np.linalg.norm(found)) - 1) < 1e-5


# ── the bundled model ───────────────────────────────────────────────────────────────────────────────────


def test_the_bundled_model_makes_vectors_of_384_dimensions_and_unit_length(bundled):
    assert bundled.dimensions == 384
    assert bundled.name == "bundled:all-MiniLM-L6-v2"
    assert all(is_vector(found) for found in bundled.documents(["one", "a second text", "and a third one"]))
    assert is_vector(bundled.query("what?"))


@pytest.mark.parametrize(
    ("question", "near", "far"),
    [
        ("why is the login slow", "Signing in takes ten seconds", "The logo needs a darker blue"),
        ("memory leak", "The process grows until it is killed by the kernel", "Translate the manual into Finnish"),
        ("database migration fails", "Upgrading the schema aborts with an error", "Lunch is at noon on Friday"),
    ],
)
def test_what_means_the_same_is_nearer_than_what_does_not(bundled, question, near, far):
    vector = bundled.query(question)
    near, far = bundled.documents([near, far])
    assert cosine(vector, near) > cosine(vector, far) + 0.1


def test_questions_without_meaning_stay_below_the_least_cosine_and_real_ones_above(bundled):
    text = bundled.query("Signing in takes ten seconds since the last release")
    assert cosine(bundled.query("why is the login slow"), text) > bundled.least_cosine
    assert cosine(bundled.query("xyzzy plugh qwfpgj"), text) < bundled.least_cosine


def test_vectors_come_in_the_order_of_the_texts_whatever_their_lengths(bundled):
    words = ["parrot", "bicycle", "tax return", "volcano", "violin"]
    texts = [f"{words[number % 5]} " * (1 + number * 7 % 23) for number in range(40)]
    alone = {word: bundled.query(word) for word in words}
    for number, vector in enumerate(bundled.documents(texts)):
        nearest = max(words, key=lambda word: cosine(alone[word], vector))
        assert nearest == words[number % 5]


def test_no_texts_give_no_vectors(bundled):
    assert bundled.documents([]) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t ",
        "\0",
        "before\0after",
        "\ud800",
        "half \ud83e a bird \udfff",
        "🦜👩‍👩‍👧‍👦🏳️‍🌈",
        "日本語のテキスト",
        "\u202eright to left\u202c",
        "e" + "\u0301" * 5000,
        "x" * 100_000,
        "word " * 20_000,
        "\n" * 100_000,
    ],
    ids=lambda text: ascii(text[:8]),
)
def test_any_text_has_a_vector_and_costs_its_neighbours_nothing(bundled, text):
    before, found, after = bundled.documents(["the cache was cold", text, "a holiday in spring"])
    assert is_vector(found)
    assert is_vector(bundled.query(text))
    assert cosine(before, bundled.query("the cache was cold")) > 0.9
    assert cosine(after, bundled.query("a holiday in spring")) > 0.9


def test_of_a_long_text_the_beginning_is_read(bundled):
    text = "The parrot learned a new song. " * 3_300
    assert len(text) > 100_000
    assert cosine(bundled.query(text), bundled.query("a parrot sings")) > 0.5


def test_a_megabyte_of_text_needs_no_more_memory_than_its_beginning(bundled):
    bundled.query("warm")
    text = "word " * 2_000_000
    tracemalloc.start()
    try:
        bundled.query(text)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_many_threads_at_once_get_their_own_vectors(bundled):
    texts = [f"{word} {number}" for number in range(4) for word in ("parrot", "bicycle", "volcano", "violin")]
    alone = [bundled.query(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda number: bundled.documents(texts[number:] + texts[:number]), range(len(texts))))
    for number, found in enumerate(made):
        for vector, expected in zip(found, alone[number:] + alone[:number], strict=True):
            assert cosine(vector, expected) > 0.9


# ── models in a folder ──────────────────────────────────────────────────────────────────────────────────


def test_a_model_in_a_folder_is_named_by_the_folder_and_what_is_in_it(connect, folder):
    embedder = connect(provider="onnx", model=str(folder))
    assert re.fullmatch(r"onnx:my-model-[0-9a-f]{12}", embedder.name)
    assert embedder.dimensions == 384
    assert all(is_vector(found) for found in embedder.documents(["one", "two"]))


def test_the_same_files_elsewhere_have_the_same_name_and_near_vectors(connect, folder, tmp_path, bundled):
    moved = tmp_path / "elsewhere" / "my-model"
    moved.parent.mkdir()
    shutil.copytree(folder, moved, symlinks=True)
    first = connect(provider="onnx", model=str(folder))
    assert connect(provider="onnx", model=str(moved)).name == first.name
    assert cosine(first.query("the cache was cold"), bundled.query("the cache was cold")) > 0.9


def replace(path, content):
    path.unlink()
    path.write_bytes(content)


def test_another_model_under_the_same_path_has_another_name(connect, folder):
    before = connect(provider="onnx", model=str(folder)).name
    path = folder / "model_quantized.onnx"
    replace(path, path.read_bytes() + b"\x32\x01x")  # the model's doc_string, by hand
    assert connect(provider="onnx", model=str(folder)).name != before


def test_another_tokenizer_under_the_same_path_has_another_name_for_it_makes_other_vectors(connect, folder):
    before = connect(provider="onnx", model=str(folder)).name
    path = folder / "tokenizer.json"
    text = path.read_text("utf-8")
    changed = re.sub(r'("lowercase":\s*)true', r"\1false", text)
    assert changed != text
    replace(path, changed.encode())
    assert connect(provider="onnx", model=str(folder)).name != before


@pytest.mark.parametrize("place", ["model.onnx", "onnx/model.onnx"])
def test_a_model_may_lie_where_models_are_published(connect, folder, place):
    (folder / "onnx").mkdir()
    (folder / "model_quantized.onnx").rename(folder / place)
    assert is_vector(connect(provider="onnx", model=str(folder)).query("one"))


def test_a_folder_that_begins_with_a_tilde_is_in_the_home(connect, folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder.parent))
    assert connect(provider="onnx", model="~/my-model").dimensions == 384


@pytest.mark.parametrize("missing", [*FILES, "folder"])
def test_a_folder_without_a_model_is_told_with_what_belongs_in_it(connect, folder, missing):
    if missing == "folder":
        shutil.rmtree(folder)
    else:
        (folder / missing).unlink()
    with pytest.raises(ModelNotFound, match=re.escape(str(folder))) as caught:
        connect(provider="onnx", model=str(folder))
    assert all(name in caught.value.hint for name in ("model.onnx", "tokenizer.json"))


@pytest.mark.parametrize("content", [b"", b"no model at all", "half"])
@pytest.mark.parametrize("damaged", FILES)
def test_a_damaged_file_makes_the_embedder_unavailable(connect, folder, damaged, content):
    path: Path = folder / damaged
    whole = path.read_bytes()
    replace(path, whole[: len(whole) // 2] if content == "half" else content)
    with pytest.raises(EmbedderUnavailable, match="cannot be loaded") as caught:
        connect(provider="onnx", model=str(folder))
    assert "whole" in caught.value.hint


def test_a_text_of_which_a_tokenizer_leaves_nothing_fails_alone(connect, folder):
    """A tokenizer that adds no marks of its own gives an empty text no word at all."""
    import json

    path = folder / "tokenizer.json"
    told = json.loads(path.read_text("utf-8"))
    told["post_processor"] = None
    replace(path, json.dumps(told).encode())
    embedder = connect(provider="onnx", model=str(folder))
    found = embedder.documents(["the cache was cold", ""])
    assert is_vector(found[0])
    assert len(embedder.documents([""])) == 1
