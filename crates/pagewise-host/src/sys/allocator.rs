//! How the C library gives memory back and takes it again.

/// From so many bytes on every allocation is mapped anew and unmapped when it is freed. By default glibc raises that bound to the largest
/// block that was freed, and a program that allocates the same again and again meets the kernel only once. Other C libraries have
/// no such setting, and nothing is done there.
pub fn always_asks_the_kernel(from: usize) {
    #[cfg(target_env = "gnu")]
    {
        let bytes = libc::c_int::try_from(from).unwrap_or(libc::c_int::MAX);
        // SAFETY: needed because only mallopt turns the moving bound off. Sound because it takes integers and changes where later
        // allocations come from, nothing about those there are.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, bytes);
        }
    }
    #[cfg(not(target_env = "gnu"))]
    let _ = from;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Set in the process of its own in which the test looks.
    const ALONE: &str = "PAGEWISE_TEST_ALLOCATOR";

    /// What other tests have freed is given out first, whatever its size: the test is run once more, by itself.
    #[test]
    fn an_allocation_that_was_freed_is_faulted_in_again() {
        if std::env::var_os(ALONE).is_none() {
            let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
            alone.args(["--exact", "sys::allocator::tests::an_allocation_that_was_freed_is_faulted_in_again"]);
            let output = alone.env(ALONE, "1").output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.status.success() && said.contains("1 passed"), "{said}");
            return;
        }
        always_asks_the_kernel(1 << 20);
        let faults = || {
            let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
            let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
            fields[7].parse::<u64>().unwrap()
        };
        let touch = || drop(std::hint::black_box(vec![1_u8; 4 << 20]));
        touch();
        let before = faults();
        touch();
        assert!(faults() - before >= 2, "it was kept");
    }
}
