//! In which order the levels of a factor are shown: a randomised file has them in the order of its dice.
//!
//! Levels that the question names stand first, as it names them. The others, when all are numbers, ascend. Names stand as
//! the file has them where it is sorted by them (`low`, `medium`, `high`), else in alphabetical order.

use super::notes::compared;
use super::question::Question;
use super::table::{Factor, Table};
use std::cmp::Ordering;
use std::collections::HashMap;

/// The codes of a factor's levels in the order in which they are shown.
pub(super) fn of(table: &Table, question: &Question, factor: &Factor) -> Vec<u32> {
    let named = compared(question, &factor.name);
    let mut codes: Vec<u32> = (0..factor.levels.len() as u32).collect();
    let level = |code: &u32| factor.levels[*code as usize].as_str();
    let number = |code: &u32| level(code).parse::<f64>().ok().filter(|number| number.is_finite());
    let is_free = |code: &&u32| !named.contains(&level(code));
    if codes.iter().filter(is_free).all(|code| number(code).is_some()) {
        codes.sort_by(|one, other| number(one).partial_cmp(&number(other)).unwrap_or(Ordering::Equal));
    } else if !is_sorted_by(table, factor) {
        codes.sort_by(|one, other| naturally(level(one), level(other)));
    }
    codes.sort_by_key(|code| named.iter().position(|name| *name == level(code)).unwrap_or(named.len()));
    codes
}

/// Whether the rows that differ in nothing else go through the levels in the order in which those first occur.
fn is_sorted_by(table: &Table, factor: &Factor) -> bool {
    let others: Vec<&Factor> = table.factors.iter().filter(|other| other.name != factor.name).collect();
    let mut last: HashMap<Vec<u32>, u32> = HashMap::new();
    factor.codes.iter().enumerate().all(|(row, code)| {
        let place = others.iter().map(|other| other.codes[row]).collect();
        last.insert(place, *code).is_none_or(|before| before <= *code)
    })
}

/// Alphabetical, whatever the case, with the numbers inside of names in their own order: `v5.9` before `v5.10`.
fn naturally(one: &str, other: &str) -> Ordering {
    let (ours, theirs) = (pieces(one), pieces(other));
    ours.cmp(&theirs).then_with(|| one.cmp(other))
}

/// A name's digits as numbers, without their leading zeros and the longer one the larger; and what stands between them.
fn pieces(name: &str) -> Vec<(bool, usize, String)> {
    let lower = name.to_lowercase();
    let letters: Vec<char> = lower.chars().collect();
    let piece = |letters: &[char]| {
        let text: String = letters.iter().collect();
        if !letters.iter().all(char::is_ascii_digit) {
            return (true, 0, text);
        }
        let digits = text.trim_start_matches('0').to_owned();
        (false, digits.len(), digits)
    };
    letters.chunk_by(|one, other| one.is_ascii_digit() == other.is_ascii_digit()).map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, compare: &str) -> Vec<String> {
        let contrast = compare.parse().expect("a contrast");
        let question = Question::new("s", vec![contrast], vec!["load".to_owned()]);
        let table = Table::read(text.as_bytes(), "t", &question).expect("a table");
        let factor = table.factor("load").expect("the factor");
        of(&table, &question, factor).iter().map(|code| factor.levels[*code as usize].clone()).collect()
    }

    #[test]
    fn numbers_ascend() {
        let text: String = [2, 1, 16, 4, 8].map(|load| format!("a,{load},1\nb,{load},2\n")).concat();
        assert_eq!(shown(&format!("k,load,s\n{text}"), "k=a,b"), ["1", "2", "4", "8", "16"]);
    }

    #[test]
    fn names_stand_as_a_sorted_file_has_them_and_alphabetically_in_any_other() {
        let rows = |levels: &[&str]| -> String {
            let each = |k: &str| levels.iter().map(|load| format!("{k},{load},1\n")).collect::<String>();
            format!("k,load,s\n{}{}", each("a"), each("b"))
        };
        assert_eq!(shown(&rows(&["low", "low", "high", "high"]), "k=a,b"), ["low", "high"]);
        assert_eq!(shown(&rows(&["low", "high", "low", "high"]), "k=a,b"), ["high", "low"]);
        assert_eq!(shown(&rows(&["v5.10", "V5.9", "v5.10", "none"]), "k=a,b"), ["none", "V5.9", "v5.10"]);
    }

    #[test]
    fn what_the_question_names_stands_first() {
        let text = "k,load,s\na,4,1\na,2,1\nb,1,1\nb,4,1\nb,2,1\na,1,1\n";
        assert_eq!(shown(text, "load=4,1"), ["4", "1", "2"]);
    }
}
