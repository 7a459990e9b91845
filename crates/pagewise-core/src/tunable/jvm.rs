//! The command line of `java`, and what of a policy for JVMs it has the last word over.

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

/// What `java` is told of the JVM on its command line. Empty where the command is another program.
#[must_use]
pub fn java_options_of(argv: &[String]) -> Vec<&str> {
    let is_java = argv.first().is_some_and(|program| program.rsplit('/').next() == Some("java"));
    if is_java { options_and_rest(argv).0 } else { Vec::new() }
}

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
        assert_eq!(java_options_of(&line), ["-Xmx2g", "-XX:+UseG1GC"]);
        assert_eq!(options_and_rest(&line).1, ["Main", "-Xmx9g"]);
        assert_eq!(java_options_of(&words("java -Xmx2g -jar a.jar -XX:-UseG1GC")), ["-Xmx2g"]);
        assert!(java_options_of(&words("./start.sh -Xmx2g")).is_empty());
        assert!(java_options_of(&[]).is_empty());
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
