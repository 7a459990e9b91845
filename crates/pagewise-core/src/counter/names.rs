//! Names of files that the kernel keeps (`/proc/sys/fs/dentry-state`).

use super::prelude::*;

catalogue! {
    /// Names of files the kernel keeps.
    DENTRIES = Quantity::level("dentries", &[Is("nr_dentry")], Count);
    /// Names of files that do not exist.
    DENTRIES_NEGATIVE = Quantity::level("dentries", &[Is("nr_negative")], Count)
        .since("5.0 (include/linux/dcache.h); 0 before");
}
