//! What booting another kernel on this host needs.

use super::programs;
use crate::root::Root;
use pagewise_core::report::doctor::{Area, Capability, State};

const AREA: Area = Area::Lab;

pub(super) fn probe(root: &Root) -> Vec<Capability> {
    vec![
        program(root, "lab.qemu", "QEMU", "qemu-system-x86_64", "install qemu-system-x86 (Debian)"),
        virtme(root),
        kvm(root),
    ]
}

fn program(root: &Root, id: &str, what: &str, name: &str, remedy: &str) -> Capability {
    match programs::find(root, name) {
        Some(path) => Capability::yes(AREA, id, what, root.shown(&path)),
        None if !programs::are_shown(root) => Capability::unknown(AREA, id, what, super::NOT_CAPTURED, ""),
        None => Capability::no(AREA, id, what, format!("no {name} on the search path"), remedy),
    }
}

/// Installed, or brought by the first guest with Python's pip.
fn virtme(root: &Root) -> Capability {
    let (id, what) = ("lab.virtme-ng", "virtme-ng");
    let installed = program(root, id, what, "virtme-run", "install virtme-ng (pip install virtme-ng), or python3-pip");
    if installed.state == State::No && programs::find(root, "pip3").is_some() {
        return Capability::yes(AREA, id, what, "the first guest brings it (pip)");
    }
    installed
}

/// An open device does not mean that a guest runs: some hosts offer one that boots no ordinary kernel.
fn kvm(root: &Root) -> Capability {
    let (id, what) = ("lab.kvm", "KVM");
    if !root.is_live() {
        return Capability::unknown(AREA, id, what, super::ANOTHER_HOST, "");
    }
    if !root.exists("/dev/kvm") {
        let why = "no /dev/kvm; guests run by emulation, about 10 times slower";
        return Capability::no(AREA, id, what, why, "use a host with nested virtualisation");
    }
    match std::fs::OpenOptions::new().read(true).write(true).open(root.path("/dev/kvm")) {
        Ok(_) => Capability::unknown(AREA, id, what, "/dev/kvm opens; only booting a guest tells whether it works", ""),
        Err(error) => Capability::no(
            AREA,
            id,
            what,
            format!("/dev/kvm: {}", super::plain(&error)),
            "join the group kvm, or run as root",
        ),
    }
}
