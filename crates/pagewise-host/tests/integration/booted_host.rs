//! Trials that boot their host by themselves, on a folder that looks like a host with GRUB and systemd: what is asked for, what goes on
//! after a boot, and that nothing is left. The boots are played; real ones are in `make test-metal`.

use pagewise_core::experiment::boots::BootsEnd;
use pagewise_core::experiment::order::draw;
use pagewise_core::experiment::plan::{Plan, source};
use pagewise_core::experiment::point::Boot;
use pagewise_host::process::Interrupt;
use pagewise_host::root::Root;
use pagewise_host::store::bundle::Bundle;
use pagewise_host::trial::boots::{self, Armed, BootedHost, BootsError, ResumeUnit};
use pagewise_testkit::scripted;
use std::fs;
use std::path::{Path, PathBuf};

const PLAN: &str = "name = 'two'\n[workload]\nname = 'command'\nrun = ['true']\n[[factor]]\nname = 'kernel'\n\
    levels.old = 'kernel=6.1.0'\nlevels.new = 'kernel=6.12.9'\n[design]\nwarmup = 0\nseed = 1\n\
    [[contrast]]\nfactor = 'kernel'\na = 'old'\nb = 'new'\n";

const GRUB: &str = "if [ -s $prefix/grubenv ]; then\n  load_env\nfi\nif [ \"${next_entry}\" ] ; then\n   set next_entry=\n   save_env \
    next_entry\nfi\nmenuentry 'Debian' $menuentry_id_option 'simple' {\n\tlinux\t/boot/vmlinuz-6.12.9 ro panic=5\n}\nsubmenu 'Advanced' \
    $menuentry_id_option 'advanced' {\n\tmenuentry 'new' $menuentry_id_option 'new-6.12.9' {\n\t\tlinux\t/boot/vmlinuz-6.12.9 ro panic=5\n\t}\n\t\
    menuentry 'old' $menuentry_id_option 'old-6.1.0' {\n\t\tlinux\t/boot/vmlinuz-6.1.0 ro\n\t}\n}\n";

/// A host that boots the newest kernel where it is told nothing.
struct Host {
    tree: tempfile::TempDir,
    boots: u32,
}

impl Host {
    fn new() -> Host {
        let host = Host { tree: tempfile::tempdir().expect("a temporary folder"), boots: 0 };
        for folder in ["boot/grub", "run/systemd/system", "proc/sys/kernel/random", "etc/systemd/system", "srv"] {
            fs::create_dir_all(host.path(folder)).expect("room");
        }
        fs::write(host.path("boot/grub/grub.cfg"), GRUB).expect("room");
        let mut block = b"# GRUB Environment Block\n".to_vec();
        block.resize(1024, b'#');
        fs::write(host.path("boot/grub/grubenv"), block).expect("room");
        host.runs("6.12.9", 0);
        host
    }

    fn path(&self, below: &str) -> PathBuf {
        self.tree.path().join(below)
    }

    fn root(&self) -> Root {
        Root::at(self.tree.path())
    }

    fn runs(&self, release: &str, boot: u32) {
        fs::write(self.path("proc/sys/kernel/osrelease"), format!("{release}\n")).expect("room");
        fs::write(self.path("proc/sys/kernel/random/boot_id"), format!("boot-{boot}\n")).expect("room");
    }

    fn next_entry(&self) -> Option<String> {
        let text = fs::read_to_string(self.path("boot/grub/grubenv")).expect("readable");
        text.lines().find_map(|line| line.strip_prefix("next_entry=")).map(str::to_owned)
    }

    /// What GRUB does, where `comes_up` is what the kernel of the entry becomes.
    fn boot(&mut self, comes_up: &str) {
        let path = self.path("boot/grub/grubenv");
        let text = fs::read_to_string(&path).expect("readable");
        let kept: String = text.split_inclusive('\n').filter(|line| !line.starts_with("next_entry=")).collect();
        let mut bytes = kept.into_bytes();
        bytes.resize(1024, b'#');
        fs::write(&path, bytes).expect("room");
        self.boots += 1;
        self.runs(comes_up, self.boots);
    }

    fn has_unit(&self) -> bool {
        let link = self.path("etc/systemd/system/multi-user.target.wants/pagewise-trial.service");
        assert_eq!(link.is_symlink(), self.path("etc/systemd/system/pagewise-trial.service").exists());
        link.is_symlink()
    }

    fn goes_on(&self, bundle: &Path) -> ResumeUnit {
        let argv = ["/usr/bin/pagewise", "trial", "resume", "--boot"].map(str::to_owned).to_vec();
        ResumeUnit { bundle: bundle.to_owned(), argv, folder: "/srv".into(), variables: Vec::new() }
    }

    fn check(&self, plan: &Plan, bundle: &Path) -> Result<(BootedHost, Vec<String>), BootsError> {
        BootedHost::check(&self.root(), plan, self.goes_on(bundle), &Interrupt::default())
    }
}

fn plan(text: &str) -> Plan {
    source::read(text, "two.toml").unwrap_or_else(|error| panic!("{error}"))
}

fn bundle(host: &Host) -> (Bundle, PathBuf) {
    let (plan, path) = (plan(PLAN), host.path("srv/two.trial"));
    let frozen = scripted::frozen(draw(&plan).expect("a plan that can be ordered"));
    (Bundle::create(&path, &plan, frozen).expect("an empty folder"), path)
}

fn needs(release: &str) -> Boot {
    Boot { settings: [("kernel".to_owned(), release.to_owned())].into() }
}

#[test]
fn a_boot_is_asked_for_once_and_a_trial_that_is_complete_leaves_nothing_and_goes_home() {
    let mut host = Host::new();
    let (bundle, path) = bundle(&host);
    let (booted, notes) = host.check(&plan(PLAN), &path).expect("a host that can be booted");
    assert!(notes.len() == 1 && notes[0].contains("6.1.0") && notes[0].contains("panic=30"), "{notes:?}");
    let menu = fs::read(host.path("boot/grub/grub.cfg")).expect("readable");
    let Armed { asked, entry } = booted.arm(&bundle, 0, "old", &needs("6.1.0")).expect("asked");
    assert_eq!((asked.attempt, entry.as_str()), (1, "advanced>old-6.1.0"));
    assert_eq!(host.next_entry().as_deref(), Some("advanced>old-6.1.0"));
    assert!(host.has_unit());
    // Asked again before the boot, as after a kill: it is the same one.
    assert_eq!(booted.arm(&bundle, 0, "old", &needs("6.1.0")).expect("asked").asked.attempt, 1);
    host.boot("6.1.0");
    assert_eq!(host.next_entry(), None);
    let (booted, _) = host.check(&plan(PLAN), &path).expect("its own unit stands in nobody's way");
    booted.arrive(&bundle).expect("room");
    assert_eq!(bundle.boots().expect("readable").expect("kept").asked.expect("kept").came_up.as_deref(), Some("6.1.0"));
    // A boot of its own, of the same kernel: the cell says which.
    let armed = booted.arm(&bundle, 1, "old", &Boot::default()).expect("asked");
    assert_eq!((armed.asked.release.as_str(), armed.asked.attempt), ("6.1.0", 1));
    host.boot("6.1.0");
    assert_eq!(booted.close(&bundle, BootsEnd::Complete).expect("closed").as_deref(), Some("6.12.9"), "the way home");
    assert!(!host.has_unit() && host.next_entry().is_none());
    assert_eq!(booted.close(&bundle, BootsEnd::Complete).expect("closed"), None, "once");
    assert_eq!(fs::read(host.path("boot/grub/grub.cfg")).expect("readable"), menu);
}

#[test]
fn a_kernel_that_does_not_come_up_is_tried_twice_and_then_told_and_who_goes_on_has_both_tries_again() {
    let mut host = Host::new();
    let (bundle, path) = bundle(&host);
    let (booted, _) = host.check(&plan(PLAN), &path).expect("a host that can be booted");
    for attempt in 1..=2 {
        let armed = booted.arm(&bundle, 0, "old", &needs("6.1.0")).expect("asked");
        assert_eq!(armed.asked.attempt, attempt);
        host.boot("6.12.9");
        booted.arrive(&bundle).expect("room");
    }
    let error = booted.arm(&bundle, 0, "old", &needs("6.1.0")).expect_err("a third try");
    assert!(error.to_string().contains("booted 2 times; the last time 6.12.9 came up instead"), "{error}");
    assert!(host.next_entry().is_none(), "nothing was asked for");
    assert_eq!(booted.close(&bundle, BootsEnd::Stopped(error.to_string())).expect("closed"), None, "home runs already");
    assert!(!host.has_unit());
    let boots = bundle.boots().expect("readable").expect("kept");
    assert!(matches!(boots.over, Some(BootsEnd::Stopped(why)) if why.contains("6.12.9 came up")));
    assert_eq!(booted.arm(&bundle, 0, "old", &needs("6.1.0")).expect("asked").asked.attempt, 1);
    assert!(host.has_unit());
    boots::abandon(&host.root(), &bundle, &host.goes_on(&path), "no grub.cfg").expect("taken away");
    assert!(!host.has_unit());
}

#[test]
fn what_stands_in_the_way_is_told_before_anything_is_changed() {
    let host = Host::new();
    let path = host.path("srv/two.trial");
    let told = |host: &Host, text: &str| {
        let error = host.check(&plan(text), &path).expect_err("refused").to_string();
        assert!(!host.has_unit() && host.next_entry().is_none());
        error
    };
    let missing = PLAN.replace("6.1.0", "9.9.9");
    assert!(told(&host, &missing).contains("no entry") && told(&host, &missing).contains("6.12.9, 6.1.0"));
    let guests = PLAN.replace("kernel=6.1.0", "kernel=debian:6.1").replace("kernel=6.12.9", "kernel=debian:6.12");
    assert!(told(&host, &guests).contains("virtual machines"));
    let none = PLAN.replace("kernel=6.1.0", "env.A=1").replace("kernel=6.12.9", "env.A=2");
    assert!(told(&host, &none).contains("kernel=6.12.9, as uname -r prints it"));
    fs::write(
        host.path("boot/grub/grubenv"),
        [b"# GRUB Environment Block\nnext_entry=mine\n".as_slice(), &[b'#'; 983]].concat(),
    )
    .expect("room");
    let error = host.check(&plan(PLAN), &path).expect_err("refused").to_string();
    assert!(error.contains("mine") && error.contains("grub-editenv"), "{error}");
    fs::write(host.path("run/systemd/container"), "docker").expect("room");
    assert!(host.check(&plan(PLAN), &path).expect_err("refused").to_string().contains("container"));
    fs::remove_file(host.path("run/systemd/container")).expect("there");
    fs::remove_dir(host.path("run/systemd/system")).expect("there");
    assert!(host.check(&plan(PLAN), &path).expect_err("refused").to_string().contains("systemd does not run"));
}
