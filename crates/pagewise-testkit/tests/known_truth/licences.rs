//! Nothing we link may be under the GPL or the CDDL, and every package must say what it is under.

use std::process::Command;

/// A licence expression is fine when one of its alternatives is made of these alone.
const ALLOWED: [&str; 12] = [
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "CC0-1.0",
    "Zlib",
    "Unlicense",
    "0BSD",
    "Unicode-3.0",
];

fn is_allowed(expression: &str) -> bool {
    let flat = expression.replace(['(', ')'], " ").replace('/', " OR ");
    // AND binds tighter than OR in SPDX; in the expressions that occur, a parenthesised OR inside an AND offers MIT or
    // Apache-2.0, so each AND part is allowed when one of its alternatives is.
    flat.split(" AND ").all(|part| part.split(" OR ").any(|one| ALLOWED.contains(&one.trim())))
}

#[test]
fn every_package_is_under_a_licence_we_may_ship() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 20, "only {} packages were read", packages.len());
    let refused: Vec<String> = packages
        .iter()
        .filter(|package| !package["license"].as_str().is_some_and(is_allowed))
        .map(|package| format!("{} {}: {}", package["name"], package["version"], package["license"]))
        .collect();
    assert!(refused.is_empty(), "not under an allowed licence:\n{}", refused.join("\n"));
}

#[test]
fn the_check_refuses_copyleft() {
    assert!(is_allowed("MIT OR Apache-2.0") && is_allowed("(MIT OR Apache-2.0) AND Unicode-3.0"));
    assert!(is_allowed("Unlicense/MIT"));
    assert!(!is_allowed("GPL-3.0-only") && !is_allowed("CDDL-1.0") && !is_allowed("MIT AND GPL-2.0"));
}
