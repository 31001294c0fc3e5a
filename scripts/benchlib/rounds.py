# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
"""Peers in turn, and what is left of the rounds."""
import statistics

from .proc import CORES
from .fio import is_cpu_bound


def in_turn(rounds, things, measure):
    """Measure each thing once a round; A B, B A, A B, ...: drift cancels.
    Returns a list of results for each, in the order of things."""
    results = [[] for _ in things]
    for r in range(rounds):
        order = list(range(len(things)))
        for i in order if r % 2 == 0 else reversed(order):
            results[i].append(measure(things[i]))
    return results


def median(results):
    """Of each figure; the first round warms up if there are three or more."""
    return medians(results[1:] if len(results) >= 3 else results)


def medians(kept):
    out = {}
    for key, value in kept[0].items():
        values = [r[key] for r in kept]
        if isinstance(value, dict):
            out[key] = medians(values)
        else:
            out[key] = None if value is None else statistics.median(values)
    return out


def summary(results):
    return {"median": median(results), "rounds": results}


def limit(m, otherwise):
    """What binds: the CPU, or else what the regime says."""
    return is_cpu_bound(m) or otherwise


LIMITS = """\
limit: CPU    our processes used %.1f or more of the %d cores
       CPU*   the cores were used up, by others on this machine too: repeat it
       member, wait    the members' cap; round trips and threads""" % (
           0.9 * CORES, CORES)
