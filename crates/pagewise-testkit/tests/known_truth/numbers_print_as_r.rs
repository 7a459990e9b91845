//! Numbers against R's own `format`, alone and in pairs, over every scale; p-values against `format.pval`; whole tests
//! against `print(t.test(…))` where R is installed.

use pagewise_core::comparison::analysis::analyze;
use pagewise_core::comparison::question::Question;
use pagewise_core::comparison::table::Table;
use pagewise_core::report::comparisons::{r, r_number};
use pagewise_testkit::requires;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use std::fmt::Write;
use std::process::Command;

fn r_says(script: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("numbers.R");
    std::fs::write(&file, script).unwrap();
    let output = Command::new("Rscript").arg("--vanilla").arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Scales from one end of a float to the other, round numbers, ties of rounding, and whatever comes.
fn numbers() -> Vec<f64> {
    let mut rng = ChaCha20Rng::seed_from_u64(8);
    let mut unit = || (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    let mut all = vec![
        0.0,
        1.0,
        -1.0,
        0.1,
        100_000.0,
        123_456.0,
        1_234_567.0,
        12_345_678.0,
        1e15,
        1e-5,
        0.0001,
        0.000_123_4,
        99_999.95,
        9_999_999.5,
        0.5,
        1.5,
        2.5,
        0.125,
        0.25,
        2.675,
        1e5,
        3e5,
        1e-300,
        1.797e308,
        4.9e-324,
        2.2e-16,
        99_999_995.0,
        1_234_565.0,
        0.999_999_95,
        123_456.75,
        1e22,
        1e23,
        9.999_999_5e21,
        -0.000_099_999_995,
    ];
    for exponent in (-300..=300).step_by(3) {
        all.push((unit() - 0.5) * 10f64.powi(exponent));
    }
    for _ in 0..200 {
        let decimals = 10f64.powi((unit() * 9.0) as i32);
        all.push(((unit() - 0.5) * 1e6 * decimals).round() / decimals);
    }
    all
}

#[test]
fn numbers_alone_and_in_pairs_are_formatted_as_r_does() {
    requires!(r);
    let numbers = numbers();
    let mut script = String::new();
    let mut ours = Vec::new();
    for digits in [4, 5, 7] {
        for number in &numbers {
            let _ = writeln!(script, "cat(format({number:e}, digits = {digits}), '\\n', sep = '')");
            ours.push((format!("{number:e} at {digits}"), r_number::format_one(*number, digits)));
        }
        for pair in numbers.windows(2) {
            let _ =
                writeln!(script, "cat(format(c({:e}, {:e}), digits = {digits}), '\\n', sep = '|')", pair[0], pair[1]);
            let texts = r_number::format(pair, digits);
            ours.push((format!("{pair:?} at {digits}"), format!("{}|{}|", texts[0], texts[1])));
        }
    }
    let theirs = r_says(&script);
    let theirs: Vec<&str> = theirs.lines().collect();
    assert_eq!(theirs.len(), ours.len());
    assert!(ours.len() > 1500, "{}", ours.len());
    let wrong: Vec<String> = ours
        .iter()
        .zip(&theirs)
        .filter(|((_, ours), theirs)| ours != *theirs)
        .map(|((what, ours), theirs)| format!("{what}: ours '{ours}', R '{theirs}'"))
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), ours.len(), wrong.join("\n"));
}

#[test]
fn p_values_are_formatted_as_r_does() {
    requires!(r);
    let p_values: Vec<f64> = numbers().into_iter().map(|number| number.abs()).filter(|p| *p <= 1.0).collect();
    let script: String =
        p_values.iter().map(|p| format!("cat(format.pval({p:e}, digits = 4), '\\n', sep = '')\n")).collect();
    let theirs = r_says(&script);
    assert!(p_values.len() > 80);
    for (p, theirs) in p_values.iter().zip(theirs.lines()) {
        assert_eq!(r_number::p_value(*p, 4), theirs, "{p:e}");
    }
}

#[test]
fn whole_tests_of_random_samples_print_as_r_s() {
    requires!(r);
    let mut rng = ChaCha20Rng::seed_from_u64(9);
    let mut unit = || (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    let question = Question::new("s", vec!["k=a,b".parse().unwrap()], vec![]);
    let (mut script, mut ours) = (String::new(), Vec::new());
    for case in 0..150 {
        let scale = 10f64.powi(case % 25 - 12);
        let shift = [0.0, 0.1, 1.0, 30.0][case as usize % 4];
        let mut sample = |n: usize, centre: f64| -> Vec<f64> {
            (0..n).map(|_| ((centre + unit()) * 1000.0).round() / 1000.0 * scale).collect()
        };
        let (a, b) = (sample(2 + case as usize % 12, 5.0), sample(2 + case as usize % 7, 5.0 + shift));
        let mut csv = "k,s\n".to_owned();
        a.iter().for_each(|value| csv.push_str(&format!("a,{value:e}\n")));
        b.iter().for_each(|value| csv.push_str(&format!("b,{value:e}\n")));
        let table = Table::read(csv.as_bytes(), "random", &question).unwrap();
        let text = r(&analyze(&table, &question).unwrap());
        ours.push(text.split_once("t = ").map(|(_, rest)| format!("t = {}", rest.trim_end())).unwrap_or_default());
        let vector = |values: &[f64]| values.iter().map(|v| format!("{v:e}")).collect::<Vec<_>>().join(",");
        let _ = writeln!(script, "print(t.test(c({}), c({}))); cat('====\\n')", vector(&a), vector(&b));
    }
    let said = r_says(&script);
    let theirs: Vec<String> = said
        .split("====\n")
        .filter_map(|text| Some(format!("t = {}", text.split_once("t = ")?.1.trim_end())))
        .collect();
    assert_eq!(theirs.len(), ours.len());
    let wrong: Vec<String> = ours
        .iter()
        .zip(&theirs)
        .filter(|(ours, theirs)| ours != theirs)
        .map(|(o, t)| format!("ours {o}\nR {t}"))
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), ours.len(), wrong.join("\n\n"));
}
