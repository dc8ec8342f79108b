"""From what several retrievers found to one order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loreline.core.fusion import Measure, fuse, reciprocal_ranks


def ids(found):
    return [one.id for one in found]


def test_what_both_call_good_comes_before_what_one_calls_best():
    words = Measure({1: 10.0, 2: 9.0, 3: 1.0}, 1.0)
    meaning = Measure({3: 0.8, 2: 0.75, 4: 0.5}, 1.0, floor=0.2)
    assert ids(fuse({"words": words, "meaning": meaning}))[0] == 2


def test_a_score_is_the_sum_of_its_shares_and_1_where_all_agree():
    found = fuse({"words": Measure({1: 10.0, 2: 5.0}, 1.0), "meaning": Measure({1: 0.8, 2: 0.3}, 3.0, floor=0.1)})
    assert found[0].score == pytest.approx(1.0)
    for one in found:
        assert one.score == pytest.approx(sum(part.share for part in one.parts.values()))
    assert found[0].parts["meaning"].share == pytest.approx(0.75)
    assert [found[1].parts[name].rank for name in ("words", "meaning")] == [2, 2]


def test_what_lies_below_its_floor_is_not_found():
    assert ids(fuse({"meaning": Measure({1: 0.6, 2: 0.2, 3: 0.1}, 1.0, floor=0.2)})) == [1]


def test_to_the_last_it_is_found_after_everything_else_in_its_order():
    near = Measure({1: 0.6, 2: 0.1, 3: 0.15, 4: -0.2}, 1.0, floor=0.2, to_the_last=True)
    words = Measure({5: 0.01, 6: 10.0}, 1.0)
    assert ids(fuse({"meaning": near, "words": words})) == [6, 1, 5, 3, 2, 4]


def test_where_nothing_reaches_the_floor_the_words_alone_decide():
    near = Measure({1: 0.1, 2: 0.05}, 5.0, floor=0.2, to_the_last=True)
    found = fuse({"meaning": near, "words": Measure({2: 3.0}, 1.0)})
    assert ids(found) == [2, 1]
    assert found[0].score == pytest.approx(1.0, abs=0.01)


def test_a_retriever_that_found_nothing_takes_no_weight():
    assert fuse({"words": Measure({}, 9.0), "meaning": Measure({1: 0.5}, 1.0)})[0].score == pytest.approx(1.0)


def test_equal_scores_come_newest_first():
    assert ids(fuse({"words": Measure({1: 1.0, 3: 1.0, 2: 1.0}, 1.0)})) == [3, 2, 1]


def test_nothing_found_is_nothing():
    assert fuse({}) == []


def test_reciprocal_ranks_add_up():
    assert [one for one, _ in reciprocal_ranks([[1, 2, 3], [3, 2]])] == [3, 2, 1]


_SCORES = st.dictionaries(st.integers(1, 30), st.floats(-1, 1), max_size=20)


@given(_SCORES, _SCORES, st.floats(0.1, 5), st.booleans())
def test_each_thing_comes_once_in_the_order_of_its_score(one, two, weight, to_the_last):
    found = fuse({"a": Measure(one, weight), "b": Measure(two, 1.0, floor=0.1, to_the_last=to_the_last)})
    assert len(ids(found)) == len(set(ids(found)))
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    expected = {thing for thing, score in one.items() if score > 0}
    expected |= {thing for thing, score in two.items() if to_the_last or score > 0.1}
    assert set(ids(found)) == expected
