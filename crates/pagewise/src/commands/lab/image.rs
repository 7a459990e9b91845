//! `lab image`: a machine with a disk of its own.

use super::interrupt;
use crate::failure::Failure;
use crate::global::Global;
use crate::output;
use crate::progress::StepProgress;
use crate::settings::Settings;
use clap::Args;
use pagewise_core::unit::Bytes;
use pagewise_host::lab::LabError;
use pagewise_host::lab::image::{self, Recipe};
use pagewise_host::lab::kernels;
use std::path::PathBuf;
use std::process::ExitCode;

/// Make a disk with Debian, systemd, GRUB, kernels and pagewise, which boots by itself as a host does
#[derive(Args, Debug)]
#[command(
    after_help = "The system is made once for its kernels, packages and size, kept below the cache folder, and copied from there; the program is \
                  put into the copy. Needs root, mmdebstrap (or debootstrap), QEMU; no loop device and no mount.\n\n\
                  Examples:\n  pagewise lab image\n  pagewise lab image --kernel debian:6.1 --kernel debian:6.12 --java \\\n      \
                  --out metal.raw\n  \
                  pagewise lab boot metal.raw -- systemctl status pagewise-guard"
)]
pub(super) struct ImageArgs {
    /// Where the disk is written, a raw image; it is never overwritten
    #[arg(long, value_name = "FILE", default_value = "pagewise.raw")]
    out: PathBuf,
    /// A kernel of it, as often as wanted: debian:VERSION or an installed release [default: debian:6.1 and debian:6.12]
    #[arg(long, value_name = "KERNEL")]
    kernel: Vec<String>,
    /// Debian's release
    #[arg(long, value_name = "NAME", default_value = "bookworm")]
    suite: String,
    /// Its size; a file takes only what is written to it
    #[arg(long, value_name = "SIZE", default_value = "6G")]
    size: Bytes,
    /// A further package, as often as wanted
    #[arg(long, value_name = "PACKAGE")]
    with: Vec<String>,
    /// With a JDK's runtime, headless
    #[arg(long)]
    java: bool,
    /// The program that is put in it [default: this one]; where this system is newer than the image's, one of `make static`
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Debian's mirror [default: the one of this host's own sources]
    #[arg(long, value_name = "URL")]
    mirror: Option<String>,
}

pub(super) fn run(args: &ImageArgs, global: &Global) -> Result<ExitCode, Failure> {
    let cache = Settings::resolve(global)?.cache_dir;
    let interrupt = interrupt()?;
    let named: Vec<String> = match args.kernel.as_slice() {
        [] => ["debian:6.1", "debian:6.12"].map(str::to_owned).to_vec(),
        named => named.to_vec(),
    };
    let progress = StepProgress::new();
    let mirror = args.mirror.as_deref();
    let found = named.iter().map(|name| kernels::have(&name.parse()?, mirror, &cache, &interrupt, &progress));
    let mut packages = args.with.clone();
    if args.java {
        packages.push("default-jre-headless".to_owned());
    }
    let recipe = Recipe {
        suite: args.suite.clone(),
        kernels: found.collect::<Result<Vec<_>, LabError>>()?,
        packages,
        size: args.size,
        mirror: args.mirror.clone(),
    };
    let own = std::env::current_exe().map_err(|error| Failure::NotPossible(error.into()))?;
    let program = args.program.as_ref().unwrap_or(&own);
    image::make(&recipe, program, &args.out, &cache, &interrupt, &progress)?;
    drop(progress);
    let releases: Vec<&str> = recipe.kernels.iter().map(|kernel| kernel.release.as_str()).collect();
    output::note(&format!("{}: Debian {} with Linux {}", args.out.display(), recipe.suite, releases.join(" and ")));
    Ok(ExitCode::SUCCESS)
}
