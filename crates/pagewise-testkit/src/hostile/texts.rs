//! What users write and what Pagewise wrote: plans, policies, tables, the journal of changes; and what Spark wrote of a job.

use pagewise_core::boot_loader::environment::Environment;
use pagewise_core::boot_loader::{grub_menu, loader_entry, of_release};
use pagewise_core::change::line::{Begin, CloseReason, Lease, Line, Outcome, Owner, Write};
use pagewise_core::change::replay::{HostNow, replay};
use pagewise_core::comparison::analysis::analyze;
use pagewise_core::comparison::question::{Contrast, Counters, Question};
use pagewise_core::comparison::table::Table;
use pagewise_core::experiment::live::metric::LiveMetric;
use pagewise_core::experiment::plan::source;
use pagewise_core::report::{Style, findings};
use pagewise_core::spark::advise;
use pagewise_core::spark::check::{self, CheckedJvm};
use pagewise_core::tunable::policy::Policy;
use pagewise_core::tunable::{find, listed};
use pagewise_host::progress::NoProgress;
use pagewise_host::spark::event_log;
use std::fs;
use std::path::Path;

/// As a menu of GRUB, an environment block and an entry in a file of its own.
pub(super) fn boot_loader(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for entry in grub_menu::parse(&text).entries.into_iter().chain(loader_entry::parse("x", &text)).take(50) {
        let found = entry.release.as_deref().and_then(|release| of_release(std::slice::from_ref(&entry), release));
        assert!(found.is_none() || !entry.is_for_repairs());
    }
    if let Ok(environment) = Environment::parse(bytes) {
        assert_eq!(environment.bytes().len(), bytes.len());
        if let Ok(armed) = environment.with("next_entry", Some("a>b\\c")) {
            let read = Environment::parse(&armed.bytes()).map(|read| read.get("next_entry"));
            assert_eq!(read, Ok(Some("a>b\\c".to_owned())));
        }
    }
}

pub(super) fn boot_loaders() -> Vec<Vec<u8>> {
    let mut block = b"# GRUB Environment Block\nsaved_entry=a>b\n".to_vec();
    block.resize(1024, b'#');
    let entry = b"title x\nversion 6.1.0\nlinux /x/6.1.0/linux\noptions root=/dev/vda1 ro\n".to_vec();
    vec![include_bytes!("debian-grub.cfg").to_vec(), block, entry]
}

pub(super) fn plan(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Err(error) = source::read(&text, "plan.toml") {
        assert!(error.line >= 1 && error.column >= 1 && !error.why.is_empty(), "{error:?}");
    }
}

pub(super) fn plans() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans");
    let mut files: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    files.iter().filter_map(|path| fs::read(path).ok()).collect()
}

/// Each line as a policy and as a metric, and all of it as a policy's file.
pub(super) fn policy(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for line in text.lines().take(50) {
        if let Ok(policy) = line.parse::<Policy>() {
            values(&policy);
            let again = policy.to_string().parse::<Policy>();
            assert_eq!(again.as_ref(), Ok(&policy), "{line}");
        }
        let _ = LiveMetric::parse(line);
        let _ = listed(line).map(|choice| choice.values.len());
    }
    if let Ok(policy) = Policy::from_toml(&text, "policy.toml") {
        values(&policy);
    }
}

fn values(policy: &Policy) {
    for setting in &policy.settings {
        let tunable = &setting.tunable;
        if let Ok(canonical) = setting.canonical() {
            assert_eq!(tunable.canonical(&canonical).as_ref(), Ok(&canonical), "{setting:?}");
            // Beside another name of it, such as that of one file of a pair, the value is written in another way.
            let is_its_own = tunable.name == setting.name.trim();
            assert!(!is_its_own || tunable.same(&setting.value, &canonical), "{setting:?}");
        }
    }
}

pub(super) fn policies() -> Vec<Vec<u8>> {
    const LINES: &str = "now\nname:thp.enabled=never,thp.defrag=defer+madvise\nvm.dirty=64M\nvm.dirty_ratio=20\n\
        swap=zram:1G\nswap=file:2G@/a\\,b,prio=5\nmthp[64k].enabled=inherit\ncgroup[/a b].memory.high=max\n\
        memory_state=aged(90%)\nmglru.enabled=0x0007\nenv.A=x\\=y\njvm.Xmx=2g\nblock[vda].read_ahead_kb=128\n\
        cmd:cat /proc/uptime\ncounter:cat a\nlog:/var/log/x.log:took ([0-9.]+) ms\nalways [madvise] never\n";
    const FILE: &str = "name = 'x'\n[settings]\n\"thp.enabled\" = 'never'\nmemory_state = 'aged(90%)'\n";
    vec![LINES.as_bytes().to_vec(), FILE.as_bytes().to_vec()]
}

pub(super) fn table(bytes: &[u8]) {
    let contrast = Contrast { factor: "kernel".to_owned(), a: "old".to_owned(), b: "new".to_owned() };
    let mut question = Question::new("seconds", vec![contrast], vec!["job".to_owned()]);
    question.counters = Counters::All;
    // More is not what a hostile table is about, and takes time.
    const MOST_ROWS: usize = 400;
    let rows = bytes.split_inclusive(|byte| *byte == b'\n').take(MOST_ROWS).collect::<Vec<&[u8]>>().concat();
    if let Ok(table) = Table::read(rows.as_slice(), "table.csv", &question) {
        let _ = analyze(&table, &question);
    }
}

/// Read as the file it is, whole or compressed, and judged.
pub(super) fn event_log(bytes: &[u8]) {
    let Ok(folder) = tempfile::tempdir() else { return };
    let path = folder.path().join("events");
    if fs::write(&path, bytes).is_err() {
        return;
    }
    match event_log::read(&path, &NoProgress) {
        Ok(log) => {
            let heap = log.heap().unwrap_or(1 << 30);
            let found = check::diagnose(&CheckedJvm::of_log("hostile".to_owned(), log.clone()));
            let advised = advise::diagnose(&advise::Job { log, heap }, "hostile");
            for diagnosis in [found, advised] {
                let said = findings::text_in_full(&diagnosis, Style::default());
                assert!(!said.contains('\u{1b}'), "no name steers a terminal");
            }
        }
        Err(problem) => assert!(!problem.to_string().is_empty()),
    }
}

/// Logs of real jobs, compressed as Spark compressed them, and the beginning of one that was not.
pub(super) fn event_logs() -> Vec<Vec<u8>> {
    const PLAIN: &str = r#"{"Event":"SparkListenerLogStart","Spark Version":"4.1.3"}
{"Event":"SparkListenerApplicationStart","App Name":"a","App ID":"local-1","Timestamp":1000,"User":"u"}
{"Event":"SparkListenerEnvironmentUpdate","JVM Information":{"Java Version":"17.0.12 (Debian)"},"Spark Properties":{"spark.master":"local[*]","spark.driver.memory":"2g","spark.driver.extraJavaOptions":"-Xms1g -XX:+UseG1GC"},"System Properties":{}}
{"Event":"SparkListenerBlockManagerAdded","Block Manager ID":{"Executor ID":"driver","Host":"h","Port":1},"Maximum Memory":900000000,"Timestamp":1001,"Maximum Onheap Memory":900000000,"Maximum Offheap Memory":0}
{"Event":"SparkListenerJobStart","Job ID":0,"Submission Time":1100,"Stage Infos":[],"Stage IDs":[0]}
{"Event":"SparkListenerJobEnd","Job ID":0,"Completion Time":2100,"Job Result":{"Result":"JobSucceeded"}}
{"Event":"SparkListenerApplicationEnd","Timestamp":2200}
"#;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pagewise/tests/data/spark");
    let mut files: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    let compressed = files.iter().filter_map(|path| fs::read(path).ok());
    std::iter::once(PLAIN.as_bytes().to_vec()).chain(compressed).collect()
}

pub(super) fn tables() -> Vec<Vec<u8>> {
    let mut paired = "block,order,kernel,job,seconds,faults,outcome\n".to_owned();
    for block in 0..12 {
        for (order, kernel) in ["old", "new"].into_iter().enumerate() {
            let seconds = 10.0 + f64::from(block) / 7.0 - order as f64 / 3.0;
            paired.push_str(&format!("{block},{order},{kernel},sort,{seconds},{},ok\n", 1_000 + block * 3));
        }
    }
    const QUOTED: &str =
        "\u{feff}seconds;kernel;job\r\n1,5;old;\"a \"\"b\"\"\"\r\n1.25;new;x\r\nNA;old;x\r\n;new;x\r\n";
    vec![paired.into_bytes(), QUOTED.as_bytes().to_vec()]
}

pub(super) fn journal(bytes: &[u8]) {
    let Ok(replayed) = replay(bytes) else { return };
    assert!(replayed.whole_bytes <= bytes.len());
    let Some(mut set) = replayed.set else { return };
    set.take_notes(Some(bytes));
    assert_eq!(set.stages.len(), set.begin.writes.len());
    for (boot_id, owner_lives) in [("this", true), (set.begin.boot_id.as_str(), true), (&set.begin.boot_id, false)] {
        let _ = set.due(&HostNow { boot_id, owner_lives, boottime_ms: 1_000_000 });
    }
    let _ = (set.awaits_confirmation(), set.is_undoing(), set.touched().count(), set.lies_under(&set));
}

pub(super) fn journals() -> Vec<Vec<u8>> {
    let write = |tunable: &str| Write {
        tunable: find(tunable).unwrap_or_else(|error| panic!("{error}")),
        before: "always".to_owned(),
        target: "never".to_owned(),
        coupled: Vec::new(),
        artefacts: Vec::new(),
        often: tunable == "thp.defrag",
    };
    let begin = Begin {
        schema: pagewise_core::change::line::SCHEMA.to_owned(),
        id: 7,
        created: "2026-11-22T00:00:00Z".to_owned(),
        boot_id: "boot".to_owned(),
        kernel: "6.12.0".to_owned(),
        version: "0.1.0".to_owned(),
        owner: Owner { pid: 9, start_time: 99 },
        lease: Lease::Deadline { at: "2026-11-22T00:10:00Z".to_owned(), boottime_ms: 600_000 },
        policy: "thp.enabled=never,thp.defrag=never".to_owned(),
        writes: vec![write("thp.enabled"), write("thp.defrag")],
    };
    let written = |write| Line::Written { write, read_back: "never".to_owned(), coupled: Vec::new() };
    let restored = |write| Line::Restored { write, outcome: Outcome::Restored, coupled: Vec::new() };
    let lines = [
        Line::Begin(Box::new(begin)),
        Line::Writing { write: 0 },
        written(0),
        Line::Writing { write: 1 },
        written(1),
        Line::Applied,
        Line::Confirmed,
        Line::Restoring { write: 1, coupled: Vec::new() },
        restored(1),
        Line::Restoring { write: 0, coupled: Vec::new() },
        restored(0),
        Line::Closed { how: CloseReason::Undone },
    ];
    let text: String =
        lines.iter().filter_map(|line| serde_json::to_string(line).ok()).map(|line| line + "\n").collect();
    vec![text.into_bytes()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_understood() {
        assert!(plans().len() >= 3);
        for text in plans() {
            assert_eq!(source::read(&String::from_utf8(text).unwrap(), "plan.toml").err(), None);
        }
        let [lines, file] = policies().try_into().expect("two samples");
        let understood =
            String::from_utf8(lines).unwrap().lines().filter(|line| line.parse::<Policy>().is_ok()).count();
        assert!(understood >= 12, "{understood}");
        assert!(Policy::from_toml(&String::from_utf8(file).unwrap(), "policy.toml").is_ok());
        for journal in journals() {
            assert!(replay(&journal).unwrap().set.unwrap().closed.is_some());
        }
        let logs = event_logs();
        assert!(logs.len() >= 6);
        for log in logs {
            let file = tempfile::NamedTempFile::new().unwrap();
            fs::write(file.path(), log).unwrap();
            let read = event_log::read(file.path(), &NoProgress).unwrap();
            assert!(read.events >= 7 && read.unreadable == 0 && read.heap().is_some(), "{} events", read.events);
        }
        let contrast = Contrast { factor: "kernel".to_owned(), a: "old".to_owned(), b: "new".to_owned() };
        let question = Question::new("seconds", vec![contrast], Vec::new());
        assert!(Table::read(tables()[0].as_slice(), "table.csv", &question).is_ok());
    }
}
