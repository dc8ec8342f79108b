"""`python -m bench.evaluation [set…]`: judges all sets or those named, and writes the table of them."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from statistics import fmean, quantiles

from bench.evaluation.columns import Rankers, names
from bench.evaluation.judging import Marks, marks, mean
from bench.evaluation.sets import SETS, Set
from bench.tools import Skipped

TABLE = Path(__file__).with_name("results.md")
_HISTORIES = ("small", "large")
_PREAMBLE = """\
Written by `make eval`. Numbers are hundredths: *nDCG@10 / MRR@10 / recall@50*. Every column ranks the same issues and
merge requests: **BM25 alone** is one FTS5 table of title (weighted five times) and the whole conversation, any word;
**vectors alone** the cosine of title and first passage; **RRF of both** plain reciprocal ranks, k = 60; **ours** is
`search()`.
"""

Judged = dict[str, dict[str, Marks]]
"""By kind of question, and by column."""


def main() -> int:
    wanted = sys.argv[1:] or list(SETS)
    unknown = [name for name in wanted if name not in SETS]
    if unknown:
        print(f"no set {unknown[0]!r}; there are: {', '.join(SETS)}", file=sys.stderr)
        return 2
    judged: dict[str, Judged] = {}
    times: dict[str, list[float]] = {}
    for name in wanted:
        try:
            ready = SETS[name]()
        except Skipped as reason:
            print(f"{name}: skipped ({reason})", file=sys.stderr)
            continue
        judged[name], times[name] = judge(ready)
        print(_rows(name, judged[name]), flush=True)
        print(_speed(name, times[name]), flush=True)
    text = report(judged, times)
    if set(judged) == set(SETS):
        TABLE.write_text(text, "utf-8")
        print(f"\nwritten to {TABLE}; git diff shows what has changed")
    else:
        print("\nonly a run of all sets is written down")
    print(text[text.index("## Targets") :])
    return 0


def judge(ready: Set) -> tuple[Judged, list[float]]:
    rankers = Rankers(ready)
    found: dict[str, dict[str, list[Marks]]] = {}
    begun = time.monotonic()
    try:
        for done, question in enumerate(ready.questions, start=1):
            for column, ranking in rankers.rank(question).items():
                told = marks(ranking, question.answers)
                for kind in ("all", question.kind):
                    found.setdefault(kind, {}).setdefault(column, []).append(told)
            if sys.stderr.isatty() and done % 20 == 0:
                print(f"\r{ready.name}: {done} of {len(ready.questions)}", end="", file=sys.stderr)
    finally:
        rankers.close()
    if sys.stderr.isatty():
        print(f"\r{ready.name}: {time.monotonic() - begun:.0f} s\033[K", file=sys.stderr)
    return {kind: {column: mean(several) for column, several in of.items()} for kind, of in found.items()}, (
        rankers.seconds
    )


def report(judged: dict[str, Judged], times: dict[str, list[float]]) -> str:
    parts = [
        "# How good answers are\n",
        _PREAMBLE,
        _head(),
        *(_rows(name, one) for name, one in judged.items()),
        "\n## Targets\n",
        _targets(judged),
        "\n## Times\n",
        "Of `search()` with 51 results each, on the machine of the last run: no part of a comparison.\n",
        *(_speed(name, several) for name, several in times.items()),
    ]
    return "\n".join(parts) + "\n"


def _head() -> str:
    return f"| set | questions | {' | '.join(names())} |\n|---|---|{'---|' * len(names())}"


def _rows(name: str, judged: Judged) -> str:
    lines = []
    for kind in sorted(judged, key=lambda one: (one != "all", one)):
        cells = [
            f"{told.ndcg:.1f} / {told.mrr:.1f} / {told.recall:.1f}" for told in (judged[kind][one] for one in names())
        ]
        title = f"**{name}**" if kind == "all" else f"{name}"
        lines.append(f"| {title} | {kind} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _targets(judged: dict[str, Judged]) -> str:
    lines = ["| target | best other | ours | ahead | met |", "|---|---|---|---|---|"]
    for name, one in judged.items():
        best = max(one["all"][column].ndcg for column in names()[:-1])
        lines.append(_target(f"{name}: nDCG@10 above the best other", best, one["all"]["ours"].ndcg, 0.0))
    histories = [judged[name]["all"] for name in _HISTORIES if name in judged]
    if len(histories) == len(_HISTORIES):
        best = max(fmean(one[column].ndcg for one in histories) for column in names()[:-1])
        ours = fmean(one["ours"].ndcg for one in histories)
        lines.append(_target("histories: mean nDCG@10, 3 above the best other", best, ours, 3.0))
    if "cosqa-a" in judged:
        lines.append(_target("cosqa-a: MRR@10 of 53", 53.0, judged["cosqa-a"]["all"]["ours"].mrr, 0.0))
    return "\n".join(lines)


def _target(what: str, other: float, ours: float, ahead: float) -> str:
    met = "yes" if ours - other >= ahead else "**no**"
    return f"| {what} | {other:.1f} | {ours:.1f} | {ours - other:+.1f} | {met} |"


def _speed(name: str, seconds: list[float]) -> str:
    cuts = quantiles(seconds, n=20) if len(seconds) > 1 else [*seconds] * 19
    return f"- {name}: p50 {cuts[9] * 1e3:.0f} ms, p95 {cuts[18] * 1e3:.0f} ms"


if __name__ == "__main__":
    raise SystemExit(main())
