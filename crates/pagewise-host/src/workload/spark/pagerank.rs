//! `spark:pagerank`: GraphX's PageRank on a graph whose degrees follow a power law.

use super::super::random::{mixed, share};
use super::arguments::{Arguments, CONF, Kind, LARGE_HEAP, MASTER, VERSION};
use super::outcome::{Outcome, numbers};
use super::{FETCH, MEASURES, PLACES, Program, Spark};
use crate::workload::{Argument, BuiltIn};

/// What there is to say of it before it runs.
pub const BUILT_IN: BuiltIn = BuiltIn {
    name: "spark:pagerank",
    about: "GraphX's PageRank on a graph whose degrees follow a power law",
    arguments: ARGUMENTS,
    options: PLACES,
    measures: MEASURES,
    steps: FETCH,
    right: "ranks and sums of ranks are those of the graph that the seed gives",
    examples: &["spark:pagerank fetch", "spark:pagerank run vertices=100000 iterations=10 heap=1g"],
    takes_command: false,
    from_plan: |declared, around| Ok(Box::new(Spark::from_plan(&PROGRAM, declared, around)?)),
};

const ARGUMENTS: &[Argument] = &[
    Argument { name: "vertices", default: "500,000", about: "vertices of the graph" },
    Argument { name: "degree", default: "16", about: "edges for each vertex" },
    Argument { name: "iterations", default: "5", about: "iterations; each is timed" },
    Argument { name: "partitions", default: "8", about: "parts the edges are cached in" },
    Argument { name: "seed", default: "42", about: "what all edges follow from" },
    VERSION,
    MASTER,
    LARGE_HEAP,
    CONF,
];

/// How it is run and checked.
pub(super) const PROGRAM: Program = Program {
    built_in: &BUILT_IN,
    class: "pagewise.spark.PageRank",
    kinds: &[
        ("vertices", Kind::Number(GROUPS as u64, u32::MAX as u64)),
        ("degree", Kind::Number(1, 1000)),
        // GraphX's lineage grows with each.
        ("iterations", Kind::Number(1, 1000)),
        ("partitions", Kind::Number(1, 100_000)),
        ("seed", Kind::Number(0, i64::MAX as u64)),
    ],
    described: |arguments| {
        let [vertices, degree, iterations] = ["vertices", "degree", "iterations"].map(|name| arguments.number(name));
        format!("{vertices} vertices, {} edges, {iterations} iterations", vertices * degree)
    },
    fault,
};

/// The share of a rank that follows no edge, as `PageRank.java` has it.
const RESET: f64 = 0.15;

/// Parts of the vertices that have a sum each in the result.
const GROUPS: usize = 1000;

/// How far a rank or a sum may be from the one reckoned here, as a share of it. Sums of doubles end in the order in which partitions
/// do; all terms are above zero, so that 2^20 edges into a vertex cost 10^-10 at most.
const TOLERANCE: f64 = 1e-9;

fn fault(arguments: &Arguments, outcome: &Outcome) -> Option<String> {
    let [vertices, degree, iterations] = ["vertices", "degree", "iterations"].map(|name| arguments.number(name));
    let loaded: Vec<u64> = outcome.all("load_sum");
    if loaded != [vertices * (degree + 1)] {
        return Some(format!(
            "Spark cached {loaded:?} edges and vertices, and {} with {vertices} were asked for",
            vertices * degree
        ));
    }
    let done: Vec<u64> = outcome.all("iteration_sum");
    if !done.iter().copied().eq(1..=iterations) {
        return Some(format!("{} iterations were timed, and {iterations} were asked for", done.len()));
    }
    let wanted = RankDigest::of(arguments, &ranks(arguments));
    let line = |name: &str| numbers(outcome.all::<String>(name).last().map_or("", String::as_str));
    let differs = |name: &str, what: &dyn Fn(u64) -> String, wanted: &[f64]| {
        let given = line(name);
        if given.len() != wanted.len() {
            return Some(format!("the result has {} {name}, not {}", given.len(), wanted.len()));
        }
        let is_wrong = |one: f64, other: f64| one.is_nan() || (one - other).abs() > TOLERANCE * other;
        let mut pairs = given.iter().zip(wanted).zip(0..);
        let ((one, other), group) = pairs.find(|((one, other), _)| is_wrong(**one, **other))?;
        Some(format!("{} is {one}, and the graph gives {other}", what(group)))
    };
    let first = |group: u64| first_of(group, vertices);
    let of_vertex = |group: u64| format!("the rank of vertex {}", first(group));
    let of_group =
        |group: u64| format!("the weighted sum of ranks {} to {}", first(group), first(group + 1).saturating_sub(1));
    differs("ranks", &of_vertex, &wanted.ranks).or_else(|| differs("sums", &of_group, &wanted.sums))
}

/// The first vertex of a group.
fn first_of(group: u64, vertices: u64) -> u64 {
    (group * vertices).div_ceil(GROUPS as u64)
}

/// What a run gives of its ranks: that of the first vertex of each group, and each group's sum of all, every rank times a number of
/// its vertex, so that ranks that changed places are found, too.
struct RankDigest {
    ranks: Vec<f64>,
    sums: Vec<f64>,
}

impl RankDigest {
    fn of(arguments: &Arguments, ranks: &[f64]) -> RankDigest {
        let [vertices, degree, seed] = ["vertices", "degree", "seed"].map(|name| arguments.number(name));
        let weighted =
            |vertex: u64| ranks[vertex as usize] * (0.5 + share(mixed(seed, 2 * vertices * degree + vertex)));
        let groups = 0..GROUPS as u64;
        RankDigest {
            ranks: groups.clone().map(|group| ranks[first_of(group, vertices) as usize]).collect(),
            sums: groups
                .map(|group| (first_of(group, vertices)..first_of(group + 1, vertices)).map(weighted).sum())
                .collect(),
        }
    }
}

/// The ranks of all vertices, as GraphX has them before it scales them: each begins with one.
fn ranks(arguments: &Arguments) -> Vec<f64> {
    let [vertices, iterations] = ["vertices", "iterations"].map(|name| arguments.number(name));
    let edges = edges(arguments);
    let mut out = vec![0_u32; vertices as usize];
    edges.iter().for_each(|(from, _)| out[*from as usize] += 1);
    let mut ranks = vec![1.0; vertices as usize];
    for _ in 0..iterations {
        let along: Vec<f64> = ranks.iter().zip(&out).map(|(rank, out)| rank / f64::from(*out)).collect();
        ranks.fill(0.0);
        edges.iter().for_each(|(from, to)| ranks[*to as usize] += along[*from as usize]);
        ranks.iter_mut().for_each(|rank| *rank = RESET + (1.0 - RESET) * *rank);
    }
    ranks
}

/// All edges, from and to, as `PageRank.java` makes them: preferential attachment without a table. Of the ends of all edges in a row,
/// an even one is the vertex that the edge is made for, and an odd one the same as another before it; half of the edges are turned.
fn edges(arguments: &Arguments) -> Vec<(u32, u32)> {
    let [vertices, degree, seed] = ["vertices", "degree", "seed"].map(|name| arguments.number(name));
    let edge = |number: u64| {
        let mut end = 2 * number + 1;
        while end % 2 == 1 {
            end = mixed(seed, end) % end;
        }
        let [of, other] = [number, end / 2].map(|number| (number / degree) as u32);
        if mixed(!seed, number) % 2 == 1 { (other, of) } else { (of, other) }
    };
    (0..vertices * degree).map(edge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(pairs: &[(&str, &str)]) -> Arguments {
        pairs.iter().try_fold(Arguments::of(&PROGRAM), |all, (name, value)| all.with(&PROGRAM, name, value)).unwrap()
    }

    #[test]
    fn degrees_follow_the_power_law_of_preferential_attachment() {
        let (vertices, degree) = (100_000, 4);
        let edges = edges(&arguments(&[("vertices", "100000"), ("degree", "4")]));
        let mut degrees = vec![[0_u32; 2]; vertices];
        for (from, to) in edges {
            degrees[from as usize][0] += 1;
            degrees[to as usize][1] += 1;
        }
        assert!(degrees.iter().all(|ways| ways[0] + ways[1] >= degree), "every vertex has the edges made for it");
        for least in [10, 20, 40] {
            // The share of a degree of `least` or more in the limit of many vertices (Bollobás et al. 2001).
            let known = f64::from(degree * (degree + 1)) / f64::from(least * (least + 1));
            let with = |count: &dyn Fn(&[u32; 2]) -> bool| degrees.iter().filter(|ways| count(ways)).count() as f64;
            let found = with(&|ways| ways[0] + ways[1] >= least) / vertices as f64;
            assert!((found / known - 1.0).abs() < 0.1, "{least}: {found}, {known}");
        }
        let most = |way: usize| degrees.iter().map(|ways| ways[way]).max().unwrap();
        assert!(most(0) > 200 && most(1) > 200, "edges lead both ways");
    }

    #[test]
    fn ranks_come_to_rest_and_an_iteration_more_or_less_is_told_before() {
        let of =
            |iterations: &str| ranks(&arguments(&[("vertices", "1000"), ("degree", "10"), ("iterations", iterations)]));
        let most = |one: &str, other: &str| {
            of(one).iter().zip(of(other)).map(|(one, other)| (one / other - 1.0).abs()).fold(0.0, f64::max)
        };
        assert!(most("200", "201") < 1e-9 && most("4", "5") > 1e-3);
        // All but what vertices without an edge out lose.
        let mean = of("200").iter().sum::<f64>() / 1000.0;
        assert!((0.95..=1.0).contains(&mean), "{mean}");
    }

    #[test]
    fn ranks_that_were_changed_or_change_places_are_found_and_those_within_rounding_are_right() {
        let arguments = arguments(&[("vertices", "2500"), ("degree", "10"), ("iterations", "3")]);
        let given = |change: &dyn Fn(&mut Vec<f64>)| {
            let mut ranks = ranks(&arguments);
            change(&mut ranks);
            let RankDigest { ranks, sums } = RankDigest::of(&arguments, &ranks);
            let line = |of: &[f64]| of.iter().map(f64::to_string).collect::<Vec<_>>().join(" ");
            let done = "iteration_sum\t1\niteration_sum\t2\niteration_sum\t3\n";
            let text = format!("load_sum\t27500\n{done}ranks\t{}\nsums\t{}\n", line(&ranks), line(&sums));
            fault(&arguments, &Outcome::parse(&text).unwrap())
        };
        assert_eq!(given(&|_| {}), None);
        assert_eq!(given(&|ranks| ranks[3] *= 1.0 + 1e-12), None);
        assert!(given(&|ranks| ranks[3] *= 1.0 + 1e-7).unwrap().starts_with("the rank of vertex 3 is"));
        assert!(given(&|ranks| ranks[4] *= 1.0 + 1e-7).unwrap().starts_with("the weighted sum of ranks 3 to 4 is"));
        assert!(given(&|ranks| ranks.swap(1, 2)).unwrap().starts_with("the weighted sum of ranks 0 to 2 is"));
        assert!(given(&|ranks| ranks[2499] = f64::NAN).unwrap().starts_with("the weighted sum of ranks 2498 to 2499"));
    }
}
