//! The R script of a study computes every number of its report again, in R itself, and notices one that is changed.

use pagewise_core::experiment::analysis::{Comparison, Design};
use pagewise_core::report::Report;
use pagewise_core::report::study::r_script;
use pagewise_testkit::{requires, studies};
use std::process::{Command, Output};

fn run(script: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("study.R");
    std::fs::write(&file, script).unwrap();
    Command::new("Rscript").arg("--vanilla").arg(&file).env("LC_ALL", "C").output().unwrap()
}

#[test]
fn r_agrees_with_every_study() {
    requires!(r);
    // Failures and incomplete blocks, pairs in both orders, analyses, cells without any result, names that are code.
    for (name, report) in studies::all().into_iter().chain(studies::rare()) {
        let output = run(&r_script(&report));
        let (said, wrong) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{name}: {wrong}\n{said}");
        assert!(said.ends_with("all numbers agree\n"), "{name}: {said}");
        let in_base_r = |one: &&Comparison| one.effect.is_some() && one.method != Design::MixedModel;
        let estimated = report.analysis.comparisons.iter().filter(in_base_r).count();
        assert_eq!(said.matches("interval at its level").count(), estimated, "{name}");
        let randomised = report
            .analysis
            .comparisons
            .iter()
            .filter_map(|one| one.effect.as_ref()?.randomisation_exact)
            .filter(|e| *e);
        assert_eq!(said.matches("p (randomisation)").count(), randomised.count(), "{name}");
    }
}

#[test]
fn the_rare_studies_are_what_they_are_for() {
    let rare = studies::rare();
    let of = |wanted: &str| &rare.iter().find(|(name, _)| *name == wanted).unwrap().1.analysis;
    let (high, methods) = (&of("failing").comparisons[2], of("mixed").comparisons.iter().map(|one| one.method.word()));
    assert_eq!((high.decided_by.as_str(), high.level_of_failures.is_some()), ("outcomes", true), "{high:?}");
    let methods: std::collections::BTreeSet<&str> = methods.collect();
    assert!(methods.contains("mixed-model") && methods.contains("blocks"), "{methods:?}");
    assert!(of("huge").cells.iter().all(|cell| cell.values["wall"].sd.is_some_and(f64::is_finite)));
}

fn is_refused(change: impl Fn(&mut Report)) {
    let mut report = studies::swap();
    change(&mut report);
    let output = run(&r_script(&report));
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn r_stops_at_a_number_that_is_not_the_data_s() {
    requires!(r);
    is_refused(|report| {
        if let Some(effect) = &mut report.analysis.comparisons[0].effect {
            effect.interval.low *= 1.000_001;
        }
    });
    is_refused(|report| report.analysis.comparisons[0].holm_p = Some(0.5));
    is_refused(|report| {
        report.analysis.points[12].values.insert("wall".to_owned(), 99.0);
    });
}
