//! The JSON schemas of what `trial check`, `trial status`, `trial verify` and `--dry-run` print, in `docs/reference/` beside those of
//! `tests/integration/reference.rs`, which cannot see what is the binary's own. `make docs` writes them again.

use super::{check, status, verify};
use crate::session::dry_run;
use schemars::{Schema, schema_for};
use std::fs;
use std::path::Path;

fn documents() -> [(&'static str, &'static str, Schema); 4] {
    [
        ("check", check::SCHEMA, schema_for!(check::Checked<'_>)),
        ("dry-run", dry_run::SCHEMA, schema_for!(dry_run::DryRun<'_>)),
        ("status", status::SCHEMA, schema_for!(status::Status)),
        ("verify", verify::SCHEMA, schema_for!(verify::Verified)),
    ]
}

#[test]
fn the_schemas_of_trial_verbs_in_the_reference_are_those_of_the_code() {
    for (name, id, mut schema) in documents() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/reference/{name}.schema.json"));
        schema.insert("$id".to_owned(), id.into());
        let text = format!("{}\n", serde_json::to_string_pretty(&schema).unwrap());
        if std::env::var_os("PAGEWISE_BLESS").is_some() {
            fs::write(&file, &text).unwrap();
        }
        let committed = fs::read_to_string(&file)
            .unwrap_or_else(|error| panic!("{}: {error}; `make docs` writes it", file.display()));
        assert!(committed == text, "{} is not what the code says; `make docs` writes it again", file.display());
    }
}
