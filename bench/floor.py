"""The floor: fetch addresses with a bare httpx2 client and throw the answers away."""

from __future__ import annotations

import asyncio
import json
import sys
import time

import httpx2
import uvloop


async def fetch(addresses: list[str], token: str, concurrency: int) -> float:
    left = iter(addresses)
    limits = httpx2.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
    async with httpx2.AsyncClient(headers={"private-token": token}, limits=limits, trust_env=False) as client:

        async def work() -> None:
            for address in left:
                answer = await client.get(address)
                assert answer.status_code == 200, address

        began = time.perf_counter()
        await asyncio.gather(*(work() for _ in range(concurrency)))
        return time.perf_counter() - began


if __name__ == "__main__":
    given = json.load(sys.stdin)
    print(uvloop.run(fetch(given["addresses"], given["token"], given["concurrency"])))
