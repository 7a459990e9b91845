//! Trials that boot their host by themselves: one boot of the kernel that the next point needs is asked for, a unit goes on after it, and
//! when the trial is over the host is as it was. Asking and booting are two steps, so that all but the last runs on any folder.

mod unit;

pub use unit::ResumeUnit;

use crate::boot_loader::{BootLoader, BootLoaderError};
use crate::facts::kernel;
use crate::process::{self, Command, Interrupt, ProcessError};
use crate::root::Root;
use crate::source::boot_id;
use crate::store::bundle::{Bundle, BundleError};
use pagewise_core::experiment::boots::{Boots, BootsEnd, NextBoot, RequestedBoot};
use pagewise_core::experiment::plan::Plan;
use pagewise_core::experiment::plan::cells::{boot_settings, cells};
use pagewise_core::experiment::plan::lab::KERNEL;
use pagewise_core::experiment::point::Boot;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;

/// Why a trial cannot boot its host.
#[derive(Debug, thiserror::Error)]
pub enum BootsError {
    /// Nothing of the plan takes a boot of this host.
    #[error(
        "--boot is for plans whose levels name kernels of this host (kernel=6.12.9, as uname -r prints it), and this one has none{}",
        if *guests { ": its points run in virtual machines, which need no boot of it" } else { "" }
    )]
    NothingToBoot {
        /// Whether its points run in guests.
        guests: bool,
    },
    /// Not root.
    #[error(
        "only root can ask the boot loader for a kernel and boot this host: run it with sudo, or boot by hand and go on without --boot"
    )]
    NotRoot,
    /// A container's kernel is its host's.
    #[error("this is a container, and its kernel is that of the host around it: run the trial there")]
    Container,
    /// Another init.
    #[error(
        "systemd does not run this host (there is no /run/systemd/system), and a unit of it is what goes on after a boot. Boot by hand, and go \
         on without --boot"
    )]
    NoSystemd,
    /// Another trial boots this host.
    #[error(
        "another trial boots this host by itself: {bundle}, by {}. Let it end, or end it with systemctl disable --now {}", path.display(),
        unit::NAME
    )]
    AnotherTrial {
        /// Its unit.
        path: PathBuf,
        /// Its bundle.
        bundle: String,
    },
    /// What the unit would hold is no text.
    #[error("{what} cannot stand in a unit of systemd: it is no text of one line")]
    NoText {
        /// What.
        what: String,
    },
    /// The boot loader.
    #[error(transparent)]
    Loader(#[from] BootLoaderError),
    /// The bundle.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// A boot was tried often enough.
    #[error("{0}. The trial was stopped, and its unit taken away")]
    InVain(String),
    /// The host could not be told to boot.
    #[error("systemctl reboot failed: {0}. What was asked for stands: any boot goes on with the trial")]
    NoReboot(String),
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

/// A host that a trial may boot.
#[derive(Debug)]
pub struct BootedHost {
    root: Root,
    loader: BootLoader,
    goes_on: ResumeUnit,
    /// Cell to the release it needs.
    releases: BTreeMap<String, String>,
    interrupt: Interrupt,
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Armed {
    /// The boot.
    pub asked: RequestedBoot,
    /// The entry of the boot loader.
    pub entry: String,
}

impl BootedHost {
    /// Holds a plan against this host before anything is changed. What is risky comes back as notes.
    ///
    /// # Errors
    /// What stands in the way, and what to do.
    pub fn check(
        root: &Root,
        plan: &Plan,
        goes_on: ResumeUnit,
        interrupt: &Interrupt,
    ) -> Result<(BootedHost, Vec<String>), BootsError> {
        let guests = plan.guests().is_some();
        let releases = releases_of(plan);
        if guests || releases.is_empty() {
            return Err(BootsError::NothingToBoot { guests });
        }
        if root.is_live() && !rustix::process::geteuid().is_root() {
            return Err(BootsError::NotRoot);
        }
        if ["/run/systemd/container", "/run/.containerenv", "/.dockerenv"].iter().any(|mark| root.exists(mark)) {
            return Err(BootsError::Container);
        }
        if !root.exists("/run/systemd/system") {
            return Err(BootsError::NoSystemd);
        }
        let loader = BootLoader::find(root)?;
        let mut notes = Vec::new();
        for release in releases.values().collect::<BTreeSet<_>>() {
            if !loader.entry(release)?.reboots_after_a_panic() {
                notes.push(format!(
                    "{} gives Linux {release} no panic=: should it panic, this host waits until somebody switches it off and on. With panic=30 \
                     among the kernel's parameters it starts anew by itself",
                    loader.menu()
                ));
            }
        }
        goes_on.check(root)?;
        let host = BootedHost { root: root.clone(), loader, goes_on, releases, interrupt: interrupt.clone() };
        if !host.goes_on.is_there(root) {
            host.loader.is_free()?;
        }
        Ok((host, notes))
    }

    /// Writes down what came up after the boot that was asked for.
    ///
    /// # Errors
    /// When the bundle cannot be written.
    pub fn arrive(&self, bundle: &Bundle) -> Result<(), BootsError> {
        let Some(mut boots) = bundle.boots()?.filter(|boots| boots.over.is_none()) else { return Ok(()) };
        if boots.saw(&self.runs(), &self.boot()) {
            bundle.keep_boots(&boots)?;
        }
        Ok(())
    }

    /// Asks for the boot that a point needs. The host is then ready for it, and whatever ends it, the trial goes on after its next boot.
    ///
    /// # Errors
    /// When it was tried often enough, or cannot be asked for. The trial's boots are then to be closed.
    pub fn arm(&self, bundle: &Bundle, index: u32, cell: &str, needs: &Boot) -> Result<Armed, BootsError> {
        let before = bundle.boots()?.filter(|boots| boots.over.is_none());
        let mut boots = before.unwrap_or_else(|| Boots { home: self.runs(), asked: None, over: None });
        let release = needs.settings.get(KERNEL).or_else(|| self.releases.get(cell)).cloned();
        let release = release.unwrap_or_else(|| self.runs());
        let asked = match boots.next(index, &release, &self.boot()) {
            NextBoot::Ask(asked) => asked,
            NextBoot::GiveUp(why) => return Err(BootsError::InVain(why)),
        };
        let entry = self.loader.entry(&release)?;
        // In this order: a host that loses its power in between goes on with the trial, or boots what it always did.
        self.goes_on.install(&self.root)?;
        boots.asked = Some(asked.clone());
        bundle.keep_boots(&boots)?;
        self.loader.boot_once(entry, &self.interrupt)?;
        Ok(Armed { asked, entry: entry.id.clone() })
    }

    /// Ends the trial's boots: no unit, nothing asked for. Gives the release that is to run again, where another one does.
    ///
    /// # Errors
    /// When something cannot be taken away.
    pub fn close(&self, bundle: &Bundle, over: BootsEnd) -> Result<Option<String>, BootsError> {
        let was_there = self.goes_on.remove(&self.root)?;
        let Some(mut boots) = bundle.boots()?.filter(|boots| boots.over.is_none()) else { return Ok(None) };
        if was_there {
            self.loader.forget(&self.interrupt)?;
        }
        boots.over = Some(over);
        bundle.keep_boots(&boots)?;
        Ok((boots.home != self.runs()).then_some(boots.home))
    }

    /// Boots the host.
    ///
    /// # Errors
    /// When systemd refuses.
    pub fn reboot(&self) -> Result<(), BootsError> {
        let said = match systemctl(&["--no-block", "reboot"], &self.interrupt) {
            Ok(ended) if ended.status.is_success() => return Ok(()),
            Ok(ended) => ended.last_lines(),
            Err(error) => error.to_string(),
        };
        Err(BootsError::NoReboot(said))
    }

    /// Whether the host is on its way down: what stops then goes on after the boot.
    #[must_use]
    pub fn is_going_down(&self) -> bool {
        // Its own interrupt is set by then, and would end the question.
        let asked = systemctl(&["is-system-running"], &Interrupt::default());
        self.root.is_live() && asked.is_ok_and(|ended| ended.stdout.trim() == "stopping")
    }

    fn runs(&self) -> String {
        kernel::release(&self.root).unwrap_or_default()
    }

    fn boot(&self) -> String {
        boot_id(&self.root).unwrap_or_default()
    }
}

/// Takes the unit of a bundle away where the trial cannot go on, and writes down why.
///
/// # Errors
/// When it cannot be taken away.
pub fn abandon(root: &Root, bundle: &Bundle, goes_on: &ResumeUnit, why: &str) -> Result<(), BootsError> {
    if goes_on.is_there(root) {
        goes_on.remove(root)?;
    }
    if let Some(mut boots) = bundle.boots()?.filter(|boots| boots.over.is_none()) {
        boots.over = Some(BootsEnd::Stopped(why.to_owned()));
        bundle.keep_boots(&boots)?;
    }
    Ok(())
}

fn systemctl(words: &[&str], interrupt: &Interrupt) -> Result<process::Ended, ProcessError> {
    let argv = ["systemctl"].iter().chain(words).map(|word| (*word).to_owned()).collect();
    process::run_step(&Command { argv, ..Command::default() }, interrupt, &mut || {})
}

/// The kernel that each cell needs, where it names one.
fn releases_of(plan: &Plan) -> BTreeMap<String, String> {
    let named = |cell: pagewise_core::experiment::plan::cells::Cell| {
        let settings = boot_settings(&cell.policy);
        let kernel = settings.iter().rev().find(|setting| setting.tunable.name == KERNEL)?.value.clone();
        Some((cell.label, kernel))
    };
    cells(plan).into_iter().flatten().filter_map(named).collect()
}
