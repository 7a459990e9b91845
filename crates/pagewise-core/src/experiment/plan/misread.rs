//! What the reader of TOML says about a value of another kind and about names it does not know, as a person says it: what stands
//! there, what would be right, and what may have been meant.

use super::source::{Place, Step};
use crate::spelling::did_you_mean;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The reader's message in plain words. What is not about kinds and names stays as it is.
pub(super) fn in_words(text: &str, span: Range<usize>, message: &str) -> String {
    if let Some((name, known)) = name_and_known(message, "unknown field ") {
        return format!("there is no key '{}' here{}", name.escape_debug(), meant_or_known(name, &known, "keys here"));
    }
    if message == "duplicate key" {
        let name = text.get(span).unwrap_or_default();
        return format!("the key {} stands twice in this table; keep one of them", shown(name));
    }
    let place = place_of(text, span.start);
    let key = place.as_ref().map_or_else(|| "this value".to_owned(), dotted);
    if let Some((name, known)) = name_and_known(message, "unknown variant ") {
        return format!(
            "{key}: '{}' is none of its values{}",
            name.escape_debug(),
            meant_or_known(name, &known, "allowed")
        );
    }
    if let Some(name) = message.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
        return format!("the key '{name}' is missing here, and cannot be left out");
    }
    let is_kind = message.starts_with("invalid type: ") || message.starts_with("invalid value: ");
    let wanted = match message.rsplit_once(", expected ") {
        Some((_, expected)) if is_kind => kind(expected),
        _ if message == "wanted string or table" => "a word in quotes",
        _ => return message.to_owned(),
    };
    let such_as = place.as_ref().and_then(example).map(|example| format!(", such as {example}")).unwrap_or_default();
    let written = text.get(span).and_then(|written| written.lines().next()).unwrap_or_default();
    match written.chars().count() {
        1..=40 => format!("{key} = {}: it takes {wanted}{such_as}", shown(written)),
        _ => format!("{key} takes {wanted}{such_as}"),
    }
}

/// From ``unknown field `blokcs`, expected one of `blocks`, `order` `` the name and the known ones.
fn name_and_known<'m>(message: &'m str, lead: &str) -> Option<(&'m str, Vec<&'m str>)> {
    let rest = message.strip_prefix(lead)?.strip_prefix('`')?;
    let (name, known) = rest.rsplit_once("`, expected ")?;
    Some((name, known.split('`').skip(1).step_by(2).collect()))
}

fn meant_or_known(name: &str, known: &[&str], label: &str) -> String {
    let meant = did_you_mean(name, known.iter().copied());
    let list = known.join(", ");
    if meant.is_empty() { format!("; {label}: {list}") } else { format!("{meant} ({label}: {list})") }
}

/// What serde expects, as a person writes it.
fn kind(expected: &str) -> &'static str {
    match expected {
        "a string" => "a text in quotes",
        "u32" | "u64" | "usize" => "a whole number, 0 or more",
        "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list in brackets",
        _ => "a table",
    }
}

/// As it stands in the plan, without what would steer a terminal.
fn shown(written: &str) -> String {
    written.chars().flat_map(|c| if c.is_control() { c.escape_debug().collect() } else { vec![c] }).collect()
}

/// `design.blocks`, without the numbers of tables in lists.
fn dotted(place: &Place) -> String {
    keys(place).join(".")
}

fn keys(place: &Place) -> Vec<&str> {
    fn key(step: &Step) -> Option<&str> {
        match step {
            Step::Key(key) => Some(key),
            Step::Item(_) => None,
        }
    }
    place.0.iter().filter_map(key).collect()
}

/// What could stand there.
fn example(place: &Place) -> Option<&'static str> {
    Some(match keys(place).as_slice() {
        ["metric", "smallest_effect"] => "\"2%\"",
        ["cost", "cv"] => "\"3%\"",
        ["cost", "run"] => "\"20m\"",
        ["cost", "around"] => "\"90s\"",
        ["cost", "boot"] => "\"3m\"",
        ["cost", "disk" | "memory"] | ["data", "size"] | ["lab", "memory" | "disk"] => "\"12G\"",
        ["lab", "cpus" | "nodes"] => "1",
        ["lab", "boot"] => "\"point\"",
        ["lab", "append"] => "\"psi=1\"",
        ["workload", "run" | "prepare" | "verify" | "clean"] => "[\"./job\", \"--fast\"]",
        ["everywhere"] | ["factor", "levels", _] => "\"vm.swappiness=1\"",
        ["factor", "also"] => "[\"workload.map_tasks\"]",
        ["zip"] => "[[\"swap\", \"heap\"]]",
        ["contrast", "by"] => "[\"load\"]",
        ["contrast", "primary"] | ["stopping", "futility"] | ["recording", "stalls" | "cgroup"] => "true",
        ["contrast", "interaction"] => "{ factor = \"load\", a = \"low\", b = \"high\" }",
        ["design", "alpha"] => "0.05",
        ["design", "steal_limit"] => "0.3",
        ["design", "pressure_limit"] => "0.05",
        ["design", "memory_drift_limit"] => "0.1",
        ["design", "blocks"] => "10",
        ["design", "warmup"] | ["recording", "hz"] => "1",
        ["design", "seed"] => "7",
        ["design", "timeout_seconds"] => "600",
        ["design", "order"] => "\"blocks\"",
        ["design", "drop_caches"] => "\"yes\"",
        ["design", "warm_memory"] => "\"8G\"",
        ["metric", "direction"] => "\"higher\"",
        ["data", "restore"] => "\"image\"",
        ["stopping", "rule"] => "\"obrien-fleming\"",
        ["stopping", "interim_analyses"] => "[4, 6, 8, 10]",
        ["recording", "stacks"] => "49",
        ["invalidate", "above" | "below"] => "0",
        _ => return None,
    })
}

/// The value that stands at an offset of the text. `None` when the text is no TOML.
fn place_of(text: &str, offset: usize) -> Option<Place> {
    let table = DeTable::parse(text).ok()?;
    let mut steps = Vec::new();
    in_table(table.get_ref(), offset, &mut steps).then_some(Place(steps))
}

fn in_table(table: &DeTable<'_>, offset: usize, steps: &mut Vec<Step>) -> bool {
    table.iter().any(|(key, value)| is_within(value, Step::Key(key.get_ref().to_string()), offset, steps))
}

/// The innermost value counts: the span of a table may be its header alone.
fn is_within(value: &Spanned<DeValue<'_>>, step: Step, offset: usize, steps: &mut Vec<Step>) -> bool {
    steps.push(step);
    let is_inside = match value.get_ref() {
        DeValue::Table(inner) => in_table(inner, offset, steps),
        DeValue::Array(list) => {
            list.iter().enumerate().any(|(item, value)| is_within(value, Step::Item(item), offset, steps))
        }
        _ => false,
    };
    if is_inside || value.span().contains(&offset) {
        return true;
    }
    steps.pop();
    false
}

#[cfg(test)]
mod tests {
    use super::super::source;

    const HEAD: &str = "name = 'x'\n[workload]\nname = 'command'\nrun = ['true']\n\
        [[factor]]\nname = 'k'\nlevels.a = 'env.K=1'\nlevels.b = 'env.K=2'\n";

    #[test]
    fn a_value_of_another_kind_is_told_where_it_stands_with_what_it_takes() {
        for (tail, line, column, wanted) in [
            (
                "[[metric]]\nsmallest_effect = 5\n",
                10,
                19,
                "metric.smallest_effect = 5: it takes a text in quotes, such as \"2%\"",
            ),
            ("[metric]\nsmallest_effect = 5\n", 10, 19, "such as \"2%\""),
            (
                "[metric]\ndirection = 'up'\n",
                10,
                13,
                "metric.direction: 'up' is none of its values; allowed: lower, higher",
            ),
            ("[metric]\ndirection = 'highr'\n", 10, 13, "did you mean higher?"),
            (
                "[design]\nblocks = '10'\n",
                10,
                10,
                "design.blocks = '10': it takes a whole number, 0 or more, such as 10",
            ),
            ("[design]\nalpha = '5%'\n", 10, 9, "design.alpha = '5%': it takes a number, such as 0.05"),
            ("[design]\norder = 5\n", 10, 9, "a word in quotes, such as \"blocks\""),
            (
                "[stopping]\ninterim_analyses = [4, 'x']\n",
                10,
                24,
                "stopping.interim_analyses = 'x': it takes a whole number",
            ),
            ("[[exclude]]\nwhere.k = 5\n", 10, 11, "exclude.where.k = 5: it takes a text in quotes"),
            ("[[contrast]]\nfactor = 'k'\na = 'a'\n", 9, 1, "the key 'b' is missing"),
            (
                "[desing]\nblocks = 3\n",
                9,
                2,
                "there is no key 'desing' here; did you mean design? (keys here: name, zip",
            ),
            ("[design]\nseeds = 3\n", 10, 1, "there is no key 'seeds' here; did you mean seed?"),
            ("[design]\nblocks = 8\nblocks = 9\n", 11, 1, "the key blocks stands twice in this table"),
            ("[design]\nxyzzy = 3\n", 10, 1, "there is no key 'xyzzy' here; keys here: blocks"),
        ] {
            let error = source::read(&format!("{HEAD}{tail}"), "x.toml").expect_err(tail);
            assert!(error.why.contains(wanted), "{tail}: {error}");
            assert_eq!((error.line, error.column), (line, column), "{tail}: {error}");
            assert!(!error.why.contains("untagged") && !error.why.contains("u32"), "{error}");
        }
    }

    #[test]
    fn a_command_of_another_kind_is_told_too() {
        let error = source::read(&HEAD.replace("['true']", "'true'"), "x.toml").expect_err("no list");
        assert!(error.why.contains("workload.run = 'true': it takes a list in brackets"), "{error}");
        assert_eq!(error.line, 4);
    }

    #[test]
    fn what_is_no_toml_keeps_the_message_of_its_reader() {
        let error = source::read("name = \n", "x.toml").expect_err("no value");
        assert!(error.line == 1 && !error.why.is_empty(), "{error}");
    }
}
