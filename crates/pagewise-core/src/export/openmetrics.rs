//! OpenMetrics text: every value with its timestamp, ready for `promtool tsdb create-blocks-from openmetrics`.
//!
//! Names are `pagewise_SOURCE_NAME_UNIT`, counters end in `_total`; units are base units (OpenMetrics 1.0). A metric's samples
//! stand together, as the format asks for.

use super::csv::base_value;
use super::processes::process_tables;
use super::{Selection, source_tables};
use crate::counter;
use crate::metric::Unit;
use crate::recording::{Kind, Recorded, Series};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The whole text. Without a date, timestamps count from the zero of the recording's clock.
///
/// # Errors
/// When the recording cannot be read.
pub fn write<R: Recorded>(recorded: &R, selection: &Selection) -> Result<String, R::Error> {
    let mut tables = source_tables(recorded, selection)?;
    tables.extend(process_tables(recorded, selection)?);
    // Two names that become the same one must not mix: the second keeps its own by a number.
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    for (number, table) in tables.iter().enumerate() {
        for (column, series) in table.series.iter().enumerate() {
            let mut name = family_name(series);
            while families.get(&name).is_some_and(|family| !family.is_of(series)) {
                name = format!("{name}_2");
            }
            let family = families.entry(name).or_insert_with(|| Family::of(series));
            family.columns.push((number, column));
        }
    }
    let mut out = String::new();
    for (name, family) in &families {
        let kind = if family.kind == Kind::Counter { "counter" } else { "gauge" };
        let suffix = if family.kind == Kind::Counter { "_total" } else { "" };
        let _ = writeln!(out, "# TYPE {name} {kind}");
        if let Some(unit) = unit_suffix(family.unit) {
            let _ = writeln!(out, "# UNIT {name} {unit}");
        }
        let meaning =
            counter::meaning(&family.source, &family.name).map_or_else(String::new, |meaning| format!(": {meaning}"));
        let _ = writeln!(
            out,
            "# HELP {name} {} of {}{}",
            escaped(&family.name),
            escaped(&family.source),
            escaped(&meaning)
        );
        for (table, column) in &family.columns {
            let table = &tables[*table];
            let series = &table.series[*column];
            let labels = labels(series);
            for row in &table.rows {
                let Some(value) = row.values[*column] else { continue };
                let (seconds, rest) = (row.wall.div_euclid(1_000_000_000), row.wall.rem_euclid(1_000_000_000));
                let _ = writeln!(out, "{name}{suffix}{labels} {} {seconds}.{rest:09}", base_value(series, value));
            }
        }
    }
    out.push_str("# EOF\n");
    Ok(out)
}

struct Family {
    source: String,
    name: String,
    kind: Kind,
    unit: Option<Unit>,
    columns: Vec<(usize, usize)>,
}

impl Family {
    fn of(series: &Series) -> Family {
        let unit = series.unit.map(|unit| unit.scale().0);
        let (source, name) = (series.source.clone(), series.name.clone());
        Family { source, name, kind: series.kind, unit, columns: Vec::new() }
    }

    fn is_of(&self, series: &Series) -> bool {
        let unit = series.unit.map(|unit| unit.scale().0);
        self.source == series.source && self.name == series.name && self.kind == series.kind && self.unit == unit
    }
}

fn unit_suffix(unit: Option<Unit>) -> Option<&'static str> {
    match unit? {
        Unit::Seconds => Some("seconds"),
        Unit::Bytes => Some("bytes"),
        Unit::Fraction => Some("ratio"),
        Unit::Pages => Some("pages"),
        Unit::Count | Unit::ByteSeconds | Unit::Custom => None,
    }
}

/// `pagewise_meminfo_memfree_bytes`. The unit ends the name; a counter's `_total` comes behind it.
fn family_name(series: &Series) -> String {
    let mut name = String::from("pagewise_");
    for c in format!("{}_{}", series.source, series.name).chars() {
        name.push(if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' });
    }
    let unit = unit_suffix(series.unit.map(|unit| unit.scale().0));
    // `…_percent` is a ratio once it is in base units.
    let base = name.strip_suffix("_total").unwrap_or(&name);
    let base = if unit == Some("ratio") { base.strip_suffix("_percent").unwrap_or(base) } else { base };
    match unit {
        Some(unit) if !base.ends_with(&format!("_{unit}")) => format!("{base}_{unit}"),
        _ => base.to_owned(),
    }
}

/// `{node="0",zone="DMA"}` of `node=0,zone=DMA`. A label that comes twice would break the format: the first one stays.
fn labels(series: &Series) -> String {
    let mut seen: Vec<String> = Vec::new();
    let mut out = String::new();
    for label in series.labels.split(',').filter(|label| !label.is_empty()) {
        let (key, value) = label.split_once('=').unwrap_or(("label", label));
        let plain: String = key.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let key = if plain.starts_with(|c: char| c.is_ascii_digit()) || plain.is_empty() {
            format!("_{plain}")
        } else {
            plain
        };
        if !seen.contains(&key) {
            let _ = write!(out, "{}{key}=\"{}\"", if seen.is_empty() { "" } else { "," }, escaped(value));
            seen.push(key);
        }
    }
    if out.is_empty() { out } else { format!("{{{out}}}") }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\r', " ")
}
