//! The value of each line at each tick, from the recorded numbers: the same for a recording that is read and for a host
//! that is watched.

use super::lines::{Line, Name, Reads, imported};
use crate::recording::block::{Block, Tick};
use crate::recording::series::growth;
use crate::recording::{Column, Kind, RawUnit, Series};
use std::collections::HashMap;

/// The fields of a `cpu` line that make up all of its time; guests are in `user` (proc_stat(5)).
const CPU_TIMES: [&str; 8] = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];

/// A recorded number that some line needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Its source.
    pub source: String,
    /// Its column there.
    pub column: u32,
}

#[derive(Clone, Copy, Debug)]
struct Term {
    input: usize,
    /// From the recorded unit to that of the line.
    scale: f64,
    kind: Kind,
}

#[derive(Debug)]
enum Formula {
    /// Sum of levels, or of growths per second.
    Sum(Vec<Term>),
    Difference(Term, Term),
    /// The first few of all terms, as a part of all.
    Share(Vec<Term>, Vec<Term>),
    /// Nothing here says it.
    Absent,
}

/// Turns recorded numbers into the values of lines.
#[derive(Debug)]
pub struct Meter {
    lines: Vec<&'static Line>,
    formulas: Vec<Formula>,
    inputs: Vec<Input>,
    before: Vec<Option<(u64, u64)>>,
    /// Growth since the value before, and over how many seconds.
    grown: Vec<Option<(f64, f64)>>,
}

struct Inputs<'a> {
    series: &'a [Series],
    by_name: HashMap<(&'a str, &'a str), Vec<usize>>,
    page_size: f64,
    inputs: Vec<Input>,
    numbers: HashMap<usize, usize>,
}

impl Inputs<'_> {
    fn term(&mut self, series: usize, in_bytes: bool) -> Term {
        let inputs = &mut self.inputs;
        let of = &self.series[series];
        let input = *self.numbers.entry(series).or_insert_with(|| {
            inputs.push(Input { source: of.source.clone(), column: of.column });
            inputs.len() - 1
        });
        let scale = match of.unit {
            Some(RawUnit::Pages) if in_bytes => self.page_size,
            Some(RawUnit::PageHundredths) if in_bytes => self.page_size * 1e-2,
            Some(unit) => unit.scale().1,
            None => 1.0,
        };
        Term { input, scale, kind: of.kind }
    }

    fn plain(&mut self, source: &str, name: &str, in_bytes: bool) -> Option<Term> {
        let found = self.by_name.get(&(source, name))?;
        let series = found.iter().copied().find(|at| self.series[*at].labels.is_empty())?;
        Some(self.term(series, in_bytes))
    }

    fn has(&self, source: &str, name: &str) -> bool {
        let found = self.by_name.get(&(source, name));
        found.is_some_and(|found| found.iter().any(|at| self.series[*at].labels.is_empty()))
    }

    /// The sum of all of these numbers.
    fn of_all(&mut self, names: &[Name], in_bytes: bool) -> Option<Formula> {
        let has_all = names.iter().all(|(source, name)| self.has(source, name));
        has_all.then(|| sum(names.iter().filter_map(|(source, name)| self.plain(source, name, in_bytes)).collect()))
    }

    fn of_names(&mut self, source: &str, names: &[&str], in_bytes: bool) -> Formula {
        sum(names.iter().filter_map(|name| self.plain(source, name, in_bytes)).collect())
    }
}

fn sum(terms: Vec<Term>) -> Formula {
    if terms.is_empty() { Formula::Absent } else { Formula::Sum(terms) }
}

/// `node=0,zone=Normal,order=9`: the order, unless it is the zone that no job gets memory from.
fn order(labels: &str) -> Option<i32> {
    if labels.split(',').any(|label| label == "zone=DMA") {
        return None;
    }
    labels.split(',').find_map(|label| label.strip_prefix("order="))?.parse().ok()
}

impl Meter {
    /// For these lines, from these series. `page_size` in bytes.
    #[must_use]
    pub fn new(lines: Vec<&'static Line>, series: &[Series], page_size: f64) -> Meter {
        let mut by_name: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
        for (at, one) in series.iter().enumerate() {
            by_name.entry((&one.source, &one.name)).or_default().push(at);
        }
        let mut inputs = Inputs { series, by_name, page_size, inputs: Vec::new(), numbers: HashMap::new() };
        let formulas = lines
            .iter()
            .map(|line| match own_formula(line, &mut inputs) {
                Formula::Absent => imported_formula(line, &mut inputs),
                own => own,
            })
            .collect();
        let count = inputs.inputs.len();
        Meter { lines, formulas, inputs: inputs.inputs, before: vec![None; count], grown: vec![None; count] }
    }

    /// Its lines.
    #[must_use]
    pub fn lines(&self) -> &[&'static Line] {
        &self.lines
    }

    /// What it needs at each tick, in this order.
    #[must_use]
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// Whether anything says what this line is.
    #[must_use]
    pub fn has(&self, line: usize) -> bool {
        self.formulas.get(line).is_some_and(|formula| !matches!(formula, Formula::Absent))
    }

    /// The values of the lines at a tick (`at` in nanoseconds), from those of the inputs. `None`: not known, since a
    /// number was not read, was reset, or there is none before it to grow from.
    pub fn take(&mut self, at: u64, values: &[Option<u64>], out: &mut Vec<Option<f64>>) {
        for (input, before) in self.before.iter_mut().enumerate() {
            let value = values.get(input).copied().flatten();
            self.grown[input] = None;
            let Some(value) = value else { continue };
            if let Some((then, old)) = *before {
                let seconds = at.saturating_sub(then) as f64 * 1e-9;
                self.grown[input] = growth(old, value).filter(|_| seconds > 0.0).map(|growth| (growth as f64, seconds));
            }
            *before = Some((at, value));
        }
        out.clear();
        let now = |term: &Term| match term.kind {
            Kind::Gauge => Some(values.get(term.input).copied().flatten()? as i64 as f64 * term.scale),
            Kind::Counter => self.grown[term.input].map(|(growth, seconds)| growth * term.scale / seconds),
        };
        // The kernel may step idle and iowait back by a tick (proc_stat(5)); that counts as none.
        let ticks = |term: &Term| {
            values.get(term.input).copied().flatten()?;
            self.before[term.input]?;
            Some(self.grown[term.input].map_or(0.0, |(growth, _)| growth))
        };
        out.extend(self.formulas.iter().map(|formula| match formula {
            Formula::Absent => None,
            Formula::Sum(terms) => terms.iter().map(now).sum(),
            Formula::Difference(a, b) => Some(now(a)? - now(b)?),
            Formula::Share(part, all) => {
                let all: f64 = all.iter().map(ticks).sum::<Option<f64>>()?;
                let part: f64 = part.iter().map(ticks).sum::<Option<f64>>()?;
                (all > 0.0).then(|| part / all)
            }
        }));
    }
}

/// The values of a meter's lines at each tick of the next block.
pub fn each_tick(block: &Block, meter: &mut Meter, mut to: impl FnMut(&Tick, &mut Vec<Option<f64>>)) {
    let sources: HashMap<&str, usize> =
        block.sources.iter().enumerate().map(|(at, source)| (source.source.as_str(), at)).collect();
    let columns: Vec<Option<(usize, &Column)>> = meter
        .inputs()
        .iter()
        .map(|input| {
            let at = *sources.get(input.source.as_str())?;
            Some((at, block.sources[at].data.columns.get(input.column as usize)?))
        })
        .collect();
    // How often each source was read before this tick: columns have an entry per reading.
    let mut readings = vec![0usize; block.sources.len()];
    let (mut values, mut out) = (vec![None; columns.len()], Vec::new());
    for (tick, instant) in block.ticks.iter().enumerate() {
        let was_read = |source: usize| block.sources[source].data.took.get(tick).copied().flatten().is_some();
        for (value, column) in values.iter_mut().zip(&columns) {
            let read = column.filter(|(source, _)| was_read(*source));
            *value = read.and_then(|(source, column)| column.at(readings[source]));
        }
        for (source, reading) in readings.iter_mut().enumerate() {
            *reading += usize::from(was_read(source));
        }
        meter.take(instant.begin, &values, &mut out);
        to(instant, &mut out);
    }
}

fn is_in_bytes(line: &Line) -> bool {
    use super::lines::LineUnit::{Bytes, BytesPerSecond};
    matches!(line.unit, Bytes | BytesPerSecond)
}

/// From what another tool printed.
fn imported_formula(line: &Line, inputs: &mut Inputs<'_>) -> Formula {
    let found = imported(line).iter().find_map(|names| inputs.of_all(names, is_in_bytes(line)));
    found.unwrap_or(Formula::Absent)
}

/// From the kernel's own numbers.
fn own_formula(line: &Line, inputs: &mut Inputs<'_>) -> Formula {
    let in_bytes = is_in_bytes(line);
    match line.reads {
        // Without its first part it is another level.
        Reads::Level(source, [first, ..]) if !inputs.has(source, first) => Formula::Absent,
        Reads::Level(source, names) => inputs.of_names(source, names, in_bytes),
        Reads::Rate(source, names) => {
            // A later name is the older one of the same thing.
            let found = names.iter().find_map(|name| inputs.plain(source, name, in_bytes));
            found.map_or(Formula::Absent, |term| Formula::Sum(vec![term]))
        }
        Reads::Time(source, names) => inputs.of_names(source, names, in_bytes),
        Reads::Difference(source, [a, b]) => {
            match (inputs.plain(source, a, in_bytes), inputs.plain(source, b, in_bytes)) {
                (Some(a), Some(b)) => Formula::Difference(a, b),
                _ => Formula::Absent,
            }
        }
        Reads::RateOfAll(source, prefix) => {
            let is_wanted =
                |one: &Series| one.source == source && one.name.starts_with(prefix) && one.labels.is_empty();
            let found: Vec<usize> = (0..inputs.series.len()).filter(|at| is_wanted(&inputs.series[*at])).collect();
            sum(found.into_iter().map(|at| inputs.term(at, in_bytes)).collect())
        }
        Reads::OfCpu(names) => {
            let mut of = |names: &[&str]| -> Vec<Term> {
                names.iter().filter_map(|name| inputs.plain("stat", name, false)).collect()
            };
            let (part, all) = (of(names), of(&CPU_TIMES));
            if part.is_empty() || all.len() < 4 { Formula::Absent } else { Formula::Share(part, all) }
        }
        Reads::LargeBlocks => {
            let mut terms = Vec::new();
            for at in 0..inputs.series.len() {
                let one = &inputs.series[at];
                let order = (one.source == "buddyinfo").then(|| order(&one.labels)).flatten();
                let Some(order) = order.filter(|order| (9..=20).contains(order)) else { continue };
                let term = inputs.term(at, false);
                terms.push(Term { scale: f64::from(1u32 << order) * inputs.page_size, ..term });
            }
            sum(terms)
        }
        // Stalls stand beside the ticks.
        Reads::Stalled(_) => Formula::Absent,
    }
}

#[cfg(test)]
mod tests {
    use super::super::lines::find;
    use super::*;
    use crate::recording::series::describe;

    fn series(source: &str, column: u32, name: &str) -> Series {
        let (unit, kind) = describe(source, name, source == "meminfo");
        let (source, name, labels) = (source.to_owned(), name.to_owned(), String::new());
        Series { source, column, name, labels, unit: Some(unit), kind, first_seen: 0 }
    }

    fn run(ids: &[&str], series: &[Series], ticks: &[(u64, &[Option<u64>])]) -> Vec<Vec<Option<f64>>> {
        let mut meter = Meter::new(ids.iter().map(|id| find(id).unwrap()).collect(), series, 4096.0);
        let mut out = Vec::new();
        ticks
            .iter()
            .map(|(at, values)| {
                let wanted: Vec<Option<u64>> =
                    meter.inputs().iter().map(|input| values.get(input.column as usize).copied().flatten()).collect();
                meter.take(at * 1_000_000_000, &wanted, &mut out);
                out.clone()
            })
            .collect()
    }

    #[test]
    fn a_total_grows_per_second_and_what_was_reset_or_not_read_is_not_known() {
        let faults = [series("vmstat", 0, "pgfault")];
        let seen = run(
            &["faults"],
            &faults,
            &[(0, &[Some(10)]), (2, &[Some(30)]), (3, &[None]), (5, &[Some(60)]), (6, &[Some(3)])],
        );
        assert_eq!(seen, [[None], [Some(10.0)], [None], [Some(10.0)], [None]]);
    }

    #[test]
    fn swap_is_in_bytes_and_scans_are_in_pages() {
        let all = [series("vmstat", 0, "pswpin"), series("vmstat", 1, "pgscan_direct")];
        let seen = run(&["swap_in", "scan_direct"], &all, &[(0, &[Some(0), Some(0)]), (1, &[Some(2), Some(2)])]);
        assert_eq!(seen[1], [Some(8192.0), Some(2.0)]);
    }

    #[test]
    fn cpu_time_is_a_part_of_all_and_a_field_that_steps_back_counts_as_none() {
        let all: Vec<Series> = CPU_TIMES.iter().zip(0..).map(|(name, at)| series("stat", at, name)).collect();
        let [a, b] = [[100u64, 0, 50, 800, 50, 0, 0, 0], [130, 0, 60, 860, 49, 0, 0, 0]].map(|row| row.map(Some));
        let seen = run(&["cpu_user", "cpu_system", "cpu_steal"], &all, &[(0, &a), (1, &b)]);
        assert_eq!(seen[1], [Some(0.3), Some(0.1), Some(0.0)]);
    }

    #[test]
    fn what_another_tool_printed_is_read_where_the_kernels_own_numbers_are_not() {
        let gauge = |column: u32, source: &str, name: &str, unit: RawUnit| Series {
            unit: Some(unit),
            kind: Kind::Gauge,
            ..series(source, column, name)
        };
        let all = [
            gauge(0, "import", "cpu_busy_percent", RawUnit::PercentHundredths),
            gauge(1, "import", "pswpin_per_second", RawUnit::PageHundredths),
            gauge(2, "import", "page_cache", RawUnit::KiB),
            gauge(3, "meminfo", "Buffers", RawUnit::KiB),
            gauge(4, "import", "procs_running", RawUnit::Count),
        ];
        let row = [Some(1250), Some(200), Some(10), Some(1), Some(7)];
        let seen = run(&["cpu_busy", "swap_in", "cache", "running", "cpu_system"], &all, &[(0, &row)]);
        let close = |value: Option<f64>, wanted: f64| value.is_some_and(|value| (value - wanted).abs() < 1e-9);
        assert!(close(seen[0][0], 0.125) && close(seen[0][1], 8192.0), "{seen:?}");
        assert_eq!(seen[0][2..], [Some(11.0 * 1024.0), Some(7.0), None]);
        let alone = run(&["cache"], &[series("meminfo", 0, "Buffers")], &[(0, &[Some(1)])]);
        assert_eq!(alone[0], [None], "buffers alone are no page cache");
    }

    #[test]
    fn a_line_this_kernel_does_not_have_is_absent_and_not_zero() {
        let seen =
            run(&["faults", "scan_direct"], &[series("vmstat", 0, "pgfault")], &[(0, &[Some(1)]), (1, &[Some(1)])]);
        assert_eq!(seen[1], [Some(0.0), None]);
    }
}
