//! The configuration that puts a part of Spark's memory on huge pages: what is set, and what on this host, with this Java, does
//! not fit.

use super::java_options::{JavaOptions, NATIVE_ACCESS};
use super::version::{self, Version};
use super::{PLUGIN, YOUNG_SHARE, size_text};
use crate::unit::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which memory is to lie on huge pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Placement {
    /// None.
    None,
    /// What is cached.
    Storage,
    /// What tasks work with.
    Execution,
    /// Both of them, by the plugin.
    Both,
    /// The whole heap, by the JVM's own flag and without the plugin.
    Entire,
}

impl Placement {
    /// All of them.
    pub const ALL: [Placement; 5] =
        [Placement::None, Placement::Storage, Placement::Execution, Placement::Both, Placement::Entire];

    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Placement::None => "none",
            Placement::Storage => "storage",
            Placement::Execution => "execution",
            Placement::Both => "both",
            Placement::Entire => "entire",
        }
    }

    /// One of two parts of the heap is huge: they have to stay apart.
    fn limits_young(self) -> bool {
        matches!(self, Placement::Storage | Placement::Execution)
    }

    /// Whether the plugin is what places memory.
    #[must_use]
    pub fn is_of_plugin(self) -> bool {
        matches!(self, Placement::Storage | Placement::Execution | Placement::Both)
    }
}

/// What the configuration is for.
#[derive(Clone, Debug)]
pub struct ConfRequest {
    /// Which memory.
    pub placement: Placement,
    /// The policy that it is held against: young memory has the same size under both.
    pub against: Option<Placement>,
    /// Of Spark; `None` where it is not known.
    pub spark: Option<Version>,
    /// Of Java.
    pub java: Option<Version>,
    /// The heap of a JVM that computes, bytes.
    pub heap: u64,
    /// Whether the plugin acts; else it only observes.
    pub enforces: bool,
    /// For executors in JVMs of their own; else for local mode, where the driver is the executor.
    pub executors: bool,
    /// Where the plugin's jar lies.
    pub jar: String,
    /// The mode in `transparent_hugepage/enabled` of the host; `None` where it is not known.
    pub thp: Option<String>,
    /// Memory of the host, bytes; `None` where it is not known.
    pub memory: Option<u64>,
}

/// A configuration with what is to be said of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Configuration {
    /// Names and values, in the order they are read best.
    pub settings: Vec<Setting>,
    /// What does not fit here, or has to be known.
    pub notes: Vec<String>,
}

/// One setting of Spark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// The exact configuration.
#[must_use]
pub fn configuration(asked: &ConfRequest) -> Configuration {
    let role = if asked.executors { "executor" } else { "driver" };
    let mut options = vec![format!("-Xms{}", size_text(asked.heap))];
    let mut settings = Vec::new();
    let mut set = |name: String, value: String| settings.push(Setting { name, value });
    if asked.placement.is_of_plugin() {
        set("spark.jars".to_owned(), asked.jar.clone());
        set("spark.plugins".to_owned(), PLUGIN.to_owned());
        set("spark.pagewise.policy".to_owned(), asked.placement.word().to_owned());
        set("spark.pagewise.mode".to_owned(), if asked.enforces { "enforce" } else { "observe" }.to_owned());
    }
    if [Some(asked.placement), asked.against].into_iter().flatten().any(Placement::limits_young) {
        options.push(format!("-XX:MaxNewSize={}", size_text(max_young(asked.heap))));
    }
    if asked.placement.is_of_plugin() && asked.java.is_some_and(version::wants_native_access) {
        options.push(NATIVE_ACCESS.to_owned());
    }
    match asked.placement {
        Placement::Entire => options.push("-XX:+UseTransparentHugePages".to_owned()),
        // Some distributions of Spark give it by themselves.
        Placement::None => options.push("-XX:-UseTransparentHugePages".to_owned()),
        _ => {}
    }
    set(format!("spark.{role}.memory"), size_text(asked.heap));
    set(format!("spark.{role}.extraJavaOptions"), JavaOptions::of(options).text());
    Configuration { settings, notes: notes(asked) }
}

/// Why a policy cannot be had with this Spark and Java; `None` where it can, as far as their versions are known.
#[must_use]
pub fn out_of_reach(asked: &ConfRequest) -> Option<String> {
    let spark = asked.spark.filter(|spark| *spark < FIRST_SPARK).map(|spark| format!("Spark {spark}"));
    let java = asked.java.filter(|java| java.major < FIRST_JAVA).map(|java| format!("Java {java}"));
    let here = [spark, java].into_iter().flatten().collect::<Vec<_>>().join(" and ");
    (asked.placement.is_of_plugin() && !here.is_empty()).then(|| {
        format!(
            "the plugin is for Spark {}.{} and later on Java {FIRST_JAVA} and later, and this is {here}. The policies none and entire need \
             no plugin",
            FIRST_SPARK.major, FIRST_SPARK.minor
        )
    })
}

/// What the plugin is built for.
const FIRST_SPARK: Version = Version::of(3, 5, 0);
const FIRST_JAVA: u32 = 17;

/// What young memory may take, in whole MiB.
#[must_use]
pub fn max_young(heap: u64) -> u64 {
    ((heap as f64 * YOUNG_SHARE) as u64 >> 20).max(1) << 20
}

fn notes(asked: &ConfRequest) -> Vec<String> {
    let mut notes = Vec::new();
    let (placement, role) = (asked.placement, if asked.executors { "executor" } else { "driver" });
    match (asked.spark, asked.java) {
        (Some(spark), Some(java)) => notes.extend(version::mismatch(spark, java)),
        (None, _) => {
            notes.push("Spark's version is not known: name it with --spark 4.1.3, or --spark and its folder".to_owned())
        }
        (_, None) => {
            notes.push("Java's version is not known: name it with --jdk 25.0.3, or --jdk and its folder".to_owned())
        }
    }
    if placement == Placement::Entire && asked.java.is_some_and(version::has_broken_huge_pages) {
        notes.push(
            "JDK 25.0.0 puts nothing of a G1 heap on huge pages by this flag (JDK-8366434): take 25.0.3 or later, or 21".to_owned(),
        );
    }
    if let Some(memory) = asked.memory.filter(|memory| *memory < asked.heap) {
        notes.push(format!(
            "this host has {} of memory, less than a heap of {}: name the heap of one JVM with --heap, or run the job where there is more",
            Bytes(memory),
            Bytes(asked.heap)
        ));
    }
    match (asked.thp.as_deref(), placement) {
        (Some("never"), Placement::None) | (Some("madvise"), _) => {}
        (Some("never"), _) => notes.push(
            "this host's thp.enabled is never: nothing lies on huge pages when it is first touched. pagewise set thp.enabled=madvise lets \
             it (root)"
                .to_owned(),
        ),
        (Some("always"), Placement::None | Placement::Entire | Placement::Both) => notes.push(
            "this host's thp.enabled is always: with or without these lines all memory may lie on huge pages, and a comparison with none \
             shows little. pagewise set thp.enabled=madvise tells them apart (root)"
                .to_owned(),
        ),
        (Some("always"), _) => notes.push(
            "this host's thp.enabled is always: the plugin keeps small what the policy leaves out, for the whole process from Linux 6.18 on, \
             before that for the heap; a comparison with none shows little. pagewise set thp.enabled=madvise tells them apart (root)"
                .to_owned(),
        ),
        (Some(other), _) => notes.push(format!("this host's thp.enabled is '{other}', which is not known here")),
        (None, _) => notes.push(
            "this host's thp.enabled cannot be read; where the job runs it has to be madvise: pagewise show thp.enabled".to_owned(),
        ),
    }
    if placement.is_of_plugin() {
        notes.push(format!(
            "add your own options to spark.{role}.extraJavaOptions, and your own jars to spark.jars, with a comma; leave \
             -XX:+AlwaysPreTouch and -XX:+UseTransparentHugePages out"
        ));
        if !asked.enforces {
            notes.push("observe only reads: with --mode enforce memory is placed".to_owned());
        }
    }
    if placement == Placement::None && asked.against.is_none() {
        notes.push(
            "to compare with storage or execution, add --against POLICY: it gives young memory the same limit"
                .to_owned(),
        );
    }
    if asked.heap < 1 << 30 && placement.is_of_plugin() {
        notes.push(format!("a heap of {} is small: the kernel has few huge pages to place in it", Bytes(asked.heap)));
    }
    notes
}

impl Configuration {
    /// As options of `spark-submit`, a line each, with notes as comments above.
    #[must_use]
    pub fn arguments(&self) -> String {
        let last = self.settings.len().saturating_sub(1);
        let line = |(place, setting): (usize, &Setting)| {
            format!("{}{}\n", argument(&setting.name, &setting.value), if place == last { "" } else { " \\" })
        };
        self.comments() + &self.settings.iter().enumerate().map(line).collect::<String>()
    }

    /// As lines of `spark-defaults.conf`.
    #[must_use]
    pub fn properties(&self) -> String {
        let escaped = |value: &str| value.replace('\\', "\\\\");
        let line = |setting: &Setting| format!("{} {}\n", setting.name, escaped(&setting.value));
        self.comments() + &self.settings.iter().map(line).collect::<String>()
    }

    fn comments(&self) -> String {
        self.notes.iter().map(|note| comment(note)).collect()
    }
}

/// `--conf name=value` as a shell takes it.
#[must_use]
pub fn argument(name: &str, value: &str) -> String {
    let word = format!("{name}={value}");
    let is_plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "._=+-/:%@,".contains(c));
    if is_plain { format!("--conf {word}") } else { format!("--conf '{}'", word.replace('\'', "'\\''")) }
}

/// Of at most 79 columns a line.
fn comment(text: &str) -> String {
    let mut lines = vec![String::from("#")];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= 79 => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(format!("#   {word}")),
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(placement: Placement) -> ConfRequest {
        ConfRequest {
            placement,
            against: None,
            spark: Some(Version::of(4, 3, 0)),
            java: Some(Version::of(25, 0, 3)),
            heap: 20 << 30,
            enforces: true,
            executors: false,
            jar: super::super::PLUGIN_JAR.to_owned(),
            thp: Some("madvise".to_owned()),
            memory: Some(32 << 30),
        }
    }

    fn options(asked: &ConfRequest) -> JavaOptions {
        let settings = configuration(asked).settings;
        let line = settings.iter().find(|setting| setting.name.ends_with("extraJavaOptions")).unwrap();
        JavaOptions::parse(&line.value)
    }

    #[test]
    fn the_heap_has_its_size_from_the_start_and_young_memory_two_fifths() {
        let storage = options(&asked(Placement::Storage));
        assert_eq!((storage.initial_heap(), storage.max_young()), (Some(20 << 30), Some(8 << 30)));
        assert!(storage.has(NATIVE_ACCESS) && !storage.is_on("AlwaysPreTouch"));
        let java = Some(Version::of(17, 0, 15));
        assert!(!options(&ConfRequest { java, ..asked(Placement::Storage) }).has(NATIVE_ACCESS));
        assert_eq!(options(&asked(Placement::Both)).max_young(), None);
        assert!(options(&asked(Placement::Entire)).is_on("UseTransparentHugePages"));
    }

    #[test]
    fn lines_for_a_shell_are_words_for_a_shell() {
        for placement in Placement::ALL {
            let text = configuration(&asked(placement)).arguments();
            let code: String = text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
            let words = shlex::split(&code.replace("\\\n", "")).unwrap();
            assert!(words.chunks(2).all(|pair| pair[0] == "--conf" && pair[1].contains('=')), "{words:?}");
            assert!(text.lines().filter(|line| line.starts_with('#')).all(|line| line.len() <= 80), "{text}");
        }
    }

    #[test]
    fn executors_have_their_own_names() {
        let text = configuration(&ConfRequest { executors: true, ..asked(Placement::Storage) }).properties();
        assert!(text.contains("spark.executor.memory 20g\n") && !text.contains("driver."), "{text}");
    }

    #[test]
    fn what_it_is_held_against_gives_young_memory_its_size() {
        let of = |placement, against| options(&ConfRequest { against, ..asked(placement) }).max_young();
        assert_eq!((of(Placement::None, None), of(Placement::Entire, Some(Placement::Both))), (None, None));
        let storage = of(Placement::Storage, None);
        assert!(storage.is_some());
        assert_eq!(of(Placement::None, Some(Placement::Storage)), storage);
        assert_eq!(of(Placement::Both, Some(Placement::Execution)), storage);
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let said = |asked: ConfRequest| configuration(&asked).notes.join("\n");
        let entire = asked(Placement::Entire);
        let old = Some(Version::of(25, 0, 0));
        assert!(said(ConfRequest { java: old, ..entire.clone() }).contains("JDK-8366434"));
        assert!(said(ConfRequest { java: old, ..entire.clone() }).contains("from 25.0.3 on"));
        assert!(said(ConfRequest { thp: Some("never".to_owned()), ..entire.clone() }).contains("first touched"));
        assert!(
            said(ConfRequest { thp: Some("always".to_owned()), ..asked(Placement::Storage) })
                .contains("keeps small what")
        );
        assert!(said(ConfRequest { thp: None, ..entire.clone() }).contains("cannot be read"));
        assert!(said(ConfRequest { spark: None, ..entire.clone() }).contains("--spark"));
        assert!(
            said(ConfRequest { memory: Some(8 << 30), ..entire.clone() }).contains("this host has 8 GiB of memory")
        );
        assert_eq!(said(entire), "");
    }

    #[test]
    fn what_the_plugin_is_not_built_for_is_out_of_reach() {
        let (old, ancient) = (Some(Version::of(2, 4, 0)), Some(Version::of(8, 0, 0)));
        let why = out_of_reach(&ConfRequest { spark: old, java: ancient, ..asked(Placement::Storage) }).unwrap();
        assert!(why.contains("Spark 3.5 and later") && why.contains("this is Spark 2.4.0 and Java 8.0.0"), "{why}");
        assert_eq!(out_of_reach(&ConfRequest { spark: old, java: ancient, ..asked(Placement::Entire) }), None);
        assert_eq!(out_of_reach(&ConfRequest { spark: None, java: None, ..asked(Placement::Both) }), None);
    }
}
