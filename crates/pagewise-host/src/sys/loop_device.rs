//! Loop devices: a file as a block device.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::path::PathBuf;

// `include/uapi/linux/loop.h` (6.12).
const LOOP_CTL_GET_FREE: libc::Ioctl = 0x4C82;
const LOOP_CONFIGURE: libc::Ioctl = 0x4C0A;
const LOOP_CLR_FD: libc::Ioctl = 0x4C01;
const LO_FLAGS_READ_ONLY: u32 = 1;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
const LO_FLAGS_DIRECT_IO: u32 = 16;

/// `struct loop_info64` of the same file.
#[repr(C)]
struct LoopInfo64 {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

/// `struct loop_config` of the same file (5.8 and later).
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo64,
    reserved: [u64; 8],
}

/// How often a free device may be taken by someone else before we give up.
const ATTEMPTS: u32 = 64;

/// A device that shows a file. It goes by itself with its last user: when this is dropped, or else when the file system
/// on it is unmounted, and also when this process is killed in between.
#[derive(Debug)]
pub struct LoopDevice {
    _open: File,
    /// N of `/dev/loopN`.
    pub number: u32,
}

impl LoopDevice {
    /// Attaches `backing` to a free device, past the host's page cache where the file system can do that.
    ///
    /// # Errors
    /// What the kernel answered; `NotFound` where a container has no such devices.
    pub fn attach(backing: &File, read_only: bool) -> io::Result<LoopDevice> {
        let control = OpenOptions::new().read(true).write(true).open("/dev/loop-control")?;
        let fd = u32::try_from(backing.as_raw_fd()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        let access = if read_only { LO_FLAGS_READ_ONLY } else { 0 };
        for _ in 0..ATTEMPTS {
            let number = free_number(control.as_raw_fd())?;
            let device = OpenOptions::new().read(true).write(!read_only).open(format!("/dev/loop{number}"))?;
            match configure(device.as_raw_fd(), fd, access | LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO) {
                Ok(()) => return Ok(LoopDevice { _open: device, number }),
                // Someone else was faster with this device.
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("every free loop device was taken by someone else"))
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/dev/loop{}", self.number))
    }
}

fn free_number(control: RawFd) -> io::Result<u32> {
    // SAFETY: needed because no safe library offers this ioctl. Sound because it takes no argument and only returns a
    // number.
    let answer = unsafe { libc::ioctl(control, LOOP_CTL_GET_FREE) };
    u32::try_from(answer).map_err(|_| io::Error::last_os_error())
}

fn configure(device: RawFd, backing: u32, flags: u32) -> io::Result<()> {
    // SAFETY: an all-zero loop_config is a valid value of this plain C struct.
    let mut config: LoopConfig = unsafe { std::mem::zeroed() };
    config.fd = backing;
    config.info.flags = flags;
    // SAFETY: needed because no safe library offers this ioctl. Sound because the kernel only reads a struct of exactly
    // this layout that lives for the whole call, and both descriptors are open.
    let answer = unsafe { libc::ioctl(device, LOOP_CONFIGURE, &raw const config) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Detaches the file from an open device, or lets it go with the last user where there are others (`LOOP_CLR_FD`).
///
/// # Errors
/// What the kernel answered; `ENXIO` when nothing is attached.
pub fn detach(device: &File) -> io::Result<()> {
    // SAFETY: needed because no safe library offers this ioctl. Sound because it takes no argument.
    let answer = unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CLR_FD) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structs_have_the_size_the_kernel_expects() {
        assert_eq!((size_of::<LoopInfo64>(), size_of::<LoopConfig>()), (232, 304));
    }
}
