"""Whatever is typed into a search, it answers or says in words why it can't."""

import pytest
from tests.search.fuzz import Fuzz
from tests.search.harness import searching

from loreline.services.search import asking

NOW = 1_735_689_600_000
QUERIES = 400


@pytest.fixture(scope="module")
def session(mirrored, model):
    with searching(mirrored.folder / "mirror.db", model) as session:
        yield session


@pytest.mark.parametrize("seed", range(4))
def test_generated_questions_are_answered_or_refused_in_words(session, seed):
    fuzz = Fuzz(seed, lambda request: asking.search(session, request, NOW))
    for _ in range(QUERIES // 4):
        fuzz.ask()
    assert min(fuzz.answered, fuzz.refused) > QUERIES // 40
