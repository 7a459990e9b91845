//! The page of all quantities in `docs/reference/counters.md`, made from the catalogue.

use super::tools::{COLUMNS, Column, Table};
use super::{ALL, FILES, Form, Kind, Name, Quantity};

/// The page's text.
#[must_use]
pub fn page() -> String {
    let sections: String = FILES.iter().flat_map(|file| file.iter()).map(section).collect();
    let columns: String = COLUMNS.iter().map(row).collect();
    format!("{HEAD}{sections}\n{} quantities.\n{TOOLS}{columns}", ALL.len())
}

const TOOLS: &str = "\n# What other tools call them\n\n\
    An import makes these series of the columns of other tools; [imports.md](imports.md) says more. Of sar are mpstat and iostat, \
    too; of collectl the formats are `brief`, `verbose` and `plot`; of nmon, atop, top and dstat it is the line or group and what stands there, of perf stat the event.\n\n\
    | series | sar | vmstat | collectl | nmon, atop, top, dstat, perf stat |\n| --- | --- | --- | --- | --- |\n";

fn row(column: &Column) -> String {
    let quoted = |words: &[&str]| words.iter().map(|word| format!("`{word}`")).collect::<Vec<String>>().join(", ");
    let collectl = column.collectl.iter().map(|(table, word, _)| {
        let format = match table {
            Table::Brief => "brief",
            Table::VerboseCpu | Table::VerboseMemory | Table::VerboseDisk => "verbose",
            Table::Plot => "plot",
        };
        format!("{format} `{word}`")
    });
    let collectl: Vec<String> = collectl.collect();
    let vmstat: Vec<&str> = column.vmstat.into_iter().collect();
    let series = format!("`{}.{}`", column.source, column.name);
    let of = |tool: &'static str, all: &'static [(&'static str, &'static str)]| {
        all.iter().map(move |(line, word)| format!("{tool} `{}`", format!("{line} {word}").trim_end()))
    };
    let rest: Vec<String> = of("nmon", column.nmon)
        .chain(of("atop", column.atop))
        .chain(of("top", column.top))
        .chain(of("dstat", column.dstat))
        .chain(column.perf_stat.iter().map(|event| format!("perf stat `{event}`")))
        .collect();
    let cells = [series, quoted(column.sar), quoted(&vmstat), collectl.join(", "), rest.join(", ")];
    format!("| {} |\n", cells.map(|cell| if cell.is_empty() { "–".to_owned() } else { cell }).join(" | "))
}

const HEAD: &str = "# What the kernel counts\n\n\
    Made from the catalogue in `crates/pagewise-core/src/counter/`; a test compares. Rules, `watch`, `top`, the page of a \
    recording, measures of a run, imports and exports read it. Why it is as it is: \
    [design note 18](../design/0018-one-catalogue.md).\n\n\
    A quantity is worked out from the numbers of one source of a recording ([recording.md](recording.md)); on a kernel \
    that names them differently the newest of its formulas counts whose numbers are all there. `_ZONE` stands for `_dma`, \
    `_dma32`, `_normal`, `_high`, `_movable` and `_device`. Where it has an id it is a line of the page, of `top` and of \
    `watch --json`; a column is what `watch --columns` takes; a measure is what a trial takes of a host.\n";

fn section(quantity: &Quantity) -> String {
    let kind = match (quantity.kind, quantity.labelled) {
        (Kind::Counter, false) => "total",
        (Kind::Counter, true) => "totals, one per label",
        (Kind::Gauge, false) => "level",
        (Kind::Gauge, true) => "levels, one per label",
    };
    let name = quantity.id.to_ascii_lowercase();
    let mut text = format!("\n## `{name}`\n\n{}\n\n", quantity.meaning.trim());
    let mut row = |label: &str, value: String| text.push_str(&format!("- {label}: {value}\n"));
    for form in quantity.forms() {
        let kernels = if form.kernels.is_empty() { String::new() } else { format!(", {}", form.kernels) };
        row("from", format!("{}{kernels}", formula(quantity.source, form)));
    }
    row(
        "is",
        format!("a {kind} in {}", quantity.unit.word()).replace("a levels", "levels").replace("a totals", "totals"),
    );
    for printed in quantity.printed {
        let sum: Vec<String> = printed.of.iter().map(|(source, name)| format!("`{source}.{name}`")).collect();
        row("or, of another tool", sum.join(" + "));
    }
    if let Some(shown) = quantity.shown {
        let column = shown.heading.map_or_else(String::new, |heading| format!(", column `{}`", heading.name));
        row("shown as", format!("`{}`, \"{}\"{column}", shown.id, shown.label));
    }
    if let Some(measure) = quantity.measure {
        row("measure", format!("`{measure}`"));
    }
    text
}

fn formula(source: &str, form: &Form) -> String {
    let names = |names: &[Name]| names.iter().map(|name| written(source, *name)).collect::<Vec<String>>();
    let sum = names(form.of).join(" + ");
    let less: String = names(form.less).iter().map(|name| format!(" − {name}")).collect();
    format!("{sum}{less}")
}

fn written(source: &str, name: Name) -> String {
    match name {
        Name::Is(name) => format!("`{source}.{name}`"),
        Name::PerZone(name) => format!("`{source}.{name}_ZONE`"),
        Name::BlocksFrom(name, order) => format!("`{source}.{name}` of order {order} and above, as pages"),
    }
}
