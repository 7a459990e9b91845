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

    #[test]
    fn an_allocation_that_was_freed_is_faulted_in_again() {
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
