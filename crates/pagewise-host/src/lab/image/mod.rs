//! Machines of their own: a disk with Debian, systemd and GRUB, which boots by itself as a real host does. It is made without loop
//! devices and mounts: the file system from a folder, the boot loader by the new machine itself, in its first boot.

use super::accelerator::{self, QEMU};
use super::debian;
use super::kernels::Kernel;
use super::{LabError, own_disk, text};
use crate::process::{self, Command, Interrupt, Limits, Watch};
use crate::progress::Progress;
use crate::workload::partial::PartialDir;
use pagewise_core::unit::Bytes;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Raised when what is made below changes.
const RECIPE: u32 = 2;

/// What every such machine has beside Debian's smallest set.
const PACKAGES: [&str; 10] =
    ["systemd-sysv", "dbus", "udev", "kmod", "initramfs-tools", "zstd", "grub-pc", "e2fsprogs", "procps", "iproute2"];

/// Where the partition begins, in bytes: behind what GRUB puts before it.
pub(super) const PARTITION: u64 = 1 << 20;

/// Smaller ones do not hold Debian and two kernels with their modules.
const LEAST_SIZE: u64 = 3 << 30;

/// How long the first boot may take. Ours: 20 s under emulation.
const PATIENCE: f64 = 240.0;

/// What the first boot says when it has done its work.
const INSTALLED: &str = "pagewise: installed";

/// Units of a host that a machine for trials does without: they start by the clock, in the middle of a run.
const MASKED: [&str; 6] = [
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "fstrim.timer",
    "systemd-tmpfiles-clean.timer",
];

/// A machine that is to be made.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// Debian's release.
    pub suite: String,
    /// Its kernels. GRUB boots the newest where it is told nothing.
    pub kernels: Vec<Kernel>,
    /// Further packages.
    pub packages: Vec<String>,
    /// Of its disk.
    pub size: Bytes,
    /// Debian's mirror; that of this host's own sources unless it is named.
    pub mirror: Option<String>,
}

/// Makes the disk, or copies one that was made before, and puts this program in it.
///
/// # Errors
/// When something it needs is missing here, or a step fails.
pub fn make(
    recipe: &Recipe,
    program: &Path,
    out: &Path,
    cache: &Path,
    interrupt: &Interrupt,
    progress: &dyn Progress,
) -> Result<(), LabError> {
    recipe.check()?;
    if out.exists() {
        return Err(LabError::Usage(format!(
            "{} exists already and is never overwritten; name another with --out",
            out.display()
        )));
    }
    if !rustix::process::geteuid().is_root() {
        return Err(LabError::Missing(
            "only root can make the files of another system as they are to be; run it with sudo".to_owned(),
        ));
    }
    for (name, package) in [
        ("sfdisk", "fdisk"),
        ("mkfs.ext4", "e2fsprogs"),
        ("debugfs", "e2fsprogs"),
        (QEMU, "qemu-system-x86"),
        ("chroot", "coreutils"),
    ] {
        let sbin = Path::new("/usr/sbin").join(name);
        if process::find_program(name).is_err() && !sbin.exists() {
            return Err(LabError::Missing(format!("{name} is not here (Debian, Ubuntu: apt install {package})")));
        }
    }
    let steps = Steps { interrupt, progress };
    let folder = cache.join("lab/images").join(recipe.name());
    let base = folder.join("disk.raw");
    if !base.is_file() {
        let partial = PartialDir::create(&folder, interrupt)?;
        if !base.is_file() {
            steps.build(recipe, cache, partial.path())?;
            partial.keep()?;
        }
    }
    steps.copy(&base, out)?;
    let put = steps.put(program, out);
    if put.is_err() {
        let _ = fs::remove_file(out);
    }
    put
}

impl Recipe {
    fn check(&self) -> Result<(), LabError> {
        let is_name =
            |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "+-.:".contains(c));
        if let Some(odd) = [&self.suite].into_iter().chain(&self.packages).find(|name| !is_name(name)) {
            return Err(LabError::Usage(format!("'{}' names no release or package of Debian", odd.escape_debug())));
        }
        if self.size.0 < LEAST_SIZE {
            return Err(LabError::Usage(format!(
                "a disk of {} does not hold the system; give it {} or more",
                self.size,
                Bytes(LEAST_SIZE)
            )));
        }
        match self.kernels.iter().find(|kernel| kernel.modules.is_none() || kernel.config.is_none()) {
            Some(kernel) => Err(LabError::Usage(format!(
                "{} has no modules or no configuration beside it, and a system of its own needs both: name a kernel as debian:VERSION, or one \
                 that is installed",
                kernel.image.display()
            ))),
            None if self.kernels.is_empty() => Err(LabError::Usage("an image needs a kernel".to_owned())),
            None => Ok(()),
        }
    }

    /// By what a made disk is found again.
    fn name(&self) -> String {
        let releases: Vec<&str> = self.kernels.iter().map(|kernel| kernel.release.as_str()).collect();
        let words = format!("{RECIPE} {} {releases:?} {:?} {}", self.suite, self.packages, self.size.0);
        format!("{}-{}", self.suite, &blake3::hash(words.as_bytes()).to_hex()[..16])
    }

    fn newest(&self) -> &Kernel {
        let newest = self.kernels.iter().max_by_key(|kernel| debian::numbers(&kernel.release));
        newest.unwrap_or(&self.kernels[0])
    }
}

/// The steps, with whoever is told of them.
struct Steps<'a> {
    interrupt: &'a Interrupt,
    progress: &'a dyn Progress,
}

impl Steps<'_> {
    fn run(&self, argv: &[&str], what: &str) -> Result<String, LabError> {
        let words = argv.iter().map(|word| (*word).to_owned()).collect();
        let ended = super::run_step(words, None, self.interrupt, &mut || self.progress.stage(what, None))?;
        if ended.status.is_success() {
            return Ok(ended.stdout);
        }
        Err(LabError::Step(format!("{what}: {} failed: {}: {}", argv[0], ended.status, ended.last_lines())))
    }

    /// The disk without the program, in this folder.
    fn build(&self, recipe: &Recipe, cache: &Path, folder: &Path) -> Result<(), LabError> {
        let tree = folder.join("tree");
        self.bootstrap(recipe, &tree)?;
        for kernel in &recipe.kernels {
            self.add_kernel(kernel, &tree)?;
        }
        configure(&tree)?;
        let disk = folder.join("disk.raw");
        let newest = recipe.newest();
        let boot = |name: &str| folder.join(format!("{name}-first"));
        for (name, file) in
            [("vmlinuz", format!("vmlinuz-{}", newest.release)), ("initrd", format!("initrd.img-{}", newest.release))]
        {
            let from = tree.join("boot").join(file);
            fs::copy(&from, boot(name)).map_err(LabError::file("copy", &from))?;
        }
        self.lay(&tree, &disk, recipe.size)?;
        fs::remove_dir_all(&tree).map_err(LabError::file("remove", &tree))?;
        let accelerator = accelerator::find(newest, cache, self.interrupt)?;
        self.install_boot_loader(&disk, (&boot("vmlinuz"), &boot("initrd")), accelerator)?;
        // What the first boot left in the journal would be replayed over whatever is written into the disk from outside. 1 is "mended".
        let at = at_offset(&disk)?;
        self.run(&["sh", "-c", "e2fsck -f -y \"$1\"; [ $? -le 1 ]", "sh", &at], "checking the file system")?;
        for name in ["vmlinuz", "initrd"] {
            fs::remove_file(boot(name)).map_err(LabError::file("remove", boot(name)))?;
        }
        Ok(())
    }

    fn bootstrap(&self, recipe: &Recipe, tree: &Path) -> Result<(), LabError> {
        let mirror = debian::mirror(recipe.mirror.as_deref())?;
        let packages: Vec<&str> = PACKAGES.into_iter().chain(recipe.packages.iter().map(String::as_str)).collect();
        let include = format!("--include={}", packages.join(","));
        let tree = text(tree)?;
        let what = format!("making Debian {}", recipe.suite);
        if process::find_program("mmdebstrap").is_ok() {
            let mut argv = vec!["mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", &include];
            argv.extend(["--aptopt=APT::Install-Recommends \"false\"", "--dpkgopt=path-exclude=/usr/share/doc/*"]);
            argv.extend(["--dpkgopt=path-exclude=/usr/share/locale/*", &recipe.suite, &tree, &mirror]);
            return self.run(&argv, &what).map(drop);
        }
        if process::find_program("debootstrap").is_err() && !Path::new("/usr/sbin/debootstrap").exists() {
            return Err(LabError::Missing(
                "neither mmdebstrap nor debootstrap is here (Debian, Ubuntu: apt install mmdebstrap)".to_owned(),
            ));
        }
        self.run(&["debootstrap", "--variant=minbase", &include, &recipe.suite, &tree, &mirror], &what).map(drop)
    }

    /// Its files where an installation puts them, and an initramfs made by the new system's own tools.
    fn add_kernel(&self, kernel: &Kernel, tree: &Path) -> Result<(), LabError> {
        let release = &kernel.release;
        let what = format!("adding Linux {release}");
        let boot = tree.join("boot");
        for (name, from) in [("vmlinuz", Some(&kernel.image)), ("config", kernel.config.as_ref())] {
            let Some(from) = from else { continue };
            fs::copy(from, boot.join(format!("{name}-{release}"))).map_err(LabError::file("copy", from))?;
        }
        let modules = tree.join("usr/lib/modules");
        fs::create_dir_all(&modules).map_err(LabError::file("create", &modules))?;
        if let Some(from) = &kernel.modules {
            self.run(&["cp", "-a", &text(from)?, &text(&modules)?], &what)?;
        }
        for left in ["build", "source"] {
            let _ = fs::remove_file(modules.join(release).join(left));
        }
        self.run(&["chroot", &text(tree)?, "update-initramfs", "-c", "-k", release], &what).map(drop)
    }

    /// A partition with the tree's files, in a disk with nothing before it.
    fn lay(&self, tree: &Path, disk: &Path, size: Bytes) -> Result<(), LabError> {
        let file = fs::File::create(disk).map_err(LabError::file("create", disk))?;
        file.set_len(size.0).map_err(LabError::file("size", disk))?;
        let table = disk.with_extension("table");
        fs::write(&table, format!("label: dos\nstart={}, type=83, bootable\n", PARTITION / 512))
            .map_err(LabError::file("write", &table))?;
        let (disk, tree, table_text) = (text(disk)?, text(tree)?, text(&table)?);
        let what = "laying out the disk";
        // sfdisk reads the table from its standard input alone.
        self.run(&["sh", "-c", "exec sfdisk --quiet \"$1\" < \"$2\"", "sh", &disk, &table_text], what)?;
        let _ = fs::remove_file(&table);
        let offset = format!("offset={PARTITION},lazy_itable_init=0,lazy_journal_init=0");
        let blocks = format!("{}k", (size.0 - PARTITION) >> 10);
        self.run(&["mkfs.ext4", "-q", "-F", "-E", &offset, "-d", &tree, &disk, &blocks], what).map(drop)
    }

    /// Boots the machine once, with a kernel that QEMU loads.
    fn install_boot_loader(
        &self,
        disk: &Path,
        (kernel, initrd): (&Path, &Path),
        accelerator: accelerator::Accelerator,
    ) -> Result<(), LabError> {
        let mut argv = own_disk::machine(accelerator, Bytes(1 << 30), 1);
        let drive = format!("if=none,id=root,file={},format=raw,cache=unsafe", text(disk)?.replace(',', ",,"));
        let kernel = text(kernel)?;
        let initrd = text(initrd)?;
        let words = [
            "-no-reboot",
            "-serial",
            "stdio",
            "-drive",
            &drive,
            "-device",
            "virtio-blk-pci,drive=root",
            "-kernel",
            &kernel,
        ];
        argv.extend(words.map(str::to_owned));
        let append = "root=/dev/vda1 ro console=ttyS0 loglevel=4 panic=-1 init=/usr/lib/pagewise/install";
        argv.extend(["-initrd", &initrd, "-append", append].map(str::to_owned));
        struct InstallStage<'a>(&'a dyn Progress);
        impl Watch for InstallStage<'_> {
            fn tick(&mut self, _running: &[u32]) -> bool {
                self.0.stage("installing GRUB, in the machine's first boot", None);
                true
            }
        }
        let limits = Limits { timeout: Some(PATIENCE), interrupt: Some(self.interrupt), ..Limits::default() };
        let ended = process::run(&[Command { argv, ..Command::default() }], limits, &mut InstallStage(self.progress))?;
        self.interrupt.check()?;
        match ended.commands.first() {
            Some(said) if said.stdout.contains(INSTALLED) => Ok(()),
            said => Err(LabError::Step(format!(
                "GRUB could not be installed in the machine's first boot. It said last: {}",
                said.map_or_else(String::new, process::Ended::last_lines)
            ))),
        }
    }

    fn copy(&self, base: &Path, out: &Path) -> Result<(), LabError> {
        let (base, out) = (text(base)?, text(out)?);
        self.run(&["cp", "--sparse=always", "--reflink=auto", &base, &out], "copying the image").map(drop)
    }

    /// Writes the program into the file system of a disk, which nothing has mounted.
    fn put(&self, program: &Path, disk: &Path) -> Result<(), LabError> {
        let from = text(program)?;
        if from.contains(['"', '\n']) {
            return Err(LabError::Usage(format!("the path {from} has a quote in it, which debugfs cannot read")));
        }
        let words = disk.with_extension("debugfs");
        let inode = "set_inode_field /usr/bin/pagewise";
        let commands =
            format!("write \"{from}\" /usr/bin/pagewise\n{inode} mode 0100755\n{inode} uid 0\n{inode} gid 0\n");
        fs::write(&words, commands).map_err(LabError::file("write", &words))?;
        let at = at_offset(disk)?;
        let what = "putting pagewise into the image";
        let put = self.run(&["debugfs", "-w", "-f", &text(&words)?, &at], what);
        let _ = fs::remove_file(&words);
        put?;
        // debugfs succeeds whatever becomes of its commands.
        let size = fs::metadata(program).map_err(LabError::file("read", program))?.len();
        let said = self.run(&["debugfs", "-R", "stat /usr/bin/pagewise", &at], what)?;
        if said.contains(&format!("Size: {size}\n")) || said.contains(&format!("Size: {size} ")) {
            return Ok(());
        }
        Err(LabError::Step(format!(
            "{from} ({}) could not be written into the image: is it full? --size makes a larger one",
            Bytes(size)
        )))
    }
}

/// How the tools of ext4 are told where in a disk its file system begins.
fn at_offset(disk: &Path) -> Result<String, LabError> {
    Ok(format!("{}?offset={PARTITION}", text(disk)?))
}

/// What makes a tree of Debian a machine of ours.
fn configure(tree: &Path) -> Result<(), LabError> {
    const GRUB: &str = "GRUB_DEFAULT=0\nGRUB_TIMEOUT=0\nGRUB_DISTRIBUTOR=Debian\nGRUB_TERMINAL=console\nGRUB_DISABLE_OS_PROBER=true\n\
        GRUB_CMDLINE_LINUX_DEFAULT=\"\"\nGRUB_CMDLINE_LINUX=\"console=ttyS0 panic=5 psi=1 loglevel=5\"\n";
    let units = [
        ("pagewise-lab.service", include_str!("pagewise-lab.service")),
        ("pagewise-guard.service", include_str!("../../../../../packaging/systemd/pagewise-guard.service")),
        ("pagewise-record.service", include_str!("../../../../../packaging/systemd/pagewise-record.service")),
        ("pagewise-boot.service", include_str!("../../../../../packaging/systemd/pagewise-boot.service")),
    ];
    let mut files = vec![
        (PathBuf::from("etc/default/grub"), GRUB, 0o644),
        ("etc/fstab".into(), "/dev/vda1 / ext4 errors=remount-ro 0 1\n", 0o644),
        ("etc/hostname".into(), "pagewise-lab\n", 0o644),
        ("etc/hosts".into(), "127.0.0.1 localhost pagewise-lab\n", 0o644),
        // What the tool that made the tree copied of this host.
        ("etc/resolv.conf".into(), "", 0o644),
        ("etc/machine-id".into(), "", 0o444),
        ("usr/lib/pagewise/agent".into(), include_str!("agent.sh"), 0o755),
        ("usr/lib/pagewise/install".into(), include_str!("install.sh"), 0o755),
    ];
    files.extend(units.map(|(name, text)| (Path::new("usr/lib/systemd/system").join(name), text, 0o644)));
    for (name, text, mode) in files {
        let path = tree.join(name);
        let _ = fs::remove_file(&path);
        let parent = path.parent().unwrap_or(tree);
        fs::create_dir_all(parent).map_err(LabError::file("create", parent))?;
        fs::write(&path, text).map_err(LabError::file("write", &path))?;
        fs::set_permissions(&path, Permissions::from_mode(mode)).map_err(LabError::file("change", &path))?;
    }
    let wanted = tree.join("etc/systemd/system/multi-user.target.wants");
    fs::create_dir_all(&wanted).map_err(LabError::file("create", &wanted))?;
    // With this folder the journal of a boot is there after the next one.
    let journal = tree.join("var/log/journal");
    fs::create_dir_all(&journal).map_err(LabError::file("create", &journal))?;
    let mut links: Vec<(PathBuf, PathBuf)> = ["pagewise-lab.service", "pagewise-boot.service"]
        .map(|name| (Path::new("/usr/lib/systemd/system").join(name), wanted.join(name)))
        .to_vec();
    links.extend(MASKED.map(|name| (PathBuf::from("/dev/null"), tree.join("etc/systemd/system").join(name))));
    for (target, link) in links {
        let _ = fs::remove_file(&link);
        symlink(&target, &link).map_err(LabError::file("link", &link))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe() -> Recipe {
        let kernel = |release: &str| Kernel {
            release: release.to_owned(),
            build: String::new(),
            image: format!("/k/boot/vmlinuz-{release}").into(),
            build_tree: None,
            modules: Some("/k/lib/modules".into()),
            config: Some("/k/boot/config".into()),
        };
        Recipe {
            suite: "bookworm".to_owned(),
            kernels: vec![kernel("6.12.9"), kernel("6.1.99")],
            packages: Vec::new(),
            size: Bytes(6 << 30),
            mirror: None,
        }
    }

    #[test]
    fn a_disk_is_found_again_by_all_that_is_in_it_and_nothing_else() {
        let first = recipe();
        let mirrored = Recipe { mirror: Some("http://mirror.example/debian".to_owned()), ..recipe() };
        assert_eq!(first.name(), mirrored.name());
        let larger = Recipe { size: Bytes(7 << 30), ..recipe() };
        let with_java = Recipe { packages: vec!["default-jre-headless".to_owned()], ..recipe() };
        assert!(first.name() != larger.name() && first.name() != with_java.name());
        assert_eq!(first.newest().release, "6.12.9");
    }

    #[test]
    fn what_cannot_be_made_is_refused_before_anything_is_fetched() {
        for (wrong, words) in [
            (Recipe { suite: "book worm".to_owned(), ..recipe() }, "release or package"),
            (Recipe { packages: vec!["--force".to_owned(), "a,b".to_owned()], ..recipe() }, "a,b"),
            (Recipe { size: Bytes(1 << 30), ..recipe() }, "does not hold"),
            (Recipe { kernels: Vec::new(), ..recipe() }, "needs a kernel"),
        ] {
            let told = wrong.check().unwrap_err().to_string();
            assert!(told.contains(words), "{told}");
        }
        let mut bare = recipe();
        bare.kernels[0].modules = None;
        assert!(bare.check().unwrap_err().to_string().contains("debian:VERSION"));
    }

    #[test]
    fn a_tree_has_the_units_and_nothing_of_the_host_that_made_it() {
        let tree = tempfile::tempdir().unwrap();
        fs::create_dir_all(tree.path().join("etc")).unwrap();
        fs::write(tree.path().join("etc/resolv.conf"), "nameserver 192.0.2.1\n").unwrap();
        configure(tree.path()).unwrap();
        assert_eq!(fs::read_to_string(tree.path().join("etc/resolv.conf")).unwrap(), "");
        let guard = fs::read_to_string(tree.path().join("usr/lib/systemd/system/pagewise-guard.service")).unwrap();
        assert!(guard.contains("ExecStart=/usr/bin/pagewise guard run"));
        let link = tree.path().join("etc/systemd/system/multi-user.target.wants/pagewise-lab.service");
        assert_eq!(fs::read_link(link).unwrap(), Path::new("/usr/lib/systemd/system/pagewise-lab.service"));
    }
}
