from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loreline.core.times import DAY, HOUR, MINUTE, SECOND, age, duration, from_datetime, parse_when, to_datetime, to_iso

NOW = 1_710_500_400_123  # 2024-03-15T11:00:00.123Z
MOMENTS = st.integers(-62_135_596_800_000, 253_402_300_799_999)  # the years 1 to 9999


@given(MOMENTS)
def test_milliseconds_survive_a_datetime_and_its_text(ms):
    assert from_datetime(to_datetime(ms)) == ms
    assert to_datetime(ms).tzinfo is UTC


@given(st.integers(-30_610_224_000_000, 253_402_300_799_999))
def test_iso_text_is_read_back_as_the_same_moment(ms):
    assert parse_when(to_iso(ms), NOW) == ms


def test_iso_text_has_milliseconds_and_a_z():
    assert to_iso(NOW) == "2024-03-15T11:00:00.123Z"
    assert to_iso(0) == "1970-01-01T00:00:00.000Z"
    assert to_iso(-1) == "1969-12-31T23:59:59.999Z"


def test_a_moment_of_another_zone_is_kept_in_utc():
    east = timezone(timedelta(hours=5, minutes=30))
    assert from_datetime(datetime(2024, 3, 15, 16, 30, tzinfo=east)) == from_datetime(
        datetime(2024, 3, 15, 11, 0, tzinfo=UTC)
    )


def test_parts_of_a_millisecond_are_dropped_downwards():
    assert from_datetime(datetime(1970, 1, 1, microsecond=1999, tzinfo=UTC)) == 1
    assert from_datetime(datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)) == -1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-01-31", "2024-01-31T00:00:00.000Z"),
        (" 2024-01-31 ", "2024-01-31T00:00:00.000Z"),
        ("2024-01-31T10:20:30Z", "2024-01-31T10:20:30.000Z"),
        ("2024-01-31T10:20:30+02:00", "2024-01-31T08:20:30.000Z"),
        ("2024-01-31 10:20", "2024-01-31T10:20:00.000Z"),
        ("today", "2024-03-15T00:00:00.000Z"),
        ("Yesterday", "2024-03-14T00:00:00.000Z"),
        ("2h", "2024-03-15T09:00:00.123Z"),
        ("3d", "2024-03-12T11:00:00.123Z"),
        ("3 d ago", "2024-03-12T11:00:00.123Z"),
        ("2W", "2024-03-01T11:00:00.123Z"),
        ("1m", "2024-02-14T11:00:00.123Z"),
        ("1y", "2023-03-16T11:00:00.123Z"),
    ],
)
def test_moments_are_understood_as_people_give_them(text, expected):
    found = parse_when(text, NOW)
    assert found is not None
    assert to_iso(found) == expected


@pytest.mark.parametrize("text", ["", "soon", "2024-13-01", "2024-02-30", "d", "-3d", "3", "3dd", "1234567d", "d3"])
def test_what_is_no_moment_is_none(text):
    assert parse_when(text, NOW) is None


@given(st.text(max_size=30))
def test_no_text_makes_a_moment_fail(text):
    found = parse_when(text, NOW)
    assert found is None or isinstance(found, int)


@pytest.mark.parametrize(
    ("passed", "said"),
    [
        (0, "just now"),
        (MINUTE - 1, "just now"),
        (MINUTE, "1 minute ago"),
        (2 * HOUR - 1, "1 hour ago"),
        (23 * HOUR, "23 hours ago"),
        (DAY, "1 day ago"),
        (6 * DAY, "6 days ago"),
        (7 * DAY, "1 week ago"),
        (29 * DAY, "4 weeks ago"),
        (30 * DAY, "1 month ago"),
        (364 * DAY, "12 months ago"),
        (365 * DAY, "1 year ago"),
        (3650 * DAY, "10 years ago"),
        (-1, "in the future"),
    ],
)
def test_ages_are_said_in_the_largest_whole_unit(passed, said):
    assert age(NOW - passed, NOW) == said


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (0, "0 ms"),
        (820, "820 ms"),
        (3_400, "3.4 s"),
        (2 * MINUTE + 5 * SECOND, "2 min 05 s"),
        (HOUR + 12 * MINUTE, "1 h 12 min"),
        (30 * HOUR, "30 h 00 min"),
    ],
)
def test_durations_are_said_with_two_units_at_most(ms, said):
    assert duration(ms) == said


def test_a_duration_never_says_sixty_seconds():
    assert duration(59_960) == "1 min 00 s"
