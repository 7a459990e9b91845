//! The rows that are sorted: generated once per number of rows and Hadoop version, kept with their checksums, looked
//! through before every trial and made anew when a file is not what it was.

use super::super::WorkloadError;
use super::super::kept::{KeptFile, bytes_below, hash_files};
use super::super::partial::{self, PartialDir};
use super::scale::ROW_BYTES;
use super::tools::{self, Launch, Tool, Tools};
use crate::free_space::free_space;
use crate::process::Interrupt;
use crate::progress::Progress;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// Space a job takes beside the input, as a multiple of it: its output, and the spilled map output with its index.
const SPACE_PER_JOB: f64 = 2.2;

/// The rows' folder below the input's own.
pub(super) const ROWS: &str = "data";

/// Input that is there and whole.
#[derive(Clone, Debug)]
pub(super) struct Input {
    /// The rows' folder as Hadoop takes it.
    pub(super) folder: String,
    /// The folder on this host that holds the rows' folder as [`ROWS`]; nothing when they lie in a cluster.
    pub(super) home: Option<PathBuf>,
    /// Sum of the CRC32 of all rows, hexadecimal, by TeraChecksum.
    pub(super) checksum: String,
}

/// What is kept beside the rows.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
struct Manifest {
    rows: u64,
    hadoop_version: String,
    checksum: String,
    files: Vec<KeptFile>,
}

/// The input for `rows`, from the cache or generated.
pub(super) fn prepare(
    tools: &Tools,
    cache: &Path,
    cluster_dir: &str,
    rows: u64,
    jobs: u32,
    progress: &dyn Progress,
) -> Result<Input, WorkloadError> {
    if let Launch::Launcher { .. } = tools.launch {
        let tmp = cache.join("terasort/tmp");
        let input = in_cluster(tools, cluster_dir, rows, &tmp, progress);
        partial::remove(&tmp)?;
        return input;
    }
    let home = home(cache, rows, &tools.hadoop.version);
    let input_bytes = rows.saturating_mul(ROW_BYTES);
    if let Ok(manifest) = checked(&home, &tools.interrupt, progress)? {
        room(cache, space_of_jobs(input_bytes, jobs), rows)?;
        return Ok(input_in(&home, manifest));
    }
    room(cache, input_bytes.saturating_add(space_of_jobs(input_bytes, jobs)), rows)?;
    let partial = PartialDir::create(&home, &tools.interrupt)?;
    // Another process may have made it while we waited for our turn.
    match checked(&home, &tools.interrupt, progress)? {
        Ok(manifest) => return Ok(input_in(&home, manifest)),
        Err(why) if home.exists() => tracing::warn!("the input in {} is generated anew: {why}", home.display()),
        Err(_) => {}
    }
    let manifest = generate(tools, partial, rows, progress)?;
    Ok(input_in(&home, manifest))
}

fn input_in(home: &Path, manifest: Manifest) -> Input {
    let folder = home.join(ROWS).display().to_string();
    Input { folder, home: Some(home.to_path_buf()), checksum: manifest.checksum }
}

/// The folder of one input in the cache.
pub(super) fn home(cache: &Path, rows: u64, version: &str) -> PathBuf {
    cache.join("terasort").join(format!("rows-{rows}")).join(format!("hadoop-{version}"))
}

/// Bytes that `jobs` sorts of the input write at most.
pub(super) fn space_of_jobs(input_bytes: u64, jobs: u32) -> u64 {
    (input_bytes as f64 * f64::from(jobs) * SPACE_PER_JOB) as u64
}

/// Refuses a trial that the file system of `dir` has no room for.
pub(super) fn room(dir: &Path, needed: u64, rows: u64) -> Result<(), WorkloadError> {
    room_or(dir, needed, rows, "another folder with --cache-dir")
}

/// Refuses a run that the restored file system has no room for.
pub(super) fn room_beside_data(dir: &Path, needed: u64, rows: u64) -> Result<(), WorkloadError> {
    room_or(dir, needed, rows, "a larger file system with size = \"…G\" in the plan's [data]")
}

fn room_or(dir: &Path, needed: u64, rows: u64, remedy: &str) -> Result<(), WorkloadError> {
    fs::create_dir_all(dir).map_err(WorkloadError::file("create", dir))?;
    let free = free_space(dir).map_err(WorkloadError::file("look at the free space of", dir))?;
    if free >= needed {
        return Ok(());
    }
    Err(WorkloadError::Missing(format!(
        "no room for TeraSort of {rows} rows in {}: it needs {:.0} MB (100 bytes a row for the input, and {SPACE_PER_JOB} \
         times that per job for spilled and sorted data), {:.0} MB are free; take fewer rows, or {remedy}",
        dir.display(),
        needed as f64 / 1e6,
        free as f64 / 1e6
    )))
}

fn generate(tools: &Tools, partial: PartialDir, rows: u64, progress: &dyn Progress) -> Result<Manifest, WorkloadError> {
    let data = partial.path().join(ROWS);
    let tmp = partial.path().join("tmp");
    let sum = partial.path().join("sum");
    let (data_text, sum_text) = (data.display().to_string(), sum.display().to_string());
    let bytes = rows.saturating_mul(ROW_BYTES);
    let what = format!("generating {rows} rows with TeraGen");
    let ended = tools.run(Tool::Gen, vec![], vec![rows.to_string(), data_text.clone()], &tmp, &mut || {
        progress.stage(&what, Some((bytes_below(&data) as f64 / bytes as f64).min(1.0)));
    })?;
    tools::succeeded(&ended, "TeraGen")?;
    let checksum = checksum_of(tools, &data_text, &sum_text, &tmp, progress)?;
    for finished in [&tmp, &sum] {
        partial::remove(finished)?;
    }
    let manifest = Manifest {
        rows,
        hadoop_version: tools.hadoop.version.clone(),
        checksum,
        files: hash_files(&data, &tools.interrupt, progress)?,
    };
    write_manifest(&partial.path().join("manifest.json"), &manifest)?;
    partial.keep()?;
    Ok(manifest)
}

fn checksum_of(
    tools: &Tools,
    data: &str,
    sum: &str,
    tmp: &Path,
    progress: &dyn Progress,
) -> Result<String, WorkloadError> {
    let arguments = vec![data.to_owned(), sum.to_owned()];
    let ended = tools.run(Tool::Checksum, vec![], arguments, tmp, &mut || {
        progress.stage("summing the rows with TeraChecksum", None);
    })?;
    tools::succeeded(&ended, "TeraChecksum")?;
    let text = tools.read_parts(sum)?;
    let checksum = text.trim();
    if checksum.is_empty() || !checksum.chars().all(|c| c.is_ascii_hexdigit()) {
        return Err(WorkloadError::Step(format!("TeraChecksum wrote '{checksum}' to {sum}, which is no checksum")));
    }
    Ok(checksum.to_owned())
}

fn write_manifest(path: &Path, manifest: &Manifest) -> Result<(), WorkloadError> {
    let text = serde_json::to_string_pretty(manifest)
        .map_err(|error| WorkloadError::Step(format!("cannot write the manifest {}: {error}", path.display())))?;
    fs::write(path, text).map_err(WorkloadError::file("write", path))
}

/// The manifest of the input in `home`, or why it cannot be used.
fn checked(
    home: &Path,
    interrupt: &Interrupt,
    progress: &dyn Progress,
) -> Result<Result<Manifest, String>, WorkloadError> {
    let path = home.join("manifest.json");
    let Ok(text) = fs::read_to_string(&path) else { return Ok(Err(format!("there is no {}", path.display()))) };
    let manifest: Manifest = match serde_json::from_str(&text) {
        Ok(manifest) => manifest,
        Err(error) => return Ok(Err(format!("{} cannot be read: {error}", path.display()))),
    };
    let data = home.join(ROWS);
    if !data.is_dir() {
        return Ok(Err(format!("there is no {}", data.display())));
    }
    let found = hash_files(&data, interrupt, progress)?;
    if found == manifest.files {
        return Ok(Ok(manifest));
    }
    let changed = manifest.files.iter().find(|kept| !found.contains(kept));
    let name = changed.or(found.iter().find(|file| !manifest.files.contains(file))).map(|file| file.name.as_str());
    Ok(Err(format!("{} is not as it was generated", data.join(name.unwrap_or_default()).display())))
}

/// In a cluster the rows lie in its file system, and the checksum in a file beside them that is written last.
fn in_cluster(
    tools: &Tools,
    dir: &str,
    rows: u64,
    tmp: &Path,
    progress: &dyn Progress,
) -> Result<Input, WorkloadError> {
    let home = format!("{dir}/terasort/rows-{rows}/hadoop-{}", tools.hadoop.version);
    let (data, sum, partial) = (format!("{home}/data"), format!("{home}/checksum"), format!("{home}.partial"));
    if tools.file_system(&["-test", "-e", &format!("{sum}/_SUCCESS")])?.status.is_success() {
        let checksum = tools.read_parts(&sum)?.trim().to_owned();
        return Ok(Input { folder: data, home: None, checksum });
    }
    tools.remove(&home)?;
    tools.remove(&partial)?;
    let what = format!("generating {rows} rows with TeraGen in the cluster");
    let arguments = vec![rows.to_string(), format!("{partial}/data")];
    let ended = tools.run(Tool::Gen, vec![], arguments, tmp, &mut || progress.stage(&what, None))?;
    tools::succeeded(&ended, "TeraGen")?;
    let checksum = checksum_of(tools, &format!("{partial}/data"), &format!("{partial}/checksum"), tmp, progress)?;
    let moved = tools.file_system(&["-mv", &partial, &home])?;
    tools::succeeded(&moved, &format!("hadoop fs -mv {partial} {home}"))?;
    Ok(Input { folder: data, home: None, checksum })
}
