//! Real TeraSort, end to end: generated, sorted and validated by Hadoop itself. Needs Java and, once, Maven; the kept
//! files and rows lie in the build folder, so that a second run needs no network.

use pagewise_core::experiment::data::Restore;
use pagewise_host::facts::programs::jvms;
use pagewise_host::process::{self, Interrupt, Limits, Watch};
use pagewise_host::progress::Progress;
use pagewise_host::restore::Dataset;
use pagewise_host::root::Root;
use pagewise_host::workload::java::Java;
use pagewise_host::workload::terasort::{Arguments, JAVA, Terasort, fetch_hadoop};
use pagewise_host::workload::{JobSettings, Places, RunContext, Surroundings, Verification, Workload, WorkloadError};
use pagewise_testkit::requires;
use std::fs;
use std::path::{Path, PathBuf};

struct Silent;
impl Progress for Silent {
    fn stage(&self, _what: &str, _done: Option<f64>) {}
}
impl Watch for Silent {
    fn tick(&mut self, _running: &[u32]) -> bool {
        true
    }
}

fn shared_cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache")
}

/// A cache of this test's own that shares the fetched Hadoop.
fn cache_in(dir: &Path) -> Surroundings {
    let hadoop = fetch_hadoop(&Surroundings::new(shared_cache(), Interrupt::default()), &Silent).unwrap();
    fs::create_dir_all(dir).unwrap();
    std::os::unix::fs::symlink(&hadoop, dir.join(hadoop.file_name().unwrap())).unwrap();
    Surroundings::new(dir, Interrupt::default())
}

fn arguments(pairs: &[(&str, &str)]) -> Arguments {
    pairs.iter().fold(Arguments::default(), |arguments, (name, value)| arguments.with(name, value).unwrap())
}

fn sort(workload: &mut Terasort, run: &RunContext) {
    let commands = workload.prepare_run(run).unwrap();
    let ended = process::run(&commands, Limits::default(), &mut Silent).unwrap();
    for command in &ended.commands {
        assert!(command.status.is_success(), "{}", command.stderr);
    }
}

fn context(scratch: &Path) -> RunContext {
    RunContext::new(scratch, JobSettings::default())
}

#[test]
fn rows_are_generated_sorted_by_two_jobs_and_found_right_and_a_changed_output_is_found_wrong() {
    requires!(java, maven);
    let dir = tempfile::tempdir().unwrap();
    let around = cache_in(&dir.path().join("cache"));
    let twenty_thousand = [("rows", "20_000"), ("jobs", "2"), ("map_tasks", "2"), ("reduce_tasks", "2")];
    let mut workload = Terasort::new(arguments(&twenty_thousand), around);
    workload.prepare_trial(&Silent).unwrap();
    let scratch = dir.path().join("scratch");
    fs::create_dir(&scratch).unwrap();
    let mut run = context(&scratch);
    run.job.java_options.push("-Xshare:auto".to_owned());

    for (index, command) in workload.prepare_run(&run).unwrap().iter().enumerate() {
        let own = scratch.join(format!("tmp{index}"));
        assert_eq!(command.dir.as_deref(), Some(own.as_path()));
        for option in ["hadoop.tmp.dir", "mapreduce.jobtracker.staging.root.dir"] {
            let prefix = format!("-D{option}={}", own.display());
            assert!(command.argv.iter().any(|word| word.starts_with(&prefix)), "{prefix} in {:?}", command.argv);
        }
    }
    sort(&mut workload, &run);
    assert!(!Path::new("_partition.lst").is_symlink(), "jobs write into folders of their own");
    assert_eq!(workload.verify_run(&run).unwrap(), Verification::Right);
    let second_part = scratch.join("sorted1/part-r-00001");
    assert!(second_part.exists(), "two reduces write two files");

    let mut bytes = fs::read(&second_part).unwrap();
    bytes[..200].rotate_left(100);
    fs::write(&second_part, &bytes).unwrap();
    let verdict = workload.verify_run(&run).unwrap();
    assert!(matches!(&verdict, Verification::Wrong(why) if why.contains("job 2 of 2")), "{verdict:?}");

    // Without Hadoop's own check files only TeraValidate's order can tell.
    fs::remove_file(scratch.join("sorted1/.part-r-00001.crc")).unwrap();
    let verdict = workload.verify_run(&run).unwrap();
    assert!(matches!(&verdict, Verification::Wrong(why) if why.contains("out of order")), "{verdict:?}");

    // Rows in order, but one is another one: only the checksum can tell.
    bytes[..200].rotate_left(100);
    bytes[99] ^= 1;
    fs::write(&second_part, &bytes).unwrap();
    let verdict = workload.verify_run(&run).unwrap();
    assert!(matches!(&verdict, Verification::Wrong(why) if why.contains("checksum")), "{verdict:?}");

    workload.clean_run(&run).unwrap();
    let left: Vec<_> = fs::read_dir(&scratch).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn input_is_kept_used_again_and_made_anew_when_it_was_damaged() {
    requires!(java, maven);
    let dir = tempfile::tempdir().unwrap();
    let around = cache_in(dir.path());
    let mut workload = Terasort::new(arguments(&[("rows", "1000")]), around);
    workload.prepare_trial(&Silent).unwrap();
    let rows = dir.path().join("terasort/rows-1000/hadoop-3.3.6/data/part-m-00000");
    let written = || fs::metadata(&rows).unwrap().modified().unwrap();
    let bytes = fs::read(&rows).unwrap();
    assert_eq!(bytes.len(), 100_000);

    let first = written();
    workload.prepare_trial(&Silent).unwrap();
    assert_eq!(written(), first, "whole input is used again");

    let mut damaged = bytes.clone();
    damaged[500] ^= 1;
    fs::write(&rows, damaged).unwrap();
    workload.prepare_trial(&Silent).unwrap();
    assert_eq!(fs::read(&rows).unwrap(), bytes, "TeraGen makes the same rows again");
}

#[test]
fn an_interrupted_generation_leaves_no_half_input() {
    requires!(java, maven);
    struct InterruptingAt<'a>(&'a str, Interrupt);
    impl Progress for InterruptingAt<'_> {
        fn stage(&self, what: &str, _done: Option<f64>) {
            if what.starts_with(self.0) {
                self.1.set();
            }
        }
    }
    for stage in ["generating", "summing", "checking"] {
        let dir = tempfile::tempdir().unwrap();
        let around = cache_in(dir.path());
        let interrupting = InterruptingAt(stage, around.interrupt.clone());
        let mut workload = Terasort::new(arguments(&[("rows", "50_000")]), around);
        let error = workload.prepare_trial(&interrupting).unwrap_err();
        assert!(matches!(error, WorkloadError::Interrupted(_)), "at {stage}: {error}");
        let left: Vec<String> = fs::read_dir(dir.path().join("terasort/rows-50000"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        assert_eq!(left, ["hadoop-3.3.6.lock"], "interrupted at {stage}");
    }
}

#[test]
fn too_little_room_is_said_before_anything_is_written() {
    requires!(java, maven);
    let dir = tempfile::tempdir().unwrap();
    let around = cache_in(dir.path());
    let mut workload = Terasort::new(arguments(&[("rows", "1_000_000_000_000")]), around);
    let error = workload.prepare_trial(&Silent).unwrap_err().to_string();
    assert!(error.contains("no room") && error.contains("--cache-dir"), "{error}");
    assert!(!dir.path().join("terasort/rows-1000000000000").exists());
}

#[test]
fn a_damaged_jar_is_named_and_fetched_again() {
    requires!(java, maven);
    let hadoop = fetch_hadoop(&Surroundings::new(shared_cache(), Interrupt::default()), &Silent).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let own = dir.path().join(hadoop.file_name().unwrap());
    fs::create_dir(&own).unwrap();
    for entry in fs::read_dir(&hadoop).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), own.join(entry.file_name())).unwrap();
    }
    let jar = own.join("slf4j-api-1.7.36.jar");
    fs::write(&jar, "cut").unwrap();
    let around = Surroundings::new(dir.path(), Interrupt::default());
    let mut workload = Terasort::new(arguments(&[("rows", "1000")]), around.clone());
    let error = workload.prepare_trial(&Silent).unwrap_err().to_string();
    assert!(error.contains("slf4j-api-1.7.36.jar is damaged") && error.contains("terasort fetch"), "{error}");
    fetch_hadoop(&around, &Silent).unwrap();
    assert_eq!(fs::metadata(&jar).unwrap().len(), 41_125);
}

/// A Hadoop release as a user has it: real jars, and a launcher that does what Hadoop's own does with `jar`, `fs` and a class.
fn release_in(home: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let jars = fetch_hadoop(&Surroundings::new(shared_cache(), Interrupt::default()), &Silent).unwrap();
    let (common, mapreduce) = (home.join("share/hadoop/common"), home.join("share/hadoop/mapreduce"));
    for folder in [&common, &mapreduce, &home.join("bin"), &home.join("etc/hadoop")] {
        fs::create_dir_all(folder).unwrap();
    }
    for jar in fs::read_dir(&jars).unwrap().map(|entry| entry.unwrap().path()) {
        let name = jar.file_name().unwrap().to_string_lossy().replace("hadoop-client-api", "hadoop-common");
        let folder = if name.contains("examples") { &mapreduce } else { &common };
        std::os::unix::fs::symlink(&jar, folder.join(name)).unwrap();
    }
    fs::write(home.join("etc/hadoop/core-site.xml"), "<configuration/>").unwrap();
    let java = Java::choose(&jvms(&Root::live()), &JAVA).unwrap().program();
    let start = format!("exec {java} --add-opens java.base/java.lang=ALL-UNNAMED -cp \"$jars\"");
    let launcher = format!(
        "#!/bin/sh\necho \"$*\" >>{home}/calls\njars=\"{home}/etc/hadoop:{home}/share/hadoop/common/*:{home}/share/hadoop/mapreduce/*\"\n\
         verb=$1; shift\ncase $verb in\njar) shift; {start} -Xmx$HADOOP_HEAPSIZE_MAX \
         org.apache.hadoop.examples.ExampleDriver \"$@\" ;;\nfs) {start} org.apache.hadoop.fs.FsShell \"$@\" ;;\n*) jars=\"$jars:$HADOOP_CLASSPATH\"; {start} \"$verb\" \"$@\" ;;\nesac\n",
        home = home.display()
    );
    let program = home.join("bin/hadoop");
    fs::write(&program, launcher).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_users_own_hadoop_command_sorts_and_is_validated_the_same_way() {
    requires!(java, maven);
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("hadoop");
    release_in(&home);
    let around = Surroundings {
        places: Places::default().with("hadoop", &home).with("cluster-dir", dir.path().join("cluster")),
        ..Surroundings::new(dir.path().join("cache"), Interrupt::default())
    };
    let scratch = dir.path().join("scratch");
    fs::create_dir(&scratch).unwrap();
    let run = context(&scratch);
    let mut workload = Terasort::new(arguments(&[("mode", "hadoop"), ("rows", "5_000")]), around.clone());
    workload.prepare_trial(&Silent).unwrap();
    sort(&mut workload, &run);
    assert_eq!(workload.verify_run(&run).unwrap(), Verification::Right);
    workload.clean_run(&run).unwrap();
    let calls = fs::read_to_string(home.join("calls")).unwrap();
    let sorts: Vec<&str> = calls.lines().filter(|line| line.contains(" terasort -D")).collect();
    assert_eq!(sorts.len(), 1, "{calls}");
    assert!(calls.lines().last().unwrap().starts_with("fs -rm"), "{calls}");

    // The same release with a resource manager on another machine.
    let property = |name: &str, value: &str| {
        format!("<configuration><property><name>{name}</name><value>{value}</value></property></configuration>")
    };
    fs::write(home.join("etc/hadoop/mapred-site.xml"), property("mapreduce.framework.name", "yarn")).unwrap();
    fs::write(home.join("etc/hadoop/yarn-site.xml"), property("yarn.resourcemanager.hostname", "rm.example")).unwrap();
    let remote = Terasort::new(arguments(&[("mode", "hadoop")]), around.clone());
    assert!(remote.runs_elsewhere().is_some_and(|why| why.contains("rm.example")));
    let with_heap = Terasort::new(arguments(&[("mode", "hadoop"), ("heap", "1G")]), around).prepare_trial(&Silent);
    assert!(matches!(with_heap, Err(WorkloadError::Usage(why)) if why.contains("mapreduce.map.java.opts")));
}

#[test]
fn a_job_without_enough_heap_says_so_in_one_line() {
    requires!(java, maven);
    let dir = tempfile::tempdir().unwrap();
    let mut workload = Terasort::new(arguments(&[("rows", "20_000")]), cache_in(&dir.path().join("cache")));
    workload.prepare_trial(&Silent).unwrap();
    let scratch = dir.path().join("scratch");
    fs::create_dir(&scratch).unwrap();
    let mut run = context(&scratch);
    run.job.workload_args.insert("mapreduce.task.io.sort.mb".to_owned(), "1000".to_owned());
    let commands = workload.prepare_run(&run).unwrap();
    let ended = process::run(&commands, Limits::default(), &mut Silent).unwrap();
    let failed = &ended.commands[0];
    assert!(!failed.status.is_success());
    let reason = workload.failure_reason(failed);
    assert!(reason.contains("OutOfMemoryError: Java heap space"), "{reason}\n{}", failed.stderr);
}

#[test]
fn restored_rows_are_sorted_beside_themselves_and_come_back_for_the_next_run() {
    requires!(java, maven);
    let dir = tempfile::tempdir().unwrap();
    let around = cache_in(&dir.path().join("cache"));
    let interrupt = around.interrupt.clone();
    let mut workload = Terasort::new(arguments(&[("rows", "20_000"), ("reduce_tasks", "2")]), around);
    assert_eq!(workload.data_source(), None, "not known before the rows are there");
    workload.prepare_trial(&Silent).unwrap();
    let source = workload.data_source().unwrap();
    let copies = dir.path().join("copies");
    let mut dataset = Dataset::open(&Restore::Copy.into(), &source, &copies, &Silent, &interrupt).unwrap();
    let scratch = dir.path().join("scratch");
    fs::create_dir(&scratch).unwrap();
    for _ in 0..2 {
        let restored = dataset.restore(&Silent, &interrupt).unwrap();
        let run = RunContext { data: Some(restored.folder.clone()), ..context(&scratch) };
        let command = &workload.prepare_run(&run).unwrap()[0];
        let own = |word: &str| word.contains(&*dir.path().join("cache/terasort/rows-").to_string_lossy());
        assert!(!command.argv.iter().any(|word| own(word)), "reads the restored rows: {:?}", command.argv);
        let below = restored.folder.display();
        assert!(command.argv.iter().any(|word| *word == format!("-Dhadoop.tmp.dir={below}/run/tmp0")));
        sort(&mut workload, &run);
        assert!(restored.folder.join("run/sorted0/part-r-00001").exists(), "writes on the restored file system");
        assert_eq!(workload.verify_run(&run).unwrap(), Verification::Right);
        let left: Vec<_> = fs::read_dir(&scratch).unwrap().collect();
        assert!(left.is_empty(), "and nowhere else: {left:?}");
        // A job that leaves its data another: the next run must not see it.
        fs::write(restored.folder.join("data/part-m-00000"), "spoiled").unwrap();
        workload.clean_run(&run).unwrap();
    }
}
