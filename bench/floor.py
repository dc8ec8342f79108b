"""`python -m bench.floor URL FILE`: fetch what a file names with bare httpx2, eight at a time, and forget it."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import uvloop

from loreline.simulator import DEFAULT_TOKEN

CONCURRENCY = 8


async def main(url: str, targets: list[str]) -> float:
    limits = httpx2.Limits(max_connections=CONCURRENCY, max_keepalive_connections=CONCURRENCY)
    headers = {"PRIVATE-TOKEN": DEFAULT_TOKEN}
    async with httpx2.AsyncClient(headers=headers, limits=limits, timeout=60, trust_env=False) as client:
        waiting = iter(targets)

        async def work(mine: Iterator[str]) -> None:
            for target in mine:
                answer = await client.get(url + target)
                answer.raise_for_status()

        begun = time.monotonic()
        await asyncio.gather(*(work(waiting) for _ in range(CONCURRENCY)))
        return time.monotonic() - begun


if __name__ == "__main__":
    print(uvloop.run(main(sys.argv[1], Path(sys.argv[2]).read_text("utf-8").splitlines())))
