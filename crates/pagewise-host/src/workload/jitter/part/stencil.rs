//! A five-point stencil on a grid, a thread for every rank and a barrier after every step. Each rank allocates its temporaries anew
//! in every step and gives them back, as automatic arrays of Fortran codes are: so it meets the allocator, which LAMMPS hardly does.

use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

/// Columns and rows of a rank's part of the grid: 4 MiB of numbers.
const COLUMNS: usize = 1024;
const ROWS: usize = 512;

/// A rank for every CPU it is given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stencil {
    /// Threads.
    pub ranks: u32,
    /// Steps.
    pub steps: u32,
}

impl Stencil {
    pub(super) fn run(&self) -> io::Result<()> {
        crate::sys::allocator::always_asks_the_kernel(1 << 20);
        let barrier = Barrier::new(self.ranks as usize);
        let times: Vec<Vec<f64>> = thread::scope(|scope| {
            let ranks: Vec<_> = (0..self.ranks)
                .map(|rank| {
                    scope.spawn({
                        let barrier = &barrier;
                        move || self.rank(rank, barrier)
                    })
                })
                .collect();
            ranks.into_iter().map(|rank| rank.join().unwrap_or_default()).collect()
        });
        let mut out = io::BufWriter::new(io::stdout().lock());
        for (step, seconds) in times.first().into_iter().flatten().enumerate() {
            writeln!(out, "step {} {seconds:.9}", step + 1)?;
        }
        out.flush()
    }

    /// The seconds of every step, from barrier to barrier.
    fn rank(&self, rank: u32, barrier: &Barrier) -> Vec<f64> {
        let mut grid: Vec<f64> = (0..COLUMNS * ROWS).map(|at| ((at + rank as usize) % 97) as f64).collect();
        let mut times = Vec::with_capacity(self.steps as usize);
        for _ in 0..self.steps {
            barrier.wait();
            let began = Instant::now();
            for _ in 0..2 {
                grid = smoothed(&grid);
            }
            barrier.wait();
            times.push(began.elapsed().as_secs_f64());
        }
        // So that no compiler finds the work to be for nothing.
        if grid.iter().sum::<f64>().is_nan() { Vec::new() } else { times }
    }
}

/// Every point becomes the mean of itself and its neighbours: two temporaries, both from the allocator.
fn smoothed(grid: &[f64]) -> Vec<f64> {
    let mut along = vec![0.0; grid.len()];
    for (to, from) in along.chunks_exact_mut(COLUMNS).zip(grid.chunks_exact(COLUMNS)) {
        for at in 1..COLUMNS - 1 {
            to[at] = (from[at - 1] + from[at] + from[at + 1]) / 3.0;
        }
    }
    let mut smoothed = vec![0.0; grid.len()];
    for row in 1..ROWS - 1 {
        for at in row * COLUMNS..(row + 1) * COLUMNS {
            smoothed[at] = (along[at - COLUMNS] + along[at] + along[at + COLUMNS]) / 3.0;
        }
    }
    smoothed
}
