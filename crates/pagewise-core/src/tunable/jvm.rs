//! The command line of `java`, what of a policy for JVMs it has the last word over, and which flags a JVM knows.

use std::collections::BTreeSet;

/// Options of the program `java` whose value is the next word.
const WITH_VALUE: [&str; 10] = [
    "-cp",
    "-classpath",
    "--class-path",
    "-p",
    "--module-path",
    "--upgrade-module-path",
    "--add-modules",
    "--add-exports",
    "--add-opens",
    "--source",
];

/// The JVM's options on the command line of `java`, and the class, jar or module that it runs with what that is told.
#[must_use]
pub fn options_and_rest(words: &[String]) -> (Vec<&str>, &[String]) {
    let (mut options, mut at) = (Vec::new(), 1);
    while let Some(word) = words.get(at).map(String::as_str).filter(|word| word.starts_with('-')) {
        at += 1;
        match word {
            "-jar" | "-m" | "--module" => break,
            word if WITH_VALUE.contains(&word) => at += 1,
            word => options.push(word),
        }
    }
    (options, words.get(at..).unwrap_or_default())
}

/// The command line of the `java` that a command starts: itself, behind a program that starts another one (`numactl --membind=0 java …`), or the
/// first of a shell's line (`sh -c 'cd /srv && exec java …'`). `None` where it starts none that can be seen.
#[must_use]
pub fn java_command(argv: &[String]) -> Option<Vec<String>> {
    const STARTERS: [&str; 13] = [
        "chrt", "env", "ionice", "nice", "nohup", "numactl", "perf", "prlimit", "setsid", "stdbuf", "sudo", "taskset",
        "time",
    ];
    const SHELLS: [&str; 6] = ["ash", "bash", "dash", "ksh", "sh", "zsh"];
    let name = |word: &String| word.rsplit('/').next().unwrap_or_default().to_owned();
    let begin = name(argv.first()?);
    if SHELLS.contains(&begin.as_str()) {
        // `-c` may stand in one word with others: `bash -lc LINE`.
        let line =
            argv.iter().position(|word| word.starts_with('-') && word.ends_with('c')).and_then(|at| argv.get(at + 1));
        let words = shlex::split(line?)?;
        let from = words.iter().position(|word| name(word) == "java")?;
        let ends = |word: &String| matches!(word.as_str(), ";" | "&" | "&&" | "|" | "||");
        return Some(words[from..].iter().take_while(|word| !ends(word)).cloned().collect());
    }
    let from = match begin.as_str() {
        "java" => 0,
        starter if STARTERS.contains(&starter) => argv.iter().position(|word| name(word) == "java")?,
        _ => return None,
    };
    Some(argv[from..].to_vec())
}

/// The flags that a JVM has, of what `java -XX:+PrintFlagsFinal` prints (`src/hotspot/share/runtime/flags/jvmFlag.cpp`, JDK 8 to 25). Empty where that is
/// no such list: another JVM.
#[must_use]
pub fn flags_of(printed: &str) -> BTreeSet<String> {
    let flag = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let (_, name, sign) = (words.next()?, words.next()?, words.next()?);
        // Where a value was set by somebody JDK 8 writes `:=`.
        matches!(sign, "=" | ":=").then(|| name.to_owned())
    };
    printed.lines().filter_map(flag).collect()
}

/// The flag of a policy's first option that a JVM does not have. `None` where all are known, where nothing is known of the JVM, and where it is told to
/// pass over what it does not know.
#[must_use]
pub fn unknown_flag<'a>(policy: &'a [String], known: &BTreeSet<String>) -> Option<&'a str> {
    if known.is_empty() || policy.iter().any(|option| option == IGNORES_UNKNOWN) {
        return None;
    }
    policy.iter().filter_map(|option| java_flag(option)).find(|flag| !known.contains(*flag))
}

/// What makes a JVM pass over options that it does not know.
pub const IGNORES_UNKNOWN: &str = "-XX:+IgnoreUnrecognizedVMOptions";

/// The flag of HotSpot that an option sets: `UseTransparentHugePages` of `-XX:+UseTransparentHugePages`, `MaxHeapSize` of `-Xmx2g`.
#[must_use]
pub fn java_flag(option: &str) -> Option<&str> {
    /// `src/hotspot/share/runtime/arguments.cpp` (JDK 17), `Arguments::parse_each_vm_init_arg`.
    const SHORT: [(&str, &str); 5] = [
        ("-Xmx", "MaxHeapSize"),
        ("-Xms", "InitialHeapSize"),
        ("-Xmn", "NewSize"),
        ("-Xss", "ThreadStackSize"),
        ("-mx", "MaxHeapSize"),
    ];
    if let Some(flag) = option.strip_prefix("-XX:") {
        let flag = flag.split('=').next().unwrap_or(flag).trim_start_matches(['+', '-']);
        return (!flag.is_empty()).then_some(flag);
    }
    let is_size = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    SHORT.iter().find(|(begin, _)| option.strip_prefix(begin).is_some_and(is_size)).map(|(_, flag)| *flag)
}

/// An option of a policy that does nothing, and the word that has the last word over it: `JAVA_TOOL_OPTIONS`, which carries the policy, is read
/// before the command line (and before `JDK_JAVA_OPTIONS` and `_JAVA_OPTIONS`).
#[must_use]
pub fn overridden<'a>(policy: &'a [String], later: &[&'a str]) -> Option<(&'a str, &'a str)> {
    policy.iter().find_map(|option| {
        let flag = java_flag(option)?;
        let word = later.iter().rev().find(|word| java_flag(word) == Some(flag))?;
        Some((option.as_str(), *word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn options_end_where_the_class_begins() {
        let line = words("/usr/lib/jvm/17/bin/java -Xmx2g -cp a.jar:b.jar -XX:+UseG1GC Main -Xmx9g");
        assert_eq!(options_and_rest(&line), (vec!["-Xmx2g", "-XX:+UseG1GC"], &words("Main -Xmx9g")[..]));
        assert_eq!(options_and_rest(&words("java -Xmx2g -jar a.jar -XX:-UseG1GC")).0, ["-Xmx2g"]);
    }

    #[test]
    fn java_is_found_behind_what_starts_it() {
        let java = |argv: &[&str]| {
            let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
            java_command(&argv).map(|words| words.join(" "))
        };
        for argv in [
            &["/usr/bin/java", "-Xmx2g", "Main"][..],
            &["numactl", "--membind=0", "/usr/bin/java", "-Xmx2g", "Main"],
            &["env", "A=b", "taskset", "-c", "0", "/usr/bin/java", "-Xmx2g", "Main"],
            &["sh", "-c", "cd /srv && exec /usr/bin/java -Xmx2g 'Main' && echo done"],
            &["/bin/bash", "-lc", "A=b /usr/bin/java -Xmx2g Main; java -Xmx9g"],
        ] {
            let told = java(argv).unwrap();
            assert!(told.starts_with("/usr/bin/java -Xmx2g Main") && !told.contains("done"), "{argv:?}: {told}");
        }
        for argv in [
            &["./start.sh", "java", "-Xmx2g"][..],
            &["sh", "start.sh"],
            &["sh", "-c", "echo 'java"],
            &["sh", "-c"],
            &[],
        ] {
            assert_eq!(java(argv), None, "{argv:?}");
        }
    }

    #[test]
    fn a_flag_that_the_jvm_does_not_have_is_found() {
        let printed = "[Global flags]\n     bool UseTransparentHugePages          = false        {product} {default}\n    uintx MaxHeapSize   \
                       := 6318718976   {product}\n     ccstr OnError =   {product}\nopenjdk version \"17.0.1\" 2021\n";
        let known = flags_of(printed);
        assert_eq!(known.len(), 3, "{known:?}");
        let unknown = |line: &str| unknown_flag(&words(line), &known).map(str::to_owned);
        assert_eq!(unknown("-XX:+UseTransparentHugePages -Xmx2g -Dx=y -Xint"), None);
        assert_eq!(unknown("-Xmx2g -XX:+UseTransparentHugePage").as_deref(), Some("UseTransparentHugePage"));
        assert_eq!(unknown("-XX:+IgnoreUnrecognizedVMOptions -XX:+Zorro"), None);
        assert_eq!(unknown_flag(&words("-XX:+Zorro"), &flags_of("JVMJ9VM007E")), None);
    }

    #[test]
    fn an_option_is_known_by_the_flag_it_sets() {
        for (option, flag) in [
            ("-XX:+UseTransparentHugePages", Some("UseTransparentHugePages")),
            ("-XX:-UseTransparentHugePages", Some("UseTransparentHugePages")),
            ("-XX:MaxHeapSize=2g", Some("MaxHeapSize")),
            ("-Xmx2g", Some("MaxHeapSize")),
            ("-Xlog:gc", None),
            ("-Xmixed", None),
            ("-Dx=-Xmx2g", None),
            ("-XX:", None),
        ] {
            assert_eq!(java_flag(option), flag, "{option}");
        }
    }

    #[test]
    fn the_later_of_two_words_has_the_last_word() {
        let policy = words("-XX:+AlwaysPreTouch -Xmx2g");
        assert_eq!(overridden(&policy, &["-Xmx1g", "-XX:MaxHeapSize=3g"]), Some(("-Xmx2g", "-XX:MaxHeapSize=3g")));
        assert_eq!(overridden(&policy, &["-Xms1g", "-XX:+UseG1GC"]), None);
    }
}
