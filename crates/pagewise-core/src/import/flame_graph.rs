//! Flame graphs as pictures: SVG as `flamegraph.pl` (since 2011) and inferno write it. A box stands for a function: what points at it tells its name and
//! how many samples it has, and it lies on the box of the function that called it, above it or, in an icicle graph, below.
//!
//! Boxes too narrow to be drawn are not in the file: their samples stay with their callers.

use std::cmp::Ordering;
use std::collections::BTreeMap;

/// More boxes are not read: a picture has some thousand as a rule.
const MOST_BOXES: usize = 1 << 15;

/// No stack is deeper: perf records 127 frames of each unless told otherwise, and 1024 at most as a rule.
const DEEPEST: usize = 1024;

/// Boxes are placed to a tenth of a pixel, or to a thousandth of a percent.
const SLACK: f64 = 0.2;

/// A box of the picture.
#[derive(Clone, Debug, PartialEq)]
struct Flame {
    name: String,
    count: u64,
    from: f64,
    to: f64,
    y: f64,
}

impl Flame {
    fn middle(&self) -> f64 {
        self.from.midpoint(self.to)
    }
}

/// What a box says when somebody points at it: `do_sync_read (22 samples, 1.67%)`.
#[derive(Clone, Debug, PartialEq)]
struct Title {
    name: String,
    count: u64,
    /// What is counted.
    unit: String,
}

/// A picture while it is read.
#[derive(Debug, Default)]
pub(super) struct FlameGraph {
    /// Between its first tag and its last one.
    is_open: bool,
    title: Option<Title>,
    flames: Vec<Flame>,
    /// What is counted, where it is no samples.
    other_unit: Option<String>,
    is_cut: bool,
}

/// Whether a line has a box with a title. Of a line that was cut the first ones are whole.
pub(super) fn recognises(line: &str) -> bool {
    line.split("<rect ").take(8).any(|part| title_in(part).is_some())
}

/// Where a line that is too long to be read at once may be divided: behind the last of its boxes that is whole. `None`: it has none.
#[must_use]
pub fn dividable_at(line: &[u8]) -> Option<usize> {
    const END: &[u8] = b"</g>";
    line.windows(END.len()).rposition(|part| part == END).map(|at| at + END.len())
}

/// `name (1,234 samples, 5.67%)`, or with a difference behind it.
fn title_of(text: &str) -> Option<Title> {
    let (name, inside) = text.trim().rsplit_once(" (")?;
    let inside = inside.strip_suffix(')')?;
    let (counted, share) = inside.split_once(", ")?;
    let (count, unit) = counted.split_once(' ')?;
    let is_share = share.split([';', ' ']).next().is_some_and(|share| {
        share.strip_suffix('%').is_some_and(|share| share.parse::<f64>().is_ok_and(f64::is_finite))
    });
    let count = count.replace(',', "").parse().ok().filter(|count: &u64| is_share && *count <= 1 << 53)?;
    Some(Title { name: name.to_owned(), count, unit: unit.to_owned() })
}

/// The last title of a box in a text.
fn title_in(text: &str) -> Option<Title> {
    let last = |begin: &str, end: &str| title_of(text.rsplit_once(begin)?.1.split_once(end)?.0);
    // Before there were titles, boxes said it to a script.
    last("<title>", "</title>").or_else(|| last("onmouseover=\"s('", "')\""))
}

/// The number of an attribute of a tag; a share of the width is as good as one.
fn number(tag: &str, name: &str) -> Option<f64> {
    let begin = format!("{name}=\"");
    let rest = tag.strip_prefix(&begin).or_else(|| Some(tag.split_once(&format!(" {begin}"))?.1))?;
    let (text, _) = rest.split_once('"')?;
    text.trim_end_matches('%').parse().ok().filter(|number: &f64| number.is_finite())
}

/// Where a tag ends: `>` is a part of many names.
fn end_of_tag(text: &str) -> usize {
    let mut is_quoted = false;
    let ends = |byte: u8| {
        is_quoted ^= byte == b'"';
        byte == b'>' && !is_quoted
    };
    text.bytes().position(ends).unwrap_or(text.len())
}

impl FlameGraph {
    /// Takes a line. `false`: it is of no picture.
    pub(super) fn line(&mut self, line: &str) -> bool {
        if line.contains("<svg") || line.contains("<?xml") {
            self.is_open = true;
        }
        let mut rest = line;
        let mut is_any = false;
        // Each part is read once: a picture may be one line.
        while let Some((before, behind)) = rest.split_once("<rect ") {
            let (tag, behind) = behind.split_at(end_of_tag(behind));
            let before = title_in(before).or(self.title.take());
            // A title stands in front of its box, or inside of it.
            let title = title_in(tag).or(before);
            is_any |= title.is_some();
            self.add(title, tag);
            rest = behind;
        }
        if let Some(title) = title_in(rest) {
            self.title = Some(title);
            is_any = true;
        }
        let is_of_it = self.is_open || is_any;
        if line.contains("</svg>") {
            self.is_open = false;
        }
        is_of_it
    }

    fn add(&mut self, title: Option<Title>, tag: &str) {
        let Some(Title { name, count, unit }) = title else { return };
        let exact = number(tag, "fg:x").zip(number(tag, "fg:w"));
        let place = exact.or_else(|| number(tag, "x").zip(number(tag, "width")));
        let (Some((from, width)), Some(y)) = (place, number(tag, "y")) else { return };
        if !matches!(unit.as_str(), "samples" | "sample" | "cycles" | "events") {
            self.other_unit.get_or_insert(unit);
        }
        if self.flames.len() >= MOST_BOXES {
            self.is_cut = true;
            return;
        }
        self.flames.push(Flame { name, count, from, to: from + width, y });
    }

    /// What its boxes count, where that is no samples.
    pub(super) fn other_unit(&self) -> Option<&str> {
        self.other_unit.as_deref()
    }

    /// Whether it has more boxes than are read.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Its boxes, each with the one that it lies on.
    pub(super) fn stacks(&self) -> Stacked<'_> {
        let mut placed: Vec<PlacedBox<'_>> = Vec::with_capacity(self.flames.len());
        // Where the row before stands among them.
        let mut below = 0..0;
        for (depth, row) in rows(&self.flames).into_iter().take(DEEPEST).enumerate() {
            let begin = placed.len();
            for flame in row {
                let on = parent_of(flame, &placed[below.clone()]).map(|place| below.start + place);
                match on {
                    Some(caller) => placed[caller].own = placed[caller].own.saturating_sub(flame.count),
                    None if depth == 0 => {}
                    // What it lies on is not there: its samples stay with whoever is below that.
                    None => continue,
                }
                placed.push(PlacedBox { flame, on, own: flame.count });
            }
            below = begin..placed.len();
        }
        Stacked(placed)
    }
}

/// Boxes, those of callers before those of what they call.
pub(super) struct Stacked<'f>(Vec<PlacedBox<'f>>);

impl<'f> Stacked<'f> {
    /// Its stacks, the outermost function first, and how many samples ended in the last.
    pub(super) fn each(&self) -> impl Iterator<Item = (Vec<&'f str>, u64)> {
        let has_own = self.0.iter().filter(|one| one.own > 0 && !one.is_base());
        has_own.map(|one| (self.path(one), one.own))
    }

    fn path(&self, last: &PlacedBox<'f>) -> Vec<&'f str> {
        let mut names = vec![last.flame.name.as_str()];
        let mut on = last.on;
        while let Some(caller) = on.map(|place| &self.0[place]).filter(|caller| !caller.is_base()) {
            names.push(&caller.flame.name);
            on = caller.on;
        }
        names.reverse();
        names
    }
}

/// A box, the one that it lies on, and samples that ended in its function.
struct PlacedBox<'f> {
    flame: &'f Flame,
    on: Option<usize>,
    own: u64,
}

impl PlacedBox<'_> {
    /// What all of a picture stands on is no function.
    fn is_base(&self) -> bool {
        self.on.is_none() && is_base(&self.flame.name)
    }
}

fn is_base(name: &str) -> bool {
    matches!(name, "all" | "all samples" | "root" | "" | "-")
}

/// Rows of boxes, the outermost functions first, and each from left to right.
fn rows(flames: &[Flame]) -> Vec<Vec<&Flame>> {
    let mut by_place: BTreeMap<i64, Vec<&Flame>> = BTreeMap::new();
    for flame in flames {
        by_place.entry((flame.y * 10.0).round() as i64).or_default().push(flame);
    }
    let mut rows: Vec<Vec<&Flame>> = by_place.into_values().collect();
    for row in &mut rows {
        row.sort_by(|a, b| a.from.total_cmp(&b.from));
    }
    let sum = |row: Option<&Vec<&Flame>>| -> u64 {
        row.into_iter().flatten().fold(0, |sum: u64, flame| sum.saturating_add(flame.count))
    };
    // The row with all samples is where it begins: at the bottom, in an icicle graph at the top.
    let is_icicle = match sum(rows.first()).cmp(&sum(rows.last())) {
        Ordering::Less => false,
        Ordering::Greater => true,
        Ordering::Equal => rows.first().is_some_and(|row| row.iter().all(|flame| is_base(&flame.name))),
    };
    if !is_icicle {
        rows.reverse();
    }
    rows
}

/// The box of a row on which another lies.
fn parent_of(flame: &Flame, row: &[PlacedBox<'_>]) -> Option<usize> {
    let middle = flame.middle();
    let at = row.partition_point(|other| other.flame.from <= middle).checked_sub(1)?;
    (row[at].flame.to + SLACK >= middle).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stacks(text: &str) -> Vec<(String, u64)> {
        let mut graph = FlameGraph::default();
        assert!(text.lines().all(|line| graph.line(line)), "all lines are of the picture");
        let mut stacks: Vec<(String, u64)> =
            graph.stacks().each().map(|(path, count)| (path.join(";"), count)).collect();
        stacks.sort();
        stacks
    }

    const WANTED: [(&str, u64); 3] = [("java;main", 30), ("java;main;do_fault (slow)", 60), ("sleep", 10)];

    fn wanted() -> Vec<(String, u64)> {
        WANTED.iter().map(|(path, count)| ((*path).to_owned(), *count)).collect()
    }

    #[test]
    fn boxes_lie_on_those_that_called_them() {
        let boxes = |top: u32, step: i32| {
            let y = |depth: i32| i64::from(top) + i64::from(step * depth);
            format!(
                "<?xml version=\"1.0\"?>\n<svg version=\"1.1\">\nfunction s(info) {{ details.nodeValue = info; }}\n\
                 <rect x=\"0.0\" y=\"0\" width=\"1200.0\" height=\"300.0\" fill=\"url(#background)\" />\n\
                 <g class=\"func_g\">\n<title>do_fault (slow) (60 samples, 60.00%)</title><rect x=\"10.0\" y=\"{}\" width=\"708.0\" height=\"15.0\" />\n\
                 <text x=\"13\">do_fault</text>\n</g>\n\
                 <title>java (90 samples, 90.00%)</title><rect x=\"10.0\" y=\"{}\" width=\"1062.0\" height=\"15.0\" />\n\
                 <title>main (90 samples, 90.00%)</title>\n<rect x=\"10.0\" y=\"{}\" width=\"1062.0\" height=\"15.0\" />\n\
                 <title>all (100 samples, 100%)</title><rect x=\"10.0\" y=\"{}\" width=\"1180.0\" height=\"15.0\" />\n\
                 <title>sleep (10 samples, 10.00%)</title><rect x=\"1072.0\" y=\"{}\" width=\"118.0\" height=\"15.0\" />\n</svg>\n",
                y(3),
                y(1),
                y(2),
                y(0),
                y(1),
            )
        };
        assert_eq!(stacks(&boxes(200, -16)), wanted());
        assert_eq!(stacks(&boxes(40, 16)), wanted(), "an icicle graph");
    }

    #[test]
    fn older_and_other_writers_say_it_otherwise() {
        let first = "<svg>\n\
            <rect x=\"10.0\" y=\"8\" width=\"20.0\" onmouseover=\"s('std::vector<int>::at (200 samples, 20.00%)')\" />\n\
            <rect x=\"10.0\" y=\"40\" width=\"100.0\" height=\"15.0\" rx=\"2\" onmouseover=\"s('a (1,000 samples, 100%)')\" onmouseout=\"c()\" />\n\
            <rect x=\"10.0\" y=\"24\" width=\"50.0\" height=\"15.0\" rx=\"2\" onmouseover=\"s('b (500 samples, 50.00%)')\" onmouseout=\"c()\" />\n</svg>\n";
        let all = [("a", 500), ("a;b", 300), ("a;b;std::vector<int>::at", 200)];
        assert_eq!(stacks(first), all.map(|(path, count)| (path.to_owned(), count)));
        let beside = first.replace("x=\"10.0\" y=\"24\"", "x=\"60.0\" y=\"24\"");
        let without = [("a".to_owned(), 500), ("a;b".to_owned(), 500)];
        assert_eq!(stacks(&beside), without, "what it lies on is not there: its samples stay below");
        let inferno = "<svg total_samples=\"100\">\
            <g><title>all (100 samples, 100%)</title><rect x=\"0.0000%\" y=\"96\" width=\"100.0000%\" height=\"15\" fg:x=\"0\" fg:w=\"100\"/></g>\
            <g><title>java (90 samples, 90.00%; +1.00%)</title><rect x=\"0.0000%\" y=\"80\" width=\"90.0000%\" height=\"15\" fg:x=\"0\" fg:w=\"90\"/></g>\
            </svg>";
        assert_eq!(stacks(inferno), [("java".to_owned(), 90)]);
        let mut bytes = FlameGraph::default();
        bytes.line("<title>main (5 bytes, 0.01%)</title><rect x=\"1\" y=\"2\" width=\"3\" />");
        assert_eq!(bytes.other_unit(), Some("bytes"));
    }

    #[test]
    fn pages_that_are_no_flame_graphs_have_no_boxes() {
        for line in ["<title>Flame Graph</title>", "<title>how to (1 of 2)</title>", "java;main 12", "<rect x=\"1\"/>"]
        {
            assert!(!recognises(line), "{line}");
            assert!(!FlameGraph::default().line(line), "{line}");
        }
    }
}
