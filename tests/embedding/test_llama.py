"""A real llama.cpp server behind the provider "openai", where one can be had."""

import importlib.util
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from tests.embedding.servers import cosine

_SERVER = """
import sys, threading
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.port = sys.argv[1], int(sys.argv[2])
params.hostnames = ["127.0.0.1"]
params.warmup, params.n_ctx, params.n_parallel = False, 2048, 4
params.n_batch, params.n_ubatch, params.cpuparams.n_threads = 2048, 512, 2
params.embedding, params.pooling_type = True, xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
server = xllamacpp.Server(params)
threading.Event().wait()
"""


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    """The address of a llama.cpp server with an embedding model."""
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("the package xllamacpp is not installed")
    model = os.environ.get("LORELINE_TEST_GGUF", "")
    if not Path(model).is_file():
        pytest.skip("LORELINE_TEST_GGUF names no GGUF file of an embedding model")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (tmp_path_factory.mktemp("llama") / "log").open("w+") as log:
        process = subprocess.Popen([sys.executable, "-c", _SERVER, model, str(port)], stdout=log, stderr=log)
        try:
            _wait(process, f"http://127.0.0.1:{port}/health", log)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.kill()
            process.wait()


def _wait(process, address, log, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert process.poll() is None, log.seek(0) or log.read()[-2000:]
        try:
            with urllib.request.urlopen(address, timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    pytest.fail(f"llama.cpp was not ready within {seconds} s")


def test_llama_cpp_gives_vectors_in_order_and_like_texts_are_nearer(llama, connect):
    embedder = connect(provider="openai", url=llama)
    texts = ["The login page is slow today.", "Bake it for an hour at 180 degrees."]
    near, far = embedder.documents(texts)
    question = embedder.query("The login page is very slow today.")  # near enough for a model of any kind
    assert near.shape == far.shape == question.shape == (embedder.dimensions,)
    assert abs(float(np.linalg.norm(near)) - 1) < 1e-5
    assert cosine(question, near) > cosine(question, far)


def test_a_text_too_long_for_llama_cpp_costs_the_others_nothing(llama, connect):
    short, long, other = connect(provider="openai", url=llama).documents(["short", "word " * 20_000, "other"])
    assert isinstance(short, np.ndarray)
    assert isinstance(other, np.ndarray)
    assert not isinstance(long, np.ndarray)
