//! Trouble that is really made: each pathology of memory management on a real kernel at three severities, recorded by the
//! real recorder and judged by the real rules (design note 14).
//!
//! A file per pathology says what each severity does in numbers, does it, and names the kernel's own counters that prove it
//! happened. [`runner`] induces and records, [`judge`] asks what was found, [`page`] writes it down.

mod healthy;
pub mod judge;
mod memory;
pub mod page;
mod proof;
pub mod runner;
mod stage;
mod streams;

mod compaction_storm;
mod direct_reclaim_stalls;
mod dirty_throttling;
mod fault_churn;
mod fork_cow_thp;
mod fragmentation;
mod full_host;
mod hugetlb_waste;
mod kcompactd_burn;
mod khugepaged_burn;
mod kswapd_saturation;
mod memcg_limit_thrash;
mod mmap_lock_contention;
mod mthp_misset;
mod oom_risk;
mod page_cache_thrash;
mod slab_bloat;
mod swap_thrash;
mod swappiness_misuse;
mod thp_bloat;
mod thp_fault_cost;
mod unevictable_memory;
mod unexplained_system_time;
mod watermark_boost;

pub use proof::{Proof, ProofResult, Snapshot};
pub use stage::Stage;

use pagewise_host::process::Interrupt;
use std::fmt;
use std::io;
use std::str::FromStr;

/// How bad it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Just there.
    Mild,
    /// A user would notice.
    Middle,
    /// As bad as this host can safely be made.
    Severe,
}

impl Severity {
    /// From the worst to the mildest: what matters most is recorded first.
    pub const ALL: [Severity; 3] = [Severity::Severe, Severity::Middle, Severity::Mild];

    /// Its value of three.
    #[must_use]
    pub fn of<T: Copy>(self, mild_middle_severe: [T; 3]) -> T {
        mild_middle_severe[self as usize]
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.of(["mild", "middle", "severe"]))
    }
}

impl FromStr for Severity {
    type Err = String;

    fn from_str(text: &str) -> Result<Severity, String> {
        let known = Severity::ALL.into_iter().find(|severity| severity.to_string() == text);
        known.ok_or_else(|| format!("'{text}' is no severity; known: mild, middle, severe"))
    }
}

/// One severity of a pathology.
#[derive(Clone, Copy, Debug)]
pub struct Dose {
    /// What it does, in numbers.
    pub does: &'static str,
    /// The host's settings under which it does it; empty: as they are.
    pub policy: &'static str,
}

/// A pathology that can be made, or a healthy load that must stay silent.
#[derive(Clone, Copy, Debug)]
pub struct Trouble {
    /// The finding that must be made of it, or the name of the healthy load.
    pub id: &'static str,
    /// What is done, in a sentence.
    pub what: &'static str,
    /// Mild, middle, severe. A healthy load has one.
    pub doses: &'static [Dose],
    /// How long it has to be seen: as long as its rule asks for.
    pub seconds: u32,
    /// Whether this host can have it.
    pub needs: &'static [fn() -> Result<(), String>],
    /// What the kernel must show, or it was not made. Empty for a healthy load.
    pub proof: &'static [Proof],
    /// Does it: prepares, calls [`Stage::ready`], goes on while [`Stage::goes_on`], and leaves nothing.
    pub make: fn(&Stage, Severity) -> io::Result<()>,
}

impl Trouble {
    /// Whether it is none.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.proof.is_empty()
    }

    /// The severities it has, worst first.
    #[must_use]
    pub fn severities(&self) -> &'static [Severity] {
        if self.doses.len() == 3 { &Severity::ALL } else { &[Severity::Mild] }
    }

    /// What a severity does.
    ///
    /// # Panics
    /// For a severity it does not have.
    #[must_use]
    pub fn dose(&self, severity: Severity) -> Dose {
        self.doses[severity as usize]
    }

    /// Why it cannot be made here.
    #[must_use]
    pub fn unmet(&self) -> Option<String> {
        self.needs.iter().find_map(|need| need().err())
    }
}

/// How long most rules look at the least: a window of ten seconds, and what recording loses at its ends.
const ORDINARY: u32 = 13;

/// How long rules for what has to last take at the least: a minute.
const LASTING: u32 = 63;

/// Every pathology that can be made on an ordinary host, in the order of the catalogue.
pub const TROUBLES: &[Trouble] = &[
    compaction_storm::TROUBLE,
    thp_fault_cost::TROUBLE,
    khugepaged_burn::TROUBLE,
    thp_bloat::TROUBLE,
    kswapd_saturation::TROUBLE,
    direct_reclaim_stalls::TROUBLE,
    swap_thrash::TROUBLE,
    fragmentation::TROUBLE,
    page_cache_thrash::TROUBLE,
    swappiness_misuse::TROUBLE,
    dirty_throttling::TROUBLE,
    slab_bloat::TROUBLE,
    kcompactd_burn::TROUBLE,
    watermark_boost::TROUBLE,
    memcg_limit_thrash::TROUBLE,
    mthp_misset::TROUBLE,
    hugetlb_waste::TROUBLE,
    unevictable_memory::TROUBLE,
    oom_risk::TROUBLE,
    fork_cow_thp::TROUBLE,
    mmap_lock_contention::TROUBLE,
    fault_churn::TROUBLE,
    unexplained_system_time::TROUBLE,
];

/// Loads without anything wrong.
pub const HEALTHY: &[Trouble] = healthy::ALL;

/// Loads that no finding belongs to, made for what is to be measured under them.
pub const LOADS: &[Trouble] = &[full_host::LOAD];

/// What cannot be made on the hosts at hand, and why. Its rules are tested on recordings built from the kernel's documented
/// behaviour.
pub const NOT_MADE: &[(&str, &str)] = &[
    ("numa-imbalance", "needs a second memory node"),
    ("tlb-shootdowns", "needs a process on more CPUs than two, and a kernel or a profile that tells of shootdowns"),
    ("shmem-fill", "would take most of the host's memory in a place that no process of ours holds"),
    ("kernel-memory-leak", "needs a module of the kernel that leaks"),
    ("dying-cgroups", "needs thousands of control groups, which the kernel keeps for hours"),
    ("tlb-bound", "needs hardware counters, which a virtual machine without a PMU lacks"),
    ("measurement-caveat", "a clock that is wrong, steal by neighbours and lost samples are not ours to make"),
];

/// The trouble or load of that name.
#[must_use]
pub fn find(id: &str) -> Option<&'static Trouble> {
    TROUBLES.iter().chain(HEALTHY).chain(LOADS).find(|trouble| trouble.id == id)
}

/// Makes what the environment asks for ([`runner`] sets it) and says whether it asked. A program or a test calls it first.
///
/// # Errors
/// In words, when it could not be made.
pub fn make_what_is_asked() -> Result<bool, String> {
    let Ok(asked) = std::env::var(stage::ASKED) else { return Ok(false) };
    let (id, severity, seconds) = stage::parse(&asked)?;
    let trouble = find(id).ok_or_else(|| format!("there is no trouble '{id}'"))?;
    let interrupt = Interrupt::on_signals().map_err(|error| error.to_string())?;
    let stage = Stage::open(seconds, interrupt).map_err(|error| error.to_string())?;
    (trouble.make)(&stage, severity).map_err(|error| stage.failed(&format!("{id}: {error}")))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_trouble_has_three_severities_a_proof_and_a_name_of_its_own() {
        let mut names = BTreeSet::new();
        for trouble in TROUBLES {
            assert!(names.insert(trouble.id), "{} twice", trouble.id);
            assert_eq!(trouble.doses.len(), 3, "{}", trouble.id);
            assert!(!trouble.proof.is_empty(), "{} has no proof", trouble.id);
            let says: BTreeSet<_> = trouble.doses.iter().map(|dose| dose.does).collect();
            assert_eq!(says.len(), 3, "{}: each severity says what it does", trouble.id);
        }
        for (id, _) in NOT_MADE {
            assert!(names.insert(id), "{id} is both made and not made");
        }
        assert!(HEALTHY.iter().all(|load| load.doses.len() == 1 && load.is_healthy() && names.insert(load.id)));
        assert!(LOADS.iter().all(|load| load.doses.len() == 1 && !load.proof.is_empty() && names.insert(load.id)));
    }

    #[test]
    fn every_policy_is_one_that_pagewise_understands() {
        for dose in TROUBLES.iter().flat_map(|trouble| trouble.doses).filter(|dose| !dose.policy.is_empty()) {
            pagewise_host::tunable::load_policy(dose.policy).unwrap_or_else(|error| panic!("{}: {error}", dose.policy));
        }
    }

    #[test]
    fn a_severity_is_read_as_it_is_written() {
        for severity in Severity::ALL {
            assert_eq!(severity.to_string().parse(), Ok(severity));
        }
        assert!("awful".parse::<Severity>().is_err());
        assert_eq!(Severity::Middle.of([1, 2, 3]), 2);
    }
}
