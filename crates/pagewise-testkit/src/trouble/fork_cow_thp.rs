//! A large process on huge pages forks, as a database does to save itself, and goes on writing.
//!
//! The process is Perl, which every Debian has: a fork that goes on without exec cannot be had safely from Rust.

use super::{Dose, ORDINARY, Proof, Severity, Stage, Trouble};
use crate::requires::need;
use std::io;
use std::process::{Command, Stdio};

pub(super) const TROUBLE: Trouble = Trouble {
    id: "fork-cow-thp",
    what: "thp.enabled is always, and a process forks a child that lives for half a second, meanwhile it writes a byte in each \
           of its pages of 4 KiB",
    doses: &[
        Dose { does: "128 MiB, a fork every 2 s", policy: POLICY },
        Dose { does: "512 MiB, a fork every second", policy: POLICY },
        Dose { does: "1 GiB, one fork after the other", policy: POLICY },
    ],
    seconds: ORDINARY,
    needs: &[need::root, need::thp, need::perl],
    proof: &[Proof::Grows("thp_split_pmd", 20.0)],
    make,
};

const POLICY: &str = "thp.enabled=always";

/// Arguments: bytes, seconds from fork to fork, seconds in all. It ends by itself.
const SCRIPT: &str = r#"
    my ($bytes, $every, $all) = @ARGV;
    my $until = time + $all;
    while (time < $until) {
        my $memory = "\0" x $bytes;
        my $child = fork // exit 1;
        if ($child == 0) { select(undef, undef, undef, 0.5); kill 'KILL', $$; }
        for (my $at = 0; $at < $bytes; $at += 4096) { substr($memory, $at, 1) = "x"; }
        waitpid $child, 0;
        undef $memory;
        select(undef, undef, undef, $every) if $every;
    }
"#;

fn make(stage: &Stage, severity: Severity) -> io::Result<()> {
    let (bytes, every) = severity.of([(128u64 << 20, "1.5"), (512 << 20, "0.5"), (1 << 30, "0")]);
    stage.ready();
    let mut perl = Command::new("perl")
        .args(["-e", SCRIPT, &bytes.to_string(), every, &stage.seconds().saturating_add(3).to_string()])
        .stdin(Stdio::null())
        .spawn()?;
    while stage.goes_on() && perl.try_wait()?.is_none() {
        stage.pause(std::time::Duration::from_millis(100));
    }
    perl.kill()?;
    perl.wait()?;
    Ok(())
}
