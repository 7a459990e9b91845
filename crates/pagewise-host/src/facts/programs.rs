//! Programs a data job needs: on the search path, and JVMs with their versions.

use crate::root::Root;
use pagewise_core::report::doctor::{Area, Capability, State};
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Where programs are looked for in another host's tree, whose `PATH` is not ours.
const USUAL_FOLDERS: [&str; 6] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// The first executable file called `name`: on `PATH` here, in the usual folders of another host's tree.
#[must_use]
pub fn find(root: &Root, name: &str) -> Option<PathBuf> {
    folders(root).into_iter().map(|folder| folder.join(name)).find(|path| is_executable(path))
}

/// Where programs are looked for.
pub(crate) fn folders(root: &Root) -> Vec<PathBuf> {
    match own_variable(root, "PATH") {
        Some(path) => std::env::split_paths(&path).collect(),
        None => USUAL_FOLDERS.iter().map(|folder| root.path(folder)).collect(),
    }
}

/// Whether the absence of a program means anything: a captured tree often has none.
pub(crate) fn are_shown(root: &Root) -> bool {
    USUAL_FOLDERS.iter().any(|folder| super::shows(root, folder))
}

fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// A variable of ours, which says nothing about another host.
fn own_variable(root: &Root, name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| root.is_live() && !value.is_empty())
}

const AREA: Area = Area::Programs;

/// JVMs and what the built-in workloads need.
pub(super) fn probe(root: &Root, of_workloads: Vec<Capability>) -> Vec<Capability> {
    let mut list = jvm_capabilities(root);
    let own = Capability::yes(AREA, "job", "the job's own", "env.NAME and its arguments, on every host");
    list.insert(0, own.compares("the job's environment and arguments"));
    list.extend(of_workloads);
    list
}

/// A JVM's folder and what its `release` file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jvm {
    /// `JAVA_HOME`, with symbolic links resolved.
    pub home: PathBuf,
    /// Such as `17.0.15`; `None` when there is no `release` file.
    pub version: Option<String>,
    /// Such as `Eclipse Adoptium`.
    pub vendor: Option<String>,
    /// Found through `JAVA_HOME` or `PATH`: what a job gets that does not choose.
    pub is_default: bool,
}

/// Every JVM in the usual places, the default one first.
#[must_use]
pub fn jvms(root: &Root) -> Vec<Jvm> {
    let mut homes: Vec<(PathBuf, bool)> = Vec::new();
    let mut add = |home: PathBuf, is_default: bool| {
        let home = std::fs::canonicalize(&home).unwrap_or(home);
        if is_executable(&home.join("bin/java")) && !homes.iter().any(|(known, _)| *known == home) {
            homes.push((home, is_default));
        }
    };
    if let Some(home) = own_variable(root, "JAVA_HOME") {
        add(PathBuf::from(home), true);
    }
    if let Some(java) = find(root, "java").and_then(|java| std::fs::canonicalize(java).ok()) {
        // Java 8's own link leads to jre/bin/java inside the JDK.
        if let Some(home) = java.parent().and_then(Path::parent) {
            add(home.to_owned(), true);
        }
    }
    let mut folders: Vec<PathBuf> = ["/usr/lib/jvm", "/usr/java", "/opt"].iter().map(|f| root.path(f)).collect();
    folders.extend(own_variable(root, "HOME").map(|home| PathBuf::from(home).join(".sdkman/candidates/java")));
    for folder in folders {
        let mut entries: Vec<PathBuf> =
            std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path()).collect();
        entries.sort();
        entries.into_iter().for_each(|home| add(home, false));
    }
    homes.into_iter().map(|(home, is_default)| describe(home, is_default)).collect()
}

fn describe(home: PathBuf, is_default: bool) -> Jvm {
    let release = std::fs::read_to_string(home.join("release")).unwrap_or_default();
    let field = |name: &str| {
        let line = release.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
        Some(line.trim().trim_matches('"').to_owned())
    };
    Jvm { version: field("JAVA_VERSION"), vendor: field("IMPLEMENTOR"), home, is_default }
}

impl Jvm {
    fn name(&self) -> String {
        let version = self.version.as_deref().unwrap_or("version unknown");
        match &self.vendor {
            Some(vendor) => format!("{version} ({vendor})"),
            None => version.to_owned(),
        }
    }

    /// G1 with `UseTransparentHugePages` gets no huge pages in the first release of JDK 25 (JDK-8366434).
    fn has_broken_huge_pages(&self) -> bool {
        matches!(self.version.as_deref(), Some("25" | "25.0.0"))
    }
}

/// Version and vendor of the JVM a job gets that does not choose one.
#[must_use]
pub fn default_jvm(root: &Root) -> Option<String> {
    jvms(root).first().map(Jvm::name)
}

fn jvm_capabilities(root: &Root) -> Vec<Capability> {
    let jvms = jvms(root);
    if jvms.is_empty() && !are_shown(root) {
        return vec![Capability::unknown(AREA, "jvm", "JVM", super::NOT_CAPTURED, "").compares("JVM flags")];
    }
    if jvms.is_empty() {
        let why = "no java in JAVA_HOME, on the search path, in /usr/lib/jvm, /usr/java or /opt";
        let remedy = "install a JVM, such as openjdk-17-jre-headless (Debian)";
        return vec![Capability::no(AREA, "jvm", "JVM", why, remedy).compares("JVM flags")];
    }
    let capability = |(number, jvm): (usize, &Jvm)| {
        let default = if jvm.is_default { "default: " } else { "" };
        let value = format!("{default}{} in {}", jvm.name(), root.shown(&jvm.home));
        let id = if number == 0 { "jvm".to_owned() } else { format!("jvm.{}", number + 1) };
        let found = Capability::yes(AREA, &id, "JVM", value).compares("JVM flags");
        if jvm.has_broken_huge_pages() {
            let why = "UseTransparentHugePages has no effect with G1 in this release (JDK-8366434)";
            return found.with(State::Limited, why, "use 25.0.3 or later, or 21");
        }
        found
    };
    jvms.iter().enumerate().map(capability).collect()
}

/// A version and where it lies, as doctor says it.
pub(crate) fn found_in(root: &Root, version: Option<String>, place: &Path) -> String {
    let version = version.unwrap_or_else(|| "version unknown".to_owned());
    format!("{version} in {}", root.shown(place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pagewise_testkit::FakeHost;

    #[test]
    fn jvms_are_found_with_version_and_vendor_from_their_release_file() {
        let fake = FakeHost::empty()
            .program("/usr/lib/jvm/jdk-25/bin/java", "")
            .file("/usr/lib/jvm/jdk-25/release", "IMPLEMENTOR=\"Example\"\nJAVA_VERSION=\"25\"\n")
            .program("/usr/lib/jvm/old/bin/java", "");
        let root = Root::at(fake.path());
        let found = jvm_capabilities(&root);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].state, State::Limited, "JDK 25's first release ignores huge pages");
        assert!(found[0].value.as_deref().is_some_and(|v| v.contains("25 (Example) in /usr/lib/jvm/jdk-25")));
        assert!(found[1].value.as_deref().is_some_and(|v| v.contains("version unknown")));
    }
}
