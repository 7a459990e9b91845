//! `pagewise analyze` as a user sees it: the published matrix against R's own print, golden files of every format, tables
//! that are damaged or hostile, and what must not depend on how a table is written.

use assert_cmd::Command;
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

fn ids(warnings: &Value) -> Vec<String> {
    let list = warnings.as_array().expect("a list");
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
        let percent = &comparison["percent_r"];
        if line[7] == "ns" {
            assert!(percent.is_null(), "{line:?}");
            assert!(comparison["absent"]["percent_r"].as_str().is_some_and(|why| why.contains("no significance")));
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
        lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
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
    for (field, value) in comparison {
        let reason = comparison["absent"].get(field).and_then(Value::as_str);
        assert_eq!(value.is_null(), reason.is_some(), "{field}: {reason:?}");
    }
    assert!(comparison["absent"]["log_ratio"].as_str().is_some_and(|why| why.contains("zero or negative")));
    assert!(comparison["absent"].get("shapiro_p.a").is_some());
    assert_eq!(comparison["verdict"], "inconclusive");
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
        ("/welch/t", "/welch/t"),
        ("/welch/ci_low", "/welch/ci_high"),
        ("/log_ratio/estimate", "/log_ratio/estimate"),
        ("/log_ratio/low", "/log_ratio/high"),
        ("/hodges_lehmann/shift", "/hodges_lehmann/shift"),
        ("/hodges_lehmann/ci_low", "/hodges_lehmann/ci_high"),
        ("/hedges_g", "/hedges_g"),
    ] {
        let (one, other) = (number(&one, path), number(&other, mirrored));
        assert!((one + other).abs() <= 1e-12 * one.abs(), "{path}: {one} {other}");
    }
    for path in ["/welch/p", "/mann_whitney/p", "/tost/p", "/holm_p"] {
        assert!((number(&one, path) - number(&other, path)).abs() < 1e-12, "{path}");
    }
    assert_eq!((&one["verdict"], &other["verdict"]), (&Value::from("worse"), &Value::from("better")));
}

#[test]
fn which_way_is_better_is_asked_for() {
    let text = format!("k,s\n{}{}", rows("a", 9, 100.0), rows("b", 8, 103.0));
    assert_eq!(own_json(&text, &["--direction", "higher"])["comparisons"][0]["verdict"], "better");
    let equivalent = own_json(&text, &["--margin", "10%"])["comparisons"][0].clone();
    assert_eq!((&equivalent["verdict"], &equivalent["real_but_below_margin"]), (&"equivalent".into(), &true.into()));
}

#[test]
fn failures_are_compared_before_values() {
    let mut text = "k,s,outcome\n".to_owned();
    for i in 0..10 {
        text.push_str(&format!("a,{},ok\n", 100 + i));
        text.push_str(&if i < 8 { "b,,oom\n".to_owned() } else { format!("b,{},ok\n", 50 + i) });
    }
    let found = own_json(&text, &[])["comparisons"][0].clone();
    assert_eq!((&found["verdict"], &found["decided_by"]), (&"worse".into(), &"outcomes".into()));
    assert_eq!((&found["outcomes"]["b_bad"], &found["b"]["n"]), (&8.into(), &2.into()));
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
    let blocked = &found["blocked"];
    assert_eq!(blocked["blocks"], 10);
    let estimate = blocked["log_ratio"].as_f64().expect("a number");
    assert!((estimate - 0.01).abs() < 0.002, "{estimate}");
    assert!(blocked["p"].as_f64() < found["welch"]["p"].as_f64(), "what blocks share is gone");
    let warned = ids(&found["warnings"]);
    assert!(warned.contains(&"drift".to_owned()) && warned.contains(&"autocorrelation".to_owned()), "{warned:?}");
    assert!(!warned.contains(&"order-lost".to_owned()), "{warned:?}");
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
    let names: Vec<&str> =
        found["counters"].as_array().expect("a list").iter().filter_map(|c| c["name"].as_str()).collect();
    assert_eq!(names, ["faults", "noise"], "what never moves and what is text have no contrast");
    assert!(found["counters"][0]["q"].as_f64() < Some(1e-6));
    assert_eq!(found["counters"][0]["difference"], 1000.0);
    let table = text_of(own(&text, &["--counters", "faults"]));
    assert!(table.contains("1 of 1 contrasts differ") && table.contains("+100 %"), "{table}");
}

#[test]
fn a_bootstrap_is_asked_for_and_has_a_seed() {
    let text = format!("k,s\n{}{}", rows("a", 9, 100.0), rows("b", 8, 103.0));
    assert!(own_json(&text, &[])["comparisons"][0]["bca"].is_null());
    let one = own_json(&text, &["--bootstrap=500", "--seed", "3"])["comparisons"][0]["bca"].clone();
    let again = own_json(&text, &["--bootstrap=500", "--seed", "3"])["comparisons"][0]["bca"].clone();
    assert_eq!(one, again);
    let (low, high) = (one["percent_low"].as_f64().expect("low"), one["percent_high"].as_f64().expect("high"));
    assert!(low > 2.0 && low < 3.0 && high > 3.0 && high < 4.0, "{low} {high}");
}

#[test]
fn order_and_dress_of_a_table_change_no_number() {
    let plain = format!("k,s\n{}{}", rows("a", 6, 100.0), rows("b", 7, 101.0));
    let numbers = |text: &str| {
        let found = own_json(text, &[])["comparisons"][0].clone();
        ["welch", "log_ratio", "percent", "mann_whitney", "hodges_lehmann", "tost"].map(|name| found[name].clone())
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
        assert_eq!(found["verdict"], "worse", "{scale}");
        let (sd, unit) = (found["a"]["sd"].as_f64().expect("a number"), format!("1{scale}").parse::<f64>().unwrap());
        assert!((sd / unit - 1.870_828_693).abs() < 1e-8, "{scale}: {sd}");
        for format in ["table", "r", "markdown", "latex", "text72"] {
            let said = text_of(own(&format!("k,s\n{text}"), &["--format", format]));
            assert!(!said.contains("NaN") && !said.contains("inf"), "{scale} {format}\n{said}");
            let widest = said.lines().map(|line| line.chars().count()).max();
            assert!(format != "text72" || widest <= Some(72), "{scale}\n{said}");
        }
    }
}
