"""Prints cellular.trace: ten seconds of delivery opportunities, as a Poisson process whose mean varies between 3 and 15 Mbit/s.

    python examples/cellular_trace.py > examples/cellular.trace

Each line is a time in milliseconds at which a link may carry 1500 bytes. At a high rate several lines have the same time.
"""

import math
import random
from collections.abc import Iterator

SECONDS = 10
BITS = 1500 * 8


def opportunities(seed: int = 1) -> Iterator[int]:
    """The times in milliseconds, the last one at the end of the trace, after which it repeats."""
    rng = random.Random(seed)
    for millisecond in range(1, 1000 * SECONDS):
        mean_bps = 9e6 + 6e6 * math.sin(2 * math.pi * millisecond / (1000 * SECONDS))
        yield from [millisecond] * poisson(rng, mean_bps / 1000 / BITS)
    yield 1000 * SECONDS


def poisson(rng: random.Random, mean: float) -> int:
    """A draw with this mean: how many uniform numbers can be multiplied before they are below e^-mean (Knuth)."""
    count, product = 0, rng.random()
    while product > math.exp(-mean):
        count, product = count + 1, product * rng.random()
    return count


if __name__ == "__main__":
    print("\n".join(map(str, opportunities())))
