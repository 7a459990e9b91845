//! `spark:logistic`: MLlib's logistic regression by gradient descent over cached points, a step at a time.

use super::super::random::{mixed, share};
use super::arguments::{Arguments, CONF, Kind, LARGE_HEAP, MASTER, VERSION};
use super::outcome::{Outcome, numbers};
use super::{FETCH, MEASURES, PLACES, Program, Spark};
use crate::workload::{Argument, BuiltIn};
use std::num::NonZero;
use std::ops::Range;
use std::panic::resume_unwind;
use std::thread;

/// What there is to say of it before it runs.
pub const BUILT_IN: BuiltIn = BuiltIn {
    name: "spark:logistic",
    about: "MLlib's logistic regression by gradient descent over points cached by Spark",
    arguments: ARGUMENTS,
    options: PLACES,
    measures: MEASURES,
    steps: FETCH,
    right: "every step is the one along the gradient of all points, and every loss is theirs",
    examples: &["spark:logistic fetch", "spark:logistic run points=200000 iterations=20 heap=1g"],
    takes_command: false,
    from_plan: |declared, around| Ok(Box::new(Spark::from_plan(&PROGRAM, declared, around)?)),
};

const ARGUMENTS: &[Argument] = &[
    Argument { name: "points", default: "2,000,000", about: "points that are cached" },
    Argument { name: "dimensions", default: "100", about: "coordinates of a point, 8 bytes each" },
    Argument { name: "iterations", default: "10", about: "steps along the gradient of all points; each is timed" },
    Argument { name: "partitions", default: "8", about: "parts they are cached in" },
    Argument { name: "seed", default: "42", about: "what all points follow from" },
    VERSION,
    MASTER,
    LARGE_HEAP,
    CONF,
];

/// How it is run and checked.
pub(super) const PROGRAM: Program = Program {
    built_in: &BUILT_IN,
    class: "pagewise.spark.Logistic",
    kinds: &[
        ("points", Kind::Number(1000, 1 << 32)),
        ("dimensions", Kind::Number(1, 10_000)),
        // The weights of every step are kept, and checked.
        ("iterations", Kind::Number(1, 1000)),
        ("partitions", Kind::Number(1, 100_000)),
        ("seed", Kind::Number(0, i64::MAX as u64)),
    ],
    described: |arguments| {
        let [points, dimensions, iterations] =
            ["points", "dimensions", "iterations"].map(|name| arguments.number(name));
        format!("{points} points of {dimensions} coordinates, {iterations} steps")
    },
    fault,
};

/// Length of a step, as `Logistic.java` has it.
const STEP: f64 = 10.0;

/// How far a loss or a weight may be from the one reckoned here. Sums of doubles end in the order in which partitions do; the mean
/// of 2^32 terms below one keeps 10^-10 of that even if all their errors add up as a random walk does.
const TOLERANCE: f64 = 1e-9;

fn fault(arguments: &Arguments, outcome: &Outcome) -> Option<String> {
    let [points, dimensions, iterations] = ["points", "dimensions", "iterations"].map(|name| arguments.number(name));
    let loaded: Vec<u64> = outcome.all("load_sum");
    if loaded != [points] {
        return Some(format!("Spark cached {loaded:?} points, and {points} were asked for"));
    }
    let losses: Vec<f64> = outcome.all("loss");
    let weights: Vec<Vec<f64>> = outcome.all::<String>("weights").iter().map(|line| numbers(line)).collect();
    if [losses.len() as u64, weights.len() as u64] != [iterations; 2] {
        let (losses, weights) = (losses.len(), weights.len());
        return Some(format!("{losses} losses and {weights} weights came, and {iterations} steps were asked for"));
    }
    if let Some((number, step)) = weights.iter().enumerate().find(|(_, step)| step.len() as u64 != dimensions) {
        return Some(format!("step {} gave {} weights, not {dimensions}", number + 1, step.len()));
    }
    let before: Vec<Vec<f64>> = [vec![0.0; dimensions as usize]].into_iter().chain(weights.iter().cloned()).collect();
    let wanted = steps_from(arguments, &before[..weights.len()]);
    let is_wrong = |one: f64, other: f64| one.is_nan() || (one - other).abs() > TOLERANCE;
    for (number, (step, (loss, weights))) in wanted.iter().zip(losses.iter().zip(&weights)).enumerate() {
        if is_wrong(*loss, step.loss) {
            return Some(format!(
                "the loss before step {} is {loss}, and that of the points is {}",
                number + 1,
                step.loss
            ));
        }
        let mut pairs = weights.iter().zip(&step.weights).enumerate();
        if let Some((place, (one, other))) = pairs.find(|(_, (one, other))| is_wrong(**one, **other)) {
            let (place, number) = (place + 1, number + 1);
            return Some(format!("weight {place} after step {number} is {one}, and the gradient leads to {other}"));
        }
    }
    None
}

/// A step along the gradient: the mean loss it began with, and the weights it led to.
#[derive(Clone, Debug)]
struct Step {
    loss: f64,
    weights: Vec<f64>,
}

/// The step from each of these weights. One visit of the points serves all: a run gives the weights after every step, the first
/// begins with zeros, and when each step is right from where it began, then so is the last.
fn steps_from(arguments: &Arguments, before: &[Vec<f64>]) -> Vec<Step> {
    let points = arguments.number("points");
    let cpus = thread::available_parallelism().map_or(1, NonZero::get) as u64;
    let sums: Vec<Vec<Step>> = thread::scope(|scope| {
        let part = |cpu: u64| points * cpu / cpus..points * (cpu + 1) / cpus;
        let started: Vec<_> = (0..cpus).map(|cpu| scope.spawn(move || sums(arguments, part(cpu), before))).collect();
        started.into_iter().map(|one| one.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    let mean = |number: usize, of: &dyn Fn(&Step) -> f64| -> f64 {
        sums.iter().map(|part| of(&part[number])).sum::<f64>() / points as f64
    };
    let step = |(number, before): (usize, &Vec<f64>)| Step {
        loss: mean(number, &|sum| sum.loss),
        weights: before
            .iter()
            .enumerate()
            .map(|(place, weight)| weight - STEP * mean(number, &|sum| sum.weights[place]))
            .collect(),
    };
    before.iter().enumerate().map(step).collect()
}

/// For each of these weights the sums of these points' losses and of their gradients.
fn sums(arguments: &Arguments, points: Range<u64>, weights: &[Vec<f64>]) -> Vec<Step> {
    let [dimensions, seed] = ["dimensions", "seed"].map(|name| arguments.number(name));
    let normal: Vec<f64> = (0..dimensions).map(|place| around(mixed(seed, place))).collect();
    let width = (dimensions as f64).sqrt() / 4.0;
    let mut sums = vec![Step { loss: 0.0, weights: vec![0.0; dimensions as usize] }; weights.len()];
    let mut point = vec![0.0; dimensions as usize];
    for number in points {
        // In the order of the program: another order could round a point to the other side.
        let mut side = width * around(mixed(seed, dimensions + number));
        for (place, coordinate) in point.iter_mut().enumerate() {
            *coordinate = around(mixed(!seed, number * dimensions + place as u64));
            side += normal[place] * *coordinate;
        }
        let label = f64::from(side > 0.0);
        for (sum, weights) in sums.iter_mut().zip(weights) {
            let margin = product(weights, &point);
            // Both forms are the same number; neither overflows where it is used.
            let softplus = if margin > 0.0 { margin + (-margin).exp().ln_1p() } else { margin.exp().ln_1p() };
            sum.loss += softplus - label * margin;
            let slope = 1.0 / (1.0 + (-margin).exp()) - label;
            sum.weights.iter_mut().zip(&point).for_each(|(sum, coordinate)| *sum += slope * coordinate);
        }
    }
    sums
}

/// The scalar product, in four sums that a CPU adds side by side.
fn product(one: &[f64], other: &[f64]) -> f64 {
    let (ones, others) = (one.chunks_exact(4), other.chunks_exact(4));
    let rest: f64 = ones.remainder().iter().zip(others.remainder()).map(|(one, other)| one * other).sum();
    let mut sums = [0.0; 4];
    for (one, other) in ones.zip(others) {
        (0..4).for_each(|place| sums[place] += one[place] * other[place]);
    }
    sums.iter().sum::<f64>() + rest
}

/// A number between -1 and 1.
fn around(bits: u64) -> f64 {
    2.0 * share(bits) - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments() -> Arguments {
        [("points", "3001"), ("dimensions", "11"), ("iterations", "4")]
            .iter()
            .try_fold(Arguments::of(&PROGRAM), |all, (name, value)| all.with(&PROGRAM, name, value))
            .unwrap()
    }

    /// What a program gives that takes every step from where the one before led.
    fn run(arguments: &Arguments) -> Vec<Step> {
        let mut at = vec![0.0; 11];
        let step = |_| {
            let step = steps_from(arguments, std::slice::from_ref(&at)).remove(0);
            at.clone_from(&step.weights);
            step
        };
        (0..4).map(step).collect()
    }

    fn fault_of(steps: &[Step]) -> Option<String> {
        let lines = steps.iter().map(|Step { loss, weights }| {
            let weights: Vec<String> = weights.iter().map(f64::to_string).collect();
            format!("loss\t{loss}\nweights\t{}\n", weights.join(" "))
        });
        let text: String = lines.collect();
        fault(&arguments(), &Outcome::parse(&format!("load_sum\t3001\n{text}")).unwrap())
    }

    #[test]
    fn steps_that_were_changed_are_found_and_those_within_rounding_are_right() {
        let steps = run(&arguments());
        assert_eq!(fault_of(&steps), None);
        let changed = |change: fn(&mut Vec<Step>)| {
            let mut steps = steps.clone();
            change(&mut steps);
            fault_of(&steps)
        };
        assert_eq!(changed(|steps| steps[3].weights[10] += 1e-11), None);
        assert!(changed(|steps| steps[3].weights[10] += 1e-7).unwrap().contains("weight 11 after step 4"));
        assert!(changed(|steps| steps[1].weights[0] += 1e-7).unwrap().contains("weight 1 after step 2"));
        assert!(changed(|steps| steps[2].loss += 1e-7).unwrap().contains("the loss before step 3"));
        assert!(changed(|steps| steps[2].weights[1] = f64::NAN).unwrap().contains("weight 2 after step 3"));
        assert!(changed(|steps| steps.truncate(3)).unwrap().contains("3 losses and 3 weights came"));
        assert!(changed(|steps| steps[2].weights.truncate(10)).unwrap().contains("step 3 gave 10 weights"));
    }

    #[test]
    fn the_steps_lead_to_the_plane_that_the_labels_were_made_with() {
        let steps = run(&arguments());
        assert!(steps.is_sorted_by(|one, next| one.loss > next.loss), "{steps:?}");
        assert!((steps[0].loss - 2_f64.ln()).abs() < 1e-12, "without weights both labels are as likely");
        let normal: Vec<f64> = (0..11).map(|place| around(mixed(42, place))).collect();
        let found = &steps[3].weights;
        let cosine = product(found, &normal) / (product(found, found) * product(&normal, &normal)).sqrt();
        assert!(cosine > 0.98, "{cosine}");
    }
}
