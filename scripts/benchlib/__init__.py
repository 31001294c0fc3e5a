# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) the uraid authors
"""The parts of scripts/bench.

  proc.py      processes: start, end, how much CPU they used; this machine
  fio.py       workloads.fio, and running fio
  model.py     arithmetic: member requests a client request costs, floors
  peers.py     what is measured: the array and what it is compared with
  btrfs.py     the peer that needs root
  rounds.py    peers in turn, medians
  counted.py   regime A
  timed.py     regimes B and D
  delayed.py   regime C and the longest stall
  report.py    tables, goals

One thread; every process started is ended by its pid, through a
contextlib.ExitStack, however the program ends.
"""


class Fail(Exception):
    """The bench cannot go on; the text says why and what to do."""
