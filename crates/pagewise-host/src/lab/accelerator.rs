//! What runs a guest: the processor itself, or QEMU's emulation of one. An open `/dev/kvm` is no proof; a kernel that says its first
//! words is.

use super::LabError;
use super::kernels::Kernel;
use crate::process::{self, Command, Interrupt, Limits, Watch};
use crate::root::Root;
use crate::source;
use serde::Serialize;
use std::fmt;
use std::fs;
use std::path::Path;

/// What runs a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Accelerator {
    /// The processor, by KVM.
    Kvm,
    /// QEMU's code generator (TCG), some ten times slower.
    #[serde(rename = "tcg")]
    Emulation,
}

impl Accelerator {
    /// The processor that QEMU is asked for: options, each with its value.
    ///
    /// An emulated one says nothing of ERMS, so that kernels and libraries fill and copy pages by words: QEMU emulates `rep stosb` and
    /// `rep movsb` byte by byte. Before 8.0, QEMU keeps what it has translated by virtual address, and a page of a library that
    /// many processes mapped at random addresses has a long list of it; once that page is freed, every store that clears it walks the
    /// list. It is kept short by less room for translations (MiB): with what QEMU 7.2 takes by itself, one page was seen to hold up its processor
    /// for many seconds.
    pub(super) fn options(self) -> [[&'static str; 2]; 2] {
        match self {
            Accelerator::Kvm => [["-accel", "kvm"], ["-cpu", "host"]],
            Accelerator::Emulation => [["-accel", "tcg,tb-size=128"], ["-cpu", "max,-erms"]],
        }
    }
}

impl fmt::Display for Accelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Accelerator::Kvm => "KVM",
            Accelerator::Emulation => "TCG",
        })
    }
}

/// How long a kernel may take to say its first words under KVM, in seconds: it takes less than one.
const PATIENCE: f64 = 8.0;

/// The program that runs guests.
pub const QEMU: &str = "qemu-system-x86_64";

/// What can run guests here, found out once in each boot of this host.
///
/// # Errors
/// When QEMU is not here.
pub fn find(kernel: &Kernel, cache: &Path, interrupt: &Interrupt) -> Result<Accelerator, LabError> {
    if let Err(error) = process::find_program(QEMU) {
        return Err(LabError::Missing(format!("{error}. Install QEMU (Debian, Ubuntu: apt install qemu-system-x86)")));
    }
    if fs::File::options().read(true).write(true).open("/dev/kvm").is_err() {
        return Ok(Accelerator::Emulation);
    }
    let folder = cache.join("lab");
    let boot = source::boot_id(&Root::live()).unwrap_or_default();
    let known = folder.join(format!("kvm-{boot}"));
    match fs::read_to_string(&known).unwrap_or_default().trim() {
        "runs" => return Ok(Accelerator::Kvm),
        "does not run" => return Ok(Accelerator::Emulation),
        _ => {}
    }
    let runs = runs_under_kvm(kernel, interrupt)?;
    let text = if runs { "runs" } else { "does not run" };
    // Not kept, it is only found out again.
    let _ = fs::create_dir_all(&folder).and_then(|()| fs::write(&known, text));
    Ok(if runs { Accelerator::Kvm } else { Accelerator::Emulation })
}

/// Without a root the kernel panics right after its first words, and QEMU ends.
fn runs_under_kvm(kernel: &Kernel, interrupt: &Interrupt) -> Result<bool, LabError> {
    struct Waiting;
    impl Watch for Waiting {
        fn tick(&mut self, _running: &[u32]) -> bool {
            true
        }
    }
    let image = kernel.image.display().to_string();
    let argv = [QEMU, "-machine", "q35,accel=kvm", "-cpu", "host", "-m", "256M", "-display", "none", "-no-reboot"];
    let mut argv: Vec<String> = argv.map(str::to_owned).to_vec();
    argv.extend(
        ["-nodefaults", "-serial", "stdio", "-kernel", &image, "-append", "console=ttyS0 panic=-1"].map(str::to_owned),
    );
    let limits = Limits { timeout: Some(PATIENCE), interrupt: Some(interrupt), ..Limits::default() };
    let ended = process::run(&[Command { argv, ..Command::default() }], limits, &mut Waiting)?;
    interrupt.check()?;
    Ok(ended.commands.iter().any(|ended| ended.stdout.contains("Linux version")))
}
