//! A line of the kernel's log: what stands in front of the kernel's own words, by whatever wrote the log down.

use super::times::{Stamp, seconds};
use super::words::is_number;

/// Taken apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct KernelLine<'l> {
    /// Since boot, in nanoseconds, as printk writes it.
    pub(super) since_boot: Option<i64>,
    /// What a daemon or dmesg wrote before the kernel's words: a date or a time, and the host.
    before: &'l str,
    /// Whether something in front says that the kernel wrote it.
    pub(super) is_marked: bool,
    /// The kernel's own words.
    pub(super) text: &'l str,
}

/// No date and host are longer.
const LONGEST_BEFORE: usize = 120;

/// `[12345.678901] text` (printk, `CONFIG_PRINTK_TIME`), `[Mon Mar  2 02:03:21 2015] text` (dmesg -T), `kern  :err   : [1.0] text`
/// (dmesg -x), `2024-03-02T02:03:21,123456+01:00 text` (dmesg --time-format iso), `Sep 20 16:12:36 host kernel: [1.0] text` and
/// `2024-03-02T02:03:21+01:00 host kernel: text` (syslog, journalctl), a [`record`], `<4>text`, or the bare text.
pub(super) fn split(line: &str) -> KernelLine<'_> {
    if let Some((before, since_boot, text)) = record(line.trim()) {
        return KernelLine { since_boot: Some(since_boot), before, is_marked: true, text: text.trim() };
    }
    let mut rest = without_level(without_number(line.trim()));
    let (mut before, mut is_marked) = ("", false);
    if !rest.starts_with('[')
        && let Some((head, behind)) = at_tag(rest)
    {
        (before, rest, is_marked) = (head, without_level(behind), true);
    } else if let Some((head, behind)) = before_printk(rest) {
        (before, rest) = (head, behind);
    }
    let mut since_boot = None;
    if let Some((inside, behind)) = bracket(rest) {
        let first = inside.split_whitespace().next().unwrap_or("");
        if let Some(at) = printk(first) {
            (since_boot, rest, is_marked) = (Some(at), behind, true);
            // `[   12.345678][  T123] text`: who called printk (CONFIG_PRINTK_CALLER).
            if let Some((inside, behind)) = bracket(rest)
                && inside.trim().strip_prefix(['T', 'C']).is_some_and(is_number)
            {
                rest = behind;
            }
        } else if before.is_empty() && inside.contains(':') && stamp_in(inside).is_some() {
            (before, rest, is_marked) = (inside, behind, true);
        }
    } else if before.is_empty()
        && let Some((first, behind)) = rest.split_once(' ')
        && first.len() >= "2024-03-02T02:03:21".len()
        && first.contains('T')
        && stamp_in(first).is_some()
    {
        (before, rest) = (first, behind);
    }
    KernelLine { since_boot, before, is_marked, text: rest.trim() }
}

/// Without the number that `cat -n` and `grep -n` put before a line of printk: `162 [  843.072392] INFO: …`.
fn without_number(line: &str) -> &str {
    let behind = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = behind.strip_prefix(':').unwrap_or(behind).trim_start();
    let is_numbered =
        behind.len() < line.len() && bracket(rest).is_some_and(|(inside, _)| printk(inside.trim()).is_some());
    if is_numbered { rest } else { line }
}

/// `6,4012,1349955196,-;text`: level, number, microseconds since boot and flags, as `/dev/kmsg` gives it
/// (Documentation/ABI/testing/dev-kmsg) and netconsole sends it, and what whoever received it wrote before.
fn record(line: &str) -> Option<(&str, i64, &str)> {
    let (head, text) = line.split_once(';').filter(|(head, _)| head.len() <= LONGEST_BEFORE)?;
    let (before, fields) = head.rsplit_once(char::is_whitespace).unwrap_or(("", head));
    let mut fields = fields.split(',');
    let (level, number, time, flags) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    // As many seconds as printk has digits for.
    let is_record =
        [level, number, time].into_iter().all(is_number) && time.len() <= 15 && matches!(flags, "-" | "c" | "+");
    let microseconds: i64 = time.parse().ok().filter(|_| is_record)?;
    Some((before.trim_end(), microseconds * 1000, text))
}

impl KernelLine<'_> {
    /// When it was written down, where a daemon or dmesg says so.
    pub(super) fn stamp(&self) -> Option<Stamp> {
        stamp_in(self.before)
    }
}

/// The longest beginning that is an instant.
fn stamp_in(text: &str) -> Option<Stamp> {
    // dmesg --time-format iso has a comma.
    let plain = if text.contains("T") && text.contains(',') { text.replace(',', ".") } else { text.to_owned() };
    let words: Vec<&str> = plain.split_whitespace().collect();
    (1..=words.len().min(6)).rev().find_map(|length| Stamp::of(&words[..length]))
}

/// Behind `kernel:`, and what stands before it.
fn at_tag(text: &str) -> Option<(&str, &str)> {
    const TAG: &str = "kernel:";
    let at = text.find(TAG).filter(|at| *at <= LONGEST_BEFORE)?;
    let is_word = at == 0 || text[..at].ends_with([' ', '.', '\t']);
    let behind = &text[at + TAG.len()..];
    (is_word && (behind.is_empty() || behind.starts_with([' ', '\t', '[', '<'])))
        .then(|| (text[..at].trim(), behind.trim_start()))
}

/// What somebody else wrote before the kernel's own time, in no form that is known: `2023-12-04T10:49:30.127Z In(05) vcpu-5 - Guest:
/// <6>[39291577.009360] text`, as a hypervisor keeps the console of a guest.
fn before_printk(text: &str) -> Option<(&str, &str)> {
    if text.starts_with('[') {
        return None;
    }
    let is_time = |at: &usize| bracket(&text[*at..]).is_some_and(|(inside, _)| printk(inside.trim()).is_some());
    let at = text.match_indices('[').map(|(at, _)| at).take_while(|at| *at <= LONGEST_BEFORE).find(is_time)?;
    let head = text[..at].trim_end();
    let head = match head.rsplit_once('<') {
        Some((before, level)) if level.strip_suffix('>').is_some_and(is_number) => before.trim_end(),
        _ => head,
    };
    Some((head, &text[at..]))
}

/// Without `<4>`, or `kern  :err   : `.
fn without_level(text: &str) -> &str {
    if let Some((level, behind)) = text.strip_prefix('<').and_then(|rest| rest.split_once('>'))
        && level.len() <= 3
        && is_number(level)
    {
        return behind.trim_start();
    }
    let mut parts = text.splitn(3, ':');
    match (parts.next().map(str::trim), parts.next().map(str::trim), parts.next()) {
        (Some("kern" | "user" | "daemon"), Some(level), Some(behind)) if LEVELS.contains(&level) => behind.trim_start(),
        _ => text,
    }
}

/// As dmesg -x writes them.
const LEVELS: [&str; 8] = ["emerg", "alert", "crit", "err", "warn", "notice", "info", "debug"];

/// `[inside] behind`.
fn bracket(text: &str) -> Option<(&str, &str)> {
    const LONGEST: usize = 48;
    let (inside, behind) = text.strip_prefix('[')?.split_once(']')?;
    (inside.len() <= LONGEST).then(|| (inside, behind.trim_start()))
}

/// printk writes six digits behind the point.
fn printk(word: &str) -> Option<i64> {
    let (whole, fraction) = word.split_once('.')?;
    (whole.len() <= 9 && fraction.len() == 6 && is_number(fraction)).then(|| seconds(word))?
}

#[cfg(test)]
mod tests {
    use super::super::times::SECOND;
    use super::*;

    #[track_caller]
    fn is(line: &str, since_boot: Option<f64>, has_stamp: bool, is_marked: bool, text: &str) {
        let seen = split(line);
        let boot = seen.since_boot.map(|at| at as f64 / SECOND as f64);
        assert_eq!(
            (boot, seen.stamp().is_some(), seen.is_marked, seen.text),
            (since_boot, has_stamp, is_marked, text),
            "{line}"
        );
    }

    #[test]
    fn what_stands_in_front_is_taken_off_whoever_wrote_it() {
        is("[12345.678901] Mem-Info:", Some(12345.678901), false, true, "Mem-Info:");
        is("[    1.000000][  T123] Mem-Info:", Some(1.0), false, true, "Mem-Info:");
        is("<4>[    1.000000]  active_file:0", Some(1.0), false, true, "active_file:0");
        is("[Mon Mar  2 02:03:21 2015] Mem-Info:", None, true, true, "Mem-Info:");
        is("kern  :err   : [   12.500000] INFO: x", Some(12.5), false, true, "INFO: x");
        is("2024-03-02T02:03:21,123456+01:00 Mem-Info:", None, true, false, "Mem-Info:");
        is(
            "Sep 20 16:12:36 tz-pw2-83 kernel: [2073304.360410] DMA: 1*4kB",
            Some(2073304.36041),
            true,
            true,
            "DMA: 1*4kB",
        );
        is(
            "2023-12-04T10:49:30.127Z In(05) vcpu-5 - Guest: <6>[39291577.009360] Mem-Info:",
            Some(39_291_577.009_36),
            true,
            true,
            "Mem-Info:",
        );
        is("6,4012,1349955196,-;Call Trace:", Some(1_349.955_196), false, true, "Call Trace:");
        is(
            "Dec  7 10:12:35 192.168.1.50 6,4013,1349956262,c;? shrink_slab+0xaa/0x120",
            Some(1_349.956_262),
            true,
            true,
            "? shrink_slab+0xaa/0x120",
        );
        is("one,two,three,-;x", None, false, false, "one,two,three,-;x");
        is("6,4012,99999999999999999999,-;x", None, false, false, "6,4012,99999999999999999999,-;x");
        is("6,4012,9000000000000000,-;x", None, false, false, "6,4012,9000000000000000,-;x");
        is("2024-03-02T02:03:21.5+01:00 host kernel: Mem-Info:", None, true, true, "Mem-Info:");
        is(
            "kernel: [85531.010995] sh: page allocation failure",
            Some(85531.010995),
            false,
            true,
            "sh: page allocation failure",
        );
        is("Sep 20 16:12:36 host kernel: VM: killing process xinetd", None, true, true, "VM: killing process xinetd");
        is("VM: killing process xinetd", None, false, false, "VM: killing process xinetd");
        is("[<c0123>] schedule+0x1/0x2", None, false, false, "[<c0123>] schedule+0x1/0x2");
        is("Sep 20 16:12:36 host sshd[7]: x", None, false, false, "Sep 20 16:12:36 host sshd[7]: x");
    }
}
