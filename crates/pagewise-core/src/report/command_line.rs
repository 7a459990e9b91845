//! The commands of a proposal as lines to be copied to a shell: the one place that quotes them.

use crate::finding::proposal::Command;
use crate::tunable::policy::Policy;
use crate::unit::Bytes;

/// What stands for the user's own command.
const JOB: &str = "./job";

/// What stands for the process that the user means.
const PID: &str = "PID";

/// The line that does it.
#[must_use]
pub fn command_line(command: &Command) -> String {
    match command {
        Command::Set { policy } => format!("pagewise set {}", word(policy)),
        Command::Revert => "pagewise revert".to_owned(),
        Command::Prove { a, b, live: true, .. } => format!("pagewise prove --live --a {} --b {}", word(a), word(b)),
        Command::Prove { a, b, live: false, job } => {
            let job = if job.is_empty() { JOB.to_owned() } else { shell_line(job) };
            format!("pagewise prove --a {} --b {} -- {job}", word(a), word(b))
        }
        Command::HugePages => format!("pagewise hugepages --pid {PID}"),
        Command::Guard => "pagewise guard run".to_owned(),
        Command::GuardProve => "pagewise guard prove".to_owned(),
        Command::SparkConf { placement, against, jar, spark, jdk, heap, executors, into } => {
            let option = |name: &str, value: &Option<String>| {
                value.as_ref().map_or_else(String::new, |value| format!(" --{name} {value}"))
            };
            let against = option("against", against);
            let jar = option("jar", &jar.as_deref().map(shell_word));
            let (spark, jdk) = (option("spark", spark), option("jdk", jdk));
            let executors = if *executors { " --executors" } else { "" };
            let heap = Bytes(*heap).as_typed().to_ascii_lowercase();
            format!(
                "pagewise spark conf --policy {placement}{against}{spark}{jdk} --heap {heap}{executors}{jar} --into {into}"
            )
        }
    }
}

/// A policy as a shell takes it for one word.
fn word(policy: &Policy) -> String {
    shell_word(&policy.to_string())
}

/// An argument vector as one could type it in a shell.
pub(super) fn shell_line(argv: &[String]) -> String {
    argv.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

/// A text as a shell takes it for one word. A policy's `=` and `,` stay bare, which crates for it quote.
fn shell_word(text: &str) -> String {
    let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "._=+-/:%@,".contains(c));
    if is_plain && !text.is_empty() { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tunable::policy::Setting;

    fn policy(settings: &[(&str, &str)]) -> Policy {
        let setting = |(tunable, value): &(&str, &str)| Setting::new(*tunable, *value).unwrap();
        Policy { name: None, settings: settings.iter().map(setting).collect() }
    }

    #[test]
    fn a_policy_is_one_word_for_a_shell() {
        assert_eq!(word(&Policy::default()), "now");
        assert_eq!(word(&policy(&[("thp.defrag", "defer+madvise")])), "thp.defrag=defer+madvise");
        assert_eq!(word(&policy(&[("mthp[64k].enabled", "inherit")])), "'mthp[64k].enabled=inherit'");
        assert_eq!(word(&policy(&[("cgroup[/it's].memory.high", "1")])), "'cgroup[/it'\\''s].memory.high=1'");
        assert_eq!(word(&policy(&[("env.A", "b,c")])), "'env.A=b\\,c'");
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn every_command_is_a_line() {
        let two = policy(&[("vm.swappiness", "10"), ("vm.vfs_cache_pressure", "200")]);
        let set = Command::Set { policy: two.clone() };
        assert_eq!(command_line(&set), "pagewise set vm.swappiness=10,vm.vfs_cache_pressure=200");
        assert_eq!(command_line(&Command::Revert), "pagewise revert");
        let b = policy(&[("vm.swappiness", "10")]);
        let of_job = |live, job| Command::Prove { a: Policy::default(), b: b.clone(), live, job };
        let prove = |live| of_job(live, Vec::new());
        assert_eq!(command_line(&prove(true)), "pagewise prove --live --a now --b vm.swappiness=10");
        assert_eq!(command_line(&prove(false)), "pagewise prove --a now --b vm.swappiness=10 -- ./job");
        let known = of_job(false, vec!["java".to_owned(), "-cp".to_owned(), "a b".to_owned(), "Main".to_owned()]);
        let line = "pagewise prove --a now --b vm.swappiness=10 -- java -cp 'a b' Main";
        assert_eq!(command_line(&known), line);
    }
}
