//! Core and host stand in layers: each module imports only those before it in its `lib.rs`.

use pagewise_testkit::layers::{Layers, modules, named};
use std::path::Path;

fn of(name: &str) -> Layers {
    Layers::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)).unwrap()
}

#[test]
fn each_module_imports_only_those_before_it() {
    for name in ["pagewise-core", "pagewise-host"] {
        let layers = of(name);
        let upward = layers.upward();
        assert!(upward.is_empty(), "{name} has imports of what comes later: {upward:#?}");
        assert!(layers.imports.len() >= 30, "{name}: the check saw only {}", layers.imports.len());
        let unknown = layers.imports.iter().find(|import| !layers.order.contains(&import.by));
        assert!(unknown.is_none(), "{unknown:?} is in no module of lib.rs");
    }
}

#[test]
fn what_starts_processes_makes_system_calls_or_asks_for_facts_knows_no_workload() {
    let layers = of("pagewise-host");
    let place = |name: &str| layers.order.iter().position(|module| module == name).unwrap();
    for name in ["process", "sys", "facts"] {
        assert!(place(name) < place("workload"), "{name} comes before workload");
    }
}

#[test]
fn the_check_sees_an_import_that_looks_ahead() {
    assert_eq!(named("use crate::report::text;\n// use crate::unit\n"), vec!["report"]);
    assert_eq!(named("fn f(x: crate::stats::T) {}\n#[cfg(test)]\nuse crate::report;"), vec!["stats"]);
    assert_eq!(modules("pub mod unit;\n\nmod symbol;\npub use symbol::x;\n"), vec!["unit", "symbol"]);
}

/// Of a package of ours in a lock file, the names of what it depends on.
fn locked(lock: &toml::Table, name: &str) -> Vec<String> {
    let packages = lock["package"].as_array().unwrap();
    let package = packages.iter().find(|package| package["name"].as_str() == Some(name)).unwrap();
    let listed = package.get("dependencies").and_then(toml::Value::as_array).cloned().unwrap_or_default();
    listed.iter().filter_map(|one| one.as_str()?.split(' ').next().map(str::to_owned)).collect()
}

#[test]
fn the_fuzzers_are_locked_to_what_the_parsers_depend_on() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let read =
        |path: &str| -> toml::Table { std::fs::read_to_string(format!("{root}/{path}")).unwrap().parse().unwrap() };
    let lock = read("fuzz/Cargo.lock");
    for name in ["pagewise-core", "pagewise-host", "pagewise-testkit"] {
        let manifest = read(&format!("crates/{name}/Cargo.toml"));
        let wanted: Vec<&String> = manifest["dependencies"].as_table().unwrap().keys().collect();
        let has = locked(&lock, name);
        let lacks: Vec<&&String> = wanted.iter().filter(|one| !has.contains(**one)).collect();
        assert!(
            lacks.is_empty(),
            "fuzz/Cargo.lock lacks {lacks:?} of {name}: cargo metadata --manifest-path fuzz/Cargo.toml"
        );
    }
}
