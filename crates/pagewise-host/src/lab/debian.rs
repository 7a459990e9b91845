//! Kernels of Debian by version: resolved and checked by apt with a state of its own, unpacked and never installed.

use super::LabError;
use super::kernels::{Kernel, in_folder};
use crate::process::{self, Ended, Interrupt};
use crate::progress::Progress;
use crate::workload::partial::PartialDir;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Releases whose kernels are searched. What a mirror no longer has is passed over.
const SUITES: [&str; 6] = ["bullseye", "bookworm", "bookworm-backports", "trixie", "trixie-backports", "sid"];

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Lists older than this are fetched anew before a version is called unknown.
const LISTS_STAY: Duration = Duration::from_secs(24 * 3600);

/// The suffix of Debian's packages for this machine.
const ARCHITECTURE: &str = "amd64";

/// The kernels that were brought, oldest version first.
#[must_use]
pub fn brought(cache: &Path) -> Vec<Kernel> {
    let folders = fs::read_dir(kernels(cache)).into_iter().flatten().filter_map(Result::ok);
    let mut found: Vec<Kernel> = folders.flat_map(|folder| in_folder(&folder.path().join("boot"))).collect();
    found.sort_by_key(|kernel| numbers(&kernel.release));
    found
}

/// Whether a release is of this version: `6.12.107+deb13-amd64` is of 6.12, of 6.12.107 and of 6.12.107+deb13.
#[must_use]
pub fn is_of(release: &str, version: &str) -> bool {
    let rest = version_of(release).strip_prefix(version);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '+']))
}

/// A release without the machine it is for.
#[must_use]
pub fn version_of(release: &str) -> &str {
    release.strip_suffix(ARCHITECTURE).and_then(|rest| rest.strip_suffix('-')).unwrap_or(release)
}

/// Brings the newest kernel of this version, unless it is here.
///
/// # Errors
/// When this host has no apt or no keyring, no mirror is known, or none has such a kernel.
pub fn bring(
    version: &str,
    mirror: Option<&str>,
    cache: &Path,
    interrupt: &Interrupt,
    progress: &dyn Progress,
) -> Result<Kernel, LabError> {
    for program in ["apt-get", "apt-cache", "dpkg-deb", "depmod"] {
        needs(program)?;
    }
    let apt = Apt { folder: cache.join("lab/apt"), interrupt, progress };
    let _turn = apt.turn()?;
    apt.arrange(mirror)?;
    // As another process may have, meanwhile.
    if let Some(kernel) = brought(cache).into_iter().rev().find(|kernel| is_of(&kernel.release, version))
        && apt.has_fresh_lists()
    {
        return Ok(kernel);
    }
    let mut package = if apt.has_fresh_lists() { apt.newest(version)? } else { None };
    if package.is_none() {
        apt.update()?;
        package = apt.newest(version)?;
    }
    let Some(release) = package else {
        return Err(LabError::Missing(format!(
            "no kernel of version {version} in Debian's {} at {}; it has {}",
            SUITES.join(", "),
            apt.mirror(),
            apt.versions()?.join(", ")
        )));
    };
    let target = kernels(cache).join(&release);
    let here = || brought(cache).into_iter().find(|kernel| kernel.release == release);
    if let Some(kernel) = here() {
        return Ok(kernel);
    }
    let partial = PartialDir::create(&target, interrupt)?;
    if let Some(kernel) = here() {
        // Another process brought it while we waited for our turn.
        return Ok(kernel);
    }
    let packages = partial.path().join("packages");
    let tree = partial.path().join("tree");
    for folder in [&packages, &tree] {
        fs::create_dir(folder).map_err(LabError::file("create", folder))?;
    }
    apt.download(&release, &packages)?;
    let files = fs::read_dir(&packages).map_err(LabError::file("read", &packages))?;
    for file in files.filter_map(Result::ok) {
        let argv =
            ["dpkg-deb", "--extract", &file.path().to_string_lossy(), &tree.to_string_lossy()].map(str::to_owned);
        apt.step(argv.to_vec(), &format!("unpacking Linux {release}"), None)?;
    }
    // Packages of today have /usr/lib alone, and depmod and virtme-ng look below /lib.
    let lib = tree.join("lib");
    if !lib.exists() {
        std::os::unix::fs::symlink("usr/lib", &lib).map_err(LabError::file("link", &lib))?;
    }
    // Newer packages (7.2) have the image among the modules, from where an installation copies it.
    let (image, boot) = (tree.join("lib/modules").join(&release).join("vmlinuz"), tree.join("boot"));
    let usual = boot.join(format!("vmlinuz-{release}"));
    if image.is_file() && !usual.exists() {
        fs::create_dir_all(&boot).and_then(|()| fs::copy(&image, &usual)).map_err(LabError::file("copy", &image))?;
    }
    let argv = ["depmod", "-b", &tree.to_string_lossy(), &release].map(str::to_owned);
    apt.step(argv.to_vec(), &format!("listing the modules of Linux {release}"), None)?;
    partial.keep_inner("tree")?;
    here().ok_or_else(|| LabError::Step(format!("Debian's package of Linux {release} has no bootable image in boot/")))
}

fn kernels(cache: &Path) -> PathBuf {
    cache.join("lab/kernels")
}

fn needs(program: &str) -> Result<(), LabError> {
    let sbin = Path::new("/usr/sbin").join(program);
    if process::find_program(program).is_ok() || sbin.exists() {
        return Ok(());
    }
    let package = if program == "depmod" { "kmod" } else { "apt and dpkg, which Debian and Ubuntu have" };
    Err(LabError::Missing(format!(
        "cannot bring a kernel of Debian: {program} is not here ({package}). The image of any kernel can be named by its path"
    )))
}

/// The numbers of a version, for which is newer.
pub(super) fn numbers(version: &str) -> Vec<u64> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

/// apt with lists and a source list of its own: nothing of the host's is read but its proxy, and nothing is written there.
struct Apt<'a> {
    folder: PathBuf,
    interrupt: &'a Interrupt,
    progress: &'a dyn Progress,
}

impl Apt<'_> {
    fn sources(&self) -> PathBuf {
        self.folder.join("sources.list")
    }

    /// Waits while another process uses these lists: apt itself would refuse.
    fn turn(&self) -> Result<File, LabError> {
        fs::create_dir_all(&self.folder).map_err(LabError::file("create", &self.folder))?;
        let path = self.folder.join("turn");
        let file = File::create(&path).map_err(LabError::file("create", &path))?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) => self.progress.stage("waiting for another pagewise lab", None),
                Err(TryLockError::Error(source)) => return Err(LabError::file("lock", &path)(source)),
            }
            self.interrupt.check()?;
            self.interrupt.wait(Duration::from_millis(200));
        }
    }

    /// Lays the folders and the list of sources.
    fn arrange(&self, mirror: Option<&str>) -> Result<(), LabError> {
        if !Path::new(KEYRING).is_file() {
            return Err(LabError::Missing(format!(
                "cannot check Debian's signatures: there is no {KEYRING}. Install debian-archive-keyring"
            )));
        }
        let mirror = self::mirror(mirror)?;
        for folder in ["state/lists/partial", "cache/archives/partial"] {
            let folder = self.folder.join(folder);
            fs::create_dir_all(&folder).map_err(LabError::file("create", &folder))?;
        }
        let line = |suite| format!("deb [signed-by={KEYRING} arch={ARCHITECTURE}] {mirror} {suite} main\n");
        let text: String = SUITES.into_iter().map(line).collect();
        let sources = self.sources();
        if fs::read_to_string(&sources).is_ok_and(|before| before == text) {
            return Ok(());
        }
        // Lists of another mirror are none of this one's.
        let _ = fs::remove_file(self.stamp());
        fs::write(&sources, text).map_err(LabError::file("write", &sources))
    }

    fn mirror(&self) -> String {
        let text = fs::read_to_string(self.sources()).unwrap_or_default();
        text.split_whitespace().nth(3).unwrap_or("the mirror").to_owned()
    }

    fn stamp(&self) -> PathBuf {
        self.folder.join("updated")
    }

    fn has_fresh_lists(&self) -> bool {
        let written = fs::metadata(self.stamp()).and_then(|about| about.modified());
        written.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age < LISTS_STAY))
    }

    /// A command of apt on this state.
    fn command(&self, program: &str, words: &[&str]) -> Vec<String> {
        let path = |inner: &str| self.folder.join(inner).display().to_string();
        let options = [
            format!("Dir::State={}", path("state")),
            format!("Dir::Cache={}", path("cache")),
            format!("Dir::Etc::SourceList={}", path("sources.list")),
            "Dir::Etc::SourceParts=-".to_owned(),
            "Dir::Etc::Trusted=-".to_owned(),
            "Dir::Etc::TrustedParts=-".to_owned(),
            "Dir::Etc::Preferences=-".to_owned(),
            "Dir::Etc::PreferencesParts=-".to_owned(),
            "Dir::State::status=/dev/null".to_owned(),
            format!("APT::Architecture={ARCHITECTURE}"),
            format!("APT::Architectures={ARCHITECTURE}"),
            "APT::Sandbox::User=".to_owned(),
            "Acquire::Languages=none".to_owned(),
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".to_owned(),
            "Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false".to_owned(),
        ];
        let mut argv = vec![program.to_owned()];
        argv.extend(options.into_iter().flat_map(|option| ["-o".to_owned(), option]));
        argv.extend(words.iter().map(|word| (*word).to_owned()));
        argv
    }

    fn step(&self, argv: Vec<String>, what: &str, dir: Option<&Path>) -> Result<Ended, LabError> {
        let ended = self.run(argv, what, dir)?;
        if ended.status.is_success() {
            return Ok(ended);
        }
        Err(LabError::Step(format!("{what} failed: {}: {}", ended.status, ended.last_lines())))
    }

    fn run(&self, argv: Vec<String>, what: &str, dir: Option<&Path>) -> Result<Ended, LabError> {
        super::run_step(argv, dir, self.interrupt, &mut || self.progress.stage(what, None))
    }

    /// A release that the mirror does not have makes apt end with an error after it has read the others.
    fn update(&self) -> Result<(), LabError> {
        let what = "reading Debian's lists of packages (about 40 MB)";
        let ended = self.run(self.command("apt-get", &["update"]), what, None)?;
        if !ended.status.is_success() && self.versions()?.is_empty() {
            return Err(LabError::Step(format!(
                "cannot read Debian's lists of packages at {}: {}",
                self.mirror(),
                ended.last_lines()
            )));
        }
        let stamp = self.stamp();
        fs::write(&stamp, "").map_err(LabError::file("write", &stamp))
    }

    /// Every release that there is a kernel of.
    fn releases(&self) -> Result<Vec<String>, LabError> {
        let words = ["search", "--names-only", "^linux-image-[0-9]"];
        let ended = self.step(self.command("apt-cache", &words), "looking for kernels", None)?;
        let release = |line: &str| {
            let name = line.split_whitespace().next()?.strip_prefix("linux-image-")?;
            // Not those for clouds or real time, nor what has symbols or no signature.
            let plain = version_of(name);
            let is_plain = plain != name && !["cloud", "rt", "unsigned", "dbg"].iter().any(|word| plain.contains(word));
            is_plain.then(|| name.to_owned())
        };
        let mut found: Vec<String> = ended.stdout.lines().filter_map(release).collect();
        found.sort_by_key(|release| numbers(release));
        found.dedup();
        Ok(found)
    }

    fn newest(&self, version: &str) -> Result<Option<String>, LabError> {
        Ok(self.releases()?.into_iter().rev().find(|release| is_of(release, version)))
    }

    /// The versions there are kernels of, by their first two numbers.
    fn versions(&self) -> Result<Vec<String>, LabError> {
        let mut found: Vec<String> =
            self.releases()?.iter().map(|release| release.split('.').take(2).collect::<Vec<_>>().join(".")).collect();
        found.dedup();
        Ok(found)
    }

    /// The image and, where newer packages part them from it, its modules, checked against the signed lists.
    fn download(&self, release: &str, into: &Path) -> Result<(), LabError> {
        let image = format!("linux-image-{release}");
        let ended = self.step(self.command("apt-cache", &["depends", &image]), "looking for its modules", None)?;
        let needed = ended.stdout.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
        let own = needed.filter(|name| {
            name.starts_with("linux-") && name.ends_with(version_of(release)) || name.ends_with(release)
        });
        let mut words = vec!["download", image.as_str()];
        words.extend(own.filter(|name| *name != image));
        let what = format!("fetching Linux {release} from Debian (about 100 MB)");
        self.step(self.command("apt-get", &words), &what, Some(into))?;
        Ok(())
    }
}

/// The mirror that was named, else that of this host.
///
/// # Errors
/// When it is no URL, or this host has none.
pub(super) fn mirror(named: Option<&str>) -> Result<String, LabError> {
    let mirror = match named {
        Some(named) => named.trim_end_matches('/').to_owned(),
        None => mirror_of_this_host().ok_or_else(|| {
            LabError::Missing(
                "this host has no sources of Debian to take a mirror from; name one with --mirror URL".to_owned(),
            )
        })?,
    };
    let is_url = ["http://", "https://", "file:/"].iter().any(|scheme| mirror.starts_with(scheme));
    if !is_url || mirror.contains(char::is_whitespace) {
        return Err(LabError::Usage(format!("'{}' is no URL of a mirror", mirror.escape_debug())));
    }
    Ok(mirror)
}

/// The first mirror of Debian that this host's own sources name.
fn mirror_of_this_host() -> Option<String> {
    let parts = fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().filter_map(Result::ok);
    let mut files: Vec<PathBuf> = parts.map(|entry| entry.path()).collect();
    files.sort();
    files.insert(0, PathBuf::from("/etc/apt/sources.list"));
    files.iter().filter_map(|file| fs::read_to_string(file).ok()).find_map(|text| mirror_in(&text))
}

/// Of a list in either of apt's two formats (sources.list(5)).
fn mirror_in(text: &str) -> Option<String> {
    let lines = text.lines().map(str::trim).filter(|line| line.starts_with("deb ") || line.starts_with("URIs:"));
    let words = lines.flat_map(str::split_whitespace);
    let found = words.map(|word| word.trim_end_matches('/')).find(|word| {
        let is_url = word.starts_with("http://") || word.starts_with("https://") || word.starts_with("file:/");
        is_url && word.ends_with("/debian")
    });
    found.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_of_the_versions_it_begins_with_as_numbers() {
        let release = "6.12.107+deb13-amd64";
        assert!(["6.12", "6.12.107", "6.12.107+deb13", "6"].iter().all(|version| is_of(release, version)));
        assert!(["6.1", "6.12.10", "5.10", "6.12.107+deb1"].iter().all(|version| !is_of(release, version)));
        assert!(is_of("6.1.0-50-amd64", "6.1") && is_of("6.1.0-50-amd64", "6.1.0-50"));
    }

    #[test]
    fn the_newest_is_told_by_numbers() {
        let mut releases = ["6.12.95+deb12-amd64", "6.12.117+deb13-amd64", "6.12.9-amd64"];
        releases.sort_by_key(|release| numbers(release));
        assert_eq!(releases[2], "6.12.117+deb13-amd64");
    }

    #[test]
    fn a_mirror_is_found_in_both_formats_and_security_updates_are_none() {
        let deb822 = "Types: deb\nURIs: http://mirror.example/debian-security\nSuites: x\n\nTypes: deb\nURIs: http://mirror.example/debian/\n";
        assert_eq!(mirror_in(deb822).as_deref(), Some("http://mirror.example/debian"));
        let line = "# deb http://old.example/debian x main\ndeb [arch=amd64] https://m.example/debian bookworm main\n";
        assert_eq!(mirror_in(line).as_deref(), Some("https://m.example/debian"));
        assert_eq!(mirror_in("deb http://archive.example/ubuntu noble main\n"), None);
    }
}
