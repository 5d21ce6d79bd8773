"""How often `log.check()` cries wolf on healthy logs, and how often it finds planted faults.

python benchmarks/check_power.py --healthy 20 --faulty 20

Prints two tables in Markdown. Every log is simulated anew from its seed; see `check_worlds.py`.
"""

import argparse
from collections import Counter

from check_worlds import FAULTS, KINDS, Kind, healthy

OWN_ONLY = Kind("own propensities only", own_only=True)
WITHOUT_OTHERS = {"names of loggers swapped": ("propensities-too-small",)}
"""What shows a fault where the propensities under other loggers are not known."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--healthy", type=int, default=20, help="logs of each kind")
    parser.add_argument("--faulty", type=int, default=20, help="logs with each fault")
    options = parser.parse_args()
    _print("| healthy logs | rows | logs | unsafe | mend | what |")
    _print("|---|---|---|---|---|---|")
    unsafe = mend = total = 0
    for kind in KINDS:
        found = [healthy(kind, seed).log().check() for seed in range(options.healthy)]
        bad = sum(not report.safe for report in found)
        poor = sum(report.safe and not report.ok for report in found)
        codes = Counter(one.code for report in found for one in report.findings if one.severity != "note")
        _print(f"| {kind.name} | {kind.rows:,} | {len(found)} | {bad} | {poor} | {_words(codes)} |")
        unsafe, mend, total = unsafe + bad, mend + poor, total + len(found)
    _print(f"| all | | {total} | {unsafe} | {mend} | |")
    _print("\n| planted fault | propensities of all loggers | of the own logger only |")
    _print("|---|---|---|")
    for fault, (plant, codes_of_fault) in FAULTS.items():
        shares = []
        for kind in (KINDS[0], OWN_ONLY):
            wanted = codes_of_fault + (WITHOUT_OTHERS.get(fault, ()) if kind.own_only else ())
            hits = 0
            for seed in range(options.faulty):
                report = plant(healthy(kind, seed)).check()
                hits += any(one.code in wanted for one in report.findings)
            shares.append(f"{hits} of {options.faulty}")
        _print(f"| {fault} | {' | '.join(shares)} |")


def _words(codes: Counter[str]) -> str:
    return ", ".join(f"{code} {count}" for code, count in codes.most_common())


def _print(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
