//! `spark:micro`: objects of 4 KB, cached, all visited, again and again. The microbenchmark of Miyazato and Yamada, with the order
//! of the visits and the bytes touched as arguments, because these decide what huge pages can give.

use super::super::random::mixed;
use super::arguments::{Arguments, CONF, HEAP, Kind, MASTER, VERSION};
use super::outcome::Outcome;
use super::{FETCH, MEASURES, PLACES, Program, Spark};
use crate::workload::{Argument, BuiltIn};

/// What there is to say of it before it runs.
pub const BUILT_IN: BuiltIn = BuiltIn {
    name: "spark:micro",
    about: "Objects of 4 KB cached by Spark, all visited, again and again",
    arguments: ARGUMENTS,
    options: PLACES,
    measures: MEASURES,
    steps: FETCH,
    right: "every iteration summed the bytes that the seed gives",
    examples: &["spark:micro fetch", "spark:micro run objects=100000 order=cached touch=1"],
    takes_command: false,
    from_plan: |declared, around| Ok(Box::new(Spark::from_plan(&PROGRAM, declared, around)?)),
};

const ARGUMENTS: &[Argument] = &[
    Argument { name: "objects", default: "60,000", about: "objects, each 4 KiB of heap with its header" },
    Argument { name: "order", default: "random", about: "of the visits: cached (as they lie), random" },
    Argument { name: "touch", default: "64", about: "bytes read of each object, spread evenly, 1 to 4080" },
    Argument { name: "passes", default: "20", about: "visits of all objects; each is timed" },
    Argument { name: "partitions", default: "8", about: "parts they are cached in" },
    Argument { name: "seed", default: "42", about: "what all bytes follow from" },
    VERSION,
    MASTER,
    HEAP,
    CONF,
];

/// How it is run and checked.
pub(super) const PROGRAM: Program = Program {
    built_in: &BUILT_IN,
    class: "pagewise.spark.Micro",
    kinds: &[
        ("objects", Kind::Number(1, 1 << 32)),
        ("order", Kind::Word(&["cached", "random"])),
        ("touch", Kind::Number(1, OBJECT_BYTES)),
        ("passes", Kind::Number(1, 1_000_000)),
        ("partitions", Kind::Number(1, 100_000)),
        ("seed", Kind::Number(0, i64::MAX as u64)),
    ],
    described: |arguments| {
        let [objects, touch, passes] = ["objects", "touch", "passes"].map(|name| arguments.number(name));
        let order = &arguments.own["order"];
        format!("{objects} objects of 4 KB, {passes} passes in {order} order, {touch} bytes of each")
    },
    fault,
};

/// Bytes of an object without the header of its array.
const OBJECT_BYTES: u64 = 4096 - 16;

fn fault(arguments: &Arguments, outcome: &Outcome) -> Option<String> {
    let loaded: Vec<u64> = outcome.all("load_sum");
    let [objects, passes] = ["objects", "passes"].map(|name| arguments.number(name));
    if loaded != [objects] {
        return Some(format!("Spark cached {loaded:?} objects, and {objects} were asked for"));
    }
    let sums: Vec<u64> = outcome.all("iteration_sum");
    if sums.len() as u64 != passes {
        return Some(format!("{} passes gave a sum, and {passes} were asked for", sums.len()));
    }
    let wanted = sum_of_a_pass(arguments);
    let (number, sum) = sums.iter().enumerate().find(|(_, sum)| **sum != wanted)?;
    Some(format!("pass {} summed {sum}, and the seed gives {wanted}", number + 1))
}

/// What a pass sums, reckoned without a single object: an object repeats the eight bytes that its number gives.
fn sum_of_a_pass(arguments: &Arguments) -> u64 {
    let [objects, touch, seed] = ["objects", "touch", "seed"].map(|name| arguments.number(name));
    let mut touched = [0_u64; 8];
    (0..touch).for_each(|number| touched[(number * OBJECT_BYTES / touch % 8) as usize] += 1);
    let of_object = |number: u64| -> u64 {
        let bytes = mixed(seed, number).to_le_bytes();
        bytes.iter().zip(touched).map(|(byte, times)| u64::from(*byte) * times).sum()
    };
    (0..objects).map(of_object).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_that_of_objects_written_out() {
        for (touch, seed) in [("1", 42), ("7", 42), ("64", 1), ("4080", 9)] {
            let arguments = Arguments::of(&PROGRAM).with(&PROGRAM, "objects", "300").unwrap();
            let arguments = arguments.with(&PROGRAM, "touch", touch).unwrap();
            let arguments = arguments.with(&PROGRAM, "seed", &seed.to_string()).unwrap();
            let touch: u64 = touch.parse().unwrap();
            let by_hand: u64 = (0..300)
                .map(|number| {
                    let word = mixed(seed, number);
                    let object: Vec<u8> = (0..OBJECT_BYTES).map(|place| (word >> (8 * (place & 7))) as u8).collect();
                    (0..touch).map(|k| u64::from(object[(k * OBJECT_BYTES / touch) as usize])).sum::<u64>()
                })
                .sum();
            assert_eq!(sum_of_a_pass(&arguments), by_hand);
        }
    }
}
