//! What the harness publishes is what is committed: `docs/method/pathologies.md` shows the newest result, and no committed
//! recording tells more about a host than the allow-list lets it.

use pagewise_host::store::recording::Recording;
use pagewise_testkit::trouble::judge::Result as Judged;
use pagewise_testkit::trouble::{page, runner};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

const BEGIN: &str = "<!-- tables: begin -->\n";
const END: &str = "<!-- tables: end -->\n";

/// Names begin with the date, so the last one is the newest.
fn newest_result() -> Option<Judged> {
    let entries = fs::read_dir(root().join("bench/results/pathologies")).ok()?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    Some(serde_json::from_str(&fs::read_to_string(files.last()?).unwrap()).unwrap())
}

#[test]
fn the_page_of_pathologies_in_the_reference_shows_the_generators_and_the_newest_result() {
    let file = root().join("docs/method/pathologies.md");
    let page = fs::read_to_string(&file).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let wanted = format!("{before}{BEGIN}\n{}\n{END}{after}", page::tables(newest_result().as_ref()));
    if std::env::var_os("PAGEWISE_BLESS").is_some() {
        fs::write(&file, &wanted).unwrap();
    }
    let page = fs::read_to_string(&file).unwrap();
    assert!(page == wanted, "docs/method/pathologies.md is out of date; `make docs` writes it again");
}

/// Every committed recording, of every kernel.
fn recordings() -> Vec<PathBuf> {
    let kernels = fs::read_dir(root().join("recordings")).into_iter().flatten().flatten();
    let files = kernels.flat_map(|kernel| fs::read_dir(kernel.path()).into_iter().flatten().flatten());
    let mut files: Vec<PathBuf> = files.map(|file| file.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "pgw"));
    files.sort();
    files
}

#[test]
fn committed_recordings_are_small() {
    let sizes: Vec<u64> = recordings().iter().map(|file| fs::metadata(file).unwrap().len()).collect();
    assert!(sizes.iter().all(|size| *size <= 200_000), "{sizes:?}");
    assert!(sizes.iter().sum::<u64>() <= 4_000_000, "{sizes:?}");
}

#[test]
fn committed_recordings_tell_of_a_host_only_what_is_allowed() {
    const META: &[&str] = &[
        "complete",
        "schema",
        "pagewise",
        "kernel",
        "boot_id",
        "started",
        "anchor_boottime_ns",
        "anchor_wall_offset_ns",
        "hz",
        "page_size",
        "user_hz",
        "loses_at_most_seconds",
        "ring_locked",
        "own_cpu_us",
        "redacted",
        "recorder",
        "stacks_event",
        "stacks_hz",
        runner::META,
    ];
    // Numbers of the kernel, and its own threads: no process of anybody's.
    const SOURCES: &[&str] = &[
        "clock",
        "vmstat",
        "meminfo",
        "stat",
        "zoneinfo",
        "buddyinfo",
        "psi_memory",
        "psi_io",
        "psi_cpu",
        "swaps",
        "dentries",
        "cgroups",
        "controllers",
        "thp",
        "self",
        "threads",
    ];
    // Where CPUs were and what was held up, by kernel function, and what kernel threads used.
    const REDACTED: &[&str] = &["frame", "stack", "slice", "sample", "stall", "walk", "process"];
    const TABLES: &[&str] = &["meta", "source", "series", "segment", "tick", "setting", "mark", "gap"];
    for file in recordings() {
        let recording = Recording::open(&file).unwrap();
        // What the kernel takes for a setting is the kernel's.
        let is_known = |key: &str| META.contains(&key) || key.starts_with("allowed.thp.");
        let told = recording.meta().keys().find(|key| !is_known(key));
        assert_eq!(told, None, "{}", file.display());
        let database = rusqlite::Connection::open(&file).unwrap();
        let all = |query: &str| -> Vec<String> {
            let mut statement = database.prepare(query).unwrap();
            let rows = statement.query_map([], |row| row.get(0)).unwrap();
            rows.collect::<Result<_, _>>().unwrap()
        };
        let foreign: Vec<String> =
            all("SELECT name FROM source").into_iter().filter(|name| !SOURCES.contains(&name.as_str())).collect();
        assert_eq!(foreign, Vec::<String>::new(), "{}", file.display());
        for table in all("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'") {
            let is_allowed = TABLES.contains(&table.as_str()) || REDACTED.contains(&table.as_str());
            assert!(is_allowed, "{} has a table {table}", file.display());
            if REDACTED.contains(&table.as_str()) {
                assert_eq!(recording.meta().get("redacted").map(String::as_str), Some("1"), "{}", file.display());
            }
            if table == "frame" {
                for module in all("SELECT DISTINCT coalesce(module, '') FROM frame") {
                    assert!(!module.contains('/'), "{} tells of {module}", file.display());
                }
            }
        }
        for path in all("SELECT DISTINCT path FROM setting") {
            // The whole hierarchy is nobody's, and others have numbers.
            assert!(!path.replace("cgroup[/]", "").contains('/'), "{} tells of {path}", file.display());
        }
        let swap_files = all("SELECT value FROM setting WHERE path = 'swap' AND value IS NOT NULL");
        let is_nobodys = |area: &str| ["pagewise", "@/swap-", "@/dev/"].iter().any(|known| area.contains(known));
        let tells_of_none = |areas: &String| areas == "off" || areas.split('+').all(is_nobodys);
        assert!(swap_files.iter().all(tells_of_none), "{swap_files:?}");
    }
}
