//! The unit of systemd that goes on with a trial after a boot. It is there only while a trial boots this host.

use super::BootsError;
use crate::root::Root;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// One for all: two trials cannot both say what is booted next.
pub(super) const NAME: &str = "pagewise-trial.service";

const FOLDER: &str = "/etc/systemd/system";
/// Where it is enabled, as `systemctl enable` would by its `[Install]`.
const WANTED: &str = "/etc/systemd/system/multi-user.target.wants";

/// What goes on with a trial after a boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumeUnit {
    /// The bundle, absolute.
    pub bundle: PathBuf,
    /// The command and its words.
    pub argv: Vec<String>,
    /// Where it starts.
    pub folder: PathBuf,
    /// Variables it needs.
    pub variables: Vec<(String, String)>,
}

impl ResumeUnit {
    /// Whether such a unit can be written, and stands in nobody's way.
    pub(super) fn check(&self, root: &Root) -> Result<(), BootsError> {
        self.text()?;
        match owner(root) {
            Some(bundle) if bundle != self.bundle.display().to_string() && root.path(&bundle).exists() => {
                Err(BootsError::AnotherTrial { path: path(root), bundle })
            }
            _ => Ok(()),
        }
    }

    /// Whether it is there for this bundle.
    pub(super) fn is_there(&self, root: &Root) -> bool {
        owner(root).is_some_and(|bundle| bundle == self.bundle.display().to_string())
    }

    /// Writes and enables it, durably.
    pub(super) fn install(&self, root: &Root) -> Result<(), BootsError> {
        let (path, wanted) = (path(root), root.path(WANTED));
        let temporary = path.with_extension("new");
        let text = self.text()?;
        let write = || -> io::Result<()> {
            let mut file = File::create(&temporary)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&temporary, &path)
        };
        fs::create_dir_all(&wanted).map_err(file("create", &wanted))?;
        write().map_err(file("write", &path))?;
        let link = wanted.join(NAME);
        match std::os::unix::fs::symlink(format!("{FOLDER}/{NAME}"), &link) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(file("create", &link)(error)),
            _ => {}
        }
        for folder in [root.path(FOLDER), wanted] {
            File::open(&folder).and_then(|open| open.sync_all()).map_err(file("write", &folder))?;
        }
        Ok(())
    }

    /// Takes it away, unless it is another bundle's. Gives whether it was there.
    pub(super) fn remove(&self, root: &Root) -> Result<bool, BootsError> {
        let is_another = owner(root).is_some() && !self.is_there(root);
        if is_another {
            return Ok(false);
        }
        let mut was_there = false;
        // The link first: without it the unit is one that nobody starts.
        for path in [root.path(WANTED).join(NAME), path(root)] {
            match fs::remove_file(&path) {
                Ok(()) => was_there = true,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(file("remove", &path)(error)),
            }
        }
        if was_there {
            let folder = root.path(FOLDER);
            File::open(&folder).and_then(|open| open.sync_all()).map_err(file("write", &folder))?;
        }
        Ok(was_there)
    }

    fn text(&self) -> Result<String, BootsError> {
        let one_line = |what: &str, text: &str| {
            if text.contains(|c: char| c.is_control()) {
                return Err(BootsError::NoText { what: format!("{what} '{}'", text.escape_debug()) });
            }
            Ok(text.replace('%', "%%"))
        };
        let of_path = |what: &str, path: &Path| match path.to_str() {
            Some(text) => one_line(what, text),
            None => Err(BootsError::NoText { what: format!("{what} {}", path.display()) }),
        };
        let quoted = |text: String| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        let bundle = of_path("the bundle", &self.bundle)?;
        let name = self.bundle.file_name().unwrap_or_default().to_string_lossy().replace('%', "%%");
        let mut words = Vec::new();
        for word in &self.argv {
            words.push(quoted(one_line("the word", word)?.replace('$', "$$")));
        }
        let mut variables = String::new();
        for (name, value) in &self.variables {
            let line = format!("Environment={}\n", quoted(one_line("the variable", &format!("{name}={value}"))?));
            variables.push_str(&line);
        }
        Ok(format!(
            "# Goes on with a trial that boots this host by itself. Pagewise wrote it, and takes it away when the trial is over. To end the\n\
             # trial now: systemctl disable --now {NAME}\n\
             [Unit]\nDescription=Pagewise trial {name}, which boots this host\nDocumentation=man:pagewise-trial-resume(1)\n\
             ConditionPathExists={bundle}\nAfter=multi-user.target\n\n\
             [Service]\nType=exec\nWorkingDirectory={}\n{variables}ExecStart={}\n\
             # Its job and what puts the host back are its own to end.\nKillMode=mixed\nTimeoutStopSec=60\nDelegate=yes\n\n\
             [Install]\nWantedBy=multi-user.target\n",
            of_path("the folder", &self.folder)?,
            words.join(" ")
        ))
    }
}

fn path(root: &Root) -> PathBuf {
    root.path(FOLDER).join(NAME)
}

/// The bundle of the unit that is there.
fn owner(root: &Root) -> Option<String> {
    let text = fs::read_to_string(path(root)).ok()?;
    Some(text.lines().find_map(|line| line.strip_prefix("ConditionPathExists="))?.replace("%%", "%"))
}

fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> BootsError {
    let path = path.to_owned();
    move |source| BootsError::File { action, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn goes_on(bundle: &str) -> ResumeUnit {
        ResumeUnit {
            bundle: bundle.into(),
            argv: ["/usr/bin/pagewise", "trial", "resume", "--boot", bundle].map(str::to_owned).to_vec(),
            folder: "/srv/50%".into(),
            variables: vec![("PATH".to_owned(), "/opt/my \"jdk\"/bin:/usr/bin".to_owned())],
        }
    }

    #[test]
    fn a_unit_is_written_enabled_and_taken_away_and_another_trials_is_left_alone() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::at(tree.path());
        let bundle = tree.path().join("srv/a$b.trial");
        fs::create_dir_all(&bundle).unwrap();
        let unit = goes_on("/srv/a$b.trial");
        unit.install(&root).unwrap();
        unit.install(&root).unwrap();
        assert!(unit.is_there(&root) && unit.check(&root).is_ok());
        let text = fs::read_to_string(path(&root)).unwrap();
        assert!(text.contains("\nWorkingDirectory=/srv/50%%\n"), "{text}");
        assert!(text.contains("\nEnvironment=\"PATH=/opt/my \\\"jdk\\\"/bin:/usr/bin\"\n"), "{text}");
        assert!(text.contains("\"--boot\" \"/srv/a$$b.trial\"\n"), "{text}");
        let link = root.path(WANTED).join(NAME);
        assert_eq!(fs::read_link(&link).unwrap(), Path::new("/etc/systemd/system/pagewise-trial.service"));
        let other = goes_on("/srv/other.trial");
        let told = other.check(&root).unwrap_err().to_string();
        assert!(told.contains("/srv/a$b.trial") && told.contains("systemctl disable --now"), "{told}");
        assert!(!other.remove(&root).unwrap() && link.is_symlink());
        assert!(unit.remove(&root).unwrap() && !unit.remove(&root).unwrap());
        assert!(!link.is_symlink() && !path(&root).exists());
        // What a removed bundle left is nobody's.
        unit.install(&root).unwrap();
        fs::remove_dir(&bundle).unwrap();
        assert!(other.check(&root).is_ok());
    }

    #[test]
    fn what_is_no_line_is_refused_before_anything_is_written() {
        let told = goes_on("/srv/a\nExecStart=x").check(&Root::at("/nonexistent")).unwrap_err().to_string();
        assert!(told.contains("no text of one line"), "{told}");
    }
}
