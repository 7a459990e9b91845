//! Settings that stand beside a listing, as people paste them: `vm.swappiness = 60` below a command of sysctl, and what a file below
//! `/proc/sys` or `/sys` holds below the command that names it.
//!
//! Advice looks the same as a state (`vm.swappiness = 1`, `echo never > …`), so a line counts only where a command that prints stands
//! above it, and the first value that is told of a setting stays.

use crate::tunable;

/// What was told so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    /// The setting whose value is in the next line.
    awaited: Option<&'static str>,
    /// A command of sysctl stands above, and nothing has ended what it printed.
    is_in_sysctl: bool,
    told: Vec<(String, String)>,
}

impl Settings {
    pub(super) fn line(&mut self, line: &str) {
        let text = line.trim();
        if let Some(name) = self.awaited.take() {
            self.tell(name, value(text));
        }
        if self.is_in_sysctl && text.contains(" = ") {
            if let Some((name, value)) = of_sysctl(text).filter(|(_, value)| are_numbers(value)) {
                self.tell(name, Some(value));
            }
            return;
        }
        self.is_in_sysctl = false;
        // Nearly every line of nearly every listing.
        if !text.contains("sys") {
            return;
        }
        // `/sys/kernel/mm/transparent_hugepage/enabled:[always] madvise never`, as grep prints it of several files.
        if let Some((name, rest)) = text.split_once(':').and_then(|(path, rest)| Some((of_path(path)?, rest))) {
            self.tell(name, value(rest));
            return;
        }
        let is_change = text.contains('>') || text.contains("echo ");
        self.is_in_sysctl = is_sysctl(text) && !is_change;
        let named = text.split_whitespace().rev().find_map(of_path);
        self.awaited = named.filter(|_| !is_change);
    }

    fn tell(&mut self, name: &str, value: Option<&str>) {
        let Some(value) = value.filter(|_| self.told.iter().all(|(other, _)| other != name)) else { return };
        const MOST: usize = 400;
        if self.told.len() < MOST {
            self.told.push((name.to_owned(), value.to_owned()));
        }
    }

    /// Name and value of each.
    pub(super) fn told(self) -> Vec<(String, String)> {
        self.told
    }
}

/// `$ sysctl -a | grep vm`, `sysctl vm.swappiness`: a command that prints and sets nothing.
fn is_sysctl(text: &str) -> bool {
    let mut words = text.split_whitespace().skip_while(|word| !word.ends_with("sysctl"));
    words.next().is_some() && words.all(|word| word != "-w" && word != "-p" && !word.contains('='))
}

/// `vm.swappiness = 60`, as `sysctl -a` prints it: the name and the value. `None`: it is no sysctl of memory management.
#[must_use]
pub fn of_sysctl(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let (name, value) = (name.trim(), value.trim());
    let is_ours = name.starts_with("vm.") || name == "kernel.numa_balancing";
    let is_name = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte));
    (is_ours && is_name).then_some((name, value))
}

/// `60`, `256 256 32`: what every such value is, and hardly any prose.
fn are_numbers(value: &str) -> bool {
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    !value.is_empty() && value.len() <= 80 && value.split_whitespace().all(is_number)
}

/// The setting that a file of this kernel or an older one holds.
fn of_path(path: &str) -> Option<&'static str> {
    if !path.starts_with("/proc/sys/") && !path.starts_with("/sys/") {
        return None;
    }
    let is_it = |descriptor: &&tunable::Descriptor| descriptor.paths.contains(&path);
    tunable::all().find(is_it).map(|descriptor| descriptor.name)
}

/// The word in brackets of a choice, or a word alone.
fn value(text: &str) -> Option<&str> {
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(chosen, _)| chosen);
    let alone = Some(text.trim()).filter(|word| !word.contains(char::is_whitespace));
    let is_word = |word: &&str| {
        (1..=32).contains(&word.len())
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_+-".contains(&byte))
    };
    chosen.or(alone).filter(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<(String, String)> {
        let mut settings = Settings::default();
        text.lines().for_each(|line| settings.line(line));
        settings.told()
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn what_a_command_printed_is_a_setting() {
        let text = "# sysctl -a\nnet.core.somaxconn = 128\nvm.swappiness = 60\nvm.lowmem_reserve_ratio = 256\t256\t32\n\n\
                    $ cat /sys/kernel/mm/redhat_transparent_hugepage/enabled\n[always] madvise never\n\
                    $ cat /proc/sys/vm/zone_reclaim_mode\n1\n\
                    /sys/kernel/mm/transparent_hugepage/defrag:always defer [madvise] never\n";
        let wanted = [
            ("vm.swappiness", "60"),
            ("vm.lowmem_reserve_ratio", "256\t256\t32"),
            ("thp.enabled", "always"),
            ("vm.zone_reclaim_mode", "1"),
            ("thp.defrag", "madvise"),
        ];
        assert_eq!(told(text), pairs(&wanted));
    }

    #[test]
    fn advice_and_changes_are_none() {
        for text in [
            "Try this in /etc/sysctl.conf:\nvm.swappiness = 1\n",
            "sysctl -w vm.swappiness=10\nvm.swappiness = 10\n",
            "# sysctl -p\nvm.swappiness = 1\n",
            "echo never > /sys/kernel/mm/transparent_hugepage/enabled\nnever\n",
            "$ cat /sys/kernel/mm/transparent_hugepage/enabled\nthat is what it says\n",
            "# sysctl -a\n\nvm.swappiness = 1\n",
        ] {
            assert_eq!(told(text), [], "{text}");
        }
        let changed = "$ sysctl vm.swappiness\nvm.swappiness = 60\n$ sysctl vm.swappiness\nvm.swappiness = 1\n";
        assert_eq!(told(changed), pairs(&[("vm.swappiness", "60")]), "what was there first");
    }
}
