//! The call graph that `perf report` draws below a row, as a tree.
//!
//! Depth is told by columns: a branch (`|--12.3%--f`) hangs on the last function that begins left of it, and a function
//! without a share goes on where the one before it ended. So it does not matter which version drew it, nor on the screen or
//! with `--stdio` (`callchain__fprintf_graph` in tools/perf/ui/stdio/hist.c, `hist_browser__show_callchain` in
//! ui/browsers/hists.c).

use super::perf_row::{self, is_function};

/// perf stops at 127 functions unless told otherwise.
const DEEPEST: usize = 1024;

/// No drawing has more functions.
const MOST: usize = 1 << 16;

/// A function of the drawing.
#[derive(Clone, Debug)]
struct Node {
    parent: Option<usize>,
    depth: usize,
    name: String,
    /// Hundredths of a percent. `None`: all that its parent has.
    share: Option<u64>,
    column: usize,
}

/// A drawing.
#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    nodes: Vec<Node>,
    /// From the outermost of the drawing to the last one drawn.
    open: Vec<usize>,
    /// A drawing was begun, and no blank line has ended it.
    is_going_on: bool,
    /// The last line was nothing but strokes.
    has_lone_strokes: bool,
    is_broken: bool,
    /// It says what a function has itself beside what it calls: simpleperf, which draws so.
    pub(super) has_own: bool,
    /// It has `--12.3%-- f`, and `--12.3%--f`.
    has_spaced: bool,
    has_unspaced: bool,
}

/// What the shares of a drawing are parts of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// Of everything (`-g graph`).
    Absolute,
    /// Of the function above (`-g fractal`).
    Relative,
}

/// A way through a drawing, from its beginning, and how much ends there: a part of the row's share.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GraphPath {
    pub(super) names: Vec<String>,
    pub(super) part: f64,
}

/// A rest of callers that were too small to be drawn.
const REST: &str = "[...]";

/// The same of simpleperf: what a function has itself.
const OWN: &str = "[hit in function]";

impl Graph {
    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Drawn with a blank in front of all names: by perf before 4.5, which drew relative shares and callers unless told otherwise.
    pub(super) fn is_old(&self) -> bool {
        self.has_spaced && !self.has_unspaced
    }

    /// A blank line. Drawings of `--stdio` go on behind it, and are known by their strokes.
    pub(super) fn pause(&mut self) {
        self.is_going_on = false;
    }

    /// Takes a line that belongs to the drawing. `is_open`: its row is known to be one that can hold a drawing without strokes.
    pub(super) fn line(&mut self, line: &str, is_open: bool) -> bool {
        let strokes = line.len() - line.trim_start_matches(|c: char| c == '|' || c == '│' || c.is_whitespace()).len();
        let has_strokes = line[..strokes].contains(['|', '│']);
        let text = without_edge(line[strokes..].trim_end());
        let column = line[..strokes].chars().map(width).sum::<usize>();
        if text.is_empty() {
            self.is_going_on |= has_strokes;
            self.has_lone_strokes |= has_strokes;
            return has_strokes;
        }
        let has_lone_strokes = std::mem::take(&mut self.has_lone_strokes);
        if let Some(rest) = text.strip_prefix("--") {
            return self.branch(rest, column);
        }
        if let Some((path, share)) = folded(text) {
            for (index, name) in path.split(';').enumerate() {
                self.push(name, (index == 0).then_some(share), index);
            }
            return true;
        }
        // A mail program broke the line in front of a long name, and left the strokes alone.
        if column == 0 && !has_strokes && has_lone_strokes && is_name(text) && !self.open.is_empty() {
            let last = self.open.last().map_or(0, |last| self.nodes[*last].column);
            self.push(text, None, last);
            return true;
        }
        let signed = perf_row::without_sign(text);
        let column = column + text[..text.len() - signed.len()].chars().count();
        let (first, rest) = signed.split_once(char::is_whitespace).unwrap_or((signed, ""));
        if let Some(share) = perf_row::share(first) {
            // `- 12.3% f` of the screen, and `12.3%` alone of `-g flat`.
            let takes = (is_open || has_strokes) && (rest.is_empty() || is_name(rest));
            if takes {
                self.push(rest, Some(share), column);
            }
            return takes;
        }
        let goes_on = self.is_going_on || has_strokes || (is_open && signed.len() < text.len());
        if !goes_on || !is_name(signed) {
            return false;
        }
        self.push(signed, None, column);
        true
    }

    /// Behind `--`: `-f`, `- f`, `12.3%--f`, `12.3%-- f`.
    fn branch(&mut self, text: &str, column: usize) -> bool {
        if let Some(name) = text.strip_prefix('-') {
            let name = name.trim_start_matches('-').trim();
            if is_name(name) {
                self.has_spaced |= text.starts_with("- ");
                self.push(name, None, column);
                return true;
            }
            return false;
        }
        let Some((share, name)) = text.split_once("--") else { return false };
        self.has_spaced |= name.starts_with(' ');
        self.has_unspaced |= !name.starts_with(' ');
        let name = name.trim();
        match perf_row::share(share.trim()) {
            Some(share) if is_name(name) => self.push(name, Some(share), column),
            // Numbers of samples or periods (`-g count`) say nothing beside a share.
            _ => self.is_broken = true,
        }
        true
    }

    fn push(&mut self, name: &str, share: Option<u64>, column: usize) {
        self.is_going_on = true;
        self.has_own |= name.trim() == OWN;
        while self.open.last().is_some_and(|last| self.nodes[*last].column > column) {
            self.open.pop();
        }
        if share.is_some() {
            // A second branch where the first one began: both hang on the same function.
            let same = self.open.iter().rev().take_while(|at| self.nodes[**at].column == column).count();
            let first = self.open.len() - same;
            if let Some(branch) = self.open[first..].iter().position(|at| self.nodes[*at].share.is_some()) {
                self.open.truncate(first + branch);
            }
        }
        let parent = self.open.last().copied();
        let depth = parent.map_or(0, |parent| self.nodes[parent].depth + 1);
        if self.nodes.len() >= MOST || depth >= DEEPEST {
            self.is_broken = true;
            return;
        }
        self.open.push(self.nodes.len());
        self.nodes.push(Node { parent, depth, name: cleaned(name), share, column });
    }

    /// What all functions that it begins with have together, in hundredths of a percent.
    pub(super) fn whole(&self) -> u64 {
        let roots = self.nodes.iter().filter(|node| node.parent.is_none());
        roots.filter_map(|node| node.share).fold(0, u64::saturating_add)
    }

    /// How much each function has, as a part of the row's share. `None`: the sums say that the shares are not that, or that the
    /// drawing was bent.
    fn parts(&self, reading: Reading, share: u64) -> Option<(Vec<f64>, Vec<f64>)> {
        if self.is_broken || self.is_empty() || share == 0 {
            return None;
        }
        let mut parts: Vec<f64> = Vec::with_capacity(self.nodes.len());
        // By function, and for the row itself: what its branches have, how many they are, and whether it goes on without any.
        let mut below = vec![(0.0, 0u32, false); self.nodes.len() + 1];
        for node in &self.nodes {
            let above = node.parent.map_or(1.0, |parent| parts[parent]);
            let part = match (node.share, reading) {
                (None, _) => above,
                (Some(own), Reading::Absolute) => own as f64 / share as f64,
                (Some(own), Reading::Relative) => own as f64 / 10_000.0 * above,
            };
            parts.push(part);
            let (sum, branches, goes_on) = &mut below[node.parent.map_or(0, |parent| parent + 1)];
            *sum += part;
            *branches += 1;
            if *goes_on || (node.share.is_none() && *branches > 1) {
                return None;
            }
            *goes_on |= node.share.is_none();
        }
        // Each branch was rounded to a hundredth of a percent, and so was what is above it.
        let step = match reading {
            Reading::Absolute => 1.0 / share as f64,
            Reading::Relative => 1.0 / 10_000.0,
        };
        let whole = |at: usize| if at == 0 { 1.0 } else { parts[at - 1] };
        let fits = |(at, (sum, branches, _)): (usize, &(f64, u32, bool))| {
            let most = whole(at) * 1.002 + f64::from(*branches + 1) * step;
            *sum <= most
        };
        below.iter().enumerate().all(fits).then(|| {
            let own = (0..self.nodes.len()).map(|at| (parts[at] - below[at + 1].0).max(0.0)).collect();
            (parts, own)
        })
    }

    /// Whether shares can be read so.
    pub(super) fn fits(&self, reading: Reading, share: u64) -> bool {
        self.parts(reading, share).is_some()
    }

    /// Of a drawing whose branches cannot be told apart: what it begins with, up to where it branches.
    fn trunks(&self, reading: Reading, share: u64) -> Option<Vec<GraphPath>> {
        let whole = match reading {
            Reading::Absolute => share,
            Reading::Relative => 10_000,
        };
        let mut ways = Vec::new();
        for (root, node) in self.nodes.iter().enumerate().filter(|(_, node)| node.parent.is_none()) {
            let part = node.share.map_or(1.0, |own| own as f64 / whole.max(1) as f64);
            let follows = |at: &usize| {
                self.nodes
                    .get(at + 1)
                    .is_some_and(|next| next.parent == Some(*at) && next.share.is_none())
                    .then_some(at + 1)
            };
            let names = std::iter::successors(Some(root), follows).map(|at| self.nodes[at].name.clone());
            ways.push(GraphPath { names: names.filter(|name| name != REST).collect(), part });
        }
        let sum: f64 = ways.iter().map(|way| way.part).sum();
        (!self.is_broken && share > 0 && sum <= 1.01).then_some(ways)
    }

    /// Every way through the drawing that something ends on. What ends at a rest ends above it.
    pub(super) fn ways(&self, reading: Reading, share: u64) -> Option<Vec<GraphPath>> {
        let Some((_, own)) = self.parts(reading, share) else { return self.trunks(reading, share) };
        let mut ways = Vec::new();
        let mut names_held = 0;
        for (at, part) in own.into_iter().enumerate().filter(|(_, part)| *part > 1e-9) {
            let mut names = Vec::new();
            let mut next = Some(at);
            while let Some(at) = next {
                names.push(self.nodes[at].name.clone());
                next = self.nodes[at].parent;
            }
            names.reverse();
            names.retain(|name| !name.is_empty());
            if let Some(rest) = names.iter().position(|name| name == REST) {
                names.truncate(rest);
            }
            names_held += names.len();
            if names_held > MOST * 16 {
                return None;
            }
            ways.push(GraphPath { names, part });
        }
        Some(ways)
    }

    /// The functions that the drawing begins with.
    pub(super) fn first(&self) -> impl Iterator<Item = &str> {
        // A branch of `-g flat` has no name; what follows it is the first.
        let is_first = |node: &&Node| match node.parent {
            None => !node.name.is_empty(),
            Some(parent) => self.nodes[parent].parent.is_none() && self.nodes[parent].name.is_empty(),
        };
        self.nodes.iter().filter(is_first).map(|node| node.name.as_str()).filter(|name| *name != REST)
    }

    /// The functions that it ends with.
    pub(super) fn last(&self) -> impl Iterator<Item = &str> {
        let mut has_more = vec![false; self.nodes.len()];
        for parent in self.nodes.iter().filter_map(|node| node.parent) {
            has_more[parent] = true;
        }
        let ends = self.nodes.iter().zip(has_more).filter(|(_, has_more)| !has_more);
        ends.map(|(node, _)| node.name.as_str()).filter(|name| *name != REST)
    }

    /// Functions with the one that is drawn below each.
    pub(super) fn steps(&self) -> impl Iterator<Item = (&str, &str)> {
        self.nodes.iter().filter_map(|node| Some((self.nodes[node.parent?].name.as_str(), node.name.as_str())))
    }

    /// All functions but the first.
    pub(super) fn behind_first(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().filter(|node| node.parent.is_some()).map(|node| node.name.as_str())
    }
}

/// Without what a screen draws at its right edge, such as the bar that shows where it is, however a mail program wrote that.
pub(super) fn without_edge(text: &str) -> &str {
    const WIDEST: usize = 5;
    match text.rsplit_once("   ") {
        Some((name, edge)) if edge.chars().count() <= WIDEST && name.contains(char::is_alphabetic) => name.trim_end(),
        _ => text,
    }
}

fn width(c: char) -> usize {
    // perf draws with blanks; a tab comes from a mail program.
    if c == '\t' { 8 } else { 1 }
}

/// `12.3% a;b;c`: `-g folded`.
fn folded(text: &str) -> Option<(&str, u64)> {
    let (share, path) = text.split_once(' ')?;
    let share = perf_row::share(share)?;
    let is_path = path.contains(';') && path.split(';').all(is_name);
    is_path.then_some((path, share))
}

fn is_name(name: &str) -> bool {
    name == REST || name.trim() == OWN || name == "0" || is_function(&cleaned(name))
}

/// Without what stands behind a name: `(inlined)`, an offset, a source line.
fn cleaned(name: &str) -> String {
    let name = name.trim().trim_end_matches("(inlined)").trim();
    if name == OWN {
        return REST.to_owned();
    }
    let name = match name.rsplit_once("+0x") {
        Some((name, offset)) if offset.bytes().all(|byte| byte.is_ascii_hexdigit()) => name,
        _ => name,
    };
    match name.rsplit_once(char::is_whitespace) {
        // `do_fault memory.c:4567` of `-g address`.
        Some((name, place))
            if place.rsplit_once(':').is_some_and(|(file, line)| {
                file.contains('.') && !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit())
            }) =>
        {
            name.trim().to_owned()
        }
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(text: &str) -> Graph {
        let mut graph = Graph::default();
        for line in text.lines() {
            assert!(graph.line(line, true), "{line:?}");
        }
        graph
    }

    fn ways(graph: &Graph, reading: Reading, share: u64) -> Vec<(String, u64)> {
        let ways = graph.ways(reading, share).expect("understood");
        ways.into_iter().map(|way| (way.names.join(";"), (way.part * 100.0).round() as u64)).collect()
    }

    fn pairs(pairs: &[(&str, u64)]) -> Vec<(String, u64)> {
        pairs.iter().map(|(names, part)| ((*names).to_owned(), *part)).collect()
    }

    const OLD: &str = "            |\n            --- lock\n               |          \n               |--99.00%-- compact\n\
                       \x20              |          alloc\n               |          |          \n\
                       \x20              |          |--75.00%-- fault\n               |          |          touch\n\
                       \x20              |          |          \n               |           --25.00%-- call\n\
                       \x20              |          \n                --1.00%-- [...]\n";

    #[test]
    fn a_drawing_of_relative_shares_is_known_by_its_sums() {
        let graph = graph(OLD);
        assert!(graph.is_old() && !graph.fits(Reading::Absolute, 9000));
        let all = ways(&graph, Reading::Relative, 9000);
        assert_eq!(all, pairs(&[("lock;compact;alloc;fault;touch", 74), ("lock;compact;alloc;call", 25), ("lock", 1)]));
        assert_eq!(graph.first().collect::<Vec<_>>(), ["lock"]);
        assert_eq!(graph.last().collect::<Vec<_>>(), ["touch", "call"]);
    }

    #[test]
    fn absolute_shares_leave_what_was_not_drawn_where_it_ended() {
        let text = "            |\n            ---lookup\n               fast\n               |          \n\
                    \x20               --2.00%--walk\n                          |          \n\
                    \x20                         |--1.50%--path\n                          |          name\n\
                    \x20                         |          \n                           --0.25%--link\n";
        let all = ways(&graph(text), Reading::Absolute, 250);
        let wanted = [
            ("lookup;fast", 20),
            ("lookup;fast;walk", 10),
            ("lookup;fast;walk;path;name", 60),
            ("lookup;fast;walk;link", 10),
        ];
        assert_eq!(all, pairs(&wanted));
    }

    #[test]
    fn screens_and_flat_and_folded_lists_are_the_same_tree() {
        let screen = "   - 45.00% a\n        b\n      - 30.00% d\n           e\n      + 15.00% f\n";
        assert_eq!(ways(&graph(screen), Reading::Absolute, 4500), pairs(&[("a;b;d;e", 67), ("a;b;f", 33)]));
        let flat = "           20.00%\n                a\n                b\n           10.00%\n                a\n";
        assert_eq!(ways(&graph(flat), Reading::Absolute, 4000), pairs(&[("a;b", 50), ("a", 25)]));
        assert_eq!(graph(flat).first().collect::<Vec<_>>(), ["a", "a"]);
        let folded = "20.00% a;b\n10.00% a;c\n";
        assert_eq!(ways(&graph(folded), Reading::Absolute, 4000), pairs(&[("a;b", 50), ("a;c", 25)]));
    }

    #[test]
    fn a_long_name_that_a_mail_moved_to_a_line_of_its_own_goes_on_where_it_was() {
        let text = "   |--10.00%--lock\n   |          |\n   |           --8.00%--shrink\n   |                     |\nread_ahead_of_a_long_name\n\
                    \x20  |                     fault\n   |          |--2.00%-- <our app>\n";
        let graph = graph(text);
        assert!(!graph.is_old(), "one blank, where somebody wrote by hand");
        let all = ways(&graph, Reading::Absolute, 1000);
        assert_eq!(all, pairs(&[("lock;shrink;read_ahead_of_a_long_name;fault", 80), ("lock;<our app>", 20)]));
    }

    #[test]
    fn the_right_edge_of_a_screen_is_no_part_of_a_name() {
        assert_eq!(without_edge("- 99.54% anon_vma_lock          \u{2592}"), "- 99.54% anon_vma_lock");
        assert_eq!(
            without_edge("- mutex_lock                   a?(R)"),
            "- mutex_lock",
            "as a mail program wrote an arrow"
        );
        assert_eq!(without_edge("- mutex_lock                   a??"), "- mutex_lock");
        assert_eq!(without_edge("- 12.30%   main"), "- 12.30%   main", "a short name behind its share");
    }

    #[test]
    fn of_branches_that_cannot_be_told_apart_the_trunk_is_left() {
        // A page left one blank where there were ten.
        let text = "|--97.00%-- isolate\n| compact\n| |\n| |--60.00%-- fault\n| | copy\n| --40.00%-- other\n\
                    | |--70.00%-- a\n| --30.00%-- b\n--3.00%-- [...]\n";
        let graph = graph(text);
        assert!(!graph.fits(Reading::Relative, 9000));
        assert_eq!(ways(&graph, Reading::Relative, 9000), pairs(&[("isolate;compact", 97), ("", 3)]));
    }

    #[test]
    fn what_cannot_be_is_not_understood() {
        let bent = graph("|--80.00%--a\n|--70.00%--b\n");
        assert!(!bent.fits(Reading::Absolute, 9000) && !bent.fits(Reading::Relative, 9000));
        let counted = graph("|--80--a\n");
        assert!(!counted.fits(Reading::Absolute, 9000));
        assert!(!Graph::default().fits(Reading::Absolute, 1));
        assert!(!Graph::default().line("prose that is no drawing", true));
        let mut deep = Graph::default();
        (0..5000).for_each(|_| assert!(deep.line("| a", false)));
        assert!(!deep.fits(Reading::Absolute, 9000));
    }
}
