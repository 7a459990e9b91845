//! Methods that answer a question of the shipped ones in another way, in closed form: no shipped code uses them, and tests hold it
//! and R against them.

pub mod split_plot;
pub mod two_sample_power;
