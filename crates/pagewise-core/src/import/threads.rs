//! Kernel threads in the process tables of other tools: their part of a core, screen by screen.
//!
//! A table lists what was busiest, or all there is. A thread that is in one screen and not in another had at most what the last
//! row of the other has; where that is little it had none, and else it is not known.

use super::Problem;
use super::listing::Listing;
use crate::counter::tools;
use std::collections::{BTreeMap, BTreeSet};

/// The series they are put under.
const SERIES: &str = "thread_cpu_percent";

/// No more threads have series.
const MOST: usize = 64;

/// In a table that goes down to this many percent of a core, who is missing had none.
const LITTLE: f64 = 1.0;

/// More than a thread can have.
const MOST_PERCENT: f64 = 115.0;

/// Threads that the kernel starts by itself (2.4 to 6.x), by the beginning of their names, and whether all of that
/// beginning are taken together: there are dozens of them, under names that change.
const KNOWN: [(&str, bool); 17] = [
    ("kswapd", false),
    ("kcompactd", false),
    ("khugepaged", false),
    ("ksmd", false),
    ("kdamond", false),
    ("kworker", true),
    ("ksoftirqd", true),
    ("migration/", true),
    ("rcu_", true),
    ("rcuos/", true),
    ("jbd2/", true),
    ("kjournald", true),
    ("flush-", true),
    ("pdflush", true),
    ("bdflush", true),
    ("kupdated", true),
    ("kscand", true),
];

/// The name under which a kernel thread of that command is kept; `None`: it is a program, or one that nobody asks for.
pub(super) fn kernel_thread(command: &str) -> Option<String> {
    let name = command.trim().trim_start_matches('[').trim_end_matches(']');
    let name = name.split_whitespace().next()?;
    let (begin, is_one) = KNOWN.into_iter().find(|(begin, _)| name.starts_with(begin))?;
    let rest = &name[begin.len()..];
    if is_one {
        return Some(begin.trim_end_matches(['/', '-', '_']).to_owned());
    }
    // `kswapd0`; a program `kswapd0-monitor` is none.
    let is_numbered = rest.trim_start_matches('.').bytes().all(|byte| byte.is_ascii_digit());
    is_numbered.then(|| name.to_owned())
}

#[derive(Debug, Default)]
struct Screen {
    least: Option<f64>,
    shares: BTreeMap<String, f64>,
}

/// Process tables of a file.
#[derive(Debug, Default)]
pub(super) struct Threads {
    screens: BTreeMap<i64, Screen>,
    names: BTreeSet<String>,
}

impl Threads {
    /// A row of the table at an instant: a command and its percent of a core. `is_program`: it has memory of its own or is not
    /// root's, so it is none of the kernel's whatever it calls itself.
    pub(super) fn row(&mut self, at: i64, command: &str, percent: f64, is_program: bool) {
        let screen = self.screens.entry(at).or_default();
        screen.least = Some(screen.least.map_or(percent, |least| least.min(percent)));
        // A thread has one CPU at most; tools are off by a little.
        let is_program = is_program || (percent > MOST_PERCENT && !command.contains("kworker"));
        let Some(name) = kernel_thread(command).filter(|_| !is_program) else { return };
        if self.names.len() >= MOST && !self.names.contains(&name) {
            return;
        }
        self.names.insert(name.clone());
        *screen.shares.entry(name).or_default() += percent;
    }

    /// What is known of an instant is of no use: it is over the time since boot.
    pub(super) fn leave_out(&mut self, at: i64) {
        self.screens.remove(&at);
    }

    /// What is known of these says nothing of what they did.
    pub(super) fn leave_out_threads(&mut self, commands: &BTreeSet<String>) {
        for name in commands.iter().filter_map(|command| kernel_thread(command)) {
            self.names.remove(&name);
            for screen in self.screens.values_mut() {
                screen.shares.remove(&name);
            }
        }
        self.screens.retain(|_, screen| !screen.shares.is_empty());
    }

    /// The same with other instants; what has none is left out.
    pub(super) fn moved(self, instants: &BTreeMap<i64, i64>) -> Threads {
        let screens = self.screens.into_iter().filter_map(|(key, screen)| Some((*instants.get(&key)?, screen)));
        Threads { screens: screens.collect(), names: self.names }
    }

    /// Puts all of it into a listing.
    ///
    /// # Errors
    /// When there are more numbers than can be taken.
    pub(super) fn put(self, listing: &mut Listing) -> Result<(), Problem> {
        let Some(column) = tools::find(SERIES) else { return Ok(()) };
        for (at, screen) in &self.screens {
            let is_whole = screen.least.is_some_and(|least| least <= LITTLE);
            for name in &self.names {
                let share = screen.shares.get(name).copied().or(is_whole.then_some(0.0));
                if let Some(share) = share {
                    listing.put_decimal(*at, column, &format!("thread={name}"), share)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_the_kernel_are_told_from_programs_by_their_names() {
        assert_eq!(kernel_thread("[kswapd0]").as_deref(), Some("kswapd0"));
        assert_eq!(kernel_thread("kswapd").as_deref(), Some("kswapd"));
        assert_eq!(kernel_thread("kworker/u8:1-e").as_deref(), Some("kworker"));
        assert_eq!(kernel_thread("kdamond.0").as_deref(), Some("kdamond.0"));
        for program in ["java", "kswapd0-monitor", "", "[", "mysqld"] {
            assert_eq!(kernel_thread(program), None, "{program}");
        }
    }
}
