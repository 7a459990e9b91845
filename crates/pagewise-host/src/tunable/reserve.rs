//! Huge pages set aside: one file, whose value may be asked for as what is to be left of memory.

use super::file::OneFile;
use super::held::HoldLimit;
use super::kind::Kind;
use super::{Places, TunableError};
use crate::root::Root;
use crate::source::meminfo;
use pagewise_core::tunable::reserve::{Reserve, parse};
use pagewise_core::tunable::{Tunable, ValueError};
use pagewise_core::unit::Bytes;

/// The kind of `vm.nr_hugepages`.
pub(super) struct ReservedHugePages;

impl Kind for ReservedHugePages {
    fn read(&self, root: &Root, tunable: &Tunable) -> Result<String, TunableError> {
        OneFile.read(root, tunable)
    }

    fn read_from(&self, root: &Root, tunable: &Tunable, files: &[(String, String)]) -> Result<String, TunableError> {
        OneFile.read_from(root, tunable, files)
    }

    fn write(&self, root: &Root, tunable: &Tunable, value: &str, until: HoldLimit) -> Result<(), TunableError> {
        OneFile.write(root, tunable, value, until)
    }

    fn resolve(&self, root: &Root, places: &Places, tunable: &Tunable, value: &str) -> Result<String, TunableError> {
        pages(root, tunable, &OneFile.resolve(root, places, tunable, value)?)
    }

    fn shell_lines(&self, root: &Root, tunable: &Tunable, value: &str) -> Vec<String> {
        OneFile.shell_lines(root, tunable, value)
    }
}

/// The number of huge pages that a value of `vm.nr_hugepages` is on this host.
fn pages(root: &Root, tunable: &Tunable, value: &str) -> Result<String, TunableError> {
    let asked = parse(value).map_err(|why| {
        let allowed = tunable.descriptor.grammar.allowed();
        TunableError::value(&tunable.name, value, ValueError { why, allowed })
    })?;
    let memory = meminfo::read(root).unwrap_or_default();
    match (asked, memory.get("MemTotal"), memory.get("Hugepagesize")) {
        (Reserve::Pages(pages), ..) => Ok(pages.to_string()),
        (_, Some(memory), Some(page)) => Ok(asked.pages(Bytes(*memory), Bytes(*page)).to_string()),
        _ => Err(TunableError::Missing {
            tunable: tunable.name.clone(),
            why: "/proc/meminfo has no MemTotal or no Hugepagesize".to_owned(),
        }),
    }
}
