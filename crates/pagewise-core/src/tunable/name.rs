//! From the name a user writes to the tunable it means.

use super::descriptor::{Descriptor, Key};
use super::grammar::{Grammar, ValueError};
use super::swap;
use crate::spelling::distance;
use crate::unit::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

/// A tunable: what is known about it, and which one of its kind it is. It is found once, where a name comes in from outside, and
/// from there on everything takes it as it is. Two are the same when their names are.
#[derive(Clone)]
pub struct Tunable {
    /// What is known about it.
    pub descriptor: &'static Descriptor,
    /// The key in its name, in the one spelling that counts.
    pub key: Option<String>,
    /// Its name in the one spelling that counts.
    pub name: String,
}

/// No tunable has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing like it is known.
    #[error("there is no tunable '{name}'{}", did_you_mean(nearest))]
    Unknown {
        /// As written.
        name: String,
        /// Names that differ little from it.
        nearest: Vec<String>,
    },
    /// What stands for the key cannot be one.
    #[error("'{name}' is not the name of a tunable: {why}")]
    Key {
        /// As written.
        name: String,
        /// What is wrong with the key, and what would be right.
        why: String,
    },
    /// It is planned, or it is no setting.
    #[error("'{name}' cannot be set: {why}")]
    NotSettable {
        /// As written.
        name: String,
        /// Why, and what to do instead.
        why: &'static str,
    },
}

fn did_you_mean(nearest: &[String]) -> String {
    if nearest.is_empty() {
        "; see: pagewise show --all".to_owned()
    } else {
        format!("; did you mean {}?", nearest.join(" or "))
    }
}

/// Names that people will try and that mean something, but not a setting of this version.
const NOT_SETTABLE: [(&str, &str); 3] = [
    ("vm.drop_caches", "it is an action without an inverse; a trial has it: --drop-caches, or drop_caches in [design]"),
    ("vm.compact_memory", "it is an action without an inverse"),
    ("vm.stat_refresh", "it is an action without an inverse"),
];

/// Whether a tunable of this name acts on the job that Pagewise starts rather than on the host; `false` where there is none.
#[must_use]
pub fn is_for_job(name: &str) -> bool {
    find(name).is_ok_and(|tunable| tunable.is_for_job())
}

/// The tunable of this name.
///
/// # Errors
/// When there is none, or its key is malformed.
pub fn find(name: &str) -> Result<Tunable, NameError> {
    let name = name.trim();
    if let Some((_, why)) = NOT_SETTABLE.iter().find(|(known, _)| *known == name) {
        return Err(NameError::NotSettable { name: name.to_owned(), why });
    }
    if let Some(descriptor) = pair_with_a_file_named(name) {
        return with_key(descriptor, "", name);
    }
    for descriptor in super::all() {
        if let Some(key) = key_of(descriptor, name) {
            return with_key(descriptor, key, name);
        }
    }
    Err(NameError::Unknown { name: name.to_owned(), nearest: nearest(name) })
}

/// One of the two files of a pair is another name for the pair, so that a journal and a conflict check see one tunable.
fn pair_with_a_file_named(name: &str) -> Option<&'static Descriptor> {
    super::all().find(|descriptor| match descriptor.grammar {
        Grammar::Pair(pair) => pair.face_named(name).is_some(),
        _ => false,
    })
}

/// The part of `name` that stands where the pattern has its capitals; `None` when the rest differs.
fn key_of<'a>(descriptor: &Descriptor, name: &'a str) -> Option<&'a str> {
    if descriptor.key == Key::None {
        return (name == descriptor.name).then_some("");
    }
    let (before, after) = around_key(descriptor.name);
    name.strip_prefix(before)?.strip_suffix(after)
}

/// What stands before and after the capitals of a pattern.
fn around_key(pattern: &str) -> (&str, &str) {
    match pattern.split_once('[') {
        Some((family, rest)) => {
            let field = rest.find(']').unwrap_or(0);
            (&pattern[..=family.len()], &rest[field..])
        }
        None => (&pattern[..=pattern.find('.').unwrap_or(0)], ""),
    }
}

fn with_key(descriptor: &'static Descriptor, key: &str, name: &str) -> Result<Tunable, NameError> {
    if descriptor.key == Key::None {
        return Ok(Tunable { descriptor, key: None, name: descriptor.name.to_owned() });
    }
    let key = canonical_key(descriptor.key, key).map_err(|why| NameError::Key { name: name.to_owned(), why })?;
    let (before, after) = around_key(descriptor.name);
    let name = format!("{before}{key}{after}");
    Ok(Tunable { descriptor, key: Some(key), name })
}

/// The longest key: a path as long as the kernel takes.
const LONGEST_KEY: usize = 4096;

fn canonical_key(kind: Key, key: &str) -> Result<String, String> {
    if key.is_empty() || key.len() > LONGEST_KEY || key.chars().any(char::is_control) {
        return Err("the key is empty, too long, or has a control character".to_owned());
    }
    match kind {
        Key::None => Ok(String::new()),
        Key::PageSize => page_size(key),
        Key::Device => device(key),
        Key::Cgroup => cgroup(key),
        Key::Word => word(key),
        Key::Argument => argument(key),
    }
}

/// In KiB, as the kernel's folder names have it (`hugepages-64kB`).
fn page_size(key: &str) -> Result<String, String> {
    let wrong = || format!("'{key}' is not a huge page size; write it like 64k or 1M");
    let bytes = key.parse::<Bytes>().map_err(|_| wrong())?.0;
    if bytes.is_power_of_two() && bytes >= 1024 { Ok(format!("{}k", bytes / 1024)) } else { Err(wrong()) }
}

/// A name in `/sys/block`. The kernel writes `!` for a slash there.
fn device(key: &str) -> Result<String, String> {
    let key = key.strip_prefix("/dev/").unwrap_or(key).replace('/', "!");
    let is_name = key != "." && key != ".." && key.chars().all(|c| c.is_ascii_graphic());
    if is_name { Ok(key) } else { Err(format!("'{key}' is not a block device; write it like vda")) }
}

fn cgroup(key: &str) -> Result<String, String> {
    if key == super::cgroup::JOB {
        return Ok(key.to_owned());
    }
    let inside = key.starts_with('/') && key.split('/').all(|part| part != ".." && part != ".");
    if !inside {
        return Err(format!("'{key}' is not a control group; write its path from the top, like /a/b, or job"));
    }
    let parts: Vec<&str> = key.split('/').filter(|part| !part.is_empty()).collect();
    Ok(format!("/{}", parts.join("/")))
}

fn word(key: &str) -> Result<String, String> {
    let is_word = key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !key.starts_with(char::is_numeric);
    if is_word { Ok(key.to_owned()) } else { Err(format!("'{key}' is not a word of letters, digits and _")) }
}

/// A word, or the name of an option of what the workload runs, such as `spark.memory.fraction` or `mapreduce.task.io.sort.mb`.
fn argument(key: &str) -> Result<String, String> {
    let is_part = |part: &str| {
        part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') && part.chars().any(|c| c != '-')
    };
    let is_name = key.split('.').all(is_part) && !key.starts_with(|c: char| c.is_numeric() || c == '-');
    if is_name {
        Ok(key.to_owned())
    } else {
        Err(format!("'{key}' is not a word of letters, digits, _ and -, or words with dots between"))
    }
}

/// Up to three names that differ from this one in a few letters, the nearest first.
fn nearest(name: &str) -> Vec<String> {
    // Longer ones are no typing errors, and the distance is quadratic.
    if name.len() > 80 {
        return Vec::new();
    }
    let same_family = |known: &str| known.split(['.', '[']).next() == name.split(['.', '[']).next();
    let last = |text: &str| text.rsplit('.').next().unwrap_or_default().to_owned();
    let mut found: Vec<(usize, usize, &str)> = super::all()
        .map(|descriptor| {
            let whole = distance(descriptor.name, name);
            // `swappiness` alone, or `vm.swapiness`: a right last part in the wrong place is near, too.
            let by_last = if last(name) == last(descriptor.name) { 2 } else { whole };
            let away = whole.min(by_last) + usize::from(!same_family(descriptor.name));
            // Of two as near, the shorter one: it is the host's, and the other a group's.
            (away, descriptor.name.len(), descriptor.name)
        })
        .filter(|(away, _, _)| *away <= 2 + name.len() / 6)
        .collect();
    found.sort_unstable();
    found.into_iter().take(3).map(|(_, _, name)| name.to_owned()).collect()
}

impl Tunable {
    /// The one text for a value of this tunable.
    ///
    /// # Errors
    /// When the text is no value of it.
    pub fn canonical(&self, text: &str) -> Result<String, ValueError> {
        self.descriptor.grammar.canonical(text)
    }

    /// The one text for a value that stands beside a name of this tunable: beside `vm.dirty_ratio` a number is a percentage.
    ///
    /// # Errors
    /// When the text is no value of it.
    pub fn canonical_beside(&self, name: &str, text: &str) -> Result<String, ValueError> {
        match self.descriptor.grammar {
            Grammar::Pair(pair) => match pair.face_named(name.trim()) {
                Some(face) => {
                    pair.of_face(face, text.trim()).map_err(|why| ValueError { why, allowed: pair.face_allowed(face) })
                }
                None => self.canonical(text),
            },
            _ => self.canonical(text),
        }
    }

    /// Whether two texts are the same value of it: `1G` and `1073741824`, `yes` and `1`. Texts that are no value of it are the
    /// same only when they are equal.
    #[must_use]
    pub fn same(&self, a: &str, b: &str) -> bool {
        match (self.canonical(a), self.canonical(b)) {
            (Ok(a), Ok(b)) if self.descriptor.grammar == Grammar::Swap => swap::same(&a, &b),
            (Ok(a), Ok(b)) => a == b,
            _ => a.trim() == b.trim(),
        }
    }

    /// Whether it acts on the job that Pagewise starts rather than on the host.
    #[must_use]
    pub fn is_for_job(&self) -> bool {
        self.descriptor.scope == super::Scope::Job || self.key.as_deref() == Some(super::cgroup::JOB)
    }

    /// Its paths with the key filled in.
    #[must_use]
    pub fn paths(&self) -> Vec<String> {
        let key = self.key.as_deref().unwrap_or_default();
        let key = if self.descriptor.key == Key::PageSize { key.trim_end_matches('k') } else { key };
        self.descriptor.paths.iter().map(|path| path.replace("{key}", key)).collect()
    }
}

impl PartialEq for Tunable {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Tunable {}

impl PartialOrd for Tunable {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Tunable {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name.cmp(&other.name)
    }
}

impl fmt::Display for Tunable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name)
    }
}

/// Its name: the descriptor is a page of text.
impl fmt::Debug for Tunable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.name, f)
    }
}

/// In a file it is its name.
impl Serialize for Tunable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name)
    }
}

impl<'de> Deserialize<'de> for Tunable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Cow::<'de, str>::deserialize(deserializer)?;
        find(&name).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Tunable {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Tunable".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn in_a_file_it_is_its_name_and_found_again() {
        let tunable = find("block[/dev/vda].read_ahead_kb").unwrap();
        let text = serde_json::to_string(&tunable).unwrap();
        assert_eq!(text, "\"block[vda].read_ahead_kb\"");
        let back: Tunable = serde_json::from_str(&text).unwrap();
        assert_eq!((back.key.as_deref(), &back), (Some("vda"), &tunable));
        let told = serde_json::from_str::<Tunable>("\"vm.swapiness\"").unwrap_err().to_string();
        assert!(told.contains("vm.swappiness"), "{told}");
    }

    #[test]
    fn beside_the_name_of_one_of_a_pairs_files_a_number_is_what_that_file_holds() {
        for (name, text, canonical) in [
            ("vm.dirty_ratio", "20", "20%"),
            ("vm.dirty_bytes", "64M", "67108864"),
            ("vm.dirty", "20%", "20%"),
            ("vm.swappiness", " 60\n", "60"),
        ] {
            assert_eq!(find(name).unwrap().canonical_beside(name, text).as_deref(), Ok(canonical), "{name}");
        }
    }

    fn canonical(name: &str) -> String {
        find(name).unwrap_or_else(|e| panic!("{e}")).name
    }

    #[test]
    fn every_spelling_of_a_name_means_one_tunable() {
        for (written, meant) in [
            ("thp.enabled", "thp.enabled"),
            (" vm.swappiness ", "vm.swappiness"),
            ("mthp[64K].enabled", "mthp[64k].enabled"),
            ("mthp[65536].shmem_enabled", "mthp[64k].shmem_enabled"),
            ("mthp[2M].enabled", "mthp[2048k].enabled"),
            ("block[/dev/vda].read_ahead_kb", "block[vda].read_ahead_kb"),
            ("cgroup[//a/b/].memory.high", "cgroup[/a/b].memory.high"),
            ("cgroup[job].memory.max", "cgroup[job].memory.max"),
            ("vm.dirty_ratio", "vm.dirty"),
            ("vm.dirty_background_bytes", "vm.dirty_background"),
            ("jvm.UseTransparentHugePages", "jvm.UseTransparentHugePages"),
            ("env.OMP_NUM_THREADS", "env.OMP_NUM_THREADS"),
        ] {
            assert_eq!(canonical(written), meant, "{written}");
            assert_eq!(canonical(meant), meant, "{meant} stands for itself");
        }
    }

    #[test]
    fn every_descriptor_is_found_by_its_own_name() {
        for descriptor in super::super::all() {
            let example = match descriptor.key {
                Key::None => descriptor.name.to_owned(),
                Key::PageSize => descriptor.name.replace("SIZE", "64k"),
                Key::Device => descriptor.name.replace("DEVICE", "vda"),
                Key::Cgroup => descriptor.name.replace("PATH", "/a/b"),
                Key::Word => format!("{}Word", around_key(descriptor.name).0),
                Key::Argument => format!("{}with.dots", around_key(descriptor.name).0),
            };
            let found = find(&example).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(found.descriptor.name, descriptor.name);
            assert_eq!(found.name, example);
        }
    }

    #[test]
    fn a_typing_error_gets_the_name_that_was_meant() {
        for (written, meant) in [
            ("thp.enable", "thp.enabled"),
            ("vm.swapiness", "vm.swappiness"),
            ("swappiness", "vm.swappiness"),
            ("min_free_kbytes", "vm.min_free_kbytes"),
            ("khugepaged.max_pte_none", "khugepaged.max_ptes_none"),
        ] {
            match find(written) {
                Err(NameError::Unknown { nearest, .. }) => assert_eq!(nearest[0], meant, "{written}: {nearest:?}"),
                other => panic!("{written}: {other:?}"),
            }
        }
    }

    #[test]
    fn what_is_not_a_setting_says_so() {
        let error = find("vm.drop_caches").expect_err("an action");
        assert!(error.to_string().contains("--drop-caches"), "{error}");
    }

    #[test]
    fn a_key_cannot_leave_its_folder() {
        for name in [
            "block[..].read_ahead_kb",
            "cgroup[/a/../../b].memory.max",
            "cgroup[relative].memory.max",
            "block[].read_ahead_kb",
            "mthp[63k].enabled",
            "env.1A",
            "env.A=B",
            "jvm.a b",
        ] {
            assert!(matches!(find(name), Err(NameError::Key { .. })), "{name}: {:?}", find(name));
        }
        // A slash becomes the kernel's own spelling of one.
        assert_eq!(canonical("block[cciss/c0d0].read_ahead_kb"), "block[cciss!c0d0].read_ahead_kb");
    }

    proptest! {
        #[test]
        fn no_name_makes_it_panic_and_none_reaches_outside_its_tree(name in "\\PC{0,60}") {
            if let Ok(tunable) = find(&name) {
                for path in tunable.paths() {
                    prop_assert!(!path.split('/').any(|part| part == ".."), "{}", path);
                }
            }
        }

        #[test]
        fn brackets_hold_anything_without_harm(key in "\\PC{0,30}") {
            for pattern in ["mthp[", "block[", "cgroup["] {
                for field in ["].enabled", "].read_ahead_kb", "].memory.max"] {
                    if let Ok(tunable) = find(&format!("{pattern}{key}{field}")) {
                        prop_assert!(tunable.paths().iter().all(|path| !path.contains("/../")));
                    }
                }
            }
        }
    }
}
