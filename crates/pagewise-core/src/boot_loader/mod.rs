//! What boot loaders have written on disk: their menus, and the variable by which one entry is booted once.

pub mod environment;
pub mod grub_menu;
pub mod loader_entry;

/// An entry of a boot loader's menu.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// By what the boot loader is told to boot it; of GRUB with the menus it lies in, `advanced>6.1`.
    pub id: String,
    /// What a person reads.
    pub title: String,
    /// The release of its kernel, as `uname -r` prints it; `None` where its image does not say.
    pub release: Option<String>,
    /// The parameters its kernel is given.
    pub parameters: String,
}

impl Entry {
    /// Whether it ends in a shell for repairs and not in a system that runs jobs.
    #[must_use]
    pub fn is_for_repairs(&self) -> bool {
        const WORDS: [&str; 7] = ["single", "s", "1", "emergency", "rescue", "recovery", "init=/bin/sh"];
        self.parameters.split_whitespace().any(|word| {
            WORDS.contains(&word) || word.strip_prefix("systemd.unit=").is_some_and(|unit| unit != "multi-user.target")
        })
    }

    /// Whether its kernel starts anew by itself after a panic (`panic=` in
    /// `Documentation/admin-guide/kernel-parameters.txt`; the last word counts, 0 is waiting for ever).
    #[must_use]
    pub fn reboots_after_a_panic(&self) -> bool {
        let last = self.parameters.split_whitespace().filter_map(|word| word.strip_prefix("panic=")).next_back();
        last.is_some_and(|value| value != "0")
    }
}

/// The entry that boots this release. Those for repairs are none; of two the first is meant, as in a menu.
#[must_use]
pub fn of_release<'e>(entries: &'e [Entry], release: &str) -> Option<&'e Entry> {
    // The first entry of GRUB's menu boots the newest kernel, whichever that is tomorrow: one that is named by its release stays it.
    let fits = |entry: &&Entry| entry.release.as_deref() == Some(release) && !entry.is_for_repairs();
    entries.iter().filter(fits).find(|entry| entry.id.contains(release)).or_else(|| entries.iter().find(fits))
}

/// The releases there are entries of, each once, in the menu's order.
#[must_use]
pub fn releases(entries: &[Entry]) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for release in entries.iter().filter(|entry| !entry.is_for_repairs()).filter_map(|entry| entry.release.as_deref()) {
        if !found.contains(&release) {
            found.push(release);
        }
    }
    found
}

/// The release in an image's name: `/boot/vmlinuz-6.1.0-50-amd64`, or `/MACHINE/6.12.9/linux` as kernel-install lays it.
fn release_in(image: &str) -> Option<String> {
    let mut parts = image.rsplit('/');
    let name = parts.next()?;
    let named = ["vmlinuz-", "vmlinux-", "bzImage-", "kernel-", "linux-"].iter().find_map(|way| name.strip_prefix(way));
    let release = match named {
        Some(rest) => rest.strip_suffix(".efi").unwrap_or(rest),
        None if name == "linux" || name == "vmlinuz" => parts.next()?,
        None => return None,
    };
    release.starts_with(|c: char| c.is_ascii_digit()).then(|| release.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_images_name_says_its_release_where_it_has_one() {
        for (image, release) in [
            ("/boot/vmlinuz-6.1.0-50-amd64", Some("6.1.0-50-amd64")),
            ("/vmlinuz-5.14.0-503.el9.x86_64", Some("5.14.0-503.el9.x86_64")),
            ("/@/boot/vmlinuz-6.12.9", Some("6.12.9")),
            ("/0123abcd/6.12.9-1-default/linux", Some("6.12.9-1-default")),
            ("/boot/vmlinuz", None),
            ("/vmlinuz-linux", None),
            ("/memtest86+x64.bin", None),
            ("", None),
        ] {
            assert_eq!(release_in(image).as_deref(), release, "{image}");
        }
    }

    #[test]
    fn an_entry_for_repairs_is_not_booted_and_one_that_is_named_by_its_release_comes_first() {
        let entry = |id: &str, parameters: &str| Entry {
            id: id.to_owned(),
            title: String::new(),
            release: Some("6.1.0".to_owned()),
            parameters: parameters.to_owned(),
        };
        let entries = [
            entry("repair-6.1.0", "root=/dev/vda1 ro single"),
            entry("simple", "root=/dev/vda1 ro panic=5"),
            entry("advanced>6.1.0", "root=/dev/vda1 ro panic=5 panic=0"),
        ];
        assert_eq!(of_release(&entries, "6.1.0").map(|entry| entry.id.as_str()), Some("advanced>6.1.0"));
        assert_eq!(of_release(&entries[..2], "6.1.0").map(|entry| entry.id.as_str()), Some("simple"));
        assert_eq!(of_release(&entries[..1], "6.1.0"), None);
        assert!(entries[1].reboots_after_a_panic() && !entries[2].reboots_after_a_panic());
        assert_eq!(releases(&entries), ["6.1.0"]);
    }
}
