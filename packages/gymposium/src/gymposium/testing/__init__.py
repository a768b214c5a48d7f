"""For game authors, to be called from a test suite: the leak check here, golden transcripts in `golden`."""

from gymposium.testing.leaks import Leak, LeakReport, assert_no_leaks, check_leaks

__all__ = ["Leak", "LeakReport", "assert_no_leaks", "check_leaks"]
