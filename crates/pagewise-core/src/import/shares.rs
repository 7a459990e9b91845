//! Shares of CPU time: those that a tool does not print are added up of those it does, and those of all CPUs of single ones.

use super::Problem;
use super::listing::Listing;
use crate::counter::tools::{self, Column, Counts};
use std::collections::BTreeMap;

/// Numbers of a row, as the table counts them: KiB, pages, events, percent, milliseconds.
pub(super) type Values = Vec<(&'static Column, f64)>;

/// A share is never put under this name: it is system time with or without interrupts, as the other columns say.
const KERNEL: &str = "cpu_kernel_percent";

/// Numbers of a row at an instant, and the busy and system shares among them. Without columns of their own, system time
/// holds interrupts and what they left to do (sar(1)).
///
/// # Errors
/// When there are more numbers than can be taken.
pub(super) fn put(listing: &mut Listing, at: i64, values: &[(&'static Column, f64)]) -> Result<(), Problem> {
    let of = |name: &str| values.iter().find(|(column, _)| column.name == name).map(|(_, value)| *value);
    let part = |name: &str| of(name).unwrap_or(0.0);
    let kernel = of(KERNEL).map(|kernel| kernel + part("cpu_irq_percent") + part("cpu_softirq_percent"));
    if let Some(system) = of("cpu_system_percent").or(kernel) {
        put_named(listing, at, "cpu_system_percent", system)?;
        if let Some(user) = of("cpu_user_percent") {
            let guests = part("cpu_guest_percent") + part("cpu_guest_nice_percent");
            put_named(listing, at, "cpu_busy_percent", system + user + part("cpu_nice_percent") + guests)?;
        }
    }
    for (column, value) in values.iter().filter(|(column, _)| column.name != KERNEL) {
        listing.put_decimal(at, column, "", *value)?;
    }
    Ok(())
}

fn put_named(listing: &mut Listing, at: i64, name: &str, value: f64) -> Result<(), Problem> {
    match tools::find(name) {
        Some(column) => listing.put_decimal(at, column, "", value),
        None => Ok(()),
    }
}

/// The rows of single CPUs, by their numbers, as the row of all: shares are the mean, events the sum. `None` where one of the `cpus` is
/// missing; where it is not known how many there are, a single row does not speak for the host.
pub(super) fn of_all_cpus(rows: BTreeMap<u32, Values>, cpus: Option<u32>) -> Option<Values> {
    let count = rows.len() as u32;
    if !rows.keys().copied().eq(0..count) || cpus.map_or(count < 2, |cpus| cpus != count) {
        return None;
    }
    let mut whole: Values = Vec::new();
    for (column, value) in rows.into_values().flatten() {
        let part = if column.counts == Counts::Share { value / f64::from(count) } else { value };
        match whole.iter_mut().find(|(known, _)| known.name == column.name) {
            Some((_, sum)) => *sum += part,
            None => whole.push((column, part)),
        }
    }
    Some(whole)
}
