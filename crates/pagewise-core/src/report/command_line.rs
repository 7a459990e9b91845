//! The commands of a proposal as lines to be copied to a shell: the one place that quotes them.

use crate::finding::proposal::Command;
use crate::tunable::policy::Policy;
use crate::unit::Bytes;

/// What stands for the user's own command.
const JOB: &str = "./job";

/// What stands for the process that the user means.
const PID: &str = "PID";

/// Characters of a line of a command in a report, which a terminal indents by two.
pub(super) const COMMAND_WIDTH: usize = 78;

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

/// A line for a shell as lines of at most `width` characters, where it can be parted: each but the last ends in a backslash, so
/// that a shell takes them for one. An option stays with its value, and nothing is parted inside of quotes.
pub(super) fn in_lines(command: &str, width: usize) -> String {
    const INDENT: &str = "    ";
    let mut lines: Vec<String> = Vec::new();
    for part in parts(command) {
        // Behind each line but the last stand a space and a backslash.
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + part.chars().count() + 2 <= width => {
                line.push(' ');
                line.push_str(&part);
            }
            Some(_) => lines.push(format!("{INDENT}{part}")),
            None => lines.push(part),
        }
    }
    lines.join(" \\\n")
}

/// What stays together in a command: an option with what follows it; behind `--` with one word, since what these mean is the job's.
fn parts(command: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut is_of_job = false;
    for word in words_of(command) {
        match parts.last_mut() {
            Some(part) if part == "--" || (!word.starts_with('-') && (!is_of_job || is_lone_option(part))) => {
                part.push(' ');
                part.push_str(word);
            }
            _ => parts.push(word.to_owned()),
        }
        is_of_job |= word == "--";
    }
    parts
}

/// One whose value may follow; a word with a blank in it begins with a quote.
fn is_lone_option(part: &str) -> bool {
    part.starts_with('-') && part != "--" && !part.contains(' ')
}

/// The words of a line as [`shell_line`] writes it, with their quotes.
fn words_of(line: &str) -> Vec<&str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let is_between = |c: char| {
        let is_bare = !is_quoted && !is_escaped;
        is_quoted ^= c == '\'' && !is_escaped;
        is_escaped = c == '\\' && is_bare;
        is_bare && c == ' '
    };
    line.split(is_between).filter(|word| !word.is_empty()).collect()
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
    fn a_long_command_is_parted_where_a_shell_puts_it_together_again() {
        let of = |argv: &[&str]| shell_line(&argv.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        let short = of(&["pagewise", "prove", "--aa", "now"]);
        assert_eq!(in_lines(&short, 78), short);
        let job = ["./job", "-x", "two words", r"back\slash '", "last"];
        let argv = [&["pagewise", "prove", "--a", "it's a  b", "--pairs", "4", "--"][..], &job].concat();
        let parted = in_lines(&of(&argv), 30);
        assert_eq!(
            parted.lines().collect::<Vec<_>>(),
            [
                r"pagewise prove \",
                r"    --a 'it'\''s a  b' \",
                r"    --pairs 4 -- ./job \",
                r"    -x 'two words' \",
                r"    'back\slash '\''' last",
            ]
        );
        for width in 1..90 {
            // As a shell reads it: a backslash at the end of a line is nothing, and neither is the end.
            let words = shlex::split(&in_lines(&of(&argv), width).replace("\\\n", "")).unwrap();
            assert_eq!(words, argv, "{width}");
        }
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
