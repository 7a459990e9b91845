//! Inside core each module imports only those before it, so that a reader can start at the top and never look ahead.

#![allow(clippy::disallowed_methods, reason = "a test of the sources reads the sources")]

use std::fs;
use std::path::{Path, PathBuf};

const ORDER: [&str; 14] = [
    "unit",
    "counter",
    "metric",
    "tunable",
    "spelling",
    "recording",
    "import",
    "export",
    "change",
    "stats",
    "finding",
    "comparison",
    "experiment",
    "report",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Every `crate::MODULE` in the code of a file, its tests left out: they may look anywhere.
fn imports(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let words = lines.flat_map(|line| line.split("crate::").skip(1).map(str::to_owned).collect::<Vec<_>>());
    words.map(|rest| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()).collect()
}

#[test]
fn each_module_imports_only_those_before_it() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&source, &mut files);
    let mut seen = 0;
    for file in files {
        let relative = file.strip_prefix(&source).unwrap();
        let module = relative.components().next().unwrap().as_os_str().to_string_lossy().replace(".rs", "");
        let Some(own) = ORDER.iter().position(|name| *name == module) else {
            assert_eq!(module, "lib", "{} is in no module of the order: add it to ORDER", relative.display());
            continue;
        };
        for imported in imports(&fs::read_to_string(&file).unwrap()) {
            let Some(other) = ORDER.iter().position(|name| *name == imported) else { continue };
            assert!(other <= own, "{} imports {imported}, which comes after {module}", relative.display());
            seen += 1;
        }
    }
    assert!(seen >= 3, "the check saw only {seen} imports: it no longer reads the sources");
}

#[test]
fn the_check_sees_an_import_that_looks_ahead() {
    assert_eq!(imports("use crate::report::text;\n// use crate::unit\n"), vec!["report"]);
    assert_eq!(imports("fn f(x: crate::stats::T) {}\n#[cfg(test)]\nuse crate::report;"), vec!["stats"]);
}
