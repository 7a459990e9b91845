//! `pagewise analyze` as a user sees it: the published matrix against R's own print, golden files of every format, tables
//! that are damaged or hostile, and what must not depend on how a table is written.

use assert_cmd::Command;
use pagewise_testkit::said::unwrapped;
use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn published(name: &str) -> String {
    std::fs::read_to_string(data(name)).expect("test data")
}

/// The matrix with both of its questions: Table 1 compares kernels, Table 2 swap.
const KERNELS: [&str; 2] = ["--compare", "kernel=baseline,patched"];
const MATRIX: [&str; 6] =
    ["--compare", "kernel=baseline,patched", "--compare", "swap=off,on", "--by", "kernel,swap,concurrency"];

fn analyze_output(file: &std::path::Path, args: &[&str]) -> std::process::Output {
    let mut command = Command::cargo_bin("pagewise").expect("the binary");
    command.arg("analyze").arg(file).args(args).output().expect("it runs")
}

fn text_of(output: std::process::Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// The published matrix, asked so.
fn matrix(args: &[&str]) -> String {
    let args = [&["--value", "seconds"], args].concat();
    text_of(analyze_output(&data("hadoop-mglru.csv"), &args))
}

/// A table of our own, asked for its value `s` by kernel `k`.
fn own(text: &str, args: &[&str]) -> std::process::Output {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(text.as_bytes()).expect("it is written");
    let args = [&["--value", "s", "--compare", "k=a,b"], args].concat();
    analyze_output(file.path(), &args)
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn own_json(text: &str, args: &[&str]) -> Value {
    json(&text_of(own(text, &[&["--json"], args].concat())))
}

fn refusal(text: &str, args: &[&str]) -> String {
    let output = own(text, args);
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).expect("text")
}

/// From each `t = ` to the values below `mean of x mean of y`, as R prints it.
fn tests_of(text: &str) -> Vec<String> {
    let mut tests = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with("t = ") {
            let rest: Vec<&str> = lines.by_ref().take(6).collect();
            tests.push(format!("{line}\n{}", rest.join("\n")));
        }
    }
    tests
}

/// The counters that the first comparison has contrasts of.
fn counter_names(found: &Value) -> Vec<&str> {
    let list = found["comparisons"][0]["counters"].as_array().expect("a list");
    list.iter().filter_map(|counter| counter["name"].as_str()).collect()
}

/// A comparison without a warning has no list of them.
fn ids(warnings: &Value) -> Vec<String> {
    let list = warnings.as_array().map_or(&[][..], Vec::as_slice);
    list.iter().map(|warning| warning["id"].as_str().expect("an id").to_owned()).collect()
}

/// Values a little apart, none twice.
fn rows(level: &str, n: usize, centre: f64) -> String {
    (0..n).map(|i| format!("{level},{}\n", centre + ((i * 7) % n) as f64 * 0.01 * centre / n as f64)).collect()
}

#[test]
fn the_twelve_published_comparisons_read_as_r_printed_them() {
    let theirs = tests_of(&published("hadoop-mglru-r.txt"));
    let ours = tests_of(&matrix(&[&MATRIX[..], &["--format", "r"]].concat()));
    assert_eq!(theirs.len(), 12);
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(ours.len(), 12);
}

#[test]
fn the_percent_intervals_are_those_the_published_script_printed() {
    let found = json(&matrix(&[&MATRIX[..], &["--json"]].concat()));
    let comparisons = found["comparisons"].as_array().expect("a list");
    let table = published("hadoop-mglru-r.csv");
    let lines: Vec<Vec<&str>> = table.lines().skip(1).map(|line| line.split(',').collect()).collect();
    assert_eq!((lines.len(), comparisons.len()), (12, 12));
    for (line, comparison) in lines.iter().zip(comparisons) {
        let percent = &comparison["plain_samples"]["percent_r"];
        if line[7] == "ns" {
            assert!(percent.is_null(), "{line:?}");
            assert!(
                comparison["plain_samples"]["absent"]["percent_r"]
                    .as_str()
                    .is_some_and(|why| why.contains("no significance"))
            );
            continue;
        }
        let printed = |end: &str| format!("{:.2}", percent[end].as_f64().expect("a number"));
        assert_eq!([printed("low"), printed("high")], [line[7], line[8]], "{line:?}");
    }
}

#[test]
fn our_tables_have_the_published_layout_and_round_where_those_cut_off() {
    let ours = matrix(&[&MATRIX[..], &["--format", "text72"]].concat());
    let theirs = published("hadoop-mglru-tables.txt");
    let only_tables = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.starts_with('|') || line.starts_with('+'));
        // Where a number stands in its cell does not matter.
        lines.map(unwrapped).collect()
    };
    let (ours, theirs) = (only_tables(&ours), only_tables(&theirs));
    assert_eq!(ours.len(), theirs.len());
    let mut differing = Vec::new();
    for (ours, theirs) in ours.iter().zip(&theirs) {
        let (ours, theirs): (Vec<&str>, Vec<&str>) = (ours.split(' ').collect(), theirs.split(' ').collect());
        assert_eq!(ours.len(), theirs.len(), "{ours:?} {theirs:?}");
        let pairs = ours.iter().zip(&theirs).filter(|(one, other)| one != other);
        differing.extend(pairs.map(|(ours, theirs)| format!("{theirs} {ours}").replace(['[', ']', ','], "")));
    }
    // Published, then rounded; Table 1 and then Table 2, row by row.
    let cut_off = [
        "758.43 758.44",
        "746.83 746.84",
        "-26.80 -26.81",
        "910.19 910.20",
        "843.15 843.16",
        "23.46 23.47",
        "-48.39 -48.40",
        "1042.85 1042.86",
        "991.33 991.34",
        "42.18 42.19",
        "-81.94 -81.95",
        "-21.08 -21.09",
        "758.43 758.44",
        "746.83 746.84",
        "-25.67 -25.68",
        "-29.80 -29.81",
        "910.19 910.20",
        "843.15 843.16",
        "-26.62 -26.63",
        "26.06 26.07",
        "-49.09 -49.10",
        "1042.85 1042.86",
        "991.33 991.34",
        "144.85 144.86",
    ];
    assert_eq!(differing, cut_off);
}

#[test]
fn every_format_of_the_published_matrix_reads_as_its_golden_file() {
    for format in ["table", "r", "markdown", "latex", "text72"] {
        insta::assert_snapshot!(format, matrix(&[&MATRIX[..], &["--format", format]].concat()));
    }
}

#[test]
fn the_guide_shows_what_the_program_prints() {
    let guide = std::fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/analyze.md"));
    let printed = matrix(&[&KERNELS[..], &["--by", "swap,concurrency"]].concat());
    let table: Vec<&str> = printed.lines().take_while(|line| !line.is_empty()).collect();
    assert_eq!(table.len(), 10);
    assert!(guide.expect("the guide").contains(&table.join("\n")), "{printed}");
}

#[test]
fn a_single_comparison_has_the_page_to_itself() {
    for format in ["table", "markdown", "json"] {
        insta::assert_snapshot!(format!("single-{format}"), matrix(&[&KERNELS[..], &["--format", format]].concat()));
    }
}

#[test]
fn the_mail_fits_72_columns_of_ascii_and_the_table_80() {
    let mail = matrix(&[&MATRIX[..], &["--format", "text72"]].concat());
    assert!(mail.is_ascii());
    assert!(mail.lines().all(|line| line.len() <= 72), "{mail}");
    for said in ["[5.31, 9.69]%", "[2.02, 7.86]%", "less wall time", "when swap was on", "rest of the test matrix"] {
        assert!(mail.replace('\n', " ").contains(said), "{said}\n{mail}");
    }
    let table = matrix(&MATRIX);
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    assert!(!table.contains('\u{1b}'), "no colour off a terminal");
}

#[test]
fn every_null_has_its_reason() {
    let found = own_json("k,s,block\na,1,x\na,0,y\nb,2,x\nb,3,y\n", &[]);
    let comparison = found["comparisons"][0].as_object().expect("an object");
    let plain = comparison["plain_samples"].as_object().expect("an object");
    for (field, value) in plain {
        let reason = plain["absent"].get(field).and_then(Value::as_str);
        assert_eq!(value.is_null(), reason.is_some(), "{field}: {reason:?}");
    }
    assert!(plain["absent"]["log_ratio"].as_str().is_some_and(|why| why.contains("zero or negative")));
    assert!(plain["absent"].get("shapiro_p.a").is_some());
    assert!(comparison["effect"].is_null());
    assert_eq!(comparison["no_effect_because"], plain["absent"]["log_ratio"]);
    assert_eq!(comparison["conclusion"], "inconclusive");
    assert!(ids(&comparison["warnings"]).contains(&"not-positive".to_owned()));
}

#[test]
fn swapping_the_levels_turns_every_sign() {
    let text = format!("k,s\n{}{}", rows("a", 9, 100.0), rows("b", 8, 103.0));
    let one = own_json(&text, &[])["comparisons"][0].clone();
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(text.as_bytes()).expect("it is written");
    let args = ["--value", "s", "--compare", "k=b,a", "--json"];
    let other = json(&text_of(analyze_output(file.path(), &args)))["comparisons"][0].clone();
    let number = |of: &Value, path: &str| of.pointer(path).and_then(Value::as_f64).expect("a number");
    for (path, mirrored) in [
        ("/plain_samples/welch/t", "/plain_samples/welch/t"),
        ("/plain_samples/welch/ci_low", "/plain_samples/welch/ci_high"),
        ("/plain_samples/log_ratio/estimate", "/plain_samples/log_ratio/estimate"),
        ("/plain_samples/log_ratio/low", "/plain_samples/log_ratio/high"),
        ("/plain_samples/hodges_lehmann/shift", "/plain_samples/hodges_lehmann/shift"),
        ("/plain_samples/hodges_lehmann/ci_low", "/plain_samples/hodges_lehmann/ci_high"),
        ("/plain_samples/hedges_g", "/plain_samples/hedges_g"),
    ] {
        let (one, other) = (number(&one, path), number(&other, mirrored));
        assert!((one + other).abs() <= 1e-12 * one.abs(), "{path}: {one} {other}");
    }
    for path in [
        "/plain_samples/welch/p",
        "/plain_samples/mann_whitney/p",
        "/plain_samples/tost/p",
        "/plain_samples/welch_holm_p",
    ] {
        assert!((number(&one, path) - number(&other, path)).abs() < 1e-12, "{path}");
    }
    assert_eq!((&one["conclusion"], &other["conclusion"]), (&Value::from("worse"), &Value::from("better")));
}

#[test]
fn which_way_is_better_is_asked_for() {
    let text = format!("k,s\n{}{}", rows("a", 9, 100.0), rows("b", 8, 103.0));
    assert_eq!(own_json(&text, &["--direction", "higher"])["comparisons"][0]["conclusion"], "better");
    let equivalent = own_json(&text, &["--margin", "10%"])["comparisons"][0].clone();
    assert_eq!((&equivalent["conclusion"], &equivalent["real_but_below_margin"]), (&"equivalent".into(), &true.into()));
}

#[test]
fn failures_are_compared_before_values() {
    let mut text = "k,s,outcome\n".to_owned();
    for i in 0..10 {
        text.push_str(&format!("a,{},ok\n", 100 + i));
        text.push_str(&if i < 8 { "b,,oom\n".to_owned() } else { format!("b,{},ok\n", 50 + i) });
    }
    let found = own_json(&text, &[])["comparisons"][0].clone();
    assert_eq!((&found["conclusion"], &found["decided_by"]), (&"worse".into(), &"outcomes".into()));
    assert_eq!((&found["outcomes"]["b_bad"], &found["b_values"]["n"]), (&8.into(), &2.into()));
    let table = text_of(own(&text, &[]));
    assert!(table.contains("worse (failures)") && table.contains("0/10, 8/10"), "{table}");
    let nothing = own("k,s,outcome\na,,invalid\nb,,invalid\n", &[]);
    assert_eq!(nothing.status.code(), Some(3), "{}", String::from_utf8_lossy(&nothing.stderr));
}

#[test]
fn a_table_with_blocks_and_order_is_asked_more() {
    // The host slows down by 3 % a block; within a block b takes 1 % more, with a little noise.
    let mut text = "k,s,block,order\n".to_owned();
    let noise = [0.3, -0.2, 0.1, -0.4, 0.2, 0.0, -0.1, 0.35, -0.3, 0.15];
    for (block, noise) in noise.iter().enumerate() {
        let base = 100.0 + 3.0 * block as f64;
        let (a_place, b_place) = if block % 2 == 0 { (2 * block, 2 * block + 1) } else { (2 * block + 1, 2 * block) };
        text.push_str(&format!("a,{},{block},{a_place}\nb,{},{block},{b_place}\n", base, base * 1.01 + noise));
    }
    let found = own_json(&text, &[])["comparisons"][0].clone();
    let blocked = &found["plain_samples"]["blocked"];
    assert_eq!(blocked["blocks"], 10);
    let estimate = blocked["log_ratio"].as_f64().expect("a number");
    assert!((estimate - 0.01).abs() < 0.002, "{estimate}");
    assert!(blocked["p"].as_f64() < found["plain_samples"]["welch"]["p"].as_f64(), "what blocks share is gone");
    let warned = ids(&found["warnings"]);
    assert!(warned.contains(&"drift".to_owned()) && warned.contains(&"autocorrelation".to_owned()), "{warned:?}");
    assert!(!warned.contains(&"order-lost".to_owned()), "{warned:?}");
}

/// Ten pairs on a host that slows down by 3 % a pair; b takes 1 % more.
fn drifting_pairs() -> String {
    let noise = [0.3, -0.2, 0.1, -0.4, 0.2, 0.0, -0.1, 0.35, -0.3, 0.15];
    let pair = |(block, noise): (usize, &f64)| {
        let base = 100.0 + 3.0 * block as f64;
        let (a_place, b_place) = (2 * block + block % 2, 2 * block + 1 - block % 2);
        format!("a,{base},{block},{a_place}\nb,{},{block},{b_place}\n", base * 1.01 + noise)
    };
    "k,s,block,order\n".to_owned() + &noise.iter().enumerate().map(pair).collect::<String>()
}

#[test]
fn counters_are_compared_as_their_value_is() {
    // The counter drifts with the host as the value does; b has ten more of it in every pair, give or take.
    let mut text = drifting_pairs().replace("order\n", "order,scans\n");
    let lines: Vec<String> = text
        .lines()
        .skip(1)
        .enumerate()
        .map(|(row, line)| {
            let (pair, of_b) = (row / 2, row % 2);
            format!("{line},{}\n", 1000 * pair + 10 * of_b + [0, 1, 3][pair % 3] * of_b)
        })
        .collect();
    text = format!("k,s,block,order,scans\n{}", lines.concat());
    let of = |args: &[&str]| {
        let args: Vec<&str> = ["--counters", "scans"].iter().chain(args).copied().collect();
        own_json(&text, &args)["comparisons"][0]["counters"][0].clone()
    };
    let (pairs, values) = (of(&[]), of(&["--block", "none"]));
    assert!(pairs["q"].as_f64() < Some(1e-6) && values["q"].as_f64() > Some(0.9), "{pairs} and {values}");
    assert!((pairs["difference"].as_f64().unwrap() - 11.2).abs() < 0.5, "{pairs}");
}

#[test]
fn a_counter_whose_differences_leave_nothing_to_judge_chance_by_is_not_called_different() {
    // One event in every run of `a` that came first: the order of the runs explains all of it.
    let text = drifting_pairs();
    let place = |line: &str| line.rsplit(',').next().and_then(|place| place.parse::<u32>().ok()).expect("a place");
    let lines: Vec<&str> = text.lines().skip(1).collect();
    let with = |rare: &dyn Fn(bool, usize) -> u32| {
        let row = |(at, line): (usize, &&str)| {
            let a_first = place(lines[at / 2 * 2]) < place(lines[at / 2 * 2 + 1]);
            format!("{line},{}\n", rare(a_first, at))
        };
        format!("k,s,block,order,rare\n{}", lines.iter().enumerate().map(row).collect::<String>())
    };
    let names = |text: &str| counter_names(&own_json(text, &["--counters", "rare"])).len();
    assert_eq!(names(&with(&|a_first, at| u32::from(a_first && at % 2 == 0))), 0, "an interval of no width");
    assert_eq!(names(&with(&|a_first, at| u32::from(a_first && at % 2 == 0 && at > 5))), 1);
    assert_eq!(names(&with(&|_, at| (at / 2 + 5 * (at % 2)) as u32)), 1, "five more in every pair is a difference");
}

#[test]
fn blocks_are_used_unless_the_command_line_says_none() {
    let text = drifting_pairs();
    let (used, unused) = (own_json(&text, &[]), own_json(&text, &["--block", "none"]));
    let of = |found: &Value| found["comparisons"][0].clone();
    let (pairs, values) = (of(&used), of(&unused));
    assert_eq!((&pairs["method"], &values["method"]), (&"pairs".into(), &"independent".into()));
    assert_eq!((&pairs["conclusion"], &values["conclusion"]), (&"equivalent".into(), &"inconclusive".into()));
    let width = |one: &Value| {
        one["effect"]["interval"]["high"].as_f64().unwrap() - one["effect"]["interval"]["low"].as_f64().unwrap()
    };
    assert!(width(&values) > 10.0 * width(&pairs), "{} and {}", width(&values), width(&pairs));
    // R knows of no blocks, and what is computed as R does is the same either way.
    for field in ["welch", "percent", "log_ratio", "tost", "mann_whitney", "hodges_lehmann", "hedges_g", "shapiro_p"] {
        assert_eq!(pairs["plain_samples"][field], values["plain_samples"][field], "{field}");
        assert!(!pairs["plain_samples"][field].is_null(), "{field}");
    }
    let said = |args: &[&str]| unwrapped(&text_of(own(&text, args)));
    assert!(said(&[]).contains("Verdicts go by pairs in the order they ran"), "{}", said(&[]));
    assert!(!said(&["--block", "none"]).contains("Verdicts go by"), "{}", said(&["--block", "none"]));
    let decides = |within: &str| {
        format!(
            "What decides: the t test {within}, by its interval. Fixed before the table is read: only an interval can be held"
        )
    };
    assert!(said(&[]).contains(&decides("within pairs, in the order they ran (crossover)")), "{}", said(&[]));
    let of_all = decides("of all values (Welch's, on logarithms)");
    assert!(said(&["--block", "none"]).contains(&of_all), "{}", said(&["--block", "none"]));
    assert!(said(&["--format", "markdown"]).contains("What decides: the t test within pairs"));
    assert!(said(&["--block", "none"]).contains("Inconclusive."), "{}", said(&["--block", "none"]));
}

#[test]
fn blocks_may_stand_in_a_column_of_any_name() {
    let text = drifting_pairs();
    let renamed = text.replacen("block", "repetition", 1);
    let (as_block, named) = (own_json(&text, &[]), own_json(&renamed, &["--block", "repetition"]));
    assert_eq!(as_block["comparisons"], named["comparisons"]);
    let unsaid = own_json(&renamed, &[]);
    assert_eq!(unsaid["comparisons"][0]["method"], "independent", "nobody said what it is");
    let hint = |found: &Value| found["notes"].as_array().unwrap().iter().any(|note| note["id"] == "column-like-blocks");
    assert!(hint(&unsaid) && !hint(&named) && !hint(&as_block), "{unsaid}");
    let without_one = renamed.lines().filter(|line| !line.contains(",3,")).collect::<Vec<_>>().join("\n");
    assert!(hint(&own_json(&without_one, &[])), "nine repetitions are some, too");
    let lopsided = renamed.lines().take(20).collect::<Vec<_>>().join("\n");
    assert!(!hint(&own_json(&lopsided, &[])), "the last one has one level alone");
    // Another column of that name is one like any other then.
    let both = renamed.replace("s,repetition,order", "s,repetition,order,block").replace('\n', ",1\n");
    let both = both.replacen("block,1\n", "block\n", 1);
    assert_eq!(own_json(&both, &["--block", "repetition"])["comparisons"][0]["method"], "pairs");
    let refused = |args: &[&str]| String::from_utf8(own(&renamed, args).stderr).unwrap();
    assert!(refused(&["--block", "round"]).contains("'round'"), "{}", refused(&["--block", "round"]));
    let twice = refused(&["--block", "k"]);
    assert!(twice.contains("column 'k' is asked for as a factor and as the block of the runs"), "{twice}");
}

#[test]
fn a_table_is_told_what_a_trial_of_the_same_runs_is_told() {
    // Ten pairs, then ten more on a host that another job has slowed by a fifth.
    let noise = |i: i32| f64::from(i * 37 % 11) / 10.0;
    let pair = |i: i32| {
        let slow = if i < 10 { 1.0 } else { 1.2 };
        let (a_place, b_place) = (2 * i + i % 2, 2 * i + 1 - i % 2);
        let (a, b) = (slow * (100.0 + noise(i)), slow * (100.0 + noise(i + 4)));
        format!("a,{a},{i},{a_place}\nb,{b},{i},{b_place}\n")
    };
    let table = |pairs: i32| "k,s,block,order\n".to_owned() + &(0..pairs).map(pair).collect::<String>();
    let stepped = own_json(&table(20), &[])["comparisons"][0].clone();
    let said = warning_text(&stepped, "change-point");
    assert!(said.contains("from good run 21 on, runs of the same arm differ by +2"), "{said}");
    assert!(warning_text(&stepped, "autocorrelation").contains("Differences inside blocks cancel most of it."));
    assert!(!ids(&own_json(&table(10), &[])["comparisons"][0]["warnings"]).contains(&"change-point".to_owned()));
    // Of four pairs it is the orders that are few, without blocks nothing is.
    let few = own_json(&table(4), &[])["comparisons"][0].clone();
    assert!(warning_text(&few, "few-sequences").contains("So few complete pairs allow"), "{few}");
    let unblocked = own_json(&table(4), &["--block", "none"])["comparisons"][0].clone();
    assert!(!ids(&unblocked["warnings"]).contains(&"few-sequences".to_owned()), "{unblocked}");
}

#[test]
fn levels_that_do_not_recur_within_blocks_are_not_taken_as_blocked() {
    // Blocks that number the quarters of a file: each holds one level, but for runs of the other that got there by accident.
    let noise = |i: i32| f64::from(i * 7 % 10) / 10.0;
    let halves: String = (0..10)
        .map(|i| format!("a,{},first{}\nb,{},second{}\n", 100.0 + noise(i), i / 5, 101.0 + noise(i + 3), i / 5))
        .collect();
    for accident in ["", "b,101.2,first0\nb,101.4,first1\n"] {
        let text = format!("k,s,block\n{halves}{accident}");
        let found = own_json(&text, &[]);
        assert_eq!(found["comparisons"][0]["method"], "independent", "{accident}");
        assert!(!ids(&found["notes"]).contains(&"compared-within".to_owned()), "{found}");
        let without = own_json(&text, &["--block", "none"]);
        for field in ["effect", "verdict", "decided_by"] {
            assert_eq!(found["comparisons"][0][field], without["comparisons"][0][field], "{field}");
        }
    }
}

#[test]
fn nested_loops_are_seen_to_confound() {
    let mut text = "k,s,order\n".to_owned();
    for i in 0..8 {
        text.push_str(&format!("a,{},{i}\nb,{},{}\n", 100 + i * 7 % 8, 101 + i * 5 % 8, 8 + i));
    }
    assert!(ids(&own_json(&text, &[])["comparisons"][0]["warnings"]).contains(&"order-decides".to_owned()));
}

#[test]
fn what_a_careful_reader_must_know_is_said() {
    let warned = |text: &str| ids(&own_json(text, &[])["comparisons"][0]["warnings"]);
    let has = |text: &str, id: &str| assert!(warned(text).contains(&id.to_owned()), "{id}: {:?}", warned(text));
    has("k,s\na,1\na,2\nb,2.5\nb,4\n", "few-points");
    let sorted: String = (0..6).map(|i| format!("a,{}\nb,{}\n", 10.0 + 0.1 * f64::from(i), 20 - i)).collect();
    has(&format!("k,s\n{sorted}"), "order-lost");
    has(&format!("k,s\n{}a,900\n{}", rows("a", 9, 100.0), rows("b", 9, 100.5)), "outliers");
    let tied: String = (0..10).map(|i| format!("a,{}\nb,{}\n", 10 + i % 3, 10 + i % 4)).collect();
    has(&format!("k,s\n{tied}"), "ties");
    let heaps: String = (0..20)
        .map(|i| {
            format!(
                "a,{}\nb,{}\n",
                10.0 + 5.0 * f64::from(i % 2) + 0.001 * f64::from(i * 7 % 20),
                10.0 + f64::from(i * 7 % 20)
            )
        })
        .collect();
    has(&format!("k,s\n{heaps}"), "bimodal");
    let table_wide = own_json(&format!("k,s\n{}{}a,NA\nb,\n", rows("a", 9, 100.0), rows("b", 9, 100.5)), &[]);
    assert_eq!(ids(&table_wide["warnings"]), ["values-missing", "order-lost"]);
    let dated =
        |k: &str| (0..9).map(|i| format!("{k},{},2026-11-20 14:0{i}:00\n", 100 + i * 5 % 7)).collect::<String>();
    let of_times = own_json(&format!("k,s,when\n{}{}", dated("a"), dated("b")), &[])["warnings"].to_string();
    assert!(of_times.contains("order-lost") && of_times.contains("--order 'when'"), "{of_times}");
    assert!(table_wide["warnings"][0]["text"].as_str().is_some_and(|text| text.starts_with("2 rows have no value")));
}

#[test]
fn counters_are_contrasted_with_a_false_discovery_rate() {
    let mut text = "k,s,faults,same,host,noise\n".to_owned();
    for i in 0..10 {
        text.push_str(&format!("a,{},{},7,h{i},{}\n", 100 + i, 1000 + i * 3 % 10, i * 7 % 10));
        text.push_str(&format!("b,{},{},7,h{i},{}\n", 100 + i, 2000 + i * 3 % 10, i * 3 % 10));
    }
    let found = own_json(&text, &["--counters", "all"]);
    assert_eq!(counter_names(&found), ["faults", "noise"], "what never moves and what is text have no contrast");
    assert!(found["comparisons"][0]["counters"][0]["q"].as_f64() < Some(1e-6));
    assert_eq!(found["comparisons"][0]["counters"][0]["difference"], 1000.0);
    let table = text_of(own(&text, &["--counters", "faults"]));
    assert!(table.contains("1 of 1 contrasts differ") && table.contains("+100 %"), "{table}");
}

#[test]
fn a_bootstrap_is_asked_for_and_has_a_seed() {
    let text = format!("k,s\n{}{}", rows("a", 9, 100.0), rows("b", 8, 103.0));
    assert!(own_json(&text, &[])["comparisons"][0]["plain_samples"]["bca"].is_null());
    let one = own_json(&text, &["--bootstrap=500", "--seed", "3"])["comparisons"][0]["plain_samples"]["bca"].clone();
    let again = own_json(&text, &["--bootstrap=500", "--seed", "3"])["comparisons"][0]["plain_samples"]["bca"].clone();
    assert_eq!(one, again);
    let (low, high) = (one["percent_low"].as_f64().expect("low"), one["percent_high"].as_f64().expect("high"));
    assert!(low > 2.0 && low < 3.0 && high > 3.0 && high < 4.0, "{low} {high}");
}

#[test]
fn order_and_dress_of_a_table_change_no_number() {
    let plain = format!("k,s\n{}{}", rows("a", 6, 100.0), rows("b", 7, 101.0));
    let numbers = |text: &str| {
        let found = own_json(text, &[])["comparisons"][0].clone();
        ["welch", "log_ratio", "percent", "mann_whitney", "hodges_lehmann", "tost"]
            .map(|name| found["plain_samples"][name].clone())
    };
    let dressed: String = plain
        .lines()
        .skip(1)
        .map(|line| {
            let (k, s) = line.split_once(',').expect("two fields");
            format!("\"a note, of\n{k}\",\" {s}\" , {k}\r\n\r\n")
        })
        .collect();
    let dressed = format!("\u{feff}note,s,k\r\n{dressed}").replace("\" ,", "\",");
    assert_eq!(numbers(&plain), numbers(&dressed));
}

#[test]
fn a_wrong_question_is_told_what_there_is() {
    let table = "k,s,swap\na,1,on\nb,2,off\n";
    for (args, said) in [
        (&["--by", "swop"][..], "its columns are 'k', 's', 'swap'"),
        (&["--compare", "swap=on,of"], "no 'of' in column 'swap'; the levels there are 'on', 'off'"),
        (&["--alpha", "0.7"], "alpha is 0.7"),
        (&["--margin", "200%"], "not between 0 % and 100 %"),
        (&["--margin", "two"], "not a percentage"),
        (&["--compare", "k"], "not FACTOR=A,B"),
        (&["--direction", "up"], "write lower or higher"),
        (&["--json", "--format", "r"], "ask for two formats"),
        (&["--by", "s"], "can be only one of them"),
    ] {
        let found = refusal(table, args);
        assert!(found.replace('\n', " ").contains(said), "{args:?}: {found}");
    }
    let missing = analyze_output(&data("hadoop-mglru.csv"), &["--compare", "kernel=baseline,patched"]);
    let said = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert!(missing.status.code() == Some(2) && said.contains("--value") && said.contains("'seconds'"), "{said}");
    let no_file = analyze_output(&data("no-such.csv"), &["--value", "s", "--compare", "k=a,b"]);
    assert_eq!(no_file.status.code(), Some(2));
}

#[test]
fn a_table_comes_from_stdin_too() {
    let mut command = Command::cargo_bin("pagewise").expect("the binary");
    command.args(["analyze", "-", "--value", "s", "--compare", "k=a,b", "--json"]);
    let output = command.write_stdin("k,s\na,1\na,2\nb,x\n").output().expect("it runs");
    assert!(String::from_utf8_lossy(&output.stderr).contains("stdin, line 4, column 's': 'x' is not a number"));
}

#[test]
fn hostile_names_are_inert_in_every_format() {
    let level = "<script>`|$\\input{x}\u{1b}[2J\u{202e}_*&%#~^";
    let quoted = level.replace('"', "\"\"");
    let mut text = "\"k|`<b>\u{1b}]0;x\u{7}\",s,\"[b]\\\\y\"\n".to_owned();
    for i in 0..6 {
        text.push_str(&format!("\"{quoted}\",{},\"*[x]&\"\nb,{},\"*[x]&\"\n", 10 + i, 11 + i * 5 % 6));
    }
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(text.as_bytes()).expect("it is written");
    let compare = format!("k|`<b>\u{1b}]0;x\u{7}={},b", level.replace(',', "\\,"));
    for format in ["table", "r", "markdown", "latex", "text72"] {
        let args = ["--value", "s", "--compare", &compare, "--by", "[b]\\\\y", "--format", format];
        let said = text_of(analyze_output(file.path(), &args));
        let bad =
            said.chars().find(|c| (c.is_control() && !"\n\t".contains(*c)) || ('\u{202a}'..='\u{202e}').contains(c));
        assert_eq!(bad, None, "{format}");
        if format == "markdown" {
            assert!(!said.contains("<script") && !said.contains(" `|"), "{said}");
        }
        if format == "latex" {
            let body: String = said.lines().filter(|line| !line.starts_with('%')).collect();
            assert!(!body.contains("\\input") && !body.contains("|") && body.contains("{*}{[}x{]}\\&"), "{said}");
        }
        if format == "text72" {
            assert!(said.lines().all(|line| line.len() <= 72), "{said}");
        }
    }
}

#[test]
fn long_names_and_many_columns_break_no_number() {
    let mut text = "k,s,a rather long factor,outcome,other\n".to_owned();
    for i in 0..80 {
        let level = if i % 2 == 0 { "a" } else { "b, which has a name that nobody would put above a column" };
        let outcome = if i % 7 == 1 { "oom" } else { "ok" };
        text.push_str(&format!("\"{level}\",{},level-{},{outcome},{}\n", 1_000_000 + i * 37 % 80, i / 2 % 3, i / 40));
    }
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(text.as_bytes()).expect("it is written");
    let compare = "k=a,b\\, which has a name that nobody would put above a column";
    let args = ["--value", "s", "--compare", compare, "--by", "a rather long factor,other"];
    let table = text_of(analyze_output(file.path(), &args));
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    assert!(table.contains("Left out for width: n, Holm p, means") && table.contains("bad runs"), "{table}");
    assert!(
        table.lines().filter(|line| line.contains("inconclusive") || line.contains("equivalent")).count() > 3,
        "{table}"
    );
    let mail = text_of(analyze_output(file.path(), &[&args[..], &["--format", "text72"]].concat()));
    assert!(mail.lines().all(|line| line.len() <= 72), "{mail}");
}

#[test]
fn tiny_and_huge_values_keep_their_digits() {
    for scale in ["e-200", "e-9", "e9", "e200"] {
        let text: String = (0..6).map(|i| format!("a,{}{scale}\nb,{}{scale}\n", 10 + i, 20 + i)).collect();
        let found = own_json(&format!("k,s\n{text}"), &[])["comparisons"][0].clone();
        assert_eq!(found["conclusion"], "worse", "{scale}");
        let (sd, unit) =
            (found["a_values"]["sd"].as_f64().expect("a number"), format!("1{scale}").parse::<f64>().unwrap());
        assert!((sd / unit - 1.870_828_693).abs() < 1e-8, "{scale}: {sd}");
        for format in ["table", "r", "markdown", "latex", "text72"] {
            let said = text_of(own(&format!("k,s\n{text}"), &["--format", format]));
            assert!(!said.contains("NaN") && !said.contains("inf"), "{scale} {format}\n{said}");
            let widest = said.lines().map(|line| line.chars().count()).max();
            assert!(format != "text72" || widest <= Some(72), "{scale}\n{said}");
        }
    }
}

fn warning_text(comparison: &Value, id: &str) -> String {
    let list = comparison["warnings"].as_array().expect("a list");
    let found = list.iter().find(|warning| warning["id"] == id);
    found.and_then(|warning| warning["text"].as_str()).unwrap_or_else(|| panic!("no {id}: {list:?}")).to_owned()
}

#[test]
fn special_columns_are_used_whatever_their_case() {
    let mut text = "k,s,Outcome,ORDER\n".to_owned();
    for i in 0..10 {
        text.push_str(&format!("a,{},ok,{}\nb,{},ok,{}\n", 100 + i * 7 % 10, 2 * i, 101 + i * 3 % 10, 2 * i + 1));
    }
    text.push_str("b,3,OOM,20\nb,2,OOM,21\n");
    let found = own_json(&text, &[]);
    assert_eq!(found["comparisons"][0]["b_values"]["n"], 10, "the values of killed runs are no times");
    assert_eq!(found["comparisons"][0]["outcomes"]["b_bad"], 2);
    assert_eq!(ids(&found["warnings"]), Vec::<String>::new(), "the order is there");
    assert_eq!(found["notes"][0]["text"], "Taken: outcome from column 'Outcome', order from column 'ORDER'.");
    let table = unwrapped(&text_of(own(&text, &[])));
    assert!(table.contains("outcome from column 'Outcome'") && table.contains("0/10, 2/12"), "{table}");
    let twice = "k,s,Outcome,outcome\na,1,ok,ok\na,2,ok,ok\nb,3,ok,ok\nb,5,ok,ok\n";
    let found = own_json(twice, &[]);
    assert!(ids(&found["warnings"]).contains(&"column-twice".to_owned()), "{}", found["warnings"]);
}

#[test]
fn rows_of_another_level_are_told_and_of_another_spelling_warned_of() {
    let rows_of_a_and_b = format!("{}{}", rows("a", 9, 100.0), rows("b", 9, 101.0));
    let text = format!("k,s\n{rows_of_a_and_b}{}c,5\nc,6\n", "B,900\n".repeat(7));
    let found = own_json(&text, &[]);
    assert_eq!(found["comparisons"][0]["b_values"]["n"], 9);
    assert_eq!(found["notes"][0]["text"], "2 rows have k=c: not used; levels compared are a, b.");
    let warned = unwrapped(&text_of(own(&text, &[])));
    let said = "7 rows have k=B (first at line 20), the same but for case as b: not used; levels compared are a, b.";
    assert!(warned.contains(said), "{warned}");
    assert!(warned.contains("2 rows have k=c: not used"), "{warned}");
    let heaps = format!("k,s,heap\n{}", "a,1,22\nb,2,22\na,3,22.0\nb,4,22.0\n".repeat(3));
    let kept_apart = own_json(&heaps, &["--by", "heap"]);
    assert!(ids(&kept_apart["warnings"]).contains(&"levels-alike".to_owned()));
    let asked = refusal("k,s\nA,1\nb,2\n", &[]);
    assert!(asked.contains("did you mean 'A'?"), "{asked}");
}

#[test]
fn the_difference_in_the_details_has_the_sign_of_its_t() {
    let found = json(&matrix(&[&KERNELS[..], &["--json"]].concat()));
    let welch = &found["comparisons"][0]["plain_samples"]["welch"];
    let number = |name: &str| welch[name].as_f64().expect("a number");
    assert!(number("t") > 0.0 && number("ci_low") + number("ci_high") > 0.0);
    let table = unwrapped(&matrix(&KERNELS));
    let said = format!("first − second −{:.2} to {:.2}", number("ci_low").abs(), number("ci_high"));
    assert!(table.contains(&said), "{said}\n{table}");
}

/// Swap costs 20 s of 100 and b gains 5 s; so many of 20 runs of each had swap.
fn simpson(with_swap_a: usize, with_swap_b: usize, column: &str) -> String {
    let mut text = format!("k,s,{column}\n");
    for i in 0..20 {
        let noise = (i * 7 % 20) as f64 / 10.0;
        let of = |is_with: bool, base: f64| {
            (base + noise + if is_with { 20.0 } else { 0.0 }, if is_with { "on" } else { "off" })
        };
        let ((a, a_swap), (b, b_swap)) = (of(i < with_swap_a, 100.0), of(i < with_swap_b, 95.0));
        text.push_str(&format!("a,{a},{a_swap}\nb,{b},{b_swap}\n"));
    }
    text
}

#[test]
fn a_column_that_is_unbalanced_and_turns_the_result_is_told() {
    let text = simpson(4, 16, "swap");
    let pooled = own_json(&text, &[])["comparisons"][0].clone();
    assert_eq!(pooled["conclusion"], "worse");
    let said = warning_text(&pooled, "unbalanced");
    assert!(said.contains("`swap` is unbalanced between the levels"), "{said}");
    assert!(
        said.contains("in 4 of 20 runs of `a` and in 16 of 20 of `b`") || said.contains("in 16 of 20 runs of `a`"),
        "{said}"
    );
    assert!(said.contains("All runs together say worse (+6."), "{said}");
    assert!(said.contains("runs with the same `swap` better (-4.") && said.contains("--by swap."), "{said}");
    let apart = own_json(&text, &["--by", "swap"]);
    for cell in apart["comparisons"].as_array().expect("a list") {
        assert_eq!(cell["conclusion"], "better");
        assert!(!ids(&cell["warnings"]).contains(&"unbalanced".to_owned()));
    }
    let balanced = own_json(&simpson(10, 10, "swap"), &[])["comparisons"][0].clone();
    assert!(!ids(&balanced["warnings"]).contains(&"unbalanced".to_owned()), "{}", balanced["warnings"]);
    // A factor of another question is thrown together, too, unless it is kept apart.
    let both = own_json(&text, &["--compare", "swap=off,on"]);
    assert!(warning_text(&both["comparisons"][0], "unbalanced").contains("--by swap."));
    let kept = own_json(&text, &["--compare", "swap=off,on", "--by", "k,swap"]);
    assert!(!kept.to_string().contains("unbalanced"));
    // As are counters that nobody named.
    let numbers = text.replace(",on\n", ",1\n").replace(",off\n", ",0\n");
    let counted = own_json(&numbers, &["--counters", "all"]);
    assert!(ids(&counted["comparisons"][0]["warnings"]).contains(&"unbalanced".to_owned()));
    let measured = own_json(&numbers, &["--counters", "swap"]);
    assert!(!ids(&measured["comparisons"][0]["warnings"]).contains(&"unbalanced".to_owned()), "named: it is a result");
}

#[test]
fn unbalanced_blocks_are_told_and_so_is_an_estimate_within_them_that_is_fooled() {
    let blocks = own_json(&simpson(4, 16, "Block"), &[])["comparisons"][0].clone();
    let said = warning_text(&blocks, "unbalanced-blocks");
    assert!(said.contains("together say worse") && said.contains("same block better"), "{said}");
    // In each block b runs with swap and a without, but for one run of each.
    let mut text = "k,s,swap,block\n".to_owned();
    for block in 0..5 {
        for run in 0..5 {
            let noise = |a: i32, b: i32| f64::from((block * a + run * b) % 10) / 10.0;
            let ((a, with_a), (b, with_b)) =
                if run == 0 { ((130.0, "on"), (95.0, "off")) } else { ((100.0, "off"), (125.0, "on")) };
            text.push_str(&format!("a,{},{with_a},{block}\nb,{},{with_b},{block}\n", a + noise(7, 3), b + noise(3, 7)));
        }
    }
    let fooled = own_json(&text, &[])["comparisons"][0].clone();
    assert!(fooled["plain_samples"]["blocked"]["log_ratio"].as_f64() > Some(0.0));
    let said = warning_text(&fooled, "unbalanced");
    assert!(said.contains("The estimate within blocks has the same fault."), "{said}");
}

#[test]
fn what_changes_with_the_factor_in_every_run_is_noted() {
    let text = simpson(0, 20, "swap");
    let found = own_json(&text, &[]);
    assert_eq!(found["notes"][0]["id"], "changes-together");
    let said = found["notes"][0]["text"].as_str().expect("a text");
    assert!(said.starts_with("Every run of `a` has swap=off, every run of `b` swap=on:"), "{said}");
    assert!(!ids(&found["comparisons"][0]["warnings"]).contains(&"unbalanced".to_owned()));
}

#[test]
fn values_without_variance_have_no_interval_and_that_is_said() {
    let text = format!("k,s\n{}{}", "a,100\n".repeat(5), "b,105\n".repeat(4));
    let found = own_json(&text, &["--bootstrap=200"])["comparisons"][0].clone();
    assert_eq!(found["conclusion"], "inconclusive");
    for field in ["welch", "percent", "log_ratio", "welch_holm_p", "bca"] {
        let why = found["plain_samples"]["absent"][field].as_str().expect("a reason");
        assert!(field == "welch_holm_p" || why.contains("without variance there is no interval"), "{field}: {why}");
    }
    let table = unwrapped(&text_of(own(&text, &[])));
    assert!(table.contains("Inconclusive (no interval)."), "{table}");
    let said = "Zero variance: all 5 values of `a` are 100 and all 4 values of `b` are 105. Without variance no interval can \
                be computed";
    assert!(table.contains(said), "{table}");
    let one = own_json("k,s\na,1\nb,2\nb,3\n", &[])["comparisons"][0].clone();
    assert!(warning_text(&one, "few-points").contains("`a` has one value here, and a spread needs two"));
}

#[test]
fn a_difference_stands_where_a_percentage_would_point_the_wrong_way() {
    let rows = |level: &str, centre: f64| -> String {
        (0..8).map(|i| format!("{level},{:.1}\n", centre + f64::from(i * 5 % 8) / 10.0)).collect()
    };
    let text = format!("k,s\n{}{}", rows("a", -131.6), rows("b", -126.3));
    let found = own_json(&text, &["--bootstrap=200"])["comparisons"][0].clone();
    for field in ["percent", "percent_r", "bca"] {
        assert!(found[field].is_null(), "{field}");
        assert!(
            found["plain_samples"]["absent"][field].as_str().is_some_and(|why| why.contains("not above zero")),
            "{field}"
        );
    }
    let table = text_of(own(&text, &[]));
    let row = table.lines().find(|line| line.contains("inconclusive (no ratio)")).expect("a row");
    assert!(row.contains("+5.300 [+5.0") && !row.contains('%'), "{row}");
    assert!(unwrapped(&table).contains("There is no percentage: the mean of a is not above zero"), "{table}");
    assert!(unwrapped(&table).contains("Without % or × it is their difference, second − first"), "{table}");
    let mail = unwrapped(&text_of(own(&text, &["--format", "text72"])));
    assert!(mail.contains("the job had a 95% CI [5.0") && mail.contains("] more s."), "{mail}");
    assert!(mail.contains("A CI without % is of the difference itself"), "{mail}");
}

#[test]
fn an_interval_has_one_unit_and_no_impossible_end() {
    let wild = "k,s\na,1\na,1.1\na,0.9\na,1.05\nb,1\nb,2\nb,400\nb,3\nb,5\n";
    let found = own_json(wild, &[])["comparisons"][0].clone();
    assert_eq!(found["plain_samples"]["percent"]["low"], -100.0, "no mean of positive values is below zero");
    let table = text_of(own(wild, &[]));
    let row = table.lines().find(|line| line.contains("inconclusive")).expect("a row");
    assert!(row.contains('×') && row.contains("[×0, ×") && !row.contains('%'), "{row}");
    let unbounded = "k,s\na,0.001\na,0.002\na,9\nb,1\nb,2\nb,3\n";
    let found = own_json(unbounded, &[])["comparisons"][0].clone();
    assert!(found["plain_samples"]["percent"].is_null());
    assert!(warning_text(&found, "no-percent").contains("Fieller's set is unbounded"));
}

#[test]
fn what_other_programs_write_is_read_and_said() {
    let comma = |text: String| text.replace('.', ",");
    let rows = format!("{}{}", rows("a", 9, 100.0), rows("b", 8, 103.0));
    let plain = own_json(&format!("k,s\n{rows}"), &[]);
    for (delimiter, words) in [(';', "semicolons"), ('\t', "tabs")] {
        let rows: String = rows.replace(',', &delimiter.to_string());
        let text = format!("# exported; by hand\n# 2\nk{delimiter}s\n{}", comma(rows));
        let found = own_json(&text, &[]);
        assert_eq!(found["comparisons"], plain["comparisons"], "{words}");
        let said = format!(
            "As read: fields are separated by {words}; numbers have decimal commas; 2 lines of comments above the header \
             are read over."
        );
        assert_eq!(found["notes"][0]["text"], said.as_str());
        assert!(unwrapped(&text_of(own(&text, &[]))).contains(&unwrapped(&said)));
    }
    let piped = format!("k|s\n{}", rows.replace(',', "|"));
    assert!(refusal(&piped, &[]).contains("--delimiter"));
    assert_eq!(own_json(&piped, &["--delimiter", "|"])["comparisons"], plain["comparisons"]);
    assert!(refusal(&piped, &["--delimiter", "ab"]).contains("no delimiter"));
    let thousands = own_json("k;s\na;1,042\na;1,100\nb;1,200\nb;1,300\n", &[]);
    assert!(ids(&thousands["warnings"]).contains(&"decimal-or-thousands".to_owned()));
}

#[test]
fn a_timestamp_is_an_order() {
    let header = "k,s,order\n".to_owned();
    let (mut text, mut numbered) = (header.clone(), header);
    for i in 0..10 {
        let (a, b) = (100.0 + 3.0 * f64::from(i), 100.2 + 3.0 * f64::from(i));
        text.push_str(&format!("a,{a},2026-11-20 {i:02}:00:00\nb,{b},2026-11-20 {i:02}:30:00\n"));
        numbered.push_str(&format!("a,{a},{}\nb,{b},{}\n", 2 * i, 2 * i + 1));
    }
    let found = own_json(&text, &[]);
    let said = warning_text(&found["comparisons"][0], "drift");
    // From 100 to 127: over the whole of it, whatever unit time is counted in.
    assert!(said.contains("runs of the same arm changed by +2") && said.contains("(Mann-Kendall, p = "), "{said}");
    assert_eq!(said, warning_text(&own_json(&numbered, &[])["comparisons"][0], "drift"));
    assert_eq!(found["notes"][0]["text"], "Taken: order from column 'order' (timestamps).");
}

#[test]
fn what_was_asked_for_stands_in_the_table_of_several_comparisons_too() {
    let mut text = "k,s,swap,block,faults\n".to_owned();
    for i in 0..12 {
        let (a, b) = (100 + i * 7 % 12, 103 + i * 5 % 12);
        let (swap, block) = (["off", "on"][i % 2], i / 2);
        text.push_str(&format!("a,{a},{swap},{block},{}\nb,{b},{swap},{block},{}\n", 10 + i % 5, 900 + i % 5));
    }
    let asked = ["--by", "swap", "--bootstrap=200", "--counters", "faults"];
    for format in ["table", "markdown"] {
        let said = text_of(own(&text, &[&asked[..], &["--format", format]].concat()));
        for part in ["within blocks", "bootstrap 95 %", "200 resamples", "Counters", "faults"] {
            assert!(said.contains(part), "{format} lacks {part}:\n{said}");
        }
        assert!(format != "table" || said.lines().all(|line| line.chars().count() <= 80), "{said}");
    }
    let cells = own_json(&text, &asked)["comparisons"].clone();
    let blocked = cells[0]["plain_samples"]["blocked"]["blocks"].as_u64().expect("a number");
    assert_eq!(blocked, 6);
    for format in ["latex", "text72"] {
        let said = unwrapped(&text_of(own(&text, &[&asked[..], &["--format", format]].concat())));
        let part = "Not shown here: estimates from within blocks, bootstrap intervals, counters.";
        assert!(said.replace("% ", "").contains(part), "{format}:\n{said}");
    }
    let none = own_json("k,s\na,1\na,2\nb,3\nb,5\n", &["--counters", "all"]);
    assert_eq!(none["notes"][0]["id"], "no-counters");
}

/// Eight runs of each level under two loads: b gains 5 %, and under `low` two of its runs were killed.
fn killed_under_low() -> String {
    let mut text = "k,load,s,outcome\n".to_owned();
    for load in ["low", "high"] {
        for i in 0..8 {
            let noise = f64::from(i * 5 % 8) / 10.0;
            text.push_str(&format!("a,{load},{},ok\n", 100.0 + noise));
            let is_killed = load == "low" && i < 2;
            text.push_str(&if is_killed {
                format!("b,{load},,oom\n")
            } else {
                format!("b,{load},{},ok\n", 95.0 + noise)
            });
        }
    }
    text
}

#[test]
fn a_verdict_that_failures_hold_back_says_so() {
    let text = killed_under_low();
    let found = own_json(&text, &["--by", "load"]);
    let low = &found["comparisons"][0];
    assert_eq!((&low["by"]["load"], &low["conclusion"]), (&"low".into(), &"inconclusive".into()));
    assert_eq!(low["decided_by"], "held-back-by-outcomes");
    let said = warning_text(low, "fails-more-often");
    assert!(said.contains("Those would call `b` better, but a level that fails more often is never called"), "{said}");
    let table = text_of(own(&text, &["--by", "load"]));
    let row = table.lines().find(|line| line.starts_with("low ")).expect("a row");
    assert!(row.ends_with("inconclusive (failures)"), "{row}");
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    let table = unwrapped(&table);
    assert!(table.contains("Inconclusive (failures): a level that fails more often is never called better"), "{table}");
    assert!(table.contains("fails-more-often (load low; it decides load low)"), "{table}");
    let mail = unwrapped(&text_of(own(&text, &["--by", "load", "--format", "text72"])));
    assert!(mail.contains("Failures hold back the verdict in 1 of 2 cells. Comparing"), "{mail}");
    assert!(
        !unwrapped(&text_of(own("k,s\na,1\na,2\nb,3\nb,5\n", &[]))).contains("never called"),
        "only where it applied"
    );
}

#[test]
fn failures_that_decided_are_told_before_others() {
    // One of a's runs under `high`, which comes first, decides nothing.
    let text = killed_under_low().replace("a,high,100,ok", "a,high,,oom").replace(",low,", ",z-low,");
    let table = unwrapped(&text_of(own(&text, &["--by", "load"])));
    assert!(table.contains("(2 of 2 comparisons; this is load z-low; it decides load z-low) 0 of 8 runs"), "{table}");
}

#[test]
fn a_single_comparison_is_not_said_to_be_one_of_many() {
    let text = "k,order,s\na,1,1.1\na,,1.2\nb,2,3\nb,3,4\na,3,2\n";
    let found = own_json(text, &[])["comparisons"][0].clone();
    assert_eq!(found["conclusion"], "worse");
    assert!(!ids(&found["warnings"]).contains(&"many-comparisons".to_owned()), "{}", found["warnings"]);
    let said = warning_text(&found, "means-disagree");
    assert!(
        said.contains("Welch's test of the means (p = 0.090) and the test of the ratio of geometric means (p = 0.030)")
    );
    let table = unwrapped(&text_of(own(text, &[])));
    assert!(table.contains("worse * * The verdict goes by the 95 % interval of the ratio"), "{table}");
    assert!(table.contains("not by the one shown: +18.1 % to +432 %."), "{table}");
}

#[test]
fn holm_s_correction_is_named_where_it_changed_the_decision() {
    let mut text = "k,s,load\n".to_owned();
    for load in 0..8 {
        for i in 0..6 {
            let gain = if load == 0 { 2.7 } else { 0.2 };
            let (a, b) = (100 + i * 5 % 6, 100 + i * 7 % 6);
            text.push_str(&format!("a,{a},{load}\nb,{},{load}\n", f64::from(b) - gain));
        }
    }
    let found = own_json(&text, &["--by", "load", "--margin", "0.1%"])["comparisons"][0].clone();
    assert_eq!(found["conclusion"], "better");
    let (welch, holm) = (
        found["plain_samples"]["welch"]["p"].as_f64().expect("p"),
        found["plain_samples"]["welch_holm_p"].as_f64().expect("p"),
    );
    assert!(welch <= 0.05 && holm > 0.05, "{welch} {holm}");
    assert!(warning_text(&found, "many-comparisons").contains("By itself it is significant (Welch's p"));
    // The sentences of a mail claim no more than survives it.
    let mail = unwrapped(&text_of(own(&text, &["--by", "load", "--margin", "0.1%", "--format", "text72"])));
    assert!(mail.contains("there were no statistically significant changes in s."), "{mail}");
    assert!(mail.contains("By itself 1 of 8 would be significant, but not after Holm's correction"), "{mail}");
    assert!(mail.contains("0 of 1 remain significant after Holm's correction for all 8 comparisons."), "{mail}");
}

#[test]
fn a_mail_does_not_call_untested_what_did_not_change() {
    let text = "k,s,outcome\na,10,ok\na,10,ok\na,10,ok\nb,12,ok\nb,,failed\nb,,failed\n";
    let mail = unwrapped(&text_of(own(text, &["--format", "text72"])));
    assert!(mail.contains("the b with the a k, s could not be tested: b has one value here"), "{mail}");
    assert!(!mail.contains("no statistically significant") && !mail.contains("leaves it open"), "{mail}");
    let some = format!("{}{}", "k,s,load\n", rows_of_load("x", 100.0, 103.0) + "a,1,y\na,1,y\nb,2,y\nb,2,y\n");
    let mail = unwrapped(&text_of(own(&some, &["--by", "load", "--format", "text72"])));
    assert!(mail.contains("1 of 2 could not be tested: the values of each level are all the same"), "{mail}");
    assert!(!mail.contains("rest of the test matrix"), "{mail}");
}

/// Ten runs of each level around two means.
fn rows_of_load(load: &str, a: f64, b: f64) -> String {
    let noise = |i: i32| f64::from(i * 7 % 10) / 10.0;
    (0..10).map(|i| format!("a,{},{load}\nb,{},{load}\n", a + noise(i), b + noise(i + 3))).collect()
}

#[test]
fn a_mail_tells_less_from_more() {
    let text = format!("k,s,load\n{}{}", rows_of_load("1", 100.0, 98.0), rows_of_load("2", 100.0, 103.0));
    let mail = unwrapped(&text_of(own(&text, &["--by", "load", "--format", "text72"])));
    assert!(mail.contains("% less s with load 1; a 95% CI ["), "{mail}");
    assert!(mail.contains("% more s with load 2.") && !mail.contains("CI [-"), "{mail}");
}

#[test]
fn rows_stand_in_an_order_that_a_reader_expects() {
    let loads = |text: &str| -> Vec<String> {
        let found = own_json(text, &["--by", "load"]);
        let cells = found["comparisons"].as_array().expect("a list");
        cells.iter().map(|cell| cell["by"]["load"].as_str().expect("a level").to_owned()).collect()
    };
    let of = |order: &[&str]| -> String {
        let rows = |value: i32| -> String {
            order.iter().map(|load| format!("a,{value},{load}\nb,{value},{load}\n")).collect()
        };
        format!("k,s,load\n{}{}{}", rows(1), rows(2), rows(4))
    };
    assert_eq!(loads(&of(&["2", "1", "16", "4", "8"])), ["1", "2", "4", "8", "16"]);
    assert_eq!(loads(&of(&["low", "high", "medium"])), ["high", "low", "medium"]);
    assert_eq!(loads(&of(&["v5.10", "v5.9"])), ["v5.9", "v5.10"]);
}

#[test]
fn points_that_may_separate_thousands_are_told() {
    let text = "k;s\na;998\na;1.002\na;1.004\na;997\nb;1.236\nb;1.240\nb;1.238\nb;999\n";
    let found = own_json(text, &[]);
    let said = found["warnings"].as_array().expect("a list").iter().find(|w| w["id"] == "decimal-or-thousands");
    let said = said.and_then(|warning| warning["text"].as_str()).expect("the warning");
    assert!(
        said.starts_with("'1.002' (column 's', line 3) and others like it were read with a decimal point"),
        "{said}"
    );
    for plain in ["a;99.8\na;1.002\nb;1.1\nb;2\n", "a;998\na;1.25\nb;1.1\nb;2\n", "a;998\na;1002\nb;1.236\nb;2\n"] {
        let found = own_json(&format!("k;s\n{plain}"), &[]);
        assert!(!ids(&found["warnings"]).contains(&"decimal-or-thousands".to_owned()), "{plain}");
    }
}

#[test]
fn what_excel_writes_is_read() {
    let text = "\u{feff}sep=;\r\nk;s\r\na;1,5\r\na;#N/A\r\na;2\r\nb;#DIV/0!\r\nb;3\r\nb;4,5\r\nb;#NV\r\na;#VALUE!\r\n";
    let found = own_json(text, &[]);
    assert_eq!(
        (&found["comparisons"][0]["a_values"]["n"], &found["comparisons"][0]["b_values"]["n"]),
        (&2.into(), &2.into())
    );
    let said = found["warnings"].to_string();
    assert!(said.contains("4 rows have no value and are left out, the first at line 4."), "{said}");
    assert!(refusal("sep=;\nk;s\na;1\nb;x\n", &[]).contains("line 4"));
    // One that no header would show: the first line says it.
    assert_eq!(own_json("sep=|\nk|s\na|1\na|2\nb|3\nb|5\n", &[])["comparisons"][0]["a_values"]["n"], 2);
}

#[test]
fn a_quote_that_is_never_closed_is_told_where_it_opens() {
    let said = unwrapped(&refusal("k,s\na,1\na,\"2\nb,3\nb,4\n", &[]));
    assert!(said.contains("line 3: the quote that opens here is never closed; close it"), "{said}");
    assert!(!said.contains("b,3"), "{said}");
    for (text, line) in [("k,\"s\na,1\n", 1), ("k,s\n\n\"a\nx\",\"2\nb,3", 4), ("# x\nk,s\na,\"", 3)] {
        let said = unwrapped(&refusal(text, &[]));
        assert!(said.contains(&format!("line {line}: the quote that opens here")), "{text:?}: {said}");
    }
    // Closed by the next quote of the file: the value shown ends with its line.
    let said = unwrapped(&refusal("k,s\na,\"2\nb,3\nb,\"4\"\nb,5\n", &[]));
    assert!(said.contains("line 2") && !said.contains("b,3"), "{said}");
    assert!(said.contains("closes only in a later line"), "{said}");
    let fine = own_json("k,s,note\na,1,\"x\n\"\na,2,\nb,3,\nb,5,\"y\n\"", &[]);
    assert_eq!(fine["comparisons"][0]["b_values"]["n"], 2, "a field may end with its line");
    for delimiter in ["space", "|"] {
        let text = "k,s\na,1\na,2\nb,3\nb,5".replace(',', if delimiter == "space" { " " } else { "|" });
        assert_eq!(own_json(&text, &["--delimiter", delimiter])["comparisons"][0]["b_values"]["n"], 2);
    }
}

#[test]
fn a_counter_without_spread_is_noted_and_counters_are_asked_for_twice() {
    let mut text = "k,s,faults,const,steps,host\n".to_owned();
    for i in 0..6 {
        text.push_str(&format!("a,{},{},7,1,h\nb,{},{},7,2,h\n", 100 + i, 10 + i * 5 % 6, 101 + i, 20 + i * 5 % 6));
    }
    let found = own_json(&text, &["--counters", "const", "--counters", "faults,steps"]);
    assert_eq!(counter_names(&found), ["faults"]);
    let note = found["notes"].as_array().expect("a list").last().expect("a note").clone();
    assert_eq!(note["id"], "counters-without-spread");
    let said = "Without spread within a level, and so without a test: counters steps (1 and 2), const (7).";
    assert_eq!(note["text"], said);
    assert!(unwrapped(&text_of(own(&text, &["--counters", "all"]))).contains(said));
}

#[test]
fn options_that_are_written_wrongly_come_with_their_remedy() {
    let table = "k,s\na,1\na,2\nb,3\nb,5\n";
    for (args, said) in [
        (&["--margin", "-3%"][..], "'-3%' is not between 0 % and 100 %; write it like 3%"),
        (&["--bootstrap", "500"], "for so many resamples write --bootstrap=500"),
        (&["--bootstrap=5"], "write it like --bootstrap=2000"),
        (&["other.csv"], "'other.csv' stands beside the table"),
    ] {
        let found = unwrapped(&refusal(table, args));
        assert!(found.contains(said), "{args:?}: {found}");
    }
    assert!(refusal("k,s\na\n", &[]).contains("1 field where the header has 2"));
}

#[test]
fn numbers_that_stand_together_have_one_notation_and_none_is_a_false_zero() {
    let huge = "k,s\na,9.9e14\na,9.95e14\na,9.97e14\nb,1.001e15\nb,1.005e15\nb,9.999e14\n";
    let table = text_of(own(huge, &[]));
    let row = table.lines().find(|line| line.contains("1.00")).expect("a row");
    assert!(row.contains("9.940e14 1.002e15"), "{row}");
    let offset: String =
        (0..14).map(|i| format!("{},{}\n", ["a", "b"][i % 2], 1e12 + (i % 7) as f64 + (i % 2) as f64 / 2.0)).collect();
    let table = text_of(own(&format!("k,s\n{offset}"), &[]));
    let row = table.lines().find(|line| line.contains("equivalent")).expect("a row");
    assert!(!row.contains(" 0 %") && !row.contains("[0, 0]") && row.contains("e-1"), "{row}");
}

#[test]
fn the_bundle_of_a_trial_is_sent_to_the_verb_for_it() {
    let bundle = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../bench/results/live/healthy.trial");
    let output = Command::cargo_bin("pagewise").unwrap().arg("analyze").arg(bundle).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("pagewise trial analyze ") && said.contains("healthy.trial"), "{said}");
}
