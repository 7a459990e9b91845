//! Comparisons of a table as people and programs want them.

mod r_number;
