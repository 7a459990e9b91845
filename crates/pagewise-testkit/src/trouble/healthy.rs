//! Loads with nothing wrong: what is found here is a false alarm.

use super::stage::folder;
use super::{Dose, Severity, Stage, Trouble};
use crate::requires::need;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How long a healthy load is watched.
const WATCHED: u32 = 60;

pub(super) const ALL: &[Trouble] = &[
    Trouble {
        id: "idle",
        what: "nothing",
        doses: &[Dose { does: "nothing", policy: "" }],
        seconds: WATCHED,
        needs: &[],
        proof: &[],
        make: idle,
    },
    Trouble {
        id: "rust-build",
        what: "cargo checks a crate of this workspace and all it needs, into an empty folder, again and again",
        doses: &[Dose { does: "as many jobs as there are CPUs", policy: "" }],
        seconds: WATCHED,
        needs: &[need::cargo],
        proof: &[],
        make: rust_build,
    },
    Trouble {
        id: "backup-copy",
        what: "tar packs a large tree into a file, and the file is removed, again and again",
        doses: &[Dose { does: "one tar", policy: "" }],
        seconds: WATCHED,
        needs: &[need::tar],
        proof: &[],
        make: backup_copy,
    },
    Trouble {
        id: "terasort",
        what: "TeraSort with room: 2,000,000 rows, again and again",
        doses: &[Dose { does: "two map tasks, heap as Hadoop has it", policy: "" }],
        seconds: WATCHED,
        needs: &[need::java, need::hadoop_cache],
        proof: &[],
        make: terasort,
    },
];

fn idle(stage: &Stage, _: Severity) -> io::Result<()> {
    stage.stay();
    Ok(())
}

fn rust_build(stage: &Stage, _: Severity) -> io::Result<()> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    again_and_again(stage, |target| {
        let mut cargo = Command::new("cargo");
        cargo.args(["check", "-q", "--offline", "--locked", "-p", "pagewise-host"]).current_dir(&workspace);
        cargo.env("CARGO_TARGET_DIR", target);
        cargo
    })
}

fn backup_copy(stage: &Stage, _: Severity) -> io::Result<()> {
    again_and_again(stage, |target| {
        let mut tar = Command::new("tar");
        tar.arg("-cf").arg(target.join("copy.tar")).args(["-C", "/", "usr/lib", "usr/share"]);
        tar
    })
}

fn terasort(stage: &Stage, _: Severity) -> io::Result<()> {
    let pagewise = std::env::var_os(super::runner::PAGEWISE).map(PathBuf::from);
    let pagewise = pagewise.ok_or_else(|| io::Error::other("the runner did not say where pagewise is"))?;
    let workload = |step: &str| {
        let mut command = Command::new(&pagewise);
        command.args(["workload", "terasort", step, "rows=2000000", "map_tasks=2"]);
        command
    };
    end(stage, workload("prepare").stdin(Stdio::null()).stdout(Stdio::null()).spawn()?)?;
    let outcome = again_and_again(stage, |_| workload("run"));
    workload("clean").stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    outcome
}

/// Ready, then one command after the other until the time is up, each with an empty folder that goes after it.
fn again_and_again(stage: &Stage, command: impl Fn(&Path) -> Command) -> io::Result<()> {
    stage.ready();
    while stage.goes_on() {
        let target = tempfile::tempdir_in(folder())?;
        let child = command(target.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        end(stage, child)?;
    }
    Ok(())
}

/// Waits for it; when the time is up it is told to end.
fn end(stage: &Stage, mut child: Child) -> io::Result<()> {
    while stage.goes_on() {
        if let Some(status) = child.try_wait()? {
            return if status.success() { Ok(()) } else { Err(io::Error::other(format!("it ended with {status}"))) };
        }
        stage.pause(Duration::from_millis(50));
    }
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        // What it started goes with it: asked, it ends its own children.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }
    child.wait()?;
    Ok(())
}
