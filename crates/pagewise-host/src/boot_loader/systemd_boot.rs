//! systemd-boot: entries in files, and a variable of the firmware that `bootctl` sets for one boot.

use super::{BootLoaderError, Entry, entries_in};
use crate::process::{self, Command, Interrupt};
use crate::root::Root;
use std::fs;

/// Where a boot loader leaves its name (systemd's Boot Loader Interface); four bytes of attributes, then UTF-16.
pub(super) const LOADER_INFO: &str = "LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";

/// Where the partition with the entries may be mounted.
const FOLDERS: [&str; 3] = ["/boot", "/efi", "/boot/efi"];

#[derive(Clone, Debug)]
pub(super) struct SystemdBoot {
    pub(super) folder: String,
}

impl SystemdBoot {
    /// That of this host, where it was started by one.
    pub(super) fn find(root: &Root) -> Option<SystemdBoot> {
        let info = fs::read(root.path(&format!("/sys/firmware/efi/efivars/{LOADER_INFO}"))).ok()?;
        let units: Vec<u16> = info.get(4..)?.chunks_exact(2).map(|two| u16::from_le_bytes([two[0], two[1]])).collect();
        String::from_utf16_lossy(&units).starts_with("systemd-boot").then_some(())?;
        let folder = FOLDERS.into_iter().map(|folder| format!("{folder}/loader/entries"));
        let folder = folder.into_iter().find(|folder| root.exists(folder))?;
        Some(SystemdBoot { folder })
    }

    pub(super) fn entries(&self, root: &Root) -> Vec<Entry> {
        entries_in(root, &self.folder, |stem| format!("{stem}.conf"))
    }

    /// An empty id takes back what was said.
    pub(super) fn set_next(&self, id: &str, interrupt: &Interrupt) -> Result<(), BootLoaderError> {
        let argv = ["bootctl", "set-oneshot", id].map(str::to_owned).to_vec();
        let failed = |said: String| BootLoaderError::Bootctl { entry: id.to_owned(), said };
        let command = Command { argv, ..Command::default() };
        let ended = process::run_step(&command, interrupt, &mut || {}).map_err(|error| failed(error.to_string()))?;
        if ended.status.is_success() { Ok(()) } else { Err(failed(ended.last_lines())) }
    }
}
