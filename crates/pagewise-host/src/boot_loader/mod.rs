//! The boot loader of this host: its menu, and one boot of one entry. The entry it starts when it is told nothing is never changed, so
//! that a kernel which does not come up is followed by the one that always did.

mod grub;
mod systemd_boot;

use crate::process::Interrupt;
use crate::root::{FileError, Root};
use grub::Grub;
pub use pagewise_core::boot_loader::Entry;
use pagewise_core::boot_loader::environment::EnvironmentError;
use pagewise_core::boot_loader::{loader_entry, of_release, releases};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use systemd_boot::SystemdBoot;

/// A boot loader that can be told to boot an entry once.
#[derive(Clone, Debug)]
pub struct BootLoader {
    kind: Kind,
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
enum Kind {
    Grub(Grub),
    SystemdBoot(SystemdBoot),
}

/// Why no entry can be booted once.
#[derive(Debug, thiserror::Error)]
pub enum BootLoaderError {
    /// None that is known.
    #[error(
        "no boot loader is known here that could be told to boot a kernel once: there is no grub.cfg in {}, and no systemd-boot. Boot the \
         kernel by hand, and go on without --boot", grub::FOLDERS.join(" or ")
    )]
    None,
    /// GRUB's menu does not go by the variable, or does not take it away.
    #[error(
        "{} does not boot the entry of next_entry once: it lacks load_env, or save_env next_entry. Make it anew with update-grub (elsewhere: \
         grub2-mkconfig -o with that path)", .0.display()
    )]
    BootsNothingOnce(PathBuf),
    /// GRUB cannot take the variable away again.
    #[error(
        "{} lies on {on}, where GRUB cannot write: the entry it is told to boot once it would boot for ever. A /boot of its own on ext4, XFS or \
         FAT, on a plain partition, makes it possible", path.display()
    )]
    CannotForget {
        /// The environment block.
        path: PathBuf,
        /// What it lies on.
        on: String,
    },
    /// The variable is set already.
    #[error(
        "{} says already that {entry} is booted next, which Pagewise did not ask for; take it away with grub-editenv {} unset next_entry, or boot \
         once", path.display(), path.display()
    )]
    AskedByOthers {
        /// The environment block.
        path: PathBuf,
        /// The entry.
        entry: String,
    },
    /// No entry boots the kernel.
    #[error(
        "no entry of {menu} boots Linux {release}; it boots {known}. Install the kernel, or write its release as uname -r prints it"
    )]
    NoEntry {
        /// Where the entries are.
        menu: String,
        /// What was looked for.
        release: String,
        /// What there is.
        known: String,
    },
    /// The environment block cannot take the entry.
    #[error("cannot write next_entry to {}: {source}; grub-editenv {} create makes a new one", path.display(), path.display())]
    Environment {
        /// The environment block.
        path: PathBuf,
        /// Why.
        source: EnvironmentError,
    },
    /// `bootctl` did not do it.
    #[error("bootctl set-oneshot {entry} failed: {said}")]
    Bootctl {
        /// The entry.
        entry: String,
        /// What it said.
        said: String,
    },
    /// A file.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl From<FileError> for BootLoaderError {
    fn from(error: FileError) -> Self {
        BootLoaderError::File { action: "read", path: error.path, source: error.source }
    }
}

impl BootLoader {
    /// The one that started this host, with its menu. Nothing is changed.
    ///
    /// # Errors
    /// When there is none that can boot an entry once.
    pub fn find(root: &Root) -> Result<BootLoader, BootLoaderError> {
        if let Some(found) = SystemdBoot::find(root) {
            let entries = found.entries(root);
            return Ok(BootLoader { kind: Kind::SystemdBoot(found), entries });
        }
        let (found, entries) = Grub::find(root)?.ok_or(BootLoaderError::None)?;
        Ok(BootLoader { kind: Kind::Grub(found), entries })
    }

    /// The entry of a kernel.
    ///
    /// # Errors
    /// When there is none.
    pub fn entry(&self, release: &str) -> Result<&Entry, BootLoaderError> {
        of_release(&self.entries, release).ok_or_else(|| BootLoaderError::NoEntry {
            menu: self.menu(),
            release: release.to_owned(),
            known: match releases(&self.entries) {
                known if known.is_empty() => "no kernel whose release can be told".to_owned(),
                known => known.join(", "),
            },
        })
    }

    /// Has the next boot, and only that, start an entry.
    ///
    /// # Errors
    /// When it cannot be told so, or does not hold it.
    pub fn boot_once(&self, entry: &Entry, interrupt: &Interrupt) -> Result<(), BootLoaderError> {
        match &self.kind {
            Kind::Grub(grub) => grub.set_next(Some(&entry.id)),
            Kind::SystemdBoot(loader) => loader.set_next(&entry.id, interrupt),
        }
    }

    /// Takes back what [`BootLoader::boot_once`] said, where no boot has taken it away.
    ///
    /// # Errors
    /// When it cannot be taken back.
    pub fn forget(&self, interrupt: &Interrupt) -> Result<(), BootLoaderError> {
        match &self.kind {
            Kind::Grub(grub) => grub.set_next(None),
            Kind::SystemdBoot(loader) => loader.set_next("", interrupt),
        }
    }

    /// The entry that others asked for, for the next boot.
    ///
    /// # Errors
    /// When there is one, or that cannot be read.
    pub fn is_free(&self) -> Result<(), BootLoaderError> {
        match &self.kind {
            Kind::Grub(grub) => grub.is_free(),
            Kind::SystemdBoot(_) => Ok(()),
        }
    }

    /// Where its menu lies, for a person.
    #[must_use]
    pub fn menu(&self) -> String {
        match &self.kind {
            Kind::Grub(grub) => grub.menu.display().to_string(),
            Kind::SystemdBoot(loader) => loader.folder.clone(),
        }
    }
}

/// The entries in files of their own in a folder, in the order of their names, the last first, as both boot loaders show them.
fn entries_in(root: &Root, folder: &str, id: impl Fn(&str) -> String) -> Vec<Entry> {
    let mut names = root.list(folder).unwrap_or_default();
    names.reverse();
    let read = |name: &String| {
        let stem = name.strip_suffix(".conf")?;
        loader_entry::parse(&id(stem), &root.read(&format!("{folder}/{name}")).ok()?)
    };
    names.iter().filter_map(read).collect()
}

fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> BootLoaderError {
    let path = path.to_owned();
    move |source| BootLoaderError::File { action, path, source }
}

/// Writes over a file's bytes where they lie: GRUB writes an environment block back by the blocks it was read from.
fn overwrite(path: &Path, bytes: &[u8]) -> Result<(), BootLoaderError> {
    use std::io::Write;
    let mut open = fs::File::options().write(true).open(path).map_err(file("open", path))?;
    open.write_all(bytes).and_then(|()| open.sync_all()).map_err(file("write", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MENU: &str = "load_env\nsave_env next_entry\nmenuentry 'Debian' $menuentry_id_option 'simple' {\nlinux /boot/vmlinuz-6.12.9 ro\n}\n\
        submenu 'Advanced' $menuentry_id_option 'advanced' {\nmenuentry '6.1' $menuentry_id_option 'old-6.1.0' {\nlinux /boot/vmlinuz-6.1.0 \
        ro panic=5\n}\n}\n";

    fn host(menu: &str) -> (tempfile::TempDir, PathBuf) {
        let tree = tempfile::tempdir().unwrap();
        let folder = tree.path().join("boot/grub");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("grub.cfg"), menu).unwrap();
        let mut block = b"# GRUB Environment Block\nsaved_entry=simple\n".to_vec();
        block.resize(1024, b'#');
        fs::write(folder.join("grubenv"), &block).unwrap();
        let environment = folder.join("grubenv");
        (tree, environment)
    }

    #[test]
    fn grub_is_told_one_entry_for_one_boot_and_nothing_else_of_it_changes() {
        let (tree, environment) = host(MENU);
        let root = Root::at(tree.path());
        let before = fs::read(&environment).unwrap();
        let loader = BootLoader::find(&root).unwrap();
        let entry = loader.entry("6.1.0").unwrap();
        assert_eq!(entry.id, "advanced>old-6.1.0");
        loader.is_free().unwrap();
        loader.boot_once(entry, &Interrupt::default()).unwrap();
        let armed = fs::read_to_string(&environment).unwrap();
        assert!(armed.contains("\nnext_entry=advanced>old-6.1.0\n") && armed.contains("saved_entry=simple"), "{armed}");
        assert_eq!(armed.len(), before.len());
        let told = loader.is_free().unwrap_err().to_string();
        assert!(told.contains("unset next_entry"), "{told}");
        loader.forget(&Interrupt::default()).unwrap();
        assert_eq!(fs::read(&environment).unwrap(), before);
        assert_eq!(fs::read_to_string(tree.path().join("boot/grub/grub.cfg")).unwrap(), MENU);
    }

    #[test]
    fn what_stands_in_the_way_is_told_with_what_to_do() {
        let (tree, environment) = host(MENU);
        let root = Root::at(tree.path());
        let told = BootLoader::find(&root).unwrap().entry("9.9.9").unwrap_err().to_string();
        assert!(told.contains("9.9.9; it boots 6.12.9, 6.1.0."), "{told}");
        fs::write(&environment, "not a block").unwrap();
        let told = BootLoader::find(&root).unwrap_err().to_string();
        assert!(told.contains("no environment block") && told.contains("grub-editenv"), "{told}");
        let (tree, _) = host("load_env\nmenuentry 'x' {\n}\n");
        let told = BootLoader::find(&Root::at(tree.path())).unwrap_err().to_string();
        assert!(told.contains("update-grub"), "{told}");
        let told = BootLoader::find(&Root::at("/nonexistent")).unwrap_err().to_string();
        assert!(told.contains("/boot/grub") && told.contains("without --boot"), "{told}");
    }

    #[test]
    fn entries_in_files_of_their_own_are_of_grub_too_where_its_menu_asks_for_them() {
        let (tree, _) = host("load_env\nsave_env next_entry\nblscfg\n");
        let folder = tree.path().join("boot/loader/entries");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("m-6.12.9.conf"), "title x\nlinux /vmlinuz-6.12.9\noptions ro\n").unwrap();
        let loader = BootLoader::find(&Root::at(tree.path())).unwrap();
        assert_eq!(loader.entry("6.12.9").unwrap().id, "m-6.12.9");
    }

    #[test]
    fn systemd_boot_is_known_by_what_it_left_in_the_firmware() {
        let tree = tempfile::tempdir().unwrap();
        let entries = tree.path().join("boot/efi/loader/entries");
        fs::create_dir_all(&entries).unwrap();
        fs::write(entries.join("debian-6.1.0.conf"), "linux /d/6.1.0/linux\noptions ro\n").unwrap();
        let variables = tree.path().join("sys/firmware/efi/efivars");
        fs::create_dir_all(&variables).unwrap();
        let name: Vec<u8> = "systemd-boot 252".encode_utf16().flat_map(u16::to_le_bytes).collect();
        fs::write(variables.join(systemd_boot::LOADER_INFO), [&[6, 0, 0, 0], &name[..]].concat()).unwrap();
        let loader = BootLoader::find(&Root::at(tree.path())).unwrap();
        assert_eq!(loader.entry("6.1.0").unwrap().id, "debian-6.1.0.conf");
        assert_eq!(loader.menu(), "/boot/efi/loader/entries");
    }
}
