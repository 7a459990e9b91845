//! Options of a JVM as words, with those that Spark itself adds told apart from the user's.

/// Options in their order: of two that set the same, the later holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JavaOptions {
    words: Vec<String>,
}

/// What Spark adds to `extraJavaOptions` when it starts (`JavaModuleOptions.defaultModuleOptions`, 3.5 to 4.3).
const SPARKS_OWN: [&str; 11] = [
    "--add-opens=",
    "--add-modules=jdk.incubator.vector",
    "-XX:+IgnoreUnrecognizedVMOptions",
    "-Djava.net.preferIPv6Addresses=",
    "-Djdk.reflect.useDirectMethodHandle=",
    "-Dio.netty.tryReflectionSetAccessible=",
    "-Dio.netty.allocator.type=",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=",
    "-Dio.netty.noUnsafe=",
    "--sun-misc-unsafe-memory-access=",
    NATIVE_ACCESS,
];

/// Lets native code be called without a warning.
pub const NATIVE_ACCESS: &str = "--enable-native-access=ALL-UNNAMED";

impl JavaOptions {
    /// Of a line as `extraJavaOptions` and `JAVA_TOOL_OPTIONS` have it.
    #[must_use]
    pub fn parse(line: &str) -> JavaOptions {
        let words = shlex::split(line).unwrap_or_else(|| line.split_whitespace().map(str::to_owned).collect());
        JavaOptions { words }
    }

    /// Of words.
    #[must_use]
    pub fn of(words: Vec<String>) -> JavaOptions {
        JavaOptions { words }
    }

    /// These, and then those.
    #[must_use]
    pub fn then(mut self, others: JavaOptions) -> JavaOptions {
        self.words.extend(others.words);
        self
    }

    /// These with those words of others that are not among them.
    #[must_use]
    pub fn joined(&self, others: &JavaOptions) -> JavaOptions {
        let mut words = self.words.clone();
        words.extend(others.words.iter().filter(|word| !self.has(word)).cloned());
        JavaOptions { words }
    }

    /// Whether `-XX:+NAME` or `-XX:-NAME` is given.
    #[must_use]
    pub fn flag(&self, name: &str) -> Option<bool> {
        self.words.iter().rev().find_map(|word| {
            let word = word.strip_prefix("-XX:")?;
            match (word.strip_prefix('+'), word.strip_prefix('-')) {
                (Some(given), _) if given == name => Some(true),
                (_, Some(given)) if given == name => Some(false),
                _ => None,
            }
        })
    }

    /// Whether a flag is on.
    #[must_use]
    pub fn is_on(&self, name: &str) -> bool {
        self.flag(name) == Some(true)
    }

    /// What `-XX:NAME=` says.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        self.words.iter().rev().find_map(|word| word.strip_prefix("-XX:")?.strip_prefix(name)?.strip_prefix('='))
    }

    /// The later of `-Xms…` and `-XX:InitialHeapSize=…`, in bytes.
    #[must_use]
    pub fn initial_heap(&self) -> Option<u64> {
        self.size(&["-Xms", "-XX:InitialHeapSize=", "-ms"])
    }

    /// What the heap never becomes smaller than, in bytes: `-Xms…` or `-XX:MinHeapSize=…`. With `-XX:InitialHeapSize` alone G1 gives
    /// memory back after its first marking.
    #[must_use]
    pub fn smallest_heap(&self) -> Option<u64> {
        self.size(&["-Xms", "-XX:MinHeapSize=", "-ms"])
    }

    /// The later of `-Xmx…` and `-XX:MaxHeapSize=…`, in bytes.
    #[must_use]
    pub fn max_heap(&self) -> Option<u64> {
        self.size(&["-Xmx", "-XX:MaxHeapSize="])
    }

    /// What young memory may grow to, in bytes.
    #[must_use]
    pub fn max_young(&self) -> Option<u64> {
        self.size(&["-Xmn", "-XX:MaxNewSize="])
    }

    fn size(&self, prefixes: &[&str]) -> Option<u64> {
        let of_word = |word: &String| prefixes.iter().find_map(|prefix| java_size(word.strip_prefix(prefix)?));
        self.words.iter().rev().find_map(of_word)
    }

    /// Whether this word is there.
    #[must_use]
    pub fn has(&self, word: &str) -> bool {
        self.words.iter().any(|given| given == word)
    }

    /// Without what Spark adds by itself.
    #[must_use]
    pub fn own(&self) -> JavaOptions {
        let is_own = |word: &&String| !SPARKS_OWN.iter().any(|spark| word.starts_with(spark));
        JavaOptions { words: self.words.iter().filter(is_own).cloned().collect() }
    }

    /// With this word at the end, and none that begins with one of `instead_of`.
    #[must_use]
    pub fn with(&self, word: &str, instead_of: &[&str]) -> JavaOptions {
        let mut words = self.without(instead_of).words;
        if !word.is_empty() {
            words.push(word.to_owned());
        }
        JavaOptions { words }
    }

    /// Without words that begin so.
    #[must_use]
    pub fn without(&self, prefixes: &[&str]) -> JavaOptions {
        let stays = |word: &&String| !prefixes.iter().any(|prefix| word.starts_with(prefix));
        JavaOptions { words: self.words.iter().filter(stays).cloned().collect() }
    }

    /// The line.
    #[must_use]
    pub fn text(&self) -> String {
        let word = |word: &String| {
            let is_plain = !word.is_empty() && !word.contains([' ', '\t', '\n', '"', '\'', '\\']);
            if is_plain { word.clone() } else { format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\"")) }
        };
        self.words.iter().map(word).collect::<Vec<_>>().join(" ")
    }
}

/// A size as the JVM reads it: `20g`, `512M`, `4096`.
fn java_size(text: &str) -> Option<u64> {
    let has_two_letters = text.chars().filter(char::is_ascii_alphabetic).count() > 1;
    if has_two_letters { None } else { super::spark_size(text, 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_options_the_later_holds() {
        let options =
            JavaOptions::parse("-Xms1g -XX:-UseG1GC -Xms2G -XX:+UseG1GC -XX:MaxNewSize=400m -XX:InitialHeapSize=7");
        assert_eq!((options.initial_heap(), options.is_on("UseG1GC")), (Some(7), true));
        assert_eq!((options.max_young(), options.max_heap(), options.flag("UseZGC")), (Some(400 << 20), None, None));
        assert_eq!(JavaOptions::parse("-Xmx2gg").max_heap(), None);
    }

    #[test]
    fn what_spark_adds_is_told_apart_and_words_with_spaces_stay_whole() {
        let line = "--add-opens=java.base/java.io=ALL-UNNAMED -XX:+IgnoreUnrecognizedVMOptions -Da=\"b c\" -Xms1g";
        let own = JavaOptions::parse(line).own();
        assert_eq!(own.text(), "\"-Da=b c\" -Xms1g");
        assert_eq!(JavaOptions::parse(&own.text()), own);
        assert_eq!(own.with("-Xms2g", &["-Xms"]).text(), "\"-Da=b c\" -Xms2g");
        assert_eq!(JavaOptions::parse("an 'unclosed quote").text(), "an \"'unclosed\" quote");
    }
}
