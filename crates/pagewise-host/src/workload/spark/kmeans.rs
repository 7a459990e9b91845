//! `spark:kmeans`: MLlib's k-means over cached points, an iteration at a time.

use super::super::random::{mixed, share};
use super::arguments::{Arguments, CONF, HEAP, Kind, MASTER, VERSION};
use super::outcome::Outcome;
use super::{FETCH, MEASURES, PLACES, Program, Spark};
use crate::workload::{Argument, BuiltIn};

/// What there is to say of it before it runs.
pub const BUILT_IN: BuiltIn = BuiltIn {
    name: "spark:kmeans",
    about: "MLlib's k-means over points cached by Spark",
    arguments: ARGUMENTS,
    options: PLACES,
    measures: MEASURES,
    steps: FETCH,
    right: "every centre is the mean of its cluster's points",
    examples: &["spark:kmeans fetch", "spark:kmeans run points=200000 iterations=10"],
    takes_command: false,
    from_plan: |declared, around| Ok(Box::new(Spark::from_plan(&PROGRAM, declared, around)?)),
};

const ARGUMENTS: &[Argument] = &[
    Argument { name: "points", default: "1,000,000", about: "points that are cached" },
    Argument { name: "dimensions", default: "20", about: "coordinates of a point, 8 bytes each" },
    Argument { name: "clusters", default: "10", about: "centres that are looked for, at most as many as points" },
    Argument { name: "iterations", default: "10", about: "iterations; each is timed" },
    Argument { name: "partitions", default: "8", about: "parts they are cached in" },
    Argument { name: "seed", default: "42", about: "what all points follow from" },
    VERSION,
    MASTER,
    HEAP,
    CONF,
];

/// How it is run and checked.
pub(super) const PROGRAM: Program = Program {
    built_in: &BUILT_IN,
    class: "pagewise.spark.KMeans",
    kinds: &[
        ("points", Kind::Number(1000, 1 << 32)),
        // With fewer, two centres may lie as near to each other as the points around them.
        ("dimensions", Kind::Number(10, 10_000)),
        ("clusters", Kind::Number(2, 1000)),
        ("iterations", Kind::Number(1, 1_000_000)),
        ("partitions", Kind::Number(1, 100_000)),
        ("seed", Kind::Number(0, i64::MAX as u64)),
    ],
    described: |arguments| {
        let [points, dimensions, clusters, iterations] =
            ["points", "dimensions", "clusters", "iterations"].map(|name| arguments.number(name));
        format!("{points} points of {dimensions} coordinates, {clusters} clusters, {iterations} iterations")
    },
    fault,
};

/// How far a coordinate may be from the mean reckoned here. Sums of doubles end in the order in which partitions do; over 2^32
/// points around 100 their error stays far below this.
const TOLERANCE: f64 = 1e-6;

fn fault(arguments: &Arguments, outcome: &Outcome) -> Option<String> {
    let [points, clusters, iterations] = ["points", "clusters", "iterations"].map(|name| arguments.number(name));
    let loaded: Vec<u64> = outcome.all("load_sum");
    if loaded != [points] {
        return Some(format!("Spark cached {loaded:?} points, and {points} were asked for"));
    }
    let found: Vec<u64> = outcome.all("iteration_sum");
    if found.len() as u64 != iterations || found.iter().any(|centres| *centres != clusters) {
        return Some(format!("{found:?} centres came from {iterations} iterations, and {clusters} were asked for"));
    }
    let coordinates: Vec<f64> = outcome.all("coordinate");
    let wanted = centres(arguments);
    if coordinates.len() != wanted.len() {
        return Some(format!("the centres have {} coordinates together, not {}", coordinates.len(), wanted.len()));
    }
    let mut pairs = coordinates.iter().zip(&wanted).enumerate();
    let (number, (one, other)) = pairs.find(|(_, (one, other))| one.is_nan() || (*one - *other).abs() > TOLERANCE)?;
    let dimensions = arguments.number("dimensions") as usize;
    let (centre, place) = (number / dimensions + 1, number % dimensions + 1);
    Some(format!("coordinate {place} of centre {centre} is {one}, and the mean of its points is {other}"))
}

/// The means of the clusters, centre by centre: which points are whose follows from their numbers.
fn centres(arguments: &Arguments) -> Vec<f64> {
    let [points, dimensions, clusters, seed] =
        ["points", "dimensions", "clusters", "seed"].map(|name| arguments.number(name));
    let mut beside = vec![0.0; (clusters * dimensions) as usize];
    for point in 0..points {
        let cluster = point % clusters * dimensions;
        for place in 0..dimensions {
            beside[(cluster + place) as usize] += share(mixed(!seed, point * dimensions + place)) - 0.5;
        }
    }
    let mean = |(number, sum): (usize, &f64)| {
        let cluster = number as u64 / dimensions;
        let of_it = (points - cluster).div_ceil(clusters);
        100.0 * share(mixed(seed, number as u64)) + sum / of_it as f64
    };
    beside.iter().enumerate().map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn centres_that_moved_are_found_and_those_within_rounding_are_right() {
        let arguments = Arguments::of(&PROGRAM).with(&PROGRAM, "points", "1003").unwrap();
        let arguments = arguments.with(&PROGRAM, "iterations", "1").unwrap();
        let outcome = |moved: f64| {
            let coordinates = centres(&arguments).into_iter().map(|one| format!("coordinate\t{}\n", one + moved));
            let text: String = coordinates.collect();
            Outcome::parse(&format!("load_sum\t1003\niteration_sum\t10\n{text}")).unwrap()
        };
        assert_eq!(fault(&arguments, &outcome(1e-9)), None);
        assert!(fault(&arguments, &outcome(1e-3)).unwrap().contains("coordinate 1 of centre 1"));
        assert!(fault(&arguments, &outcome(f64::NAN)).is_some());
        let none = Outcome::parse("load_sum\t1003\niteration_sum\t10\n").unwrap();
        assert!(fault(&arguments, &none).unwrap().contains("have 0 coordinates"));
    }
}
