//! Hosts as `scripts/capture-host` prints them on kernels of Debian's releases, booted by the lab: what is read of each is what
//! the kernel of that release shows.

use assert_cmd::cargo::CommandCargoExt;
use pagewise_testkit::FakeHost;
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::{Command, Stdio};

/// Kernel of the capture, and its text.
const HOSTS: [(&str, &str); 4] = [
    ("5.10", include_str!("../../../pagewise-testkit/hosts/debian-5.10.txt")),
    ("6.1", include_str!("../../../pagewise-testkit/hosts/debian-6.1.txt")),
    ("6.12", include_str!("../../../pagewise-testkit/hosts/debian-6.12.txt")),
    ("7.2", include_str!("../../../pagewise-testkit/hosts/debian-7.2.txt")),
];

fn asked(host: &FakeHost, args: &[&str]) -> Value {
    let mut command = Command::cargo_bin("pagewise").unwrap();
    command.arg("--root").arg(host.path()).args(args).arg("--json").stdin(Stdio::null());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn what_each_kernel_has_is_what_its_files_show() {
    for (kernel, text) in HOSTS {
        let host = FakeHost::captured(text);
        let report = asked(&host, &["doctor", "--no-walk-cost"]);
        let found: BTreeMap<&str, String> = report["capabilities"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| {
                let said = one["value"].as_str().or(one["why_not"].as_str()).unwrap_or_default();
                (one["id"].as_str().unwrap(), format!("{}: {said}", one["state"].as_str().unwrap()))
            })
            .collect();
        insta::assert_debug_snapshot!(format!("doctor-on-{kernel}"), found);
    }
}

#[test]
fn tunables_have_the_values_and_choices_of_their_kernel() {
    for (kernel, text) in HOSTS {
        let host = FakeHost::captured(text);
        let shown = asked(&host, &["show", "--all"]);
        let known: BTreeMap<&str, String> = shown["tunables"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|one| {
                let (value, allowed) = (one["value"].as_str()?, one["allowed"].as_str().unwrap_or_default());
                Some((one["name"].as_str()?, format!("{value}; allowed: {allowed}")))
            })
            .collect();
        insta::assert_debug_snapshot!(format!("tunables-on-{kernel}"), known);
    }
}
