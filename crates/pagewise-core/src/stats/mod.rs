//! Estimates, tests and intervals: a readable file per method, with the source of its formula.
