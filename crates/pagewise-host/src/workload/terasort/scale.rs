//! How a run is sized: the options, heap and task counts of the MGLRU report's TeraSort, at any number of rows, CPUs and
//! bytes of memory.
//!
//! The report ("Kernel / Apache Hadoop benchmark with MGLRU", Hadoop 3.3.1, Linux 5.15) ran 12 jobs of 100,000,000 rows
//! on 48 CPUs and 256 GB. At that scale this file gives its values exactly; a test holds them against its script. What
//! is a part of the heap or of the rows shrinks with the rows; what is a count or a share stays.

/// Bytes of one TeraSort row.
pub const ROW_BYTES: u64 = 100;

/// Rows per job in the report.
const FULL_ROWS: u64 = 100_000_000;
/// Heap per job in the report: 20 GiB without swap, 22 GiB with.
const FULL_HEAP: u64 = 20 << 30;
const FULL_HEAP_WITH_SWAP: u64 = 22 << 30;
/// Memory of the report's host, in GiB as its heaps are.
const FULL_MEMORY: u64 = 256 << 30;
/// Jobs at once in the report, and the CPUs they shared.
const FULL_JOBS: u64 = 12;
const FULL_CPUS: u64 = 48;

/// Below this a job of any size does not run: Hadoop itself, its buffers and one map task need about 60 MB.
pub(super) const SMALLEST_HEAP: u64 = 128 << 20;

/// What a run of one size is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Rows every job sorts.
    pub rows: u64,
    /// Jobs at once, a JVM each.
    pub jobs: u32,
    /// Map tasks at once in a job.
    pub map_tasks: u32,
    /// Reduce tasks at once in a job.
    pub reduce_tasks: u32,
    /// Largest heap of a job, bytes.
    pub heap: u64,
}

/// Tasks per CPU, as in the report's three conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concurrency {
    /// One task for two CPUs.
    Low,
    /// One task per CPU.
    Medium,
    /// Two tasks per CPU.
    High,
}

/// The report's condition on another host: sizes of the job, and what it wants of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Of the jobs.
    pub sizes: Sizes,
    /// Swap space, bytes: a quarter of memory, or none.
    pub swap: u64,
    /// `vm.swappiness`.
    pub swappiness: u32,
    /// `vm.overcommit_memory`.
    pub overcommit_memory: u32,
}

/// The report's condition for a host of `cpus` CPUs and `memory` bytes: one job per four CPUs; heaps together 0.94 of
/// memory (1.03 with swap on); a heap of 2.0 (2.2) GiB per GB of data; ½, 1 or 2 tasks per CPU.
#[must_use]
pub fn seed_scaled(cpus: u32, memory: u64, concurrency: Concurrency, swap: bool) -> Condition {
    let jobs = u32::try_from(u64::from(cpus) * FULL_JOBS / FULL_CPUS).unwrap_or(1).max(1);
    let tasks_on_all_cpus = match concurrency {
        Concurrency::Low => cpus.div_ceil(2),
        Concurrency::Medium => cpus,
        Concurrency::High => cpus.saturating_mul(2),
    };
    let tasks = (tasks_on_all_cpus / jobs).max(1);
    let rows = scaled(FULL_ROWS * FULL_JOBS, memory, FULL_MEMORY) / u64::from(jobs);
    Condition {
        sizes: Sizes { rows, jobs, map_tasks: tasks, reduce_tasks: tasks, heap: heap_for(rows, swap) },
        swap: if swap { memory / 4 } else { 0 },
        swappiness: 1,
        overcommit_memory: 1,
    }
}

/// The heap the report would give a job of `rows`, in whole MiB: 215 bytes per row, 236 with swap on, and never less
/// than a job needs to run at all.
#[must_use]
pub(super) fn heap_for(rows: u64, swap: bool) -> u64 {
    let full = if swap { FULL_HEAP_WITH_SWAP } else { FULL_HEAP };
    (scaled(full, rows, FULL_ROWS) >> 20 << 20).max(SMALLEST_HEAP)
}

/// The report's options, in its order, for a run of these sizes. `hadoop.tmp.dir` is each job's own and not in here.
#[must_use]
pub(super) fn options(sizes: &Sizes) -> Vec<(&'static str, String)> {
    let buffer = shrunk(8 << 20, sizes.rows, 4096) / 4096 * 4096;
    vec![
        ("file.stream-buffer-size", buffer.to_string()),
        ("io.file.buffer.size", buffer.to_string()),
        ("mapreduce.job.heap.memory-mb.ratio", "1.0".to_owned()),
        ("mapreduce.reduce.input.buffer.percent", "1.0".to_owned()),
        ("mapreduce.reduce.merge.inmem.threshold", "0".to_owned()),
        ("mapreduce.task.io.sort.factor", "100".to_owned()),
        ("mapreduce.task.io.sort.mb", shrunk(1000, sizes.rows, 4).to_string()),
        ("mapreduce.terasort.final.sync", "false".to_owned()),
        ("mapreduce.terasort.num.partitions", "100".to_owned()),
        ("mapreduce.terasort.partitions.sample", shrunk(1_000_000, sizes.rows, 1000).to_string()),
        ("mapreduce.local.map.tasks.maximum", sizes.map_tasks.to_string()),
        ("mapreduce.local.reduce.tasks.maximum", sizes.reduce_tasks.to_string()),
        ("mapreduce.reduce.shuffle.parallelcopies", sizes.map_tasks.to_string()),
    ]
}

/// `full` at the report's rows, less for fewer rows, at least `least`, never more than the report had.
fn shrunk(full: u64, rows: u64, least: u64) -> u64 {
    scaled(full, rows, FULL_ROWS).clamp(least, full)
}

fn scaled(full: u64, part: u64, whole: u64) -> u64 {
    u64::try_from(u128::from(full) * u128::from(part) / u128::from(whole)).unwrap_or(u64::MAX)
}

/// Bytes of a split that make at least `map_tasks` of them, when Hadoop's own would make fewer: with fewer splits than
/// tasks a map task maximum does nothing. Hadoop cuts a local file every 32 MiB (`fs.local.block.size`) and lets the
/// last piece be a tenth longer (`FileInputFormat.SPLIT_SLOP`).
#[must_use]
pub(super) fn split_size(rows: u64, map_tasks: u32) -> Option<u64> {
    const LOCAL_BLOCK: u64 = 32 << 20;
    let bytes = rows.saturating_mul(ROW_BYTES);
    let with_slop = |size: u64| bytes.saturating_sub(size / 10).div_ceil(size).max(1);
    if with_slop(LOCAL_BLOCK) >= u64::from(map_tasks) {
        return None;
    }
    Some((rows / u64::from(map_tasks)).max(1) * ROW_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const SCRIPT: &str = include_str!("../../../tests/data/run_terasort.sh");

    /// The value of a line's `<a, b, c>` for condition `index`, or the plain value.
    fn choose(value: &str, index: usize) -> String {
        let Some(inner) = value.strip_prefix('<').and_then(|v| v.strip_suffix('>')) else {
            return value.trim_matches('"').to_owned();
        };
        let chosen = inner.split(',').nth(index).unwrap().trim();
        chosen.rsplit(' ').next().unwrap().to_owned()
    }

    fn script_options(condition: usize) -> BTreeMap<String, String> {
        let lines = SCRIPT.lines().filter_map(|line| line.trim().strip_prefix("-D"));
        lines
            .map(|line| line.trim_end_matches('\\').trim().split_once('=').unwrap())
            .map(|(name, value)| (name.to_owned(), choose(value, condition)))
            .collect()
    }

    fn script_variable(name: &str, index: usize) -> String {
        let line = SCRIPT.lines().find_map(|line| line.strip_prefix(&format!("export {name}="))).unwrap();
        choose(line, index)
    }

    fn close(ratio: f64, wanted: f64) -> bool {
        (ratio / wanted - 1.0).abs() < 0.01
    }

    #[test]
    fn at_full_scale_every_option_is_the_one_in_the_reports_script() {
        for (index, concurrency) in [Concurrency::Low, Concurrency::Medium, Concurrency::High].into_iter().enumerate() {
            for swap in [false, true] {
                let sizes = seed_scaled(48, 256 << 30, concurrency, swap).sizes;
                let ours: BTreeMap<String, String> =
                    options(&sizes).into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
                let mut theirs = script_options(index);
                assert_eq!(theirs.len(), 14, "the script sets 14 options");
                assert_eq!(theirs.remove("hadoop.tmp.dir").unwrap(), "/mnt/data/tmp$i", "a folder per job");
                assert_eq!(ours, theirs);
            }
        }
    }

    #[test]
    fn at_full_scale_jobs_rows_heap_and_host_settings_are_the_reports() {
        for (index, swap) in [false, true].into_iter().enumerate() {
            let condition = seed_scaled(48, 256 << 30, Concurrency::Low, swap);
            let sizes = &condition.sizes;
            assert_eq!((sizes.jobs, sizes.rows), (12, 100_000_000));
            let heap = script_variable("HADOOP_HEAPSIZE_MAX", index);
            assert_eq!(format!("{}G", sizes.heap >> 30), heap);
            assert_eq!(sizes.heap % (1 << 30), 0);
            assert_eq!(condition.swap, if swap { 64 << 30 } else { 0 });
            assert_eq!((condition.swappiness, condition.overcommit_memory), (1, 1));
        }
        assert!(SCRIPT.contains("i < 12"));
    }

    #[test]
    fn the_reports_ratios_hold_at_any_scale() {
        for (cpus, memory) in [(48_u32, 256_u64 << 30), (2, 24 << 30), (2, 4 << 30), (8, 64 << 30), (96, 384 << 30)] {
            for (concurrency, per_cpu) in
                [(Concurrency::Low, 0.5), (Concurrency::Medium, 1.0), (Concurrency::High, 2.0)]
            {
                for (swap, of_memory, of_data) in [(false, 0.94, 2.0), (true, 1.03, 2.2)] {
                    let condition = seed_scaled(cpus, memory, concurrency, swap);
                    let Sizes { rows, jobs, map_tasks, heap, .. } = condition.sizes;
                    let (jobs, memory) = (f64::from(jobs), memory as f64);
                    assert!(close(heap as f64 * jobs / memory, of_memory), "{cpus} CPUs: heap of memory");
                    let (heap_gib, data_gb) = (heap as f64 / (1_u64 << 30) as f64, rows as f64 * 100.0 / 1e9);
                    assert!(close(heap_gib / data_gb, of_data), "{cpus} CPUs: {heap_gib} GiB for {data_gb} GB");
                    assert!(close(jobs * f64::from(map_tasks) / f64::from(cpus), per_cpu), "{cpus} CPUs: tasks");
                    assert_eq!(condition.swap as f64, if swap { memory / 4.0 } else { 0.0 });
                }
            }
        }
    }

    #[test]
    fn sort_buffer_stream_buffers_and_sample_keep_their_share_of_the_heap_and_the_rows() {
        let small = Sizes { rows: 1_000_000, jobs: 1, map_tasks: 2, reduce_tasks: 2, heap: heap_for(1_000_000, false) };
        let options: BTreeMap<_, _> = options(&small).into_iter().collect();
        assert_eq!(options["mapreduce.task.io.sort.mb"], "10");
        assert_eq!(options["mapreduce.terasort.partitions.sample"], "10000");
        assert_eq!(options["io.file.buffer.size"], "81920", "a hundredth of 8 MiB in whole pages");
        assert_eq!(small.heap, 204 << 20);
    }

    #[test]
    fn fewer_splits_than_map_tasks_are_cut_smaller() {
        assert_eq!(split_size(100_000_000, 8), None);
        assert_eq!(split_size(1_000_000, 2), None);
        assert_eq!(split_size(20_000, 4), Some(500_000));
    }
}
