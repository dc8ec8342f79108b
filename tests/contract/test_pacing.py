"""How fast we ask, by a clock that jumps instead of waiting."""

import asyncio
import selectors

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loreline.gitlab.pacing import Pacer, http_date, retry_after


class JumpingSelector(selectors.DefaultSelector):
    """Where a loop would sleep, its clock jumps."""

    jumped = 0.0

    def select(self, timeout=None):
        ready = super().select(0)
        if not ready:
            assert timeout is not None, "everything waits for something that never comes"
            self.jumped += timeout
        return ready


class JumpingLoop(asyncio.SelectorEventLoop):
    def __init__(self):
        self._jumping = JumpingSelector()
        super().__init__(self._jumping)

    def time(self):
        return self._jumping.jumped


def in_no_time(main):
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        return runner.run(main)


def now():
    return asyncio.get_running_loop().time()


async def most_at_once(pacer, requests=40):
    """How many of many requests the pacer lets run side by side."""
    running = most = 0

    async def one():
        nonlocal running, most
        await pacer.acquire()
        running += 1
        most = max(most, running)
        await asyncio.sleep(1)
        running -= 1
        pacer.release()

    await asyncio.gather(*(one() for _ in range(requests)))
    return most


def test_so_many_run_side_by_side_and_no_more():
    async def main():
        return await most_at_once(Pacer(5)), now()

    most, passed = in_no_time(main())
    assert most == 5
    assert passed == pytest.approx(8)


def test_each_burst_of_failures_halves_how_many_run_down_to_one():
    async def main():
        pacer = Pacer(8)
        seen = []
        for _ in range(5):
            await asyncio.sleep(2)
            pacer.slow_down()
            seen.append(await most_at_once(pacer))
        return seen

    assert in_no_time(main()) == [4, 2, 1, 1, 1]


def test_eight_failures_within_a_second_are_one_sign():
    async def main():
        pacer = Pacer(8)
        for _ in range(8):
            pacer.slow_down()
            await asyncio.sleep(0.1)
        return pacer.allowed

    assert in_no_time(main()) == 4


def test_when_all_is_well_the_pace_grows_back_and_not_beyond():
    async def main():
        pacer = Pacer(8)
        pacer.slow_down()
        seen = [pacer.allowed]
        for _ in range(60):
            pacer.went_well({})
            seen.append(pacer.allowed)
        return seen

    seen = in_no_time(main())
    assert seen == sorted(seen)
    assert (seen[0], seen[-1]) == (4, 8)
    assert seen.index(5) >= 4, "growth is by one for as many successes as there are slots"


def test_a_pause_holds_everybody_until_it_is_over():
    async def main():
        pacer = Pacer(4)
        pacer.slow_down(30)
        await most_at_once(pacer, 1)
        return now()

    assert in_no_time(main()) == pytest.approx(31)


def test_a_longer_pause_that_comes_while_waiting_is_kept_too():
    async def main():
        pacer = Pacer(4)
        pacer.slow_down(5)
        waiting = asyncio.create_task(pacer.acquire())
        await asyncio.sleep(3)
        pacer.slow_down(20)
        await waiting
        return now()

    assert in_no_time(main()) == pytest.approx(23)


def test_a_shorter_pause_never_ends_a_longer_one():
    async def main():
        pacer = Pacer(4)
        pacer.slow_down(30)
        pacer.slow_down(1)
        await pacer.acquire()
        return now()

    assert in_no_time(main()) == pytest.approx(30)


def test_requests_per_second_are_capped_however_many_may_run():
    async def main():
        pacer = Pacer(64, requests_per_second=4)
        starts = []
        for _ in range(9):
            await pacer.acquire()
            starts.append(now())
            pacer.release()
        return starts

    starts = in_no_time(main())
    assert starts == pytest.approx([0.25 * number for number in range(9)])


def test_an_idle_while_earns_no_burst():
    async def main():
        pacer = Pacer(8, requests_per_second=2)
        await pacer.acquire()
        await asyncio.sleep(100)
        starts = []
        for _ in range(3):
            await pacer.acquire()
            starts.append(now())
        return starts

    assert in_no_time(main()) == pytest.approx([100, 100.5, 101])


def quota(remaining, limit=100, seconds=50):
    return {
        "ratelimit-limit": str(limit),
        "ratelimit-remaining": str(remaining),
        "ratelimit-reset": str(1_700_000_000 + seconds),
        "date": "Tue, 14 Nov 2023 22:13:20 GMT",
    }


def test_a_scarce_quota_is_spread_over_the_time_until_it_is_renewed():
    async def main():
        pacer = Pacer(8)
        pacer.went_well(quota(5))
        starts = []
        for _ in range(3):
            await pacer.acquire()
            starts.append(now())
            pacer.release()
        pacer.went_well(quota(90))
        return starts

    assert in_no_time(main()) == pytest.approx([0, 10, 20])


def test_once_the_quota_is_renewed_nobody_waits_for_the_old_one():
    async def main():
        pacer = Pacer(8)
        pacer.went_well(quota(0))

        async def one():
            await pacer.acquire()
            started = now()
            pacer.release()
            return started

        return await asyncio.gather(*(one() for _ in range(8)))

    assert in_no_time(main()) == pytest.approx([0] + [50] * 7)


@pytest.mark.parametrize(
    "headers",
    [
        quota(50),
        quota(5) | {"date": "no date"},
        quota(5) | {"ratelimit-reset": "soon"},
        quota(5) | {"ratelimit-limit": "0"},
        quota(5, seconds=-50),
        quota(5) | {"ratelimit-reset": "nan"},
        quota("nan"),
        {"ratelimit-remaining": "0"},
    ],
)
def test_a_plentiful_or_senseless_quota_slows_nothing(headers):
    async def main():
        pacer = Pacer(8)
        pacer.went_well(headers)
        for _ in range(20):
            await pacer.acquire()
            pacer.release()
        return now()

    assert in_no_time(main()) == 0


@pytest.mark.parametrize(("pause", "rate"), [(0, 0), (5, 0), (0, 2)])
def test_who_gives_up_waiting_takes_no_slot_along(pause, rate):
    async def main():
        pacer = Pacer(2, rate)
        if pause:
            pacer.slow_down(pause)
        tasks = [asyncio.create_task(pacer.acquire()) for _ in range(20)]
        await asyncio.sleep(0.7)
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        for result in results:
            if result is None:
                pacer.release()
        return pacer._in_flight, await most_at_once(Pacer(1), 2), await most_at_once(pacer, 6)

    in_flight, _, most = in_no_time(main())
    assert in_flight == 0
    assert 1 <= most <= 2


def test_who_gives_up_in_the_moment_of_its_turn_hands_the_turn_on():
    async def main():
        pacer = Pacer(1)
        await pacer.acquire()
        second, third = (asyncio.create_task(pacer.acquire()) for _ in range(2))
        await asyncio.sleep(0)
        pacer.release()
        second.cancel()
        await asyncio.wait_for(third, 5)
        assert second.cancelled()
        pacer.release()
        return pacer._in_flight

    assert in_no_time(main()) == 0


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(["start", "finish", "cancel", "fail", "well", "wait"]), max_size=60), st.integers(1, 4))
def test_whatever_happens_every_slot_comes_back(steps, concurrency):
    async def main():
        pacer = Pacer(concurrency)
        waiting, holding = [], 0
        for step in steps:
            for task in [task for task in waiting if task.done()]:
                waiting.remove(task)
                holding += not task.cancelled()
            match step:
                case "start":
                    waiting.append(asyncio.create_task(pacer.acquire()))
                case "finish" if holding:
                    holding -= 1
                    pacer.release()
                case "cancel" if waiting:
                    waiting[len(waiting) // 2].cancel()
                case "fail":
                    pacer.slow_down()
                case "well":
                    pacer.went_well({})
                case "wait":
                    await asyncio.sleep(0.6)
            await asyncio.sleep(0)
            assert holding <= concurrency
        for task in waiting:
            task.cancel()
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        for _ in range(holding + sum(outcome is None for outcome in outcomes)):
            pacer.release()
        assert pacer._in_flight == 0
        async with asyncio.timeout(1000):
            await most_at_once(pacer, concurrency * 3)

    in_no_time(main())


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:50 GMT", "date": "Tue, 14 Nov 2023 22:13:20 GMT"}, 30),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:00 GMT", "date": "Tue, 14 Nov 2023 22:13:20 GMT"}, 0),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:50 GMT"}, None),
        ({"retry-after": "soon", "date": "Tue, 14 Nov 2023 22:13:20 GMT"}, None),
    ],
)
def test_retry_after_is_a_number_or_a_date(headers, seconds):
    assert retry_after(headers) == seconds


@given(st.text(max_size=40))
def test_no_header_makes_reading_a_date_fail(text):
    http_date(text)
    retry_after({"retry-after": text, "date": text})
