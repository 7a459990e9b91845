//! `pagewise lab`: kernels that can be booted here, booting one, and machines with disks of their own.

mod image;
mod own_disk;

use crate::failure::Failure;
use crate::global::Global;
use crate::output;
use crate::progress::StepProgress;
use crate::settings::Settings;
use anyhow::anyhow;
use clap::{Args, Subcommand};
use pagewise_core::report::kernels::{KernelView, KernelsReport};
use pagewise_core::unit::{Bytes, Seconds};
use pagewise_host::lab::accelerator::Accelerator;
use pagewise_host::lab::agent::{self, GuestWork as Todo, Task};
use pagewise_host::lab::disk::{self, Disk};
use pagewise_host::lab::guest::{RunningGuest, StreamOutput, TaskEnded};
use pagewise_host::lab::kernels::{self, Kernel, KernelName};
use pagewise_host::lab::own_disk as disk_of_its_own;
use pagewise_host::lab::{Lab, LabError, Machine, debian};
use pagewise_host::process::Interrupt;
use pagewise_host::progress::Progress;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Kernels that can be booted here in a virtual machine, booting one, and machines with disks of their own
#[derive(Args, Debug)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    what: GuestWork,
}

#[derive(Subcommand, Debug)]
enum GuestWork {
    Kernels(KernelsArgs),
    Boot(BootArgs),
    Image(image::ImageArgs),
}

/// List kernels that can be booted, with what of memory management each has; or bring one of Debian's
#[derive(Args, Debug)]
#[command(
    after_help = "A kernel of Debian is resolved by apt with lists of its own, checked by Debian's signatures, unpacked below the \
                        cache folder and not installed.\n\n\
                        Examples:\n  pagewise lab kernels\n  pagewise lab kernels --get debian:6.12\n  \
                        pagewise lab kernels ~/linux ./bzImage"
)]
struct KernelsArgs {
    /// Only these: debian:VERSION, the path of an image or of a build tree, or an installed release
    #[arg(value_name = "KERNEL")]
    names: Vec<String>,
    /// Bring this kernel first, such as debian:6.12
    #[arg(long, value_name = "KERNEL")]
    get: Vec<String>,
    /// Debian's mirror [default: the one of this host's own sources]
    #[arg(long, value_name = "URL")]
    mirror: Option<String>,
}

/// Boot a kernel in a virtual machine over this host's files, and run a command there
#[derive(Args, Debug)]
#[command(
    after_help = "The guest sees this host's files; what it writes is gone when it ends, but on a --disk or in a folder that is shared. Swap files and whatever needs room want --scratch. It has no network. Output is \
                  passed on, and the exit status is the command's; 125 when the guest itself fails, with the last words of its \
                  kernel. Without KVM the processor is emulated, some ten times slower.\n\n\
                  A disk of `lab image` boots by its own boot loader and sees nothing of this host; what it writes is gone when it ends, and \
                  stays over reboots of its own. The command runs at each of its boots, as root, until it ends by itself.\n\n\
                  Examples:\n  pagewise lab boot debian:6.12 -- uname -r\n  \
                  pagewise lab boot debian:6.1 --memory 3G -- pagewise doctor\n  \
                  pagewise lab boot ~/linux --nodes 2 --cpus 2 \\\n      \
                  --append numa_balancing=1 -- numactl -H"
)]
struct BootArgs {
    /// debian:VERSION, the path of an image or of a build tree, or an installed release; or a disk that boots by itself
    kernel: String,
    /// Memory of the guest, fixed
    #[arg(long, default_value = "2G", value_name = "SIZE")]
    memory: Bytes,
    /// Processors of the guest
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    cpus: u32,
    /// NUMA nodes, over which memory and processors are spread
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16))]
    nodes: u32,
    /// A raw image or a block device, which the guest may write; it is a virtio disk there, past the host's page cache
    #[arg(long, value_name = "FILE")]
    disk: Vec<PathBuf>,
    /// An empty disk of this size, gone with the guest, takes what the guest writes; without it that lies in its memory
    #[arg(long, value_name = "SIZE")]
    scratch: Option<Bytes>,
    /// A folder of this host that the guest may write, by the same path
    #[arg(long, value_name = "DIR")]
    share: Vec<PathBuf>,
    /// Parameters of the kernel
    #[arg(long, value_name = "WORDS", allow_hyphen_values = true)]
    append: Vec<String>,
    /// Further arguments of QEMU, quoted as for a shell
    #[arg(long, value_name = "WORDS", allow_hyphen_values = true)]
    qemu_opts: Vec<String>,
    /// End the guest after this time
    #[arg(long, value_name = "TIME")]
    timeout: Option<Seconds>,
    /// Debian's mirror [default: the one of this host's own sources]
    #[arg(long, value_name = "URL")]
    mirror: Option<String>,
    /// What runs in the guest [default: uname -a]
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

pub(crate) fn run(args: &LabArgs, global: &Global) -> Result<ExitCode, Failure> {
    match &args.what {
        GuestWork::Kernels(args) => list(args, global),
        GuestWork::Boot(args) => boot(args, global).map_err(Failure::around_command),
        GuestWork::Image(args) => image::run(args, global),
    }
}

fn interrupt() -> Result<Interrupt, Failure> {
    Interrupt::on_signals().map_err(|error| Failure::NotPossible(error.into()))
}

fn bring(name: &KernelName, mirror: Option<&str>, cache: &Path, interrupt: &Interrupt) -> Result<Kernel, Failure> {
    match name {
        KernelName::Debian(version) => Ok(debian::bring(version, mirror, cache, interrupt, &StepProgress::new())?),
        other => Err(LabError::Usage(format!("{other} is here already; debian:VERSION is brought")).into()),
    }
}

fn list(args: &KernelsArgs, global: &Global) -> Result<ExitCode, Failure> {
    let cache = Settings::resolve(global)?.cache_dir;
    let interrupt = interrupt()?;
    for name in &args.get {
        let name: KernelName = name.parse().map_err(Failure::from)?;
        let kernel = bring(&name, args.mirror.as_deref(), &cache, &interrupt)?;
        output::note(&format!("{name} is Linux {}", kernel.release));
    }
    let found = if args.names.is_empty() {
        kernels::list(&cache)
    } else {
        let named = |name: &String| {
            let name: KernelName = name.parse().map_err(Failure::from)?;
            match kernels::find(&name, &cache)? {
                Some(kernel) => Ok((name, kernel)),
                None => {
                    Err(LabError::Usage(format!("{name} is not here yet: pagewise lab kernels --get {name} brings it"))
                        .into())
                }
            }
        };
        args.names.iter().map(named).collect::<Result<Vec<_>, Failure>>()?
    };
    let report = KernelsReport::new(found.into_iter().map(|(name, kernel)| view(&name, &kernel)).collect());
    if global.json {
        output::json(&report);
    } else if report.kernels.is_empty() {
        output::note("no kernel is here that could be booted; pagewise lab kernels --get debian:6.12 brings one");
    } else {
        output::data(&report.table());
    }
    Ok(ExitCode::SUCCESS)
}

fn view(name: &KernelName, kernel: &Kernel) -> KernelView {
    KernelView {
        name: name.to_string(),
        release: kernel.release.clone(),
        build: kernel.build.clone(),
        image: kernel.image.display().to_string(),
        config_blake3: kernel.config_hash(),
        features: kernel.features(),
    }
}

fn boot(args: &BootArgs, global: &Global) -> Result<ExitCode, Failure> {
    if global.json {
        return Err(Failure::Usage(anyhow!("lab boot passes on what its command prints; --json is for lab kernels")));
    }
    let cache = Settings::resolve(global)?.cache_dir;
    let interrupt = interrupt()?;
    let disks = args.disk.iter().enumerate().map(|(number, path)| Disk::named(path, number));
    let mut disks = disks.collect::<Result<Vec<_>, LabError>>()?;
    let append = args.append.iter().flat_map(|words| words.split_whitespace()).map(str::to_owned).collect();
    let shares = args.share.iter().map(|share| std::path::absolute(share).unwrap_or_else(|_| share.clone())).collect();
    let words = |text: &String| {
        shlex::split(text).ok_or_else(|| LabError::Usage(format!("--qemu-opts {text}: a quote is not closed")))
    };
    let qemu = args.qemu_opts.iter().map(words).collect::<Result<Vec<_>, LabError>>()?.concat();
    let command =
        if args.command.is_empty() { vec!["uname".to_owned(), "-a".to_owned()] } else { args.command.clone() };
    if disk_of_its_own::is_one(Path::new(&args.kernel)) {
        return own_disk::boot(args, (disks, command), &cache, &interrupt);
    }
    let machine = Machine { memory: args.memory, cpus: args.cpus, nodes: args.nodes, append, shares, qemu };
    machine.check()?;
    let mirror = args.mirror.as_deref();
    let kernel = kernels::have(&args.kernel.parse()?, mirror, &cache, &interrupt, &StepProgress::new())?;
    let lab = Lab::open(&cache, &interrupt, &StepProgress::new())?;
    let accelerator = lab.accelerator(&kernel, &interrupt)?;
    if accelerator == Accelerator::Emulation && global.verbose > 0 {
        output::note("KVM runs no guest here: the processor is emulated");
    }
    // What a guest prints may be piped on: only a person is told what is waited for.
    let progress = output::is_watched().then(StepProgress::new);
    let waits = |what: &str| progress.iter().for_each(|progress| progress.stage(what, None));
    waits(&format!("making a guest with Linux {} ready", kernel.release));
    let mut on_disk = None;
    if let Some(size) = args.scratch {
        disks.push(disk::scratch(lab.folder().path(), size, &interrupt, &StepProgress::new())?);
        let tmp = ("tmp".to_owned(), PathBuf::from("/var/tmp"));
        on_disk = Some(agent::folders_on_disk(&cache).chain([tmp]).collect());
    }
    let guest = lab.prepare(&kernel, &machine, &disks, &interrupt)?;
    let task = Task::here(kernel.modules.clone(), on_disk, Todo::Command(command)).sharing(&machine.shares);
    let mut running = lab.start(&guest, &task)?;
    let booting = format!("booting Linux {} ({accelerator})", kernel.release);
    let ended = until_it_ends(&mut running, &booting, progress, args.timeout, &interrupt)?;
    if ended.oom_kills > 0 {
        output::note(&format!(
            "the guest's kernel killed {} for lack of memory; it has {} (--memory)",
            output::counted(ended.oom_kills, "process").replace("processs", "processes"),
            args.memory
        ));
    }
    Ok(ExitCode::from(ended.status))
}

/// Waits for a guest, with a word of what it does while nothing is heard of it, and passes on what it says until its task has ended.
fn until_it_ends(
    running: &mut RunningGuest,
    booting: &str,
    progress: Option<StepProgress>,
    timeout: Option<Seconds>,
    interrupt: &Interrupt,
) -> Result<TaskEnded, Failure> {
    let until = timeout.map(|time| Instant::now() + Duration::from_secs_f64(time.0.max(0.0)));
    let is_late = || until.is_some_and(|until| Instant::now() > until);
    while !running.is_up() && running.task_ended()?.is_none() && !is_late() {
        progress.iter().for_each(|progress| progress.stage(booting, None));
        running.wait_for_it(Duration::from_millis(200), interrupt)?;
    }
    drop(progress);
    follow(running, until, interrupt)
}

/// Passes on what the guest says until its task has ended.
fn follow(running: &mut RunningGuest, until: Option<Instant>, interrupt: &Interrupt) -> Result<TaskEnded, Failure> {
    const AT_MOST: Duration = Duration::from_millis(200);
    loop {
        match running.next(AT_MOST, interrupt)? {
            Some(StreamOutput::Out(bytes)) => {
                let mut out = io::stdout().lock();
                match out.write_all(&bytes).and_then(|()| out.flush()) {
                    Ok(()) => {}
                    // As a shell says of a program whose reader went away.
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                        return Ok(TaskEnded { status: 128 + 13, oom_kills: 0 });
                    }
                    Err(error) => {
                        return Err(LabError::Missing(format!(
                            "cannot write to standard output: {error}; the guest was ended"
                        ))
                        .into());
                    }
                }
            }
            // As stderr of any program: one that cannot be written is nobody's loss.
            Some(StreamOutput::Err(bytes)) => drop(io::stderr().write_all(&bytes)),
            None => {
                if let Some(ended) = running.task_ended()? {
                    return Ok(ended);
                }
            }
        }
        if until.is_some_and(|until| Instant::now() > until) {
            return Err(
                LabError::Missing("the command did not end within --timeout; the guest was ended".to_owned()).into()
            );
        }
    }
}
