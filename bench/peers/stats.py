"""Medians, quantiles, and the ratio of two sides with its bootstrap interval."""

import random


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def quantile(values, q):
    """Linear between the neighbours."""
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def summary(blocks):
    """Quantiles over all samples of `blocks`, ns."""
    samples = [sample for block in blocks for sample in block]
    names = (("min", 0), ("q05", 0.05), ("q25", 0.25), ("median", 0.5), ("q75", 0.75),
             ("q95", 0.95), ("max", 1))
    return {name: round(quantile(samples, q), 1) for name, q in names}


def center(blocks):
    """The time of a side: the median of its blocks' medians, ns."""
    return median([median(block) for block in blocks])


def ratio(peer, ours, rounds=1000, seed=1):
    """(peer's time / our time, lower and upper end of its 95 % bootstrap interval).

    Blocks are drawn again with replacement, and samples within each: blocks differ more from each
    other than samples of one do, and only so does the interval show it.
    """
    generator = random.Random(seed)

    def draw(blocks):
        medians = []
        for _ in blocks:
            block = generator.choice(blocks)
            medians.append(median(generator.choices(block, k=min(len(block), 25))))
        return median(medians)

    ratios = [draw(peer) / draw(ours) for _ in range(rounds)]
    return center(peer) / center(ours), quantile(ratios, 0.025), quantile(ratios, 0.975)
