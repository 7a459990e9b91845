//! What people read of a diagnosis, against golden files.

use pagewise_core::finding::{self, Diagnosis, Observed};
use pagewise_core::report::{Style, findings};
use pagewise_testkit::RecordingBuilder;

fn diagnosis(recording: &RecordingBuilder) -> Diagnosis {
    let Ok(observed) = Observed::of(recording);
    finding::diagnose(&observed, "job.pgw")
}

fn storm() -> RecordingBuilder {
    RecordingBuilder::healthy(60)
        .cpu(4, 0.28, 0.60)
        .counter("vmstat", "compact_stall", "", |_| 40.0)
        .counter("vmstat", "compact_fail", "", |_| 36.0)
        .counter("vmstat", "compact_success", "", |_| 4.0)
        .counter("vmstat", "compact_free_scanned", "", |_| 4e6)
        .counter("psi_memory", "some_total", "", |_| 380_000.0)
        .setting("thp.enabled", "always")
        .setting("thp.defrag", "always")
        .stack("java", Some(4711), &["do_huge_pmd_anonymous_page", "__alloc_pages_direct_compact", "compact_zone"], 940)
        .stack("java", Some(4711), &["java!run"], 60)
}

fn all() -> Vec<(&'static str, Diagnosis)> {
    let swapping = RecordingBuilder::healthy(90)
        .gib("MemFree", 0.3)
        .gib("AnonPages", 9.7)
        .counter("vmstat", "pswpin", "", |_| 2_000.0)
        .counter("vmstat", "pswpout", "", |_| 2_000.0)
        .counter("vmstat", "workingset_refault_anon", "", |_| 1_500.0)
        .counter("psi_memory", "some_total", "", |_| 400_000.0);
    vec![
        ("storm", diagnosis(&storm())),
        ("healthy", diagnosis(&RecordingBuilder::healthy(700))),
        ("swapping", diagnosis(&swapping)),
        ("nothing-recorded", diagnosis(&RecordingBuilder::new(20))),
    ]
}

#[test]
fn a_diagnosis_reads_as_its_golden_file() {
    for (name, diagnosis) in all() {
        insta::assert_snapshot!(format!("findings-{name}"), findings::text(&diagnosis, Style::default()));
    }
}

#[test]
fn a_diagnosis_fits_80_columns_except_for_commands_to_copy_and_can_be_ascii() {
    for (name, diagnosis) in all() {
        for line in findings::text(&diagnosis, Style::default()).lines() {
            assert!(line.chars().count() <= 80 || line.contains("pagewise prove"), "{name}: {line}");
        }
        let ascii = findings::text(&diagnosis, Style { unicode: false, ..Style::default() });
        assert!(ascii.is_ascii(), "{name}: {:?}", ascii.lines().find(|line| !line.is_ascii()));
    }
}
