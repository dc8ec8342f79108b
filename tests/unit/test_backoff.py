from hypothesis import given
from hypothesis import strategies as st

from loreline.store.queue import delay_ms

HOUR = 3_600_000


def test_delays_double_from_two_seconds():
    assert [delay_ms(attempts, 0) for attempts in (1, 2, 3, 4)] == [2_000, 4_000, 8_000, 16_000]


@given(st.integers(12, 10**9), st.floats(-1, 1))
def test_no_delay_is_longer_than_an_hour_and_its_jitter(attempts, jitter):
    assert HOUR * 0.9 - 1 <= delay_ms(attempts, jitter) <= HOUR * 1.1


@given(st.integers(1, 40), st.floats(-1, 1))
def test_jitter_moves_a_delay_by_a_tenth_at_most(attempts, jitter):
    plain = delay_ms(attempts, 0)
    assert abs(delay_ms(attempts, jitter) - plain) <= plain * 0.1 + 1


def test_two_jitters_are_two_delays():
    assert delay_ms(5, -1) < delay_ms(5, 0) < delay_ms(5, 1)
