//! Which guard is asked for, as a text: `on`, `on(batch=0.2s+no-brake)`, `on(cgroup=/yarn/*)`, `paper(threshold=200M+amount=400M)`.

use super::law::Settings;
use crate::unit::{Bytes, Seconds};
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Most of a core, and what a batch may hold.
const CAP: RangeInclusive<f64> = 0.001..=64.0;
const BATCH: RangeInclusive<f64> = 0.005..=10.0;

/// A guard.
#[derive(Clone, Debug, PartialEq)]
pub struct GuardRequest {
    /// By which law it decides.
    pub law: AskedLaw,
    /// Guarded is every cgroup of this pattern that has a limit, instead of the memory nodes: its path, or without a slash its name.
    pub cgroups: Option<String>,
}

/// A law with its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AskedLaw {
    /// The guard's own.
    Guard(Settings),
    /// The published mechanism.
    Paper {
        /// Free bytes below which it frees.
        threshold: u64,
        /// Bytes that it frees at once.
        amount: u64,
    },
}

/// A number that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutOfRange {
    /// [`Settings::cpu_cap`].
    #[error("the most CPU time it may use is in cores, such as 0.5")]
    CpuCap,
    /// [`Settings::batch`].
    #[error("a batch holds from 5ms to 10s of fill")]
    Batch,
    /// Either number of the published mechanism.
    #[error("nothing is freed below 0 bytes, or 0 bytes at once")]
    Bytes,
    /// [`GuardRequest::cgroups`].
    #[error("no cgroup has an empty name, or one with any of ,+() in it")]
    Cgroups,
}

/// What would end a pattern in a policy's text.
const NOT_IN_A_PATTERN: [char; 4] = [',', '+', '(', ')'];

impl GuardRequest {
    /// Whether its numbers can be.
    ///
    /// # Errors
    /// For the first that cannot.
    pub fn check(self) -> Result<Self, OutOfRange> {
        let is_no_pattern = |text: &String| text.is_empty() || text.contains(NOT_IN_A_PATTERN);
        match self.law {
            AskedLaw::Guard(settings) if !CAP.contains(&settings.cpu_cap) => Err(OutOfRange::CpuCap),
            AskedLaw::Guard(settings) if settings.batch.is_some_and(|batch| !BATCH.contains(&batch)) => {
                Err(OutOfRange::Batch)
            }
            AskedLaw::Paper { threshold, amount } if threshold == 0 || amount == 0 => Err(OutOfRange::Bytes),
            _ if self.cgroups.as_ref().is_some_and(is_no_pattern) => Err(OutOfRange::Cgroups),
            _ => Ok(self),
        }
    }
}

impl fmt::Display for GuardRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, mut parts) = match self.law {
            AskedLaw::Guard(settings) => ("on", of_settings(settings)),
            AskedLaw::Paper { threshold, amount } => {
                let typed = |bytes| Bytes(bytes).as_typed();
                ("paper", vec![format!("threshold={}", typed(threshold)), format!("amount={}", typed(amount))])
            }
        };
        parts.extend(self.cgroups.as_ref().map(|pattern| format!("cgroup={pattern}")));
        match parts.as_slice() {
            [] => f.write_str(name),
            some => write!(f, "{name}({})", some.join("+")),
        }
    }
}

/// What differs from what it is without a word.
fn of_settings(settings: Settings) -> Vec<String> {
    let Settings { cpu_cap, batch: _, brake, gate, baseline, trails } = Settings::default();
    let parts = [
        settings.batch.map(|batch| format!("batch={batch}s")),
        (settings.cpu_cap != cpu_cap).then(|| format!("cap={}", settings.cpu_cap)),
        (settings.brake != brake).then(|| "no-brake".to_owned()),
        (settings.gate != gate).then(|| "no-gate".to_owned()),
        (settings.baseline != baseline).then(|| "no-baseline".to_owned()),
        (settings.trails != trails).then(|| "no-trails".to_owned()),
    ];
    parts.into_iter().flatten().collect()
}

impl FromStr for GuardRequest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, inside) = match text.split_once('(') {
            Some((name, rest)) => {
                (name, rest.strip_suffix(')').ok_or_else(|| format!("'{text}' has no ')' at its end"))?)
            }
            None => (text, ""),
        };
        let parts = || inside.split('+').filter(|part| !part.is_empty());
        let of_cgroup = |part: &&str| part.starts_with("cgroup=");
        let of_law = || parts().filter(|part| !of_cgroup(part));
        let law = match name {
            "on" => of_law().try_fold(Settings::default(), with).map(AskedLaw::Guard)?,
            "paper" => paper(of_law())?,
            _ => return Err(format!("'{text}' is no guard")),
        };
        let cgroups = parts().find(of_cgroup).and_then(|part| part.strip_prefix("cgroup=")).map(str::to_owned);
        GuardRequest { law, cgroups }.check().map_err(|error| error.to_string())
    }
}

fn with(settings: Settings, part: &str) -> Result<Settings, String> {
    match part.split_once('=') {
        Some(("batch", time)) => {
            let Seconds(batch) = time.parse().map_err(|error| format!("batch: {error}"))?;
            Ok(Settings { batch: Some(batch), ..settings })
        }
        Some(("cap", cores)) => {
            let cpu_cap = cores.parse().map_err(|_| format!("'{cores}' is no number of cores, such as 0.5"))?;
            Ok(Settings { cpu_cap, ..settings })
        }
        None if part == "no-brake" => Ok(Settings { brake: false, ..settings }),
        None if part == "no-gate" => Ok(Settings { gate: false, ..settings }),
        None if part == "no-baseline" => Ok(Settings { baseline: false, ..settings }),
        None if part == "no-trails" => Ok(Settings { trails: false, ..settings }),
        _ => Err(format!("a guard has no '{part}'")),
    }
}

fn paper<'p>(parts: impl Iterator<Item = &'p str>) -> Result<AskedLaw, String> {
    let (mut threshold, mut amount) = (None, None);
    for part in parts {
        let (name, bytes) = part.split_once('=').ok_or_else(|| format!("'{part}' has no number"))?;
        let Bytes(bytes) = bytes.parse().map_err(|error| format!("{name}: {error}"))?;
        match name {
            "threshold" => threshold = Some(bytes),
            "amount" => amount = Some(bytes),
            _ => return Err(format!("the published mechanism has no '{name}'")),
        }
    }
    match (threshold, amount) {
        (Some(threshold), Some(amount)) => Ok(AskedLaw::Paper { threshold, amount }),
        _ => Err("the published mechanism needs a threshold and an amount".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_stands_for_one_guard_and_comes_back() {
        for (given, canonical) in [
            ("on", "on"),
            ("on()", "on"),
            ("on(batch=100ms)", "on(batch=0.1s)"),
            ("on(no-brake+batch=200ms)", "on(batch=0.2s+no-brake)"),
            ("on(cap=0.25+no-gate+no-trails+no-baseline)", "on(cap=0.25+no-gate+no-baseline+no-trails)"),
            ("on(cgroup=/yarn/*+cap=0.25)", "on(cap=0.25+cgroup=/yarn/*)"),
            ("paper(cgroup=pod*+amount=1M+threshold=2M)", "paper(threshold=2M+amount=1M+cgroup=pod*)"),
            ("paper(amount=409600K+threshold=200M)", "paper(threshold=200M+amount=400M)"),
        ] {
            let asked: GuardRequest = given.parse().unwrap_or_else(|why| panic!("{given}: {why}"));
            assert_eq!(asked.to_string(), canonical);
            assert_eq!(canonical.parse().as_ref(), Ok(&asked));
        }
    }

    #[test]
    fn what_is_no_guard_is_refused_with_a_reason() {
        for text in [
            "",
            "of",
            "On",
            "on(",
            "on(batch)",
            "on(batch=1)",
            "on(batch=0s)",
            "on(batch=1h)",
            "on(cap=0)",
            "on(cap=nan)",
            "on(no-law)",
            "on(cgroup=)",
            "paper",
            "paper(threshold=1M)",
            "paper(threshold=0+amount=1M)",
            "paper(amount=x+threshold=1M)",
        ] {
            assert!(text.parse::<GuardRequest>().is_err(), "{text}");
        }
    }
}
