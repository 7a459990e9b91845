//! GRUB's menu: the entries of a `grub.cfg` by their ids, also inside submenus.

use super::{Entry, release_in};

/// What a `grub.cfg` has for us.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Menu {
    /// Its entries, in order.
    pub entries: Vec<Entry>,
    /// Whether it boots the entry of the variable `next_entry`, and takes that away first: without the second half an entry would be
    /// booted for ever.
    pub boots_once: bool,
    /// Whether further entries lie in files of their own below `loader/entries` (`blscfg`, as Fedora and its kin have it).
    pub has_loader_entries: bool,
}

/// A block of the script that is open.
struct Block {
    /// Its id, or its title where it has none; `None` of a function.
    name: Option<String>,
    /// What is known of an entry so far.
    entry: Option<Entry>,
}

/// Reads a menu. What is not understood is passed over.
#[must_use]
pub fn parse(text: &str) -> Menu {
    let mut menu = Menu::default();
    let mut open: Vec<Block> = Vec::new();
    let (mut reads, mut takes_away) = (false, false);
    for line in text.lines().map(str::trim) {
        if line == "}" {
            menu.entries.extend(open.pop().and_then(|block| block.entry));
            continue;
        }
        let words = words(line);
        let Some(command) = words.first().map(String::as_str) else { continue };
        match command {
            "menuentry" | "submenu" if line.ends_with('{') => open.push(block(&words, &open)),
            _ if line.ends_with('{') => open.push(Block { name: None, entry: None }),
            "linux" | "linux16" | "linuxefi" => {
                if let Some(entry) = open.last_mut().and_then(|block| block.entry.as_mut()) {
                    entry.release = words.get(1).and_then(|image| release_in(image));
                    entry.parameters = words.get(2..).unwrap_or_default().join(" ");
                }
            }
            "blscfg" => menu.has_loader_entries = true,
            "load_env" => reads = true,
            "save_env" => takes_away |= words.iter().any(|word| word == "next_entry"),
            _ => {}
        }
    }
    menu.boots_once = reads && takes_away;
    menu
}

/// A menu or an entry that begins, below those that are open.
fn block(words: &[String], open: &[Block]) -> Block {
    let title = words.get(1).cloned().unwrap_or_default();
    // `menuentry_id_option` is "--id" wherever GRUB knows ids.
    let is_id = |word: &str| matches!(word, "--id" | "$menuentry_id_option" | "${menuentry_id_option}");
    let behind = words.iter().position(|word| is_id(word)).and_then(|at| words.get(at + 1));
    let own = behind.cloned().or_else(|| words.iter().find_map(|word| word.strip_prefix("--id=").map(str::to_owned)));
    // ">" parts menus from entries, and stands doubled where it is part of a name.
    let name = own.unwrap_or_else(|| title.clone()).replace('>', ">>");
    if words[0] == "submenu" {
        return Block { name: Some(name), entry: None };
    }
    let above = open.iter().filter_map(|block| block.name.as_deref());
    let id = above.chain([name.as_str()]).collect::<Vec<_>>().join(">");
    Block { name: None, entry: Some(Entry { id, title, release: None, parameters: String::new() }) }
}

/// The words of a line as GRUB's script has them, which quotes as a shell does.
fn words(line: &str) -> Vec<String> {
    if line.starts_with('#') { Vec::new() } else { shlex::split(line).unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot_loader::of_release;

    /// As Debian's update-grub writes it, shortened.
    const DEBIAN: &str = r#"
if [ -s $prefix/grubenv ]; then
  set have_grubenv=true
  load_env
fi
if [ "${next_entry}" ] ; then
   set default="${next_entry}"
   set next_entry=
   save_env next_entry
   set boot_once=true
else
   set default="0"
fi
function gfxmode {
	set gfxpayload="${1}"
}
menuentry 'Debian GNU/Linux' --class debian --class os $menuentry_id_option 'gnulinux-simple-aaaa' {
	load_video
	echo	'Loading Linux 6.12.9 ...'
	linux	/boot/vmlinuz-6.12.9+deb13-amd64 root=UUID=aaaa ro console=ttyS0 panic=5
	initrd	/boot/initrd.img-6.12.9+deb13-amd64
}
submenu 'Advanced options for Debian GNU/Linux' $menuentry_id_option 'gnulinux-advanced-aaaa' {
	menuentry 'Debian GNU/Linux, with Linux 6.12.9' --class os $menuentry_id_option 'gnulinux-6.12.9+deb13-amd64-advanced-aaaa' {
		linux	/boot/vmlinuz-6.12.9+deb13-amd64 root=UUID=aaaa ro console=ttyS0
	}
	menuentry 'Debian GNU/Linux, with Linux 6.1.0-50-amd64' --class os $menuentry_id_option 'gnulinux-6.1.0-50-amd64-advanced-aaaa' {
		linux	/boot/vmlinuz-6.1.0-50-amd64 root=UUID=aaaa ro console=ttyS0
	}
	menuentry 'Debian GNU/Linux, with Linux 6.1.0-50-amd64 (recovery mode)' $menuentry_id_option 'gnulinux-6.1.0-50-amd64-recovery-aaaa' {
		linux	/boot/vmlinuz-6.1.0-50-amd64 root=UUID=aaaa ro single console=ttyS0
	}
}
menuentry 'Memory > test' {
	linux16	/boot/memtest86+.bin
}
"#;

    #[test]
    fn entries_of_submenus_are_found_by_the_path_of_their_ids() {
        let menu = parse(DEBIAN);
        assert!(menu.boots_once && !menu.has_loader_entries);
        let ids: Vec<&str> = menu.entries.iter().map(|entry| entry.id.as_str()).collect();
        assert_eq!(
            ids,
            [
                "gnulinux-simple-aaaa",
                "gnulinux-advanced-aaaa>gnulinux-6.12.9+deb13-amd64-advanced-aaaa",
                "gnulinux-advanced-aaaa>gnulinux-6.1.0-50-amd64-advanced-aaaa",
                "gnulinux-advanced-aaaa>gnulinux-6.1.0-50-amd64-recovery-aaaa",
                "Memory >> test",
            ]
        );
        let found = of_release(&menu.entries, "6.1.0-50-amd64").unwrap();
        assert_eq!(found.id, ids[2]);
        assert_eq!(found.parameters, "root=UUID=aaaa ro console=ttyS0");
        assert_eq!(of_release(&menu.entries, "6.12.9+deb13-amd64").unwrap().id, ids[1]);
        assert!(menu.entries[0].reboots_after_a_panic());
        assert_eq!(of_release(&menu.entries, "6.1.0"), None);
    }

    #[test]
    fn a_menu_that_does_not_take_the_variable_away_boots_nothing_once() {
        let without = DEBIAN.replace("save_env next_entry", "true");
        assert!(!parse(&without).boots_once);
        assert!(!parse(&DEBIAN.replace("load_env", "true")).boots_once);
        let fedora = "load_env\nsave_env next_entry\nblscfg\n";
        let menu = parse(fedora);
        assert!(menu.boots_once && menu.has_loader_entries && menu.entries.is_empty());
    }

    #[test]
    fn what_is_cut_short_or_quoted_wrongly_is_passed_over() {
        for text in [
            "}",
            "menuentry 'a {",
            "menuentry {",
            "submenu 'a' {\nmenuentry 'b' {\nlinux\n}",
            "linux /boot/vmlinuz-6.1 ro",
        ] {
            assert!(parse(text).entries.len() <= 1, "{text}");
        }
        let menu = parse("menuentry --id=x 'y' {\n}\n");
        assert_eq!(menu.entries[0].id, "x");
    }
}
