# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
"""Tables on standard output, and goals: figures with what they should be."""


class Table:
    """Columns of (heading, width); a width below zero: text, to the left.
    Rows are printed as they come."""

    def __init__(self, columns):
        self.widths = [w if w < 0 else max(w, len(h)) for h, w in columns]
        self.row([h for h, _ in columns])

    def row(self, cells):
        print("  ".join("%*s" % (w, c) for w, c in
                        zip(self.widths, cells)).rstrip(), flush=True)


def number(x):
    """Three digits or more."""
    if x is None:
        return "-"
    return "%.0f" % x if abs(x) >= 100 else "%.3g" % x


def ratio(x):
    return "-" if x is None else "%.2f" % x


def percent(x):
    return "-" if x is None else "%.1f" % (100 * x)


def latencies(m):
    """Cells of p50, p99 and max, in ms."""
    return ["%.2f" % (m[k] / 1000) for k in ("p50_us", "p99_us", "max_us")]


class Goal:
    """A figure, what it must be, and what it is meant to be; low: less is
    better."""

    def __init__(self, regime, what, value, must, target=None, stretch=None,
                 low=False, note=""):
        self.regime, self.what, self.value = regime, what, value
        self.must, self.target, self.stretch = must, target, stretch
        self.low, self.note = low, note

    def reaches(self, bound):
        if bound is None:
            return False
        return self.value <= bound if self.low else self.value >= bound

    def verdict(self):
        for name in ("stretch", "target", "must"):
            if self.reaches(getattr(self, name)):
                return {"must": "ok"}.get(name, name)
        return "MISSED" + (": " + self.note if self.note else "")

    def json(self):
        return dict(vars(self), verdict=self.verdict())


def print_goals(goals):
    if not goals:
        return
    print("\nGoals (verdict: the best that is reached; if missed, what bound)")
    table = Table([("", -2), ("", -34), ("figure", 8), ("", -2), ("must", 6),
                   ("target", 6), ("stretch", 7), ("verdict", -9)])
    for g in goals:
        table.row([g.regime, g.what, "%.3f" % g.value, "<=" if g.low else ">=",
                   *(("%g" % b) if b is not None else "-"
                     for b in (g.must, g.target, g.stretch)), g.verdict()])
