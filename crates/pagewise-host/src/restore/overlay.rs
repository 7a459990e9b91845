//! The data under a fresh writable layer: nothing is copied until a job writes to a file, and then all of that file is.

use super::error::RestoreError;
use super::image::may_mount;
use super::tree;
use super::{Driver, PlacedCopy, RestoreContext, RestorePaths};
use pagewise_core::experiment::data::Restore;
use rustix::fs::{Mode, OFlags};
use rustix::mount::MountFlags;
use std::ffi::CString;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

/// The driver.
#[derive(Debug)]
pub(super) struct Overlay;

impl Overlay {
    pub(super) fn open(on: &RestorePaths) -> Result<Overlay, RestoreError> {
        may_mount(Restore::Overlay)?;
        on.workspace.has_room(0, "what the job writes")?;
        on.workspace.keep_masters(None)?;
        Ok(Overlay)
    }
}

impl Driver for Overlay {
    fn place(&mut self, on: &RestorePaths, _doing: RestoreContext<'_>) -> Result<PlacedCopy, RestoreError> {
        let (upper, inner) = (on.workspace.place("upper"), on.workspace.place("inner"));
        // The merged folder has the mode and owner of the upper one.
        tree::empty_like(&on.source, &upper)?;
        fs::create_dir(&inner).map_err(RestoreError::file("create", &inner))?;
        let point = on.workspace.mount_point()?;
        // By descriptor: in a path a colon or a comma would need an escape that differs between kernels.
        let opened = [&on.source, &upper, &inner].map(|folder| open_folder(folder));
        let [lower, upper, inner] = opened;
        let (lower, upper, inner) = (lower?, upper?, inner?);
        let by_descriptor = |folder: &OwnedFd| format!("/proc/self/fd/{}", folder.as_raw_fd());
        // Without redirect_dir a job could not rename a folder of the data (EXDEV).
        let options = format!(
            "lowerdir={},upperdir={},workdir={},redirect_dir=on",
            by_descriptor(&lower),
            by_descriptor(&upper),
            by_descriptor(&inner)
        );
        let options = CString::new(options).map_err(|error| RestoreError::Step(error.to_string()))?;
        let flags = MountFlags::NODEV | MountFlags::NOSUID | MountFlags::NOATIME;
        rustix::mount::mount("pagewise", &point, "overlay", flags, options.as_c_str()).map_err(|errno| match errno {
            rustix::io::Errno::INVAL | rustix::io::Errno::NODEV | rustix::io::Errno::OPNOTSUPP => {
                RestoreError::Unsupported {
                    method: Restore::Overlay,
                    folder: on.workspace.folder().to_path_buf(),
                    why: format!("the kernel refuses a writable layer there ({errno})"),
                    remedy: "keep the copies on a plain disk file system such as ext4, not on NFS or another overlay",
                }
            }
            errno => RestoreError::errno("mount a writable layer at", &point)(errno),
        })?;
        let note = "overlay: the first write to a file copies all of it, within the job's time".to_owned();
        Ok(PlacedCopy { folder: point, is_verified: false, notes: vec![note] })
    }
}

fn open_folder(folder: &Path) -> Result<OwnedFd, RestoreError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(folder, flags, Mode::empty()).map_err(RestoreError::errno("open", folder))
}
