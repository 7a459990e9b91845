//! What is written as LaTeX is LaTeX: `pdflatex` takes it, whatever the names in it are.

use pagewise_core::report::study::latex;
use pagewise_testkit::{requires, studies};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// As little around it as the first line of the output asks for.
const DOCUMENT: &str = r"\documentclass{article}
\usepackage{booktabs}
\begin{document}
\input{body}
\end{document}
";

#[track_caller]
fn compiles(name: &str, body: &str) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("document.tex"), DOCUMENT).expect("room");
    fs::write(folder.path().join("body.tex"), body).expect("room");
    let ran = Command::new("pdflatex")
        // Nothing in a name may start a program.
        .args(["-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "document.tex"])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .expect("pdflatex starts");
    let told = String::from_utf8_lossy(&ran.stdout);
    let error: String = told.lines().skip_while(|line| !line.starts_with('!')).take(8).collect::<Vec<_>>().join("\n");
    assert!(ran.status.success(), "{name}: {error}");
    let bytes = fs::metadata(folder.path().join("document.pdf")).expect("a document").len();
    assert!(bytes > 10_000, "{name}: nothing is on the page");
}

fn analyze(table: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pagewise"));
    command.arg("analyze").arg(table).args(arguments).args(["--format", "latex"]).stdin(Stdio::null());
    let ran = command.output().expect("pagewise starts");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).expect("UTF-8")
}

#[test]
fn comparisons_of_a_table_compile() {
    requires!(latex);
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/hadoop-mglru.csv");
    let asked = ["--value", "seconds", "--compare", "kernel=baseline,patched", "--by", "swap,concurrency"];
    compiles("the published matrix", &analyze(&data, &asked));
}

#[test]
fn names_of_every_kind_compile() {
    requires!(latex);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let table = folder.path().join("odd.csv");
    let (factor, a, b) = ("ké_r#n&%", r"[x]*^~\input{y}$", "<b>|'`µ→·≤≥×—é");
    let mut text = format!("\"{factor}\",s\n");
    for i in 0..5 {
        let (one, other) = (10.0 + f64::from(i) / 10.0, 12.0 + f64::from(i * 3 % 5));
        text.push_str(&format!("\"{a}\",{one}\n\"{b}\"\"\",{other}\n"));
    }
    fs::write(&table, text).expect("room");
    compiles("odd names", &analyze(&table, &["--value", "s", "--compare", &format!("{factor}={a},{b}\"")]));
}

#[test]
fn reports_of_every_kind_of_trial_compile() {
    requires!(latex);
    for (name, report) in studies::all() {
        // Letters that no font of pdflatex has; the first line of the output says so.
        let body: String = latex(&report).chars().filter(|letter| *letter < '\u{2e80}').collect();
        compiles(name, &body);
    }
}
