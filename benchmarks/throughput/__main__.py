"""Decisions a second, as ratios inside one run: one thread, CPU time, the sides taking turns, medians and ranges.

match   a `Match` with full text against bare pyspiel making text for the same decisions (two minutes)
peers   `Match`, `gymnasium.make`, our AEC environment, bare pyspiel and, each in an environment and a process of its
        own, TextArena, PettingZoo classic and Shimmy (a quarter of an hour; once with --setup, which installs them)
vector  256 matches at once against the single environment (two minutes)
search  16 at once, with searching opponents, by the clock (five minutes; the cores have to be free)
memory  the peak of memory after 100,000 and after a million decisions (ten minutes)

All sides play uniformly random matches. Every decision made outside the library gets everything that the library shows.
Our sides and pyspiel draw their moves within the timed part, from the legal moves they get. The moves for the other
libraries are drawn beforehand, so only the libraries are timed. The opponents in `gymnasium.make` choose without text.
Decisions are those of all seats.

Without a name: match.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.report import RESULTS, write
from benchmarks.throughput import match, memory, peers, search, vector
from benchmarks.throughput.others import LIBRARIES

PARTS = {"match": match, "peers": peers, "vector": vector, "search": search, "memory": memory}


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.throughput",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--games", nargs="+", metavar="GAME", help="some; by default all that the part is about")
    parser.add_argument("--repeats", type=int, default=9, help="slices of each side and game (default: 9)")
    parser.add_argument("--seconds", type=float, default=0.4, help="seconds of a slice (default: 0.4)")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for the results")
    parser.add_argument("--envs", type=int, help="vector, search: matches at once (default: 256, and 16 in search)")
    parser.add_argument("--decisions", type=int, default=1_000_000, help="memory: how many (default: a million)")
    parser.add_argument("--setup", action="store_true", help="peers: install the libraries first")
    parser.add_argument("--peers", nargs="*", choices=LIBRARIES, default=[*LIBRARIES], help="peers: only these")
    parser.add_argument("--home", type=Path, default=Path("runs/peers"), help="peers: where they are installed")
    given = parser.parse_args()
    if strange := set(given.parts) - PARTS.keys():
        parser.error(f"There is no part {', '.join(sorted(strange))}; there are {', '.join(PARTS)}.")
    for name in given.parts or ["match"]:
        data, text = PARTS[name].measure(given)
        write(given.out, PARTS[name].NAME, data, text)


if __name__ == "__main__":
    main()
