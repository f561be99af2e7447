# SPDX-License-Identifier: MIT
"""A kernel autotuning farm from Python. docs/python.md is the manual; `tune` the program does the work."""
from ._jobs import Job, Run, attach, jobs, run, submit
from ._kernel import Runner, run_kernel, tune_kernel
from ._logs import best_of, iter_log, read_log
from ._program import TuneError, call, program
from ._search import Searcher
from . import kernel_tuner, library, plot
from ._version import __version__

__all__ = [
    "Job",
    "Run",
    "Runner",
    "Searcher",
    "TuneError",
    "attach",
    "best_of",
    "call",
    "iter_log",
    "jobs",
    "kernel_tuner",
    "library",
    "plot",
    "program",
    "read_log",
    "run",
    "run_kernel",
    "submit",
    "tune_kernel",
]
