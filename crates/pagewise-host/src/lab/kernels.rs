//! Kernels that can be booted here: installed ones, those that were brought from Debian, an image or a build tree by its path.

use super::{LabError, debian};
use crate::process::Interrupt;
use crate::progress::Progress;
use pagewise_core::kernel_text::config::{KernelConfig, MemoryFeatures, version};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// How a user names a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelName {
    /// `debian:6.12`: the newest package of that version.
    Debian(String),
    /// A path: an image, or a build tree.
    Path(PathBuf),
    /// The release of an installed kernel, as `uname -r` prints it.
    Installed(String),
}

impl FromStr for KernelName {
    type Err = LabError;

    fn from_str(text: &str) -> Result<KernelName, LabError> {
        let usage = |what: String| {
            Err(LabError::Usage(format!(
                "{what}. A kernel is debian:VERSION (debian:6.12), the path of an image or of a build tree, or the release of an \
                 installed one; pagewise lab kernels lists what is here"
            )))
        };
        if let Some((distribution, release)) = text.split_once(':').filter(|(before, _)| !before.contains('/')) {
            if distribution != "debian" {
                return usage(format!(
                    "'{}' names kernels of '{}', and only Debian's are known",
                    text.escape_debug(),
                    distribution.escape_debug()
                ));
            }
            let is_version = |text: &str| {
                text.starts_with(|c: char| c.is_ascii_digit())
                    && text.chars().all(|c| c.is_ascii_alphanumeric() || ".+~-".contains(c))
            };
            if !is_version(release) {
                return usage(format!("'{}' is no version", release.escape_debug()));
            }
            return Ok(KernelName::Debian(release.to_owned()));
        }
        if text.contains('/') || text == "." {
            return Ok(KernelName::Path(PathBuf::from(text)));
        }
        if text.is_empty() || text.contains(char::is_whitespace) {
            return usage(format!("'{}' names no kernel", text.escape_debug()));
        }
        Ok(KernelName::Installed(text.to_owned()))
    }
}

impl fmt::Display for KernelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KernelName::Debian(release) => write!(f, "debian:{release}"),
            KernelName::Path(path) => write!(f, "{}", path.display()),
            KernelName::Installed(release) => f.write_str(release),
        }
    }
}

/// A kernel that is here and can be booted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its release, as `uname -r` would print it.
    pub release: String,
    /// The rest of what it says of itself: `#1 SMP PREEMPT_DYNAMIC Debian 6.12.107-1 (2026-08-29)`.
    pub build: String,
    /// The image.
    pub image: PathBuf,
    /// The tree it was built in, where it is one.
    pub build_tree: Option<PathBuf>,
    /// Its modules; `None` where there are none.
    pub modules: Option<PathBuf>,
    /// Its configuration; `None` where there is none beside it.
    pub config: Option<PathBuf>,
}

impl Kernel {
    /// The kernel of this image, with what lies beside it: `config-RELEASE` in its folder, modules below `lib/modules` of the tree
    /// that holds its `boot`.
    ///
    /// # Errors
    /// When it cannot be read, or is no kernel for this machine.
    pub fn of_image(image: &Path) -> Result<Kernel, LabError> {
        let image = std::path::absolute(image).map_err(LabError::file("find", image))?;
        let said = read_banner(&image)?;
        let (release, build) = said.split_once(' ').unwrap_or((&said, ""));
        // "(user@host) #1 SMP …" names people and machines.
        let build = build.find('#').map_or("", |at| &build[at..]);
        let folder = image.parent().unwrap_or(Path::new("/"));
        let tree = if folder.ends_with("boot") { folder.parent().unwrap_or(Path::new("/")) } else { Path::new("/") };
        let modules = tree.join("lib/modules").join(release);
        let config = folder.join(format!("config-{release}"));
        Ok(Kernel {
            release: release.to_owned(),
            build: build.to_owned(),
            build_tree: None,
            modules: modules.is_dir().then_some(modules),
            config: config.is_file().then_some(config),
            image,
        })
    }

    /// The kernel that was built in this tree.
    ///
    /// # Errors
    /// When nothing was built there.
    pub fn of_build_tree(tree: &Path) -> Result<Kernel, LabError> {
        let tree = std::path::absolute(tree).map_err(LabError::file("find", tree))?;
        let image = tree.join("arch/x86/boot/bzImage");
        if !image.is_file() {
            return Err(LabError::Usage(format!(
                "{} is a folder without arch/x86/boot/bzImage: no kernel was built there",
                tree.display()
            )));
        }
        let config = tree.join(".config");
        let kernel = Kernel::of_image(&image)?;
        Ok(Kernel { config: config.is_file().then_some(config), build_tree: Some(tree), modules: None, ..kernel })
    }

    /// What of memory management it has, as its configuration says; `None` where there is none to read.
    #[must_use]
    pub fn features(&self) -> Option<MemoryFeatures> {
        let config = KernelConfig::parse(&fs::read_to_string(self.config.as_ref()?).ok()?);
        (!config.is_empty()).then_some(MemoryFeatures::of(&config, version(&self.release)?))
    }

    /// The BLAKE3 of its configuration.
    #[must_use]
    pub fn config_hash(&self) -> Option<String> {
        Some(blake3::hash(&fs::read(self.config.as_ref()?).ok()?).to_hex().to_string())
    }
}

/// The kernel of this name, if it is here. One of Debian is here once it was brought.
///
/// # Errors
/// When there is no such kernel.
pub fn find(name: &KernelName, cache: &Path) -> Result<Option<Kernel>, LabError> {
    match name {
        KernelName::Debian(release) => {
            Ok(debian::brought(cache).into_iter().rev().find(|kernel| debian::is_of(&kernel.release, release)))
        }
        KernelName::Path(path) if path.is_dir() => Kernel::of_build_tree(path).map(Some),
        KernelName::Path(path) => Kernel::of_image(path).map(Some),
        KernelName::Installed(release) => {
            let paths = [format!("/boot/vmlinuz-{release}"), format!("/lib/modules/{release}/vmlinuz")];
            match paths.iter().map(Path::new).find(|path| path.exists()) {
                Some(path) => Kernel::of_image(path).map(Some),
                None => Err(LabError::Usage(format!(
                    "no kernel {} is installed: there is no {}. pagewise lab kernels lists what is here; debian:VERSION brings one",
                    release.escape_debug(),
                    paths[0]
                ))),
            }
        }
    }
}

/// The kernel of this name; one of Debian that is not here is brought.
///
/// # Errors
/// When there is none, or it cannot be brought.
pub fn have(
    name: &KernelName,
    mirror: Option<&str>,
    cache: &Path,
    interrupt: &Interrupt,
    progress: &dyn Progress,
) -> Result<Kernel, LabError> {
    match (find(name, cache)?, name) {
        (Some(kernel), _) => Ok(kernel),
        (None, KernelName::Debian(version)) => debian::bring(version, mirror, cache, interrupt, progress),
        (None, _) => Err(LabError::Usage(format!("there is no kernel {name} here"))),
    }
}

/// The kernels whose images lie in a folder such as /boot, by their names.
pub(super) fn in_folder(boot: &Path) -> Vec<Kernel> {
    let entries = fs::read_dir(boot).into_iter().flatten().filter_map(Result::ok);
    let is_image = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinuz-"));
    let mut images: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_image).collect();
    images.sort();
    images.iter().filter_map(|path| Kernel::of_image(path).ok()).collect()
}

/// Every kernel that is here: what is installed, then what was brought, oldest first, with what to call it by.
#[must_use]
pub fn list(cache: &Path) -> Vec<(KernelName, Kernel)> {
    let installed = in_folder(Path::new("/boot")).into_iter();
    let installed = installed.map(|kernel| (KernelName::Installed(kernel.release.clone()), kernel));
    let brought = debian::brought(cache).into_iter();
    let brought = brought.map(|kernel| (KernelName::Debian(debian::version_of(&kernel.release).to_owned()), kernel));
    installed.chain(brought).collect()
}

/// Where the header of an x86 image has the magic "HdrS", and where, less 0x200, what it says of itself begins
/// (`Documentation/arch/x86/boot.rst`).
const MAGIC: u64 = 0x202;
const BANNER: u64 = 0x20e;

/// What an image says of itself: its release, who built it, and when.
fn read_banner(image: &Path) -> Result<String, LabError> {
    let not_one = || {
        LabError::Usage(format!(
            "{} is no bootable kernel image for this machine (x86-64): its header is not that of a bzImage. A vmlinux with \
             symbols cannot be booted; the image lies in arch/x86/boot/bzImage of its tree, or in /boot/vmlinuz-RELEASE",
            image.display()
        ))
    };
    let mut file = File::open(image).map_err(LabError::file("open", image))?;
    let mut at = |offset: u64, bytes: &mut [u8]| -> io::Result<usize> {
        file.seek(SeekFrom::Start(offset))?;
        let mut filled = 0;
        while filled < bytes.len() {
            match file.read(&mut bytes[filled..])? {
                0 => break,
                read => filled += read,
            }
        }
        Ok(filled)
    };
    let mut magic = [0; 4];
    let mut pointer = [0; 2];
    let read = at(MAGIC, &mut magic).and_then(|_| at(BANNER, &mut pointer)).map_err(LabError::file("read", image))?;
    let start = u64::from(u16::from_le_bytes(pointer));
    if read < 2 || &magic != b"HdrS" || start == 0 {
        return Err(not_one());
    }
    let mut text = [0; 512];
    let read = at(start + 0x200, &mut text).map_err(LabError::file("read", image))?;
    let text = text[..read].split(|byte| *byte == 0).next().unwrap_or_default();
    let text = String::from_utf8_lossy(text).trim().to_owned();
    if version(&text).is_none() { Err(not_one()) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first kilobyte of an image as the boot protocol lays it out.
    fn image(folder: &Path, name: &str, banner: &str) -> PathBuf {
        let mut bytes = vec![0; 0x800];
        bytes[0x202..0x206].copy_from_slice(b"HdrS");
        bytes[0x20e..0x210].copy_from_slice(&0x300u16.to_le_bytes());
        bytes[0x500..0x500 + banner.len()].copy_from_slice(banner.as_bytes());
        let path = folder.join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    #[test]
    fn names_are_told_apart_and_what_is_none_says_what_one_is() {
        assert_eq!("debian:6.12".parse::<KernelName>().unwrap(), KernelName::Debian("6.12".to_owned()));
        assert_eq!("./linux".parse::<KernelName>().unwrap(), KernelName::Path("./linux".into()));
        assert_eq!("6.1.0-50-amd64".parse::<KernelName>().unwrap(), KernelName::Installed("6.1.0-50-amd64".to_owned()));
        for wrong in ["", "a b", "fedora:6.12", "debian:", "debian:6.1 2", "debian:$(x)"] {
            let error = wrong.parse::<KernelName>().unwrap_err().to_string();
            assert!(error.contains("debian:6.12"), "{wrong}: {error}");
        }
    }

    #[test]
    fn an_image_says_its_release_and_has_its_configuration_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let boot = folder.path().join("boot");
        fs::create_dir_all(&boot).unwrap();
        fs::create_dir_all(folder.path().join("lib/modules/6.12.1-x")).unwrap();
        fs::write(boot.join("config-6.12.1-x"), "CONFIG_LRU_GEN=y\nCONFIG_LRU_GEN_ENABLED=y\n").unwrap();
        let path = image(&boot, "vmlinuz-6.12.1-x", "6.12.1-x (joe@his-machine) #1 SMP Debian");
        let kernel = Kernel::of_image(&path).unwrap();
        assert_eq!((kernel.release.as_str(), kernel.build.as_str()), ("6.12.1-x", "#1 SMP Debian"));
        assert_eq!(kernel.modules, Some(folder.path().join("lib/modules/6.12.1-x")));
        assert_eq!(kernel.features().unwrap().mglru.to_string(), "on");
        assert_eq!(kernel.config_hash().unwrap().len(), 64);
    }

    #[test]
    fn what_is_no_image_is_refused_with_where_one_lies() {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in [("empty", &b""[..]), ("elf", b"\x7fELF"), ("text", &[b'x'; 4096])] {
            let path = folder.path().join(name);
            fs::write(&path, bytes).unwrap();
            let error = Kernel::of_image(&path).unwrap_err().to_string();
            assert!(error.contains("bzImage"), "{error}");
        }
        let error = Kernel::of_build_tree(folder.path()).unwrap_err().to_string();
        assert!(error.contains("no kernel was built there"), "{error}");
        assert!(Kernel::of_image(&image(folder.path(), "odd", "not a version")).is_err());
    }
}
