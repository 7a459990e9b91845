//! Hosts whose kernels count reclaim by names of their own: `watch` and `top` show what they scan and steal as on any other.

use assert_cmd::cargo::CommandCargoExt;
use pagewise_testkit::{OLD_KERNELS, OldKernel, Terminal};
use serde_json::Value;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// A host with that kernel's names, whose totals grow by `step` ten times a second for as long as `shown` takes.
fn while_it_reclaims(kernel: &OldKernel, shown: impl FnOnce(&Path)) {
    let folder = tempfile::tempdir().unwrap();
    let proc = folder.path().join("proc");
    std::fs::create_dir_all(&proc).unwrap();
    std::fs::write(proc.join("meminfo"), "MemTotal: 16000000 kB\nMemFree: 1000000 kB\n").unwrap();
    // As long from the first to the last: whoever has the file open never reads half of it.
    let text = |total: u64| -> String {
        let names = kernel.vmstat.lines().filter_map(|line| line.split_once(' '));
        names
            .map(|(name, _)| format!("{name} {}\n", if name.starts_with("nr_") { 100_000_000 } else { total }))
            .collect()
    };
    std::fs::write(proc.join("vmstat"), text(100_000_000)).unwrap();
    let vmstat = File::options().write(true).open(proc.join("vmstat")).unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut total = 100_000_000;
            while !is_over.load(Ordering::Relaxed) {
                total += 1_000;
                vmstat.write_all_at(text(total).as_bytes(), 0).unwrap();
                thread::sleep(Duration::from_millis(100));
            }
        });
        struct Over<'a>(&'a AtomicBool);
        impl Drop for Over<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let _over = Over(&is_over);
        shown(folder.path());
    });
}

#[test]
fn watch_shows_what_kswapd_and_programs_scan() {
    for kernel in &OLD_KERNELS {
        while_it_reclaims(kernel, |root| {
            let mut command = Command::cargo_bin("pagewise").unwrap();
            command.args(["--root", root.to_str().unwrap(), "watch", "--hz", "2", "-n", "3", "--json"]);
            let output = command.stdin(Stdio::null()).output().unwrap();
            let last = String::from_utf8(output.stdout).unwrap().lines().last().unwrap().to_owned();
            let sample: Value = serde_json::from_str(&last).unwrap();
            for name in ["scan_kswapd", "scan_direct"] {
                assert!(
                    sample[name].as_f64().is_some_and(|rate| rate > 1_000.0),
                    "{}: {name} in {last}",
                    kernel.version
                );
            }
        });
    }
}

#[test]
fn top_has_a_row_for_them() {
    for kernel in &OLD_KERNELS {
        while_it_reclaims(kernel, |root| {
            let program = Command::cargo_bin("pagewise").unwrap().get_program().to_owned();
            let args = ["--root", root.to_str().unwrap(), "top", "--hz", "2"];
            let terminal = Terminal::start(Path::new(&program), &args, &[], (100, 40));
            let row = |screen: &str, begin: &str| {
                let line = screen
                    .lines()
                    .find(|line| line.trim_start().trim_start_matches('│').trim_start().starts_with(begin));
                line.is_some_and(|line| line.chars().any(|character| ('1'..='9').contains(&character)))
            };
            terminal.wait_for(Duration::from_secs(60), "rows of reclaim", |screen| {
                row(screen, "scanned by kswapd") || row(screen, "kswapd")
            });
            terminal.press("q");
            let _ = terminal.wait();
        });
    }
}
