//! What judging a day takes: 24 hours at 1 Hz with about a thousand series, made up in memory and read from a file. The
//! bound is one second. Run it on a quiet machine.
#![allow(clippy::print_stdout, clippy::print_stderr)]

fn main() {}
