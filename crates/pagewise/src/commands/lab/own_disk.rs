//! `lab boot DISK`: a machine from its own disk, by its own boot loader.

use super::{BootArgs, until_it_ends};
use crate::failure::Failure;
use crate::output;
use crate::progress::StepProgress;
use pagewise_host::lab::disk::Disk;
use pagewise_host::lab::own_disk::{self, OwnDisk};
use pagewise_host::lab::{LabError, LockedFolder};
use pagewise_host::process::Interrupt;
use std::path::Path;
use std::process::ExitCode;

pub(super) fn boot(
    args: &BootArgs,
    (disks, command): (Vec<Disk>, Vec<String>),
    cache: &Path,
    interrupt: &Interrupt,
) -> Result<ExitCode, Failure> {
    for (is_given, option) in [
        (!args.append.is_empty(), "--append"),
        (!args.share.is_empty(), "--share"),
        (!args.qemu_opts.is_empty(), "--qemu-opts"),
        (args.nodes > 1, "--nodes"),
        (args.scratch.is_some(), "--scratch"),
    ] {
        if is_given {
            return Err(LabError::Usage(format!(
                "{} boots by its own boot loader, and knows no {option}",
                args.kernel
            ))
            .into());
        }
    }
    let folder = LockedFolder::make(cache)?;
    let accelerator = own_disk::accelerator(cache, interrupt)?;
    let own =
        OwnDisk { image: Path::new(&args.kernel).to_owned(), memory: args.memory, cpus: args.cpus, disks, command };
    let progress = output::is_watched().then(StepProgress::new);
    let mut running = own_disk::start(&own, &folder, accelerator, interrupt)?;
    let booting = format!("booting {} ({accelerator})", args.kernel);
    let ended = until_it_ends(&mut running, &booting, progress, args.timeout, interrupt)?;
    Ok(ExitCode::from(ended.status))
}
