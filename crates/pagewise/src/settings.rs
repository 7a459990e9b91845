//! Where things are kept, resolved once: flags, then `PAGEWISE_*` variables, then the user's config file, then the
//! host's, then the defaults.

use crate::failure::Failure;
use crate::global::Global;
use anyhow::{Context, anyhow};
use pagewise_host::workload::{self, Places};
use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The state folder of root, and of the host.
pub(crate) const HOST_STATE: &str = "/var/lib/pagewise";

/// A config file: `/etc/pagewise/config.toml` or `$XDG_CONFIG_HOME/pagewise/config.toml`.
type ConfigFile = BTreeMap<Key, String>;

/// A name that a config file may have: one of Pagewise's own folders, or a place that a workload can be told of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key(String);

const STATE: &str = "state_dir";
const CACHE: &str = "cache_dir";

impl<'de> serde::Deserialize<'de> for Key {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Key, D::Error> {
        let name = String::deserialize(from)?;
        let known: Vec<&str> = [STATE, CACHE].into_iter().chain(workload::places().map(|place| place.name)).collect();
        if known.contains(&name.as_str()) {
            return Ok(Key(name));
        }
        Err(serde::de::Error::custom(format!("there is no setting '{name}'; there are {}", known.join(", "))))
    }
}

/// What the rest of the program asks for. Its folders are absolute: guests and other programs are told of them.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The change journal.
    pub(crate) state_dir: PathBuf,
    /// Generated data, jars, swap files.
    pub(crate) cache_dir: PathBuf,
    /// What workloads work with, by variables and config files.
    pub(crate) places: Places,
}

impl Settings {
    /// Resolves them. `--state-dir`, `--cache-dir` and their variables are already in `global` ([`Global::with_environment`]).
    ///
    /// # Errors
    /// When a config file cannot be read or understood.
    pub(crate) fn resolve(global: &Global) -> Result<Settings, Failure> {
        let host = read_config(Path::new("/etc/pagewise/config.toml"), "let everybody read it")?;
        let user = match xdg("XDG_CONFIG_HOME", ".config") {
            // It may say where the journal is: to pass over it could mean another journal.
            Some(folder) => {
                let remedy = "set XDG_CONFIG_HOME or HOME to a folder of yours";
                read_config(&folder.join("pagewise/config.toml"), remedy)?
            }
            None => ConfigFile::new(),
        };
        let said = |name: &str| {
            let key = Key(name.to_owned());
            user.get(&key).or_else(|| host.get(&key))
        };
        let is_root = rustix::process::geteuid().is_root();
        let default = |variable: &str, below_home: &str, for_root: &str| -> Result<PathBuf, Failure> {
            if is_root {
                return Ok(PathBuf::from(for_root));
            }
            xdg(variable, below_home).map(|folder| folder.join("pagewise")).ok_or_else(|| {
                let what = format!("neither HOME nor {variable} is set, so there is no place for Pagewise's files");
                Failure::NotPossible(anyhow!("{what}; set one, or give --state-dir and --cache-dir"))
            })
        };
        let state_dir = match global.state_dir.clone().or_else(|| said(STATE).map(PathBuf::from)) {
            Some(folder) => folder,
            None => default("XDG_STATE_HOME", ".local/state", HOST_STATE)?,
        };
        let cache_dir = match global.cache_dir.clone().or_else(|| said(CACHE).map(PathBuf::from)) {
            Some(folder) => folder,
            None => default("XDG_CACHE_HOME", ".cache", "/var/cache/pagewise")?,
        };
        let mut places = Places::default();
        for place in workload::places() {
            let from_variable = env::var_os(place.variable());
            if let Some(found) = from_variable.or_else(|| said(place.name).map(OsString::from)) {
                places = places.with(place.name, found);
            }
        }
        let absolute = |folder: PathBuf| {
            let what = || format!("cannot find the folder {}", folder.display());
            std::path::absolute(&folder).with_context(what).map_err(Failure::NotPossible)
        };
        Ok(Settings { state_dir: absolute(state_dir)?, cache_dir: absolute(cache_dir)?, places })
    }
}

fn xdg(variable: &str, below_home: &str) -> Option<PathBuf> {
    let absolute = |value: std::ffi::OsString| Some(PathBuf::from(value)).filter(|path| path.is_absolute());
    env::var_os(variable)
        .and_then(absolute)
        .or_else(|| env::var_os("HOME").and_then(absolute).map(|home| home.join(below_home)))
}

/// A missing file is an empty one; a wrong one is named with line and column, one that cannot be read with a remedy.
fn read_config(path: &Path, remedy: &str) -> Result<ConfigFile, Failure> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(ConfigFile::new());
        }
        Err(error) => {
            let what = format!("cannot read the config file {}; {remedy}", path.display());
            return Err(Failure::Usage(anyhow!(error).context(what)));
        }
    };
    toml::from_str(&text)
        .with_context(|| format!("the config file {} is wrong", path.display()))
        .map_err(Failure::Usage)
}
