//! The value of each line at each tick, from the recorded numbers: the same for a recording that is read and for a host
//! that is watched.

use super::lines::{Line, LineSource, LineUnit};
use crate::counter::{Part, PrintedSum, Quantity};
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
    /// Sum of levels, or of growths per second, each as often as its scale says.
    Sum(Vec<Term>),
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
    page_size: f64,
    inputs: Vec<Input>,
    numbers: HashMap<usize, usize>,
}

impl Inputs<'_> {
    fn term(&mut self, part: Part, in_bytes: bool, blocks: bool) -> Term {
        let inputs = &mut self.inputs;
        let of = &self.series[part.at];
        let input = *self.numbers.entry(part.at).or_insert_with(|| {
            inputs.push(Input { source: of.source.clone(), column: of.column });
            inputs.len() - 1
        });
        let scale = match of.unit {
            Some(RawUnit::Pages) if in_bytes => self.page_size,
            // Blocks are counted, and weigh as many pages as they have.
            Some(RawUnit::Count) if in_bytes && blocks => self.page_size,
            Some(RawUnit::PageHundredths) if in_bytes => self.page_size * 1e-2,
            Some(unit) => unit.scale().1,
            None => 1.0,
        };
        Term { input, scale: scale * part.weight, kind: of.kind }
    }

    fn parts(&self, quantity: &Quantity) -> Vec<Part> {
        quantity.parts(self.series.iter().map(|one| (one.source.as_str(), one.name.as_str(), one.labels.as_str())))
    }

    fn terms(&mut self, quantity: &Quantity, in_bytes: bool) -> Vec<Term> {
        let blocks = quantity.unit == RawUnit::Pages;
        self.parts(quantity).into_iter().map(|part| self.term(part, in_bytes, blocks)).collect()
    }

    /// The sum of all of what another tool printed.
    fn printed(&mut self, printed: &PrintedSum, in_bytes: bool) -> Option<Formula> {
        let place = |(source, name): &(&str, &str)| {
            let is_it = |one: &Series| one.source == *source && one.name == *name && one.labels.is_empty();
            self.series.iter().position(is_it)
        };
        let places: Vec<usize> = printed.of.iter().map(place).collect::<Option<_>>()?;
        let terms = places.into_iter().map(|at| self.term(Part { at, weight: 1.0 }, in_bytes, false));
        Some(sum(terms.collect()))
    }
}

fn sum(terms: Vec<Term>) -> Formula {
    if terms.is_empty() { Formula::Absent } else { Formula::Sum(terms) }
}

impl Meter {
    /// For these lines, from these series. `page_size` in bytes.
    #[must_use]
    pub fn new(lines: Vec<&'static Line>, series: &[Series], page_size: f64) -> Meter {
        let mut inputs = Inputs { series, page_size, inputs: Vec::new(), numbers: HashMap::new() };
        let formulas = lines.iter().map(|line| formula(line, &mut inputs)).collect();
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

/// From the kernel's own numbers, or from what another tool printed where those are not.
fn formula(line: &Line, inputs: &mut Inputs<'_>) -> Formula {
    let in_bytes = matches!(line.unit, LineUnit::Bytes | LineUnit::BytesPerSecond);
    let quantity = match line.reads {
        LineSource::Counted(quantity) => quantity,
        // Stalls stand beside the ticks.
        LineSource::Stalled(_) => return Formula::Absent,
    };
    let own = if quantity.unit == RawUnit::Ticks {
        of_cpu_time(quantity, inputs)
    } else {
        sum(inputs.terms(quantity, in_bytes))
    };
    match own {
        Formula::Absent => {
            quantity.printed.iter().find_map(|printed| inputs.printed(printed, in_bytes)).unwrap_or(Formula::Absent)
        }
        own => own,
    }
}

/// CPU time as a part of all of it.
fn of_cpu_time(quantity: &Quantity, inputs: &mut Inputs<'_>) -> Formula {
    let is_time =
        |one: &Series| one.source == "stat" && one.labels.is_empty() && CPU_TIMES.contains(&one.name.as_str());
    let all: Vec<usize> = (0..inputs.series.len()).filter(|at| is_time(&inputs.series[*at])).collect();
    let part = inputs.terms(quantity, false);
    if part.is_empty() || all.len() < 4 {
        return Formula::Absent;
    }
    Formula::Share(part, all.into_iter().map(|at| inputs.term(Part { at, weight: 1.0 }, false, false)).collect())
}

#[cfg(test)]
mod tests {
    use super::super::lines::find;
    use super::*;
    use crate::counter::describe;

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
