//! An entry in a file of its own, as systemd-boot reads it and GRUB's `blscfg` (the Boot Loader Specification, type 1).

use super::{Entry, release_in};

/// Reads a file `NAME.conf` of `loader/entries`; `None` where it boots no Linux. `id` is what the boot loader calls it: of systemd-boot
/// the file's name, of GRUB that name without its end.
#[must_use]
pub fn parse(id: &str, text: &str) -> Option<Entry> {
    let mut entry = Entry { id: id.to_owned(), title: String::new(), release: None, parameters: String::new() };
    let (mut image, mut version) = (None, None);
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        let (key, value) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let value = value.trim();
        match key {
            "title" => entry.title = value.to_owned(),
            "version" => version = Some(value.to_owned()),
            "linux" => image = Some(value.to_owned()),
            // It may stand more than once; the lines are one.
            "options" if entry.parameters.is_empty() => entry.parameters = value.to_owned(),
            "options" => entry.parameters = format!("{} {value}", entry.parameters),
            _ => {}
        }
    }
    // A version is what its writer calls it; the image's name is what was installed.
    entry.release = release_in(&image?).or(version.filter(|version| version.starts_with(|c: char| c.is_ascii_digit())));
    Some(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_is_that_of_the_image_or_else_the_version() {
        let fedora = "title Fedora Linux (6.12.9-200.fc41.x86_64) 41\nversion 6.12.9-200.fc41.x86_64\nlinux /vmlinuz-6.12.9-200.fc41.x86_64\n\
                      initrd /initramfs-6.12.9-200.fc41.x86_64.img\noptions root=UUID=a ro\noptions quiet\ngrub_users $grub_users\n";
        let entry = parse("abc-6.12.9-200.fc41.x86_64", fedora).unwrap();
        assert_eq!(entry.release.as_deref(), Some("6.12.9-200.fc41.x86_64"));
        assert_eq!(
            (entry.parameters.as_str(), entry.title.as_str()),
            ("root=UUID=a ro quiet", "Fedora Linux (6.12.9-200.fc41.x86_64) 41")
        );
        let arch = "# by hand\ntitle\tArch\nversion 6.12.9-arch1-1\nlinux\t/vmlinuz-linux\n";
        assert_eq!(parse("arch.conf", arch).unwrap().release.as_deref(), Some("6.12.9-arch1-1"));
        assert_eq!(parse("shell.conf", "title EFI shell\nefi /shell.efi\n"), None);
        assert_eq!(parse("odd.conf", "linux\n").unwrap().release, None);
    }
}
