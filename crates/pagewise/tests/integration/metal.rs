//! A trial that boots its host by itself, on a machine with a disk, GRUB and systemd of its own; and the units as they are packaged.
//! `make test-metal` runs it and writes `bench/long/metal.json`; a normal run boots none, and holds the committed result against what is
//! claimed.

use super::committed;
use pagewise_testkit::requires;
use pagewise_testkit::said::unwrapped;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

const RESULT: &str = "metal.json";

/// What came of it.
#[derive(Serialize, Deserialize)]
struct BootsTried {
    schema: String,
    date: String,
    /// Accelerator, memory and Debian's release of the machine.
    machine: String,
    /// The kernel that GRUB boots where it is told nothing.
    home: String,
    /// The release of each boot, in order, with what the machine was doing: `units`, `trial`, `broken`.
    boots: Vec<(String, String)>,
    /// What was tried, to `ok` or to what was said.
    steps: BTreeMap<String, String>,
    /// Of the trial: the runs that are done, and attempts that were invalid.
    runs_done: u32,
    invalid_attempts: u32,
    /// What `trial status` said of the kernel that cannot come up.
    of_the_broken_kernel: String,
    seconds: u64,
}

/// What is tried, in order.
const STEPS: [&str; 12] = [
    "guard runs confined",
    "guard tells its status",
    "guard ends on request",
    "recorder runs confined",
    "recorder closes its file",
    "its recording is read",
    "trial is complete, every run once",
    "trial ran under both kernels",
    "a crash in a run cost that attempt alone",
    "trial left no unit and no entry",
    "the usual kernel runs again",
    "a kernel that cannot come up is given up",
];

/// Runs at every boot of the machine, and says on a line each what came of a step. The order of boots is in the files it leaves.
const SCRIPT: &str = r#"
state=/root/metal
mkdir -p $state
say() { echo "$*"; }
try() { name=$1; shift; if said=$("$@" 2>&1); then say "STEP $name|ok"; else say "STEP $name|$(echo "$said" | tail -n 3 | tr '\n' ' ' | cut -c1-400)"; fi; }
unit=/etc/systemd/system/pagewise-trial.service
phase=$(cat $state/phase 2>/dev/null || echo units)
say "BOOT $phase $(uname -r)"
sync
active() { for i in $(seq 60); do [ "$(systemctl is-active $1)" = active ] && return 0; sleep 1; done; systemctl status --no-pager $1; return 1; }
still() { active $1 && sleep $2 && [ "$(systemctl is-active $1)" = active ] && [ "$(systemctl show -p NRestarts --value $1)" = 0 ] || { journalctl --no-pager -n 5 -u $1; return 1; }; }
ended() { systemctl stop $1; [ "$(systemctl show -p Result --value $1)" = success ] || { journalctl --no-pager -n 5 -u $1; return 1; }; }
waits() { while [ -e $unit ]; do sleep 2; done; sleep 5; }

if [ $phase = units ]; then
    uname -r >$state/home
    systemctl start pagewise-guard pagewise-record
    try 'guard runs confined' still pagewise-guard 20
    try 'guard tells its status' pagewise guard status
    try 'guard ends on request' ended pagewise-guard
    try 'recorder runs confined' still pagewise-record 20
    try 'recorder closes its file' ended pagewise-record
    try 'its recording is read' sh -c 'pagewise diagnose /var/log/pagewise/*.pgw'
    other=$(ls /boot/vmlinuz-* | sed 's,.*/vmlinuz-,,' | grep -v "$(uname -r)" | head -n 1)
    cat >job <<'END'
#!/bin/sh
# Crashes once, in the third run, as a kernel's fault would.
echo x >>/root/metal/runs
sync
if [ "$(wc -l </root/metal/runs)" = 3 ]; then echo c >/proc/sysrq-trigger; fi
sleep 1
END
    chmod 755 job
    cat >two.toml <<END
name = "two"
[workload]
name = "command"
run = ["/root/job"]
[[factor]]
name = "kernel"
levels.new = "kernel=$(uname -r)"
levels.old = "kernel=$other"
[design]
order = "blocks"
blocks = 3
warmup = 0
seed = 3
steal_limit = 1.0
[[contrast]]
factor = "kernel"
a = "new"
b = "old"
END
    echo trial >$state/phase
    sync
    pagewise trial run two.toml --boot || say "FAILED trial run: $?"
    sleep 600
fi

if [ $phase = trial ]; then
    waits
    home=$(cat $state/home)
    if [ "$(uname -r)" != "$home" ]; then sleep 600; fi
    say "STATUS $(pagewise trial status two.trial --json | tr -d '\n')"
    complete() { pagewise trial status two.trial | grep -q 'complete' && [ "$(pagewise trial status two.trial --json | grep -c '"state": "done"')" = 6 ]; }
    try 'trial is complete, every run once' complete
    both() { [ "$(journalctl --no-pager -o cat -u pagewise-trial | grep -c 'this host boots')" -ge 2 ] || { journalctl --no-pager -o cat -u pagewise-trial; return 1; }; }
    try 'trial ran under both kernels' both
    try 'a crash in a run cost that attempt alone' sh -c "pagewise trial status two.trial | grep '1 attempt was invalid'"
    try 'trial left no unit and no entry' sh -c "[ ! -e $unit ] && ! grep -q next_entry=. /boot/grub/grubenv"
    try 'the usual kernel runs again' [ "$(uname -r)" = "$home" ]
    old=$(ls /boot/vmlinuz-* | sed 's,.*/vmlinuz-,,' | grep -v "$home" | head -n 1)
    cp /boot/vmlinuz-$old /boot/vmlinuz-5.0.0-broken
    head -c 4096 /dev/zero >/boot/initrd.img-5.0.0-broken
    mkdir -p /lib/modules/5.0.0-broken
    update-grub >/dev/null 2>&1
    sed -e 's/two/broken/' -e "s/kernel=$old/kernel=5.0.0-broken/" two.toml >broken.toml
    echo broken >$state/phase
    sync
    pagewise trial run broken.toml --boot || say "FAILED trial run: $?"
    sleep 600
fi

if [ $phase = broken ]; then
    waits
    say "BROKEN $(pagewise trial status broken.trial | tr '\n' ' ')"
    given_up() { [ "$(uname -r)" = "$(cat $state/home)" ] && [ ! -e $unit ] && pagewise trial status broken.trial | tr '\n' ' ' | tr -s ' ' | grep -q 'boots this host no more.*5.0.0-broken, which was booted 2 times'; }
    try 'a kernel that cannot come up is given up' given_up
fi
"#;

fn pagewise(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pagewise"));
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab-cache");
    command.args(arguments).env("PAGEWISE_CACHE_DIR", cache).stdin(Stdio::null());
    command
}

#[test]
#[allow(clippy::print_stderr, reason = "who waits for a quarter of an hour sees what came of it")]
fn a_trial_boots_its_host_by_itself_and_ends_with_every_run_once() {
    if std::env::var_os("PAGEWISE_METAL").is_none() {
        return;
    }
    requires!(root, qemu, ext4_tools);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let disk = folder.path().join("metal.raw");
    let started = std::time::Instant::now();
    let made = pagewise(&["lab", "image", "--java", "--out"]).arg(&disk).status().expect("pagewise starts");
    assert!(made.success(), "no image");
    let run = pagewise(&["lab", "boot"])
        .arg(&disk)
        .args(["--memory", "1G", "--timeout", "60m", "--", "sh", "-c", SCRIPT])
        .stderr(Stdio::inherit())
        .output()
        .expect("pagewise starts");
    let out = String::from_utf8_lossy(&run.stdout).into_owned();
    eprintln!("{out}");
    assert!(run.status.success(), "{out}");
    let told = |word: &'static str, sign: char| {
        let parts = out.lines().filter_map(move |line| line.strip_prefix(word)?.split_once(sign));
        parts.map(|(name, said)| (name.to_owned(), said.to_owned()))
    };
    let boots: Vec<(String, String)> = told("BOOT ", ' ').collect();
    let steps: BTreeMap<String, String> = told("STEP ", '|').collect();
    let status = out.lines().find_map(|line| line.strip_prefix("STATUS ")).expect("a status of the trial");
    let status: serde_json::Value = serde_json::from_str(status).expect("a document");
    let number = |name: &str| u32::try_from(status[name].as_u64().unwrap_or_default()).unwrap_or_default();
    let said = out.lines().find_map(|line| line.strip_prefix("BROKEN ")).expect("a status of the broken kernel's");
    let found = BootsTried {
        schema: "pagewise.metal/1".to_owned(),
        date: committed::today(),
        machine: "QEMU, 1 processor, 1 GiB, Debian bookworm, GRUB 2.06, systemd 252".to_owned(),
        home: boots[0].1.clone(),
        runs_done: number("done"),
        invalid_attempts: number("invalid"),
        boots,
        steps,
        of_the_broken_kernel: unwrapped(said),
        seconds: started.elapsed().as_secs(),
    };
    committed::write(RESULT, &found);
    holds(&found);
}

#[test]
fn the_committed_result_is_of_a_trial_that_booted_its_host() {
    holds(&committed::read(RESULT, "test-metal"));
}

fn holds(found: &BootsTried) {
    for step in STEPS {
        assert_eq!(found.steps.get(step).map(String::as_str), Some("ok"), "{step}: {:?}", found.steps);
    }
    assert_eq!((found.runs_done, found.invalid_attempts), (6, 1));
    let of = |phase: &'static str| {
        found.boots.iter().filter(move |(of, _)| of == phase).map(|(_, release)| release.as_str())
    };
    assert!(of("trial").any(|release| release != found.home), "another kernel ran: {:?}", found.boots);
    // A broken kernel does not get as far as saying so: each of its boots is followed by one of the usual kernel.
    assert_eq!(of("broken").collect::<Vec<_>>(), [found.home.as_str(); 2], "{:?}", found.boots);
    assert!(found.of_the_broken_kernel.contains("5.0.0-broken"), "{}", found.of_the_broken_kernel);
}
