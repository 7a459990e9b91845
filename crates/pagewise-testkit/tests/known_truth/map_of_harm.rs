//! `docs/method/jitter.md` shows the committed trials of the map of harm: where reclaim costs a program something beside a stream.

use pagewise_core::comparison::found::{Comparison, MeasureContrast};
use pagewise_core::experiment::analysis::Analysis;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

const BEGIN: &str = "<!-- map: begin -->\n";
const END: &str = "<!-- map: end -->\n";

fn analyses() -> Vec<Analysis> {
    let entries = fs::read_dir(root().join("bench/results/map-of-harm")).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort();
    files.iter().map(|file| serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()).collect()
}

/// `+2.4 % (−0.3 to +5.2)`.
fn percent(comparison: &Comparison) -> String {
    let Some(effect) = &comparison.effect else { return "–".to_owned() };
    let of = |ratio: f64| format!("{:+.1}", (ratio - 1.0) * 100.0).replace('-', "−");
    let (low, high) = (effect.interval_alone.low, effect.interval_alone.high);
    format!("{} % ({} to {})", of(effect.ratio), of(low), of(high))
}

fn measure<'c>(comparison: &'c Comparison, name: &str) -> Option<&'c MeasureContrast> {
    comparison.measures.iter().find(|measure| measure.name == name)
}

/// A row for each victim, rate and size of folios.
fn table() -> String {
    let mut text = String::from(
        "| victim | rate | folios | steps together | 99th step | n | streams, s/GiB: same misses, buffered | kswapd, s/GiB |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for analysis in analyses() {
        let of = |metric: &'static str| analysis.comparisons.iter().filter(move |one| one.metric == metric);
        for (sum, p99) in of("step_sum").zip(of("step_p99")) {
            assert_eq!(sum.by, p99.by);
            let streams = measure(sum, "stream_cpu")
                .map_or_else(|| "–".to_owned(), |one| format!("{:.2}, {:.2}", one.a_mean, one.b_mean));
            let kswapd = measure(sum, "kswapd_cpu").map_or_else(|| "–".to_owned(), |one| format!("{:.2}", one.b_mean));
            text.push_str(&format!(
                "| {} | {} | {} | {} | {} | {} | {streams} | {kswapd} |\n",
                analysis.name.replace('-', " "),
                sum.by.get("rate").map_or("", String::as_str),
                sum.by.get("folios").map_or("", String::as_str),
                percent(sum),
                percent(p99),
                sum.blocks
            ));
        }
    }
    text
}

#[test]
fn the_map_of_harm_in_the_reference_shows_the_committed_trials() {
    let file = root().join("docs/method/jitter.md");
    let page = fs::read_to_string(&file).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let wanted = format!("{before}{BEGIN}\n{}\n{END}{after}", table());
    if std::env::var_os("PAGEWISE_BLESS").is_some() {
        fs::write(&file, &wanted).unwrap();
    }
    let page = fs::read_to_string(&file).unwrap();
    assert!(page == wanted, "docs/method/jitter.md is out of date; `make docs` writes it again");
}
