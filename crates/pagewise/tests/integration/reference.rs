//! `docs/reference/` holds the JSON schema of every document that Pagewise writes. `make docs` writes them again.

use pagewise_core::comparison::analysis::{self as comparisons, Comparisons};
use pagewise_core::experiment::analysis::{self, Analysis};
use pagewise_core::experiment::plan::{self, Plan};
use pagewise_core::finding::{self, Diagnosis};
use pagewise_core::report::changes::{self, ChangesReport};
use pagewise_core::report::doctor::{self, DoctorReport};
use pagewise_core::report::kernels::{self, KernelsReport};
use pagewise_core::report::tunables::{self, TunablesReport};
use schemars::{Schema, schema_for};
use std::fs;
use std::path::PathBuf;

/// The id that a document carries in its field `schema`, and its shape.
fn documents() -> Vec<(&'static str, Schema)> {
    vec![
        (analysis::SCHEMA, schema_for!(Analysis)),
        (changes::SCHEMA, schema_for!(ChangesReport)),
        (comparisons::SCHEMA, schema_for!(Comparisons)),
        (doctor::SCHEMA, schema_for!(DoctorReport)),
        (finding::SCHEMA, schema_for!(Diagnosis)),
        (kernels::SCHEMA, schema_for!(KernelsReport)),
        (plan::SCHEMA, schema_for!(Plan)),
        (tunables::SCHEMA, schema_for!(TunablesReport)),
    ]
}

/// `pagewise.plan/1` stands in `plan.schema.json`.
fn file_of(id: &str) -> PathBuf {
    let kind = id.trim_start_matches("pagewise.").split('/').next().unwrap_or(id);
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(format!("{kind}.schema.json"))
}

fn text_of(id: &str, mut schema: Schema) -> String {
    schema.insert("$id".to_owned(), id.into());
    format!("{}\n", serde_json::to_string_pretty(&schema).unwrap())
}

#[test]
fn the_schemas_in_the_reference_are_those_of_the_code() {
    let bless = std::env::var_os("PAGEWISE_BLESS").is_some();
    for (id, schema) in documents() {
        let file = file_of(id);
        let text = text_of(id, schema);
        if bless {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, &text).unwrap();
        }
        let committed = fs::read_to_string(&file)
            .unwrap_or_else(|error| panic!("{}: {error}; `make docs` writes it", file.display()));
        assert!(committed == text, "{} is not what the code says; `make docs` writes it again", file.display());
    }
}

#[test]
fn the_page_of_findings_in_the_reference_is_that_of_the_rules() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/findings.md");
    let text = finding::reference::page();
    if std::env::var_os("PAGEWISE_BLESS").is_some() {
        fs::write(&file, &text).unwrap();
    }
    let committed = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    assert!(committed == text, "{} is not what the rules say; `make docs` writes it again", file.display());
}

#[test]
fn every_rule_that_has_a_file_is_asked() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../pagewise-core/src/finding/rules");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    let texts = files.map(|path| fs::read_to_string(path).unwrap());
    let declared = texts.filter(|text| text.contains("const RULE: Rule = ")).count();
    assert_eq!(finding::rules::ALL.len(), declared, "a rule in no list is never asked");
}

#[test]
fn the_page_of_counters_in_the_reference_is_that_of_the_catalogue() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/counters.md");
    let text = pagewise_core::counter::reference::page();
    if std::env::var_os("PAGEWISE_BLESS").is_some() {
        fs::write(&file, &text).unwrap();
    }
    let committed = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    assert!(committed == text, "{} is not what the catalogue says; `make docs` writes it again", file.display());
}

#[test]
fn an_analysis_has_no_field_that_its_reference_lacks() {
    let report = pagewise_testkit::reports::out_of_memory();
    let written = serde_json::to_value(&report.analysis).unwrap();
    let schema = schema_for!(Analysis).to_value();
    let declared = schema["properties"].as_object().unwrap();
    for field in written.as_object().unwrap().keys() {
        assert!(declared.contains_key(field), "{field}");
    }
    assert_eq!(written["schema"], analysis::SCHEMA);
}
