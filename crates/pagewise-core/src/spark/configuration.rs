//! The settings of a Spark job that put a policy for its memory into effect, and what of a host, a JVM or a Spark stands in the way.

use super::version::Version;
use crate::unit::Bytes;
use schemars::JsonSchema;
use serde::Serialize;

/// The largest share of the heap for young memory: the rest is what Spark manages by default, so neither meets what the other used.
const YOUNG_SHARE: f64 = 0.4;

/// Less than this Spark itself refuses (`spark.testing.reservedMemory`, 1.5 × 300 MiB).
const SMALLEST_HEAP: u64 = 450 << 20;

/// What is to lie on huge pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Nothing, by the plugin: the arm to compare the others with.
    None,
    /// What is cached.
    Storage,
    /// What tasks work with.
    Execution,
    /// Both, by the plugin.
    Both,
    /// The whole heap, by the JVM's own option.
    Entire,
}

impl Policy {
    fn word(self) -> &'static str {
        match self {
            Policy::None | Policy::Entire => "none",
            Policy::Storage => "storage",
            Policy::Execution => "execution",
            Policy::Both => "both",
        }
    }
}

/// A job to configure.
#[derive(Clone, Debug)]
pub struct Job {
    /// What is to lie on huge pages.
    pub policy: Policy,
    /// Whether the plugin changes anything, or only observes.
    pub enforce: bool,
    /// Of Spark.
    pub spark: Version,
    /// Of the JVM that computes.
    pub java: Version,
    /// The heap of each JVM that computes.
    pub heap: Bytes,
    /// Whether the driver computes (`local[…]`), or executors do.
    pub is_local: bool,
    /// The plugin's jar, as Spark is to find it.
    pub jar: String,
    /// The host's selected mode of transparent huge pages; `None` where it cannot be read.
    pub thp_enabled: Option<String>,
}

/// A line of Spark's configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Setting {
    /// Such as `spark.plugins`.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// Something that keeps a configuration from doing what it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Caution {
    /// `untried-spark`, `java-for-spark`, `java-25-moves-pinned-memory`, `flag-without-effect`, `host-never`, `host-always`,
    /// `host-unknown`.
    pub id: String,
    /// What it means, and what to do.
    pub text: String,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Configuration {
    /// In the order in which they are best read.
    pub settings: Vec<Setting>,
    /// What stands in the way.
    pub cautions: Vec<Caution>,
}

/// The configuration for a job.
///
/// # Errors
/// Why there is none, in words.
pub fn of(job: &Job) -> Result<Configuration, String> {
    if job.java.0 < 17 && job.policy != Policy::Entire {
        return Err(format!(
            "the plugin needs Java 17 or later, and this is Java {}; the policy entire needs no plugin",
            job.java
        ));
    }
    if job.heap.0 < SMALLEST_HEAP {
        return Err(format!("Spark does not start with a heap of {}: it needs {}", job.heap, Bytes(SMALLEST_HEAP)));
    }
    Ok(Configuration { settings: settings(job), cautions: cautions(job) })
}

fn settings(job: &Job) -> Vec<Setting> {
    let mut settings = Vec::new();
    let mut set = |name: &str, value: String| settings.push(Setting { name: name.to_owned(), value });
    if job.policy != Policy::Entire {
        set("spark.jars", job.jar.clone());
        set("spark.plugins", "pagewise.spark.PagewisePlugin".to_owned());
        set("spark.pagewise.policy", job.policy.word().to_owned());
        set("spark.pagewise.mode", if job.enforce { "enforce" } else { "observe" }.to_owned());
    }
    let who = if job.is_local { "driver" } else { "executor" };
    set(&format!("spark.{who}.memory"), size(job.heap.0));
    set(&format!("spark.{who}.extraJavaOptions"), java_options(job).join(" "));
    settings
}

/// The same heap and the same young memory under every policy, so that two of them differ in nothing else.
fn java_options(job: &Job) -> Vec<String> {
    let young = (job.heap.0 as f64 * YOUNG_SHARE) as u64;
    let mut options = vec![format!("-Xms{}", size(job.heap.0)), format!("-XX:MaxNewSize={}", size(young))];
    if job.policy == Policy::Entire {
        options.push("-XX:+UseTransparentHugePages".to_owned());
    } else if job.java.0 >= 22 {
        // JNA loads native code; from 24 on the JVM warns of it (JEP 472).
        options.push("--enable-native-access=ALL-UNNAMED".to_owned());
    }
    options
}

/// As Spark and the JVM both read it: whole GiB, else whole MiB.
fn size(bytes: u64) -> String {
    if bytes.is_multiple_of(1 << 30) { format!("{}g", bytes >> 30) } else { format!("{}m", bytes >> 20) }
}

fn cautions(job: &Job) -> Vec<Caution> {
    let mut found = Vec::new();
    let mut caution = |id: &str, text: String| found.push(Caution { id: id.to_owned(), text });
    let Version(major, minor, _) = job.spark;
    if !(Version(3, 5, 0)..Version(4, 4, 0)).contains(&job.spark) {
        caution("untried-spark", format!("the plugin is tried on Spark 3.5 to 4.3, not on {}", job.spark));
    }
    let suited: &[u32] = match (major, minor) {
        (..=3, _) => &[8, 11, 17],
        (4, ..=1) => &[17, 21],
        _ => &[17, 21, 25],
    };
    if !suited.contains(&job.java.0) {
        let suited: Vec<String> = suited.iter().map(u32::to_string).collect();
        caution(
            "java-for-spark",
            format!("Spark {} is for Java {}, and this is {}", job.spark, suited.join(", "), job.java),
        );
    }
    // Only whoever gives the update is told: 25 alone may be any.
    let is_update_known = job.java.1 > 0 || job.java.2 > 0;
    if job.java.0 == 25 && is_update_known && job.java < Version(25, 0, 3) {
        caution(
            "java-25-moves-pinned-memory",
            format!("Java {} may move memory that native code holds (JDK-8377811): use 25.0.3 or later", job.java),
        );
    }
    if job.policy == Policy::Entire && job.java == Version(25, 0, 0) {
        caution(
            "flag-without-effect",
            "in Java 25.0.0 -XX:+UseTransparentHugePages has no effect under G1 (JDK-8366434): use 25.0.3 or later"
                .to_owned(),
        );
    }
    if let Some((id, text)) = of_the_host(job) {
        caution(id, text);
    }
    found
}

/// What the mode of the host that runs this means: executors elsewhere have hosts of their own.
fn of_the_host(job: &Job) -> Option<(&'static str, String)> {
    let found = match (job.thp_enabled.as_deref(), job.policy) {
        (Some("madvise"), _) => return None,
        (Some("never"), Policy::None) => return None,
        (Some("never"), Policy::Entire) => (
            "host-never",
            "this host never makes a huge page (transparent_hugepage/enabled is never): the JVM's option does nothing. Set madvise",
        ),
        (Some("never"), _) => (
            "host-never",
            "this host makes no huge page by itself (transparent_hugepage/enabled is never): the plugin puts pages together afterwards, 50 \
             a second, each at the cost of a copy. Set madvise",
        ),
        (Some("always"), Policy::None) => (
            "host-always",
            "this host makes everything huge (transparent_hugepage/enabled is always): without the policy the heap is huge, too. To \
             compare, set madvise",
        ),
        (Some("always"), Policy::Entire) if job.java.0 >= 25 => (
            "host-always",
            "this host makes everything huge (transparent_hugepage/enabled is always), and from Java 25 on the option then gives no advice \
             (JDK-8319969): where memory is broken up there are fewer huge pages than under madvise",
        ),
        (Some("always"), Policy::Storage | Policy::Execution) => (
            "host-always",
            "this host makes everything huge (transparent_hugepage/enabled is always): the plugin keeps small what the policy leaves out, for \
             the whole process from Linux 6.18 on, before that for the heap",
        ),
        (Some("always"), _) => return None,
        (_, _) => (
            "host-unknown",
            "this host's mode of transparent huge pages cannot be read: where executors run it should be madvise",
        ),
    };
    Some((found.0, found.1.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(policy: Policy) -> Job {
        Job {
            policy,
            enforce: true,
            spark: Version(4, 3, 0),
            java: Version(17, 0, 15),
            heap: Bytes(20 << 30),
            is_local: false,
            jar: "plugin.jar".to_owned(),
            thp_enabled: Some("madvise".to_owned()),
        }
    }

    fn value(job: &Job, name: &str) -> Option<String> {
        of(job).unwrap().settings.into_iter().find(|setting| setting.name == name).map(|setting| setting.value)
    }

    fn ids(job: &Job) -> Vec<String> {
        of(job).unwrap().cautions.into_iter().map(|caution| caution.id).collect()
    }

    #[test]
    fn policies_differ_in_the_policy_alone() {
        let settings = |policy| of(&job(policy)).unwrap().settings;
        let (none, storage) = (settings(Policy::None), settings(Policy::Storage));
        let differing: Vec<&str> =
            none.iter().zip(&storage).filter(|(a, b)| a != b).map(|(a, _)| a.name.as_str()).collect();
        assert_eq!((none.len(), differing), (storage.len(), vec!["spark.pagewise.policy"]));
        let entire = settings(Policy::Entire);
        assert!(!entire.iter().any(|setting| setting.name.contains("pagewise") || setting.name == "spark.plugins"));
    }

    #[test]
    fn the_heap_is_whole_from_the_start_and_young_memory_stays_out_of_the_way() {
        let options = |job: &Job, who: &str| value(job, &format!("spark.{who}.extraJavaOptions")).unwrap();
        assert_eq!(options(&job(Policy::Storage), "executor"), "-Xms20g -XX:MaxNewSize=8g");
        let small = Job { heap: Bytes(1500 << 20), is_local: true, java: Version(25, 0, 3), ..job(Policy::Both) };
        assert_eq!(options(&small, "driver"), "-Xms1500m -XX:MaxNewSize=600m --enable-native-access=ALL-UNNAMED");
        assert_eq!(value(&small, "spark.driver.memory").unwrap(), "1500m");
        assert!(options(&job(Policy::Entire), "executor").ends_with("-XX:+UseTransparentHugePages"));
    }

    #[test]
    fn what_stands_in_the_way_is_said() {
        assert_eq!(ids(&job(Policy::Storage)), [""; 0]);
        let with = |change: fn(&mut Job), policy| {
            let mut job = job(policy);
            change(&mut job);
            ids(&job)
        };
        assert_eq!(with(|job| job.spark = Version(3, 4, 1), Policy::Storage), ["untried-spark"]);
        assert_eq!(with(|job| job.spark = Version(4, 4, 0), Policy::Storage), ["untried-spark"]);
        assert_eq!(with(|job| job.java = Version(25, 0, 3), Policy::Storage), [""; 0]);
        assert_eq!(with(|job| job.java = Version(25, 0, 2), Policy::Storage), ["java-25-moves-pinned-memory"]);
        let old = |job: &mut Job| (job.spark, job.java) = (Version(4, 0, 1), Version(25, 0, 3));
        assert_eq!(with(old, Policy::Storage), ["java-for-spark"]);
        let never = |job: &mut Job| job.thp_enabled = Some("never".to_owned());
        assert_eq!(with(never, Policy::Storage), ["host-never"]);
        assert_eq!(with(never, Policy::None), [""; 0]);
        let always = |job: &mut Job| job.thp_enabled = Some("always".to_owned());
        assert_eq!(with(always, Policy::None), ["host-always"]);
        assert_eq!(with(always, Policy::Both), [""; 0]);
        assert_eq!(with(|job| job.thp_enabled = None, Policy::Both), ["host-unknown"]);
    }

    #[test]
    fn a_java_or_a_heap_that_cannot_be_is_refused_with_the_reason() {
        let refused = |job: &Job| of(job).unwrap_err();
        assert!(refused(&Job { java: Version(11, 0, 2), ..job(Policy::Storage) }).contains("Java 17"));
        assert!(of(&Job { java: Version(11, 0, 2), spark: Version(3, 5, 6), ..job(Policy::Entire) }).is_ok());
        assert!(refused(&Job { heap: Bytes(100 << 20), ..job(Policy::Storage) }).contains("450 MiB"));
    }
}
