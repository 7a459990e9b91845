//! GRUB: its menu, and the variable `next_entry` of its environment block, which the menu takes away when it has read it.

use super::{BootLoaderError, Entry, entries_in, file, overwrite};
use crate::root::Root;
use pagewise_core::boot_loader::environment::{Environment, EnvironmentError};
use pagewise_core::boot_loader::grub_menu;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where distributions keep it.
pub(super) const FOLDERS: [&str; 2] = ["/boot/grub", "/boot/grub2"];

/// The variable that names the entry for one boot, as `grub-reboot` sets it.
const NEXT: &str = "next_entry";

#[derive(Clone, Debug)]
pub(super) struct Grub {
    pub(super) menu: PathBuf,
    environment: PathBuf,
}

impl Grub {
    /// The GRUB of this host and its entries; `None` where there is no menu of one.
    pub(super) fn find(root: &Root) -> Result<Option<(Grub, Vec<Entry>)>, BootLoaderError> {
        let Some(folder) = FOLDERS.into_iter().find(|folder| root.exists(&format!("{folder}/grub.cfg"))) else {
            return Ok(None);
        };
        let menu_path = root.path(&format!("{folder}/grub.cfg"));
        let menu = grub_menu::parse(&root.read(&format!("{folder}/grub.cfg"))?);
        if !menu.boots_once {
            return Err(BootLoaderError::BootsNothingOnce(menu_path));
        }
        let mut entries = menu.entries;
        if menu.has_loader_entries {
            entries.extend(entries_in(root, "/boot/loader/entries", str::to_owned));
        }
        let grub = Grub { menu: menu_path, environment: root.path(&format!("{folder}/grubenv")) };
        grub.read()?;
        if root.is_live()
            && let Some(on) = cannot_be_written_by_grub(root, &grub.environment)
        {
            return Err(BootLoaderError::CannotForget { path: grub.environment, on });
        }
        Ok(Some((grub, entries)))
    }

    /// Whether nobody has asked for a boot.
    pub(super) fn is_free(&self) -> Result<(), BootLoaderError> {
        match self.read()?.get(NEXT) {
            None => Ok(()),
            Some(entry) => Err(BootLoaderError::AskedByOthers { path: self.environment.clone(), entry }),
        }
    }

    /// Sets the variable or takes it away, and reads it back.
    pub(super) fn set_next(&self, id: Option<&str>) -> Result<(), BootLoaderError> {
        let failed = |source| BootLoaderError::Environment { path: self.environment.clone(), source };
        let environment = self.read()?.with(NEXT, id).map_err(failed)?;
        overwrite(&self.environment, &environment.bytes())?;
        if self.read()?.get(NEXT).as_deref() == id { Ok(()) } else { Err(failed(EnvironmentError::NoBlock)) }
    }

    fn read(&self) -> Result<Environment, BootLoaderError> {
        let bytes = fs::read(&self.environment).map_err(file("read", &self.environment))?;
        Environment::parse(&bytes)
            .map_err(|source| BootLoaderError::Environment { path: self.environment.clone(), source })
    }
}

/// What a file lies on, where GRUB can read it and not write (`grub-core/disk/diskfilter.c` has no write; `grub-core/commands/loadenv.c`
/// refuses blocks of file systems that do not tell where on the disk they are).
fn cannot_be_written_by_grub(root: &Root, path: &Path) -> Option<String> {
    // include/uapi/linux/magic.h, and OpenZFS' own.
    const FILE_SYSTEMS: [(i64, &str); 3] = [(0x9123_683e, "btrfs"), (0x2fc1_2fc1, "ZFS"), (0xf2f5_2010, "F2FS")];
    let about = rustix::fs::statfs(path).ok()?;
    if let Some((_, name)) = FILE_SYSTEMS.iter().find(|(magic, _)| *magic == about.f_type as i64) {
        return Some((*name).to_owned());
    }
    let device = fs::metadata(path).ok()?.dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let device = fs::canonicalize(root.path(&format!("/sys/dev/block/{major}:{minor}"))).ok()?;
    let name = device.file_name()?.to_string_lossy().into_owned();
    match (name.starts_with("dm-"), name.starts_with("md")) {
        (true, _) => Some(format!("a logical or encrypted volume (/dev/{name})")),
        (_, true) => Some(format!("a RAID (/dev/{name})")),
        _ => None,
    }
}
