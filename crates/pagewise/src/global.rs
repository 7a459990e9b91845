//! The options that every verb takes.

use clap::Args;
use pagewise_host::root::Root;
use std::env;
use std::path::PathBuf;

/// Options every verb takes.
#[derive(Args, Debug)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Global {
    /// Write the result as JSON to stdout
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Say more on stderr (-vv: even more)
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Use colour: auto, always or never (NO_COLOR is respected)
    #[arg(long, global = true, default_value = "auto", value_name = "WHEN", value_parser = ["auto", "always", "never"])]
    pub(crate) color: String,
    /// Read another host's captured tree instead of this machine
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Where the change journal is kept [default: $PAGEWISE_STATE_DIR, or /var/lib/pagewise, or $XDG_STATE_HOME/pagewise when not root]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
    /// Where generated data and jars are kept [default: $PAGEWISE_CACHE_DIR, or /var/cache/pagewise, or $XDG_CACHE_HOME/pagewise when not root]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) cache_dir: Option<PathBuf>,
}

/// Variables that say where things are kept, where no option does. The parser is not told of them: it would name their options in each
/// usage line, as if they had been typed.
pub(crate) const STATE_VARIABLE: &str = "PAGEWISE_STATE_DIR";
pub(crate) const CACHE_VARIABLE: &str = "PAGEWISE_CACHE_DIR";

impl Global {
    /// The same with what the environment says of what was not typed.
    pub(crate) fn with_environment(mut self) -> Global {
        let said = |variable: &str| env::var_os(variable).filter(|folder| !folder.is_empty()).map(PathBuf::from);
        self.state_dir = self.state_dir.or_else(|| said(STATE_VARIABLE));
        self.cache_dir = self.cache_dir.or_else(|| said(CACHE_VARIABLE));
        self
    }

    /// The tree that is read: this machine's, or the one under `--root`.
    pub(crate) fn root(&self) -> Root {
        self.root.as_ref().map_or_else(Root::live, Root::at)
    }
}
