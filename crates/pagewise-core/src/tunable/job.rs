//! What acts on the job alone: its THP mode, JVM options, environment and arguments.

use super::descriptor::{Descriptor, Key};
use super::grammar::{Form, Grammar};
use super::name::Tunable;

/// Values of `process.thp`.
static THP: Form =
    Form { canonical: |text| thp(text).map(|_| text.to_owned()), allowed: "default, never, except-advised" };

/// Values of an option of the JVM.
static JVM: Form = Form { canonical: jvm_value, allowed: "true, false, or the option's value" };

/// Transparent huge pages for the job's own processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobThp {
    /// As the host has it.
    Default,
    /// None.
    Never,
    /// Only where the program asks by `madvise`.
    ExceptAdvised,
}

/// What a job tunable asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobSetting {
    /// `process.thp`.
    Thp(JobThp),
    /// An option of the JVM, as it stands on a command line.
    JavaOption(String),
    /// A variable of the environment: name and value.
    Env(String, String),
    /// An argument of the workload: name and value.
    Argument(String, String),
}

impl JobSetting {
    /// The setting a job tunable and its canonical value stand for; `None` for limits of the job's control group.
    ///
    /// # Errors
    /// When the value does not fit the JVM option.
    pub fn of(tunable: &Tunable, value: &str) -> Result<Option<Self>, String> {
        let key = tunable.key.clone().unwrap_or_default();
        match tunable.descriptor.name {
            "process.thp" => thp(value).map(|mode| Some(JobSetting::Thp(mode))),
            "jvm.FLAG" => java_option(&key, value).map(|option| Some(JobSetting::JavaOption(option))),
            "env.NAME" => Ok(Some(JobSetting::Env(key, value.to_owned()))),
            "workload.ARG" => Ok(Some(JobSetting::Argument(key, value.to_owned()))),
            _ => Ok(None),
        }
    }
}

fn thp(text: &str) -> Result<JobThp, String> {
    match text {
        "default" => Ok(JobThp::Default),
        "never" => Ok(JobThp::Never),
        "except-advised" => Ok(JobThp::ExceptAdvised),
        _ => Err(format!("'{text}' is not a THP mode of a process")),
    }
}

/// Options travel in `JAVA_TOOL_OPTIONS`, which the JVM splits at white space and in which it takes quotes away.
fn jvm_value(text: &str) -> Result<String, String> {
    let splits = |c: char| c.is_whitespace() || c.is_control() || c == '"' || c == '\'';
    if text.is_empty() || text.contains(splits) {
        return Err(format!("'{text}' is empty, or has white space or a quote, at which JAVA_TOOL_OPTIONS is split"));
    }
    Ok(text.to_owned())
}

pub(super) fn text(text: &str) -> Result<String, String> {
    if text.contains('\0') { Err("the value has a NUL byte".to_owned()) } else { Ok(text.to_owned()) }
}

/// Options whose value follows without a sign between: `-Xmx2g`.
const SIZES_OF_X: [&str; 4] = ["Xmx", "Xms", "Xmn", "Xss"];

/// What the names of HotSpot's switches begin with (`globals.hpp` of JDK 8 to 25). A few others do, too, and take numbers (`UseSSE`), but none takes
/// a word of [`FOR_TRUE`] or [`FOR_FALSE`], which would become `-XX:FLAG=on`: no JVM starts with that.
const SWITCHES: [&str; 6] = ["Use", "Always", "Print", "Enable", "Disable", "Unlock"];

/// What people write for true, and for false.
const FOR_TRUE: [&str; 5] = ["on", "yes", "always", "enabled", "True"];
const FOR_FALSE: [&str; 5] = ["off", "no", "never", "disabled", "False"];

fn java_option(flag: &str, value: &str) -> Result<String, String> {
    if SWITCHES.iter().any(|begin| flag.starts_with(begin)) {
        let meant = match value {
            value if FOR_TRUE.contains(&value) => Some("true"),
            value if FOR_FALSE.contains(&value) => Some("false"),
            _ => None,
        };
        if let Some(meant) = meant {
            return Err(format!("-XX:{flag} is true or false, not '{value}'; did you mean {meant}?"));
        }
    }
    if SIZES_OF_X.contains(&flag) {
        let digits = value.trim_end_matches(|c: char| "kKmMgGtT".contains(c));
        let is_size = value.len() - digits.len() <= 1 && digits.parse::<u64>().is_ok() && !digits.starts_with('+');
        return if is_size { Ok(format!("-{flag}{value}")) } else { Err(format!("'{value}' is not a size; write 2g")) };
    }
    if flag.starts_with('X') && flag.chars().nth(1).is_some_and(|c| c.is_ascii_lowercase()) {
        return Ok(format!("-{flag}:{value}"));
    }
    Ok(match value {
        "true" => format!("-XX:+{flag}"),
        "false" => format!("-XX:-{flag}"),
        value => format!("-XX:{flag}={value}"),
    })
}

pub(super) const ALL: &[Descriptor] = &[
    Descriptor::live(
        "process.thp",
        &[],
        Grammar::Form(&THP),
        "3.15, except-advised since 6.18; kernel/sys.c PR_SET_THP_DISABLE",
        "transparent huge pages of the job's processes alone, whatever the host allows",
    )
    .for_job(),
    Descriptor::live(
        "jvm.FLAG",
        &[],
        Grammar::Form(&JVM),
        "HotSpot's options, through JAVA_TOOL_OPTIONS",
        "an option of every JVM the job starts: true and false become -XX:+FLAG and -XX:-FLAG, Xmx=2g becomes -Xmx2g",
    )
    .noting(
        "what HotSpot heeds on the command line alone has no effect: G1's NewSize and MaxNewSize (Xmn=2g has); a workload on Spark \
         writes them there",
    )
    .keyed(Key::Word)
    .for_job(),
    Descriptor::live(
        "env.NAME",
        &[],
        Grammar::Text,
        "the environment of the job",
        "a variable of the job's environment",
    )
    .keyed(Key::Word)
    .for_job(),
    Descriptor::live(
        "workload.ARG",
        &[],
        Grammar::Text,
        "the workload",
        "an argument of the built-in workload; see: pagewise workload --help",
    )
    .keyed(Key::Argument)
    .for_job(),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tunable::find;

    fn option(name: &str, value: &str) -> Result<Option<JobSetting>, String> {
        JobSetting::of(&find(name).expect("a tunable"), value)
    }

    #[test]
    fn jvm_options_are_spelled_as_the_jvm_wants_them() {
        for (name, value, spelled) in [
            ("jvm.UseTransparentHugePages", "true", "-XX:+UseTransparentHugePages"),
            ("jvm.AlwaysPreTouch", "false", "-XX:-AlwaysPreTouch"),
            ("jvm.Xmx", "2g", "-Xmx2g"),
            ("jvm.MaxHeapSize", "2g", "-XX:MaxHeapSize=2g"),
            ("jvm.Xlog", "gc", "-Xlog:gc"),
        ] {
            assert_eq!(option(name, value), Ok(Some(JobSetting::JavaOption(spelled.to_owned()))));
        }
        assert!(option("jvm.Xmx", "lots").is_err());
        assert!(option("jvm.Xmx", "2gg").is_err());
    }

    #[test]
    fn a_switch_of_the_jvm_is_true_or_false_and_who_writes_on_is_told_before_anything_runs() {
        for (value, meant) in [("on", "true"), ("always", "true"), ("off", "false"), ("never", "false")] {
            let told = option("jvm.UseTransparentHugePages", value).unwrap_err();
            assert!(told.contains(&format!("did you mean {meant}?")), "{told}");
        }
        for (name, value) in [("jvm.NativeMemoryTracking", "off"), ("jvm.UseSSE", "2"), ("jvm.MaxHeapSize", "2g")] {
            assert!(option(name, value).is_ok(), "{name}={value}");
        }
    }

    #[test]
    fn a_jvm_value_cannot_smuggle_in_another_option() {
        for value in ["1 -Xmx9g", "a\"b", "", "a\tb", "a\u{a0}b"] {
            assert!(jvm_value(value).is_err(), "{value:?}");
        }
    }

    #[test]
    fn an_environment_value_is_taken_as_it_is() {
        let setting = option("env.GREETING", " hello, world ");
        assert_eq!(setting, Ok(Some(JobSetting::Env("GREETING".to_owned(), " hello, world ".to_owned()))));
    }
}
