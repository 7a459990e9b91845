//! One reader per kernel file.
