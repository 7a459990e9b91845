//! Files that are kept from trial to trial, known again by their checksums.

use super::WorkloadError;
use crate::process::Interrupt;
use crate::progress::Progress;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// A file as it was when it was kept.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
pub(in crate::workload) struct KeptFile {
    pub(in crate::workload) name: String,
    pub(in crate::workload) bytes: u64,
    pub(in crate::workload) blake3: String,
}

/// Every file in `dir`, not those in folders below it, with its BLAKE3, sorted by name.
pub(in crate::workload) fn hash_files(
    dir: &Path,
    interrupt: &Interrupt,
    progress: &dyn Progress,
) -> Result<Vec<KeptFile>, WorkloadError> {
    let entries = fs::read_dir(dir).map_err(WorkloadError::file("list", dir))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.retain(|path| path.is_file());
    paths.sort();
    let total = bytes_below(dir).max(1) as f64;
    let mut done = 0;
    let mut files = Vec::with_capacity(paths.len());
    for path in paths {
        let mut file = File::open(&path).map_err(WorkloadError::file("read", &path))?;
        let mut hasher = blake3::Hasher::new();
        let mut chunk = vec![0; 1 << 20];
        let mut bytes = 0;
        loop {
            let n = file.read(&mut chunk).map_err(WorkloadError::file("read", &path))?;
            if n == 0 {
                break;
            }
            hasher.update(&chunk[..n]);
            bytes += n as u64;
            interrupt.check()?;
            progress.stage("checking the kept files", Some((done + bytes) as f64 / total));
        }
        done += bytes;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        files.push(KeptFile { name, bytes, blake3: hasher.finalize().to_hex().to_string() });
    }
    Ok(files)
}

/// Bytes of all files below `dir`. Files come and go while somebody writes; what cannot be read counts as nothing.
pub(in crate::workload) fn bytes_below(dir: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    let sizes = entries.filter_map(Result::ok).map(|entry| match entry.metadata() {
        Ok(data) if data.is_dir() => bytes_below(&entry.path()),
        Ok(data) => data.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

/// The SHA-256 of a file, hexadecimal.
pub(in crate::workload) fn sha256(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; 1 << 16];
    loop {
        match file.read(&mut chunk)? {
            0 => break,
            n => hasher.update(&chunk[..n]),
        }
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
