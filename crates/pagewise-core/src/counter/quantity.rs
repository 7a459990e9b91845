//! What a quantity is: the names it has had, how it is worked out from them, its unit, and where it is shown.

use super::shown::{Heading, LineUnit, Panel, Presentation};
use super::{Kind, RawUnit};

/// What zones are called at the end of a name (`mm/vmstat.c`, 6.12: `TEXTS_FOR_ZONES`).
const ZONES: [&str; 6] = ["dma", "dma32", "normal", "high", "movable", "device"];

/// A name that numbers of a kernel file have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// This one.
    Is(&'static str),
    /// This one with the name of a zone behind it: `allocstall` stands for `allocstall_normal` and the others.
    PerZone(&'static str),
    /// Free blocks of at least this order, as pages, outside the zone that no job gets memory from.
    BlocksFrom(&'static str, u32),
}

impl Name {
    /// The name itself, without a zone.
    #[must_use]
    pub const fn base(self) -> &'static str {
        match self {
            Name::Is(name) | Name::PerZone(name) | Name::BlocksFrom(name, _) => name,
        }
    }

    /// A name that the kernel really writes for it.
    #[must_use]
    pub fn example(self) -> String {
        match self {
            Name::PerZone(name) => format!("{name}_normal"),
            Name::Is(name) | Name::BlocksFrom(name, _) => name.to_owned(),
        }
    }

    fn matches(self, name: &str) -> bool {
        match self {
            Name::Is(own) | Name::BlocksFrom(own, _) => own == name,
            Name::PerZone(start) => {
                let zone = name.strip_prefix(start).and_then(|rest| rest.strip_prefix('_'));
                zone.is_some_and(|zone| ZONES.contains(&zone))
            }
        }
    }

    /// How often a number of that name and these labels counts. `None`: it is no part.
    fn weight(self, name: &str, labels: &str, labelled: bool) -> Option<f64> {
        if !self.matches(name) {
            return None;
        }
        match self {
            Name::BlocksFrom(_, least) => {
                let order = order(labels).filter(|order| (least..=20).contains(order))?;
                Some(f64::from(1u32 << order))
            }
            _ => (labelled != labels.is_empty()).then_some(1.0),
        }
    }
}

/// `node=0,zone=Normal,order=9`: the order, unless it is the zone of 16 MiB for old devices.
fn order(labels: &str) -> Option<u32> {
    if labels.split(',').any(|label| label == "zone=DMA") {
        return None;
    }
    labels.split(',').find_map(|label| label.strip_prefix("order="))?.parse().ok()
}

/// How a quantity is worked out on some kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// What is summed. Without a number of the first of these names it is another quantity.
    pub of: &'static [Name],
    /// What is taken away from that sum; each must be there.
    pub less: &'static [Name],
    /// Which kernels, and the kernel file that says so. Empty: all that have the file.
    pub kernels: &'static str,
}

/// A sum that other tools print in place of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrintedSum {
    /// Source and name of each number; all must be there.
    pub of: &'static [(&'static str, &'static str)],
    /// It is in bytes, and the quantity counts huge pages.
    pub is_huge_pages: bool,
}

impl PrintedSum {
    /// This sum.
    #[must_use]
    pub const fn sum(of: &'static [(&'static str, &'static str)]) -> PrintedSum {
        PrintedSum { of, is_huge_pages: false }
    }

    /// Bytes of huge pages.
    #[must_use]
    pub const fn huge_pages(of: &'static [(&'static str, &'static str)]) -> PrintedSum {
        PrintedSum { of, is_huge_pages: true }
    }
}

/// Something the kernel counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// Tells it from all others, in the catalogue.
    pub id: &'static str,
    /// What it is, in a sentence.
    pub meaning: &'static str,
    /// The source of a recording: a kernel file, or a kind of them.
    pub source: &'static str,
    /// Whether the series with labels are meant, each apart; else those without.
    pub labelled: bool,
    /// The unit the file counts in.
    pub unit: RawUnit,
    /// Whether it only grows.
    pub kind: Kind,
    /// On today's kernels.
    pub now: Form,
    /// On older ones, the newest first.
    pub formerly: &'static [Form],
    /// What other tools print in its place: the first counts that is there as a whole.
    pub printed: &'static [PrintedSum],
    /// Where people see it.
    pub shown: Option<Presentation>,
    /// Its name as a measure of a host between two instants.
    pub measure: Option<&'static str>,
}

/// A number that is part of a quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Its position among those that were offered.
    pub at: usize,
    /// How often it counts; below 0: it is taken away.
    pub weight: f64,
}

impl Quantity {
    /// A running total: the sum of what has these names.
    #[must_use]
    pub const fn total(source: &'static str, of: &'static [Name], unit: RawUnit) -> Quantity {
        let now = Form { of, less: &[], kernels: "" };
        Quantity {
            id: "",
            meaning: "",
            source,
            labelled: false,
            unit,
            kind: Kind::Counter,
            now,
            formerly: &[],
            printed: &[],
            shown: None,
            measure: None,
        }
    }

    /// A level, likewise.
    #[must_use]
    pub const fn level(source: &'static str, of: &'static [Name], unit: RawUnit) -> Quantity {
        Quantity { kind: Kind::Gauge, ..Quantity::total(source, of, unit) }
    }

    /// Each series with labels by itself.
    #[must_use]
    pub const fn each(self) -> Quantity {
        Quantity { labelled: true, ..self }
    }

    /// Without what has these names.
    #[must_use]
    pub const fn less(self, less: &'static [Name]) -> Quantity {
        Quantity { now: Form { less, ..self.now }, ..self }
    }

    /// Which kernels have it under today's names, with the kernel file that says so.
    #[must_use]
    pub const fn since(self, kernels: &'static str) -> Quantity {
        Quantity { now: Form { kernels, ..self.now }, ..self }
    }

    /// What it was on older kernels, the newest first.
    #[must_use]
    pub const fn formerly(self, formerly: &'static [Form]) -> Quantity {
        Quantity { formerly, ..self }
    }

    /// What other tools print in its place.
    #[must_use]
    pub const fn printed(self, printed: &'static [PrintedSum]) -> Quantity {
        Quantity { printed, ..self }
    }

    /// Drawn in this panel before anybody asks. `id` is stable, for programs.
    #[must_use]
    pub const fn line(self, panel: Panel, id: &'static str, label: &'static str, unit: LineUnit) -> Quantity {
        Quantity { shown: Some(Presentation { id, label, panel, unit, at_first: true, heading: None }), ..self }
    }

    /// Drawn in this panel when somebody asks.
    #[must_use]
    pub const fn aside(self, panel: Panel, id: &'static str, label: &'static str, unit: LineUnit) -> Quantity {
        Quantity { shown: Some(Presentation { id, label, panel, unit, at_first: false, heading: None }), ..self }
    }

    /// A column of `watch`, too: its heading, which is also what `--columns` takes, and its width.
    #[must_use]
    pub const fn column(self, name: &'static str, width: usize) -> Quantity {
        let shown = match self.shown {
            Some(shown) => Some(Presentation { heading: Some(Heading { name, width }), ..shown }),
            None => None,
        };
        Quantity { shown, ..self }
    }

    /// A measure of a host between two instants, too.
    #[must_use]
    pub const fn measure(self, name: &'static str) -> Quantity {
        Quantity { measure: Some(name), ..self }
    }

    pub(super) const fn told(self, id: &'static str, meaning: &'static str) -> Quantity {
        Quantity { id, meaning, ..self }
    }

    /// As `source.name`, for people.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{}.{}", self.source, self.base())
    }

    /// Its first name of today.
    #[must_use]
    pub fn base(&self) -> &'static str {
        self.now.of.first().map_or("", |name| name.base())
    }

    /// How it is worked out, the newest kernels first.
    pub fn forms(&self) -> impl Iterator<Item = &Form> {
        std::iter::once(&self.now).chain(self.formerly)
    }

    /// Whether a series is a part of it on some kernel.
    #[must_use]
    pub fn takes(&self, source: &str, name: &str, labels: &str) -> bool {
        let names = || self.forms().flat_map(|form| form.of.iter().chain(form.less));
        self.is_of(source) && names().any(|own| own.weight(name, labels, self.labelled).is_some())
    }

    /// Whether a number of that name is one of it, so that it has its unit and kind.
    pub(super) fn describes(&self, name: &str) -> bool {
        let own = self.forms().flat_map(|form| form.of.iter().chain(form.less));
        own.filter(|own| !matches!(own, Name::BlocksFrom(..))).any(|own| own.matches(name))
    }

    /// Of several things of a kind, such as control groups, each is a source of its own: `cgroup_events[/batch]`.
    pub(super) fn is_of(&self, source: &str) -> bool {
        self.source == source.split_once('[').map_or(source, |(kind, _)| kind)
    }

    /// What it is made of, of the numbers that are there: the newest form that is there as a whole. Source, name and labels
    /// of each number. Empty: nothing there says it.
    pub fn parts<'s>(&self, numbers: impl Iterator<Item = (&'s str, &'s str, &'s str)> + Clone) -> Vec<Part> {
        let own = |names: &[Name], sign: f64| -> Vec<Part> {
            let weight = |name: &str, labels: &str| {
                names.iter().find_map(|own| own.weight(name, labels, self.labelled)).map(|weight| weight * sign)
            };
            let all = numbers.clone().enumerate().filter(|(_, (source, ..))| self.is_of(source));
            all.filter_map(|(at, (_, name, labels))| Some(Part { at, weight: weight(name, labels)? })).collect()
        };
        for form in self.forms() {
            let has = |name: &Name| !own(&[*name], 1.0).is_empty();
            if form.of.first().is_some_and(has) && form.less.iter().all(has) {
                let mut parts = own(form.of, 1.0);
                parts.extend(own(form.less, -1.0));
                return parts;
            }
        }
        Vec::new()
    }
}
