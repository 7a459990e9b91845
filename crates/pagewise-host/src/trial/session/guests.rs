//! Trials whose points run in guests: kernels are found, the data disk is made, and the engine boots what each point needs.

use super::audience::ForwardedProgress;
use super::{HeldHost, Ready, Session, SessionError};
use crate::facts::kernel::host_facts;
use crate::lab::accelerator::Accelerator;
use crate::lab::agent;
use crate::lab::disk::{self, Disk};
use crate::lab::kernels;
use crate::lab::{Lab, LabError, Machine};
use crate::store::bundle::Bundle;
use crate::trial::engine::{self, TrialError};
use crate::trial::guests::Points;
use crate::trial::guests::runner::{LabRunner, PlannedKernel};
use crate::workload;
use pagewise_core::experiment::plan::Plan;
use pagewise_core::experiment::plan::cells::{boot_settings, cells};
use pagewise_core::experiment::plan::lab::{self, BootFor, KERNEL};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

impl Session<'_> {
    /// Whether points of the plan run in guests that this session boots. Inside such a guest they run as on any host.
    pub(super) fn runs_in_guests(&self, plan: &Plan) -> bool {
        !Path::new(crate::lab::SHARED).exists() && plan.guests().is_some()
    }

    /// What of a plan's guests cannot be had here; what is only to be fetched comes back as notes.
    pub(super) fn check_guests(&self, plan: &Plan, declared: &lab::Lab) -> Result<Vec<String>, SessionError> {
        machine_of(declared).check()?;
        let mut notes = Vec::new();
        let kernels: std::collections::BTreeSet<String> = kernels_of(plan)?.into_values().collect();
        for name in kernels {
            if kernels::find(&name.parse()?, &self.places.cache)?.is_none() {
                notes.push(format!("{name} is not here yet: it is fetched from Debian before the first run"));
            }
        }
        Ok(notes)
    }

    /// Prepares the workload here, once; then every point runs in a guest with the kernel of its cell.
    pub(super) fn run_in_guests(
        &self,
        held: HeldHost,
        plan: &Plan,
        declared: &lab::Lab,
        bundle: impl FnOnce(Ready) -> Result<Bundle, SessionError>,
    ) -> Result<Bundle, SessionError> {
        let mut workload = self.workload(plan)?;
        let kernel_of = kernels_of(plan)?;
        let progress = self.audience.step();
        workload.prepare_trial(progress.as_ref())?;
        let machine = machine_of(declared);
        let (cache, state) = (self.places.cache.clone(), self.places.state.clone());
        let lab = Lab::open(&cache, &self.interrupt, progress.as_ref())?;
        let (image, overlay) = (lab.folder().path().join("data.raw"), lab.folder().path().join("data.qcow2"));
        let data = workload.data_source().map(|folder| std::path::absolute(&folder).unwrap_or(folder));
        let copied: Vec<(&str, PathBuf)> = data.iter().map(|folder| ("data", folder.clone())).collect();
        disk::make_image(&image, declared.disk_bytes(), &copied, &self.interrupt, progress.as_ref())?;
        let disk: Disk = disk::overlay(&image, &overlay, &self.interrupt)?;
        let mut prepared = BTreeMap::new();
        for name in kernel_of.values() {
            if !prepared.contains_key(name) {
                progress.stage(&format!("making guests of {name} ready"), None);
                let kernel = kernels::have(&name.parse()?, None, &cache, &self.interrupt, progress.as_ref())?;
                let guest = lab.prepare(&kernel, &machine, std::slice::from_ref(&disk), &self.interrupt)?;
                prepared.insert(name.clone(), PlannedKernel { kernel, prepared: guest });
            }
        }
        drop(progress);
        let mut folders: BTreeMap<String, PathBuf> = agent::folders_on_disk(&cache).collect();
        folders.insert("state".to_owned(), state.clone());
        folders.extend(data.map(|folder| ("data".to_owned(), folder)));
        let mut notes = workload.notes();
        notes.extend(notes_of(&prepared, declared));
        let mut bundle = bundle(Ready { notes, data: None })?;
        let told = self.audience.points(plan, &self.interrupt);
        let mut runner = LabRunner {
            lab,
            kernels: prepared,
            kernel_of,
            points: Points {
                plan: plan.clone(),
                state,
                cache: cache.clone(),
                named: named(&self.named),
                data: self.data.as_ref().map(|data| std::path::absolute(data).unwrap_or_else(|_| data.clone())),
            },
            folders,
            image,
            overlay,
            boots_each_point: declared.boot == BootFor::Point,
            timeout: plan.design.timeout_seconds,
            interrupt: &self.interrupt,
            tick: Box::new(|| told.tick()),
            bundle: bundle.path().to_owned(),
            this_host: host_facts(&self.root, Some(&cache)),
            up: None,
        };
        let outcome = engine::run(&mut bundle, &mut runner, &mut ForwardedProgress(told.as_ref()));
        drop(runner);
        told.over();
        drop(told);
        // Nothing of this host was changed; what was held is given back.
        drop(held);
        self.end(bundle, outcome)
    }
}

fn machine_of(declared: &lab::Lab) -> Machine {
    Machine {
        memory: declared.memory_bytes(),
        cpus: declared.cpus,
        nodes: declared.nodes,
        append: declared.append.split_whitespace().map(str::to_owned).collect(),
        shares: Vec::new(),
        qemu: Vec::new(),
    }
}

/// Cell to kernel. A plan that was checked has one for every cell.
fn kernels_of(plan: &Plan) -> Result<BTreeMap<String, String>, SessionError> {
    let kernel = |cell: &pagewise_core::experiment::plan::cells::Cell| {
        let settings = boot_settings(&cell.policy);
        let found = settings.iter().rev().find(|setting| setting.tunable.name == KERNEL);
        found.map(|setting| (cell.label.clone(), setting.value.clone()))
    };
    Ok(cells(plan)?.iter().filter_map(kernel).collect())
}

fn named(places: &workload::Places) -> BTreeMap<String, PathBuf> {
    let all = workload::places().filter_map(|place| Some((place.name.to_owned(), places.path(place.name)?.to_owned())));
    all.map(|(name, path)| (name, std::path::absolute(&path).unwrap_or(path))).collect()
}

/// What a reader of the report must know before any number.
fn notes_of(kernels: &BTreeMap<String, PlannedKernel>, declared: &lab::Lab) -> Vec<String> {
    let each = if declared.boot == BootFor::Point { "point" } else { "kernel of a block" };
    let emulated = kernels.values().any(|kernel| kernel.prepared.accelerator() == Accelerator::Emulation);
    let mut notes = Vec::new();
    if emulated {
        notes.push(
            "Points ran in virtual machines whose processor was emulated (TCG): their times compare with each other only, and say \
             nothing of real hardware. What the kernels counted is what to read first."
                .to_owned(),
        );
    }
    let (memory, cpus) = (declared.memory_bytes(), declared.cpus);
    let cpus = if cpus == 1 { "1 processor".to_owned() } else { format!("{cpus} processors") };
    notes.push(format!("Every {each} had a boot of its own, with {memory} of memory, {cpus} and a fresh disk."));
    notes
}

impl From<LabError> for SessionError {
    fn from(error: LabError) -> Self {
        SessionError::Trial(TrialError::from(error))
    }
}
