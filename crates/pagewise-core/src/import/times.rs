//! Clocks of listings: a time of day as tools print it, a date, and which of two readings of a date is meant.

use super::listing::ListingClock;
use jiff::civil::Date;

/// Nanoseconds of a second.
pub(super) const SECOND: i64 = 1_000_000_000;

/// Nanoseconds of a day.
pub(super) const DAY: i64 = 86_400 * SECOND;

/// `10:33:08`, `10:33:08.125`, `10:33` in nanoseconds since midnight. `half`: the AM or PM behind it, if there is one.
pub(super) fn time_of_day(word: &str, half: Option<Half>) -> Option<i64> {
    let (clock, fraction) = match word.split_once(['.', ',']) {
        Some((clock, fraction)) => (clock, Some(fraction)),
        None => (word, None),
    };
    let mut parts = clock.split(':');
    let mut part = |most: i64| -> Option<i64> {
        let text = parts.next()?;
        let is_short = matches!(text.len(), 1 | 2) && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<i64>().ok().filter(|value| is_short && *value <= most)
    };
    let (hour, minute) = (part(24)?, part(59)?);
    let second = if clock.matches(':').count() == 2 { part(60)? } else { 0 };
    if clock.matches(':').count() > 2 || parts.next().is_some() {
        return None;
    }
    let hour = match half {
        None => hour,
        Some(_) if !(0..=12).contains(&hour) => return None,
        Some(Half::Before) => hour % 12,
        Some(Half::After) => hour % 12 + 12,
    };
    let nanoseconds = match fraction {
        None => 0,
        Some(digits) => nanoseconds(digits)?,
    };
    Some((hour * 3600 + minute * 60 + second) * SECOND + nanoseconds)
}

/// Half of a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Half {
    /// AM.
    Before,
    /// PM.
    After,
}

impl Half {
    /// `AM`, `PM`, and how locales write them.
    pub(super) fn of(word: &str) -> Option<Half> {
        let plain = word.to_lowercase().replace('.', "");
        HALVES.iter().find(|(_, words)| words.contains(&plain.as_str())).map(|(half, _)| *half)
    }

    /// `午後10:33:08`, `10:33:08PM`: the half of the day, and the rest of the word.
    fn attached(word: &str) -> Option<(Half, &str)> {
        const LATIN: [(&str, Half); 4] =
            [("AM", Half::Before), ("am", Half::Before), ("PM", Half::After), ("pm", Half::After)];
        let all = HALVES.iter().flat_map(|(half, words)| words.iter().map(|word| (*word, *half)));
        let own = |(text, half): (&str, Half)| {
            let rest = word.strip_prefix(text).or_else(|| word.strip_suffix(text))?;
            rest.contains(|c: char| c.is_ascii_digit()).then_some((half, rest))
        };
        // Of the long list only what cannot be a part of another word.
        all.filter(|(text, _)| !text.is_ascii()).chain(LATIN).find_map(own)
    }

    /// Behind a clock: the half of the day, and how many words it takes. Spanish writes `p. m.`.
    fn behind(words: &[&str]) -> Option<(Half, usize)> {
        match words {
            [word, ..] if Half::of(word).is_some() => Some((Half::of(word)?, 1)),
            ["a.", "m.", ..] => Some((Half::Before, 2)),
            ["p.", "m.", ..] => Some((Half::After, 2)),
            _ => None,
        }
    }
}

/// What glibc's locales have for `%p`, in small letters and without points.
const HALVES: [(Half, &[&str]); 2] = [
    (Half::Before, &["am", "午前", "上午", "오전", "πμ", "öö", "ص", "पूर्वाह्न", "pd"]),
    (Half::After, &["pm", "午後", "下午", "오후", "μμ", "ös", "م", "अपराह्न", "md"]),
];

/// The clock in front of a line: nanoseconds since midnight, and how many words it takes. It may be `10:33:08`,
/// `10:33:08 PM`, `午後 10:33:08`, `下午10时33分08秒`, `10시 33분 08초`, or `10.33.08` as in Finnish.
pub(super) fn clock(words: &[&str]) -> Option<(i64, usize)> {
    const HOURS: [char; 5] = ['時', '时', '시', '点', '點'];
    const MINUTES: [char; 2] = ['分', '분'];
    const SECONDS: [char; 2] = ['秒', '초'];
    let mut half = Half::of(words.first()?);
    let mut used = usize::from(half.is_some());
    let mut text = String::new();
    // Korean has blanks between hour, minute and second.
    while let Some(word) = words.get(used) {
        text.push_str(word);
        used += 1;
        let is_open = word.ends_with(HOURS) || word.ends_with(MINUTES);
        let goes_on = words.get(used).is_some_and(|next| next.ends_with(MINUTES) || next.ends_with(SECONDS));
        if !is_open || !goes_on {
            break;
        }
    }
    if let Some((attached, rest)) = Half::attached(&text) {
        half = half.or(Some(attached));
        text = rest.to_owned();
    }
    if half.is_none()
        && let Some((behind, length)) = Half::behind(&words[used..])
    {
        half = Some(behind);
        used += length;
    }
    let colon = |c: char| HOURS.contains(&c) || MINUTES.contains(&c) || c == '：';
    let plain: String = text.chars().filter(|c| !SECONDS.contains(c)).map(|c| if colon(c) { ':' } else { c }).collect();
    let plain = plain.trim_end_matches(':');
    let is_dotted = plain.len() == 8 && plain.bytes().enumerate().all(|(at, byte)| (at % 3 == 2) == (byte == b'.'));
    let plain = if is_dotted { plain.replace('.', ":") } else { plain.to_owned() };
    Some((time_of_day(&plain, half)?, used))
}

/// The same with or without a date before it, which then is in the instant: `2026-11-21 10:33:08`,
/// `11/21/2026 10:33:08 PM`, `2026-11-21T10:33:08+0100`.
pub(super) fn dated_clock(words: &[&str]) -> Option<(i64, usize)> {
    let first = words.first()?;
    if let Some((date, time)) = first.split_once('T')
        && let Some(date) = day(date)
    {
        let time = time.split(['+', 'Z']).next()?;
        let time = if time.matches(':').count() > 2 || time.contains('-') { time.split('-').next()? } else { time };
        return Some((date.midnight + time_of_day(time, None)?, 1));
    }
    if let Some(date) = day(first).filter(|_| first.len() >= 8)
        && let Some((time, used)) = clock(&words[1..])
    {
        return Some((date.midnight + time, used + 1));
    }
    clock(words)
}

/// Digits behind the point, in nanoseconds; more than nine are cut.
fn nanoseconds(digits: &str) -> Option<i64> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let nine: String = digits.chars().chain("000000000".chars()).take(9).collect();
    nine.parse().ok()
}

/// `1795282245.008`, seconds since an instant, in nanoseconds.
pub(super) fn seconds(word: &str) -> Option<i64> {
    let (whole, fraction) = word.split_once('.').unwrap_or((word, "0"));
    let is_plain = !whole.is_empty() && whole.bytes().all(|byte| byte.is_ascii_digit());
    let whole: i64 = whole.parse().ok().filter(|_| is_plain)?;
    whole.checked_mul(SECOND)?.checked_add(nanoseconds(fraction)?)
}

/// A date, and whether it could as well be another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Day {
    /// Its midnight, in nanoseconds since 1970-01-01, in the clock of the listing.
    pub(super) midnight: i64,
    /// Day and month could be meant the other way round.
    pub(super) is_ambiguous: bool,
}

/// `2026-11-21`, `20261121`, `11/21/2026`, `11/21/26`, `21.11.2026`, `21/11/2026`, `2026年11月21日`, `2026년 11월 21일`.
///
/// With slashes the month comes first (the C and US locales, sysstat's default) unless it cannot; with dots the day.
pub(super) fn day(word: &str) -> Option<Day> {
    if word.contains(['年', '년']) {
        let parts: String = word
            .chars()
            .filter(|c| !matches!(c, '日' | '일' | ' '))
            .map(|c| if matches!(c, '年' | '月' | '년' | '월') { '-' } else { c })
            .collect();
        return day(&parts);
    }
    let separator = word.chars().find(|c| matches!(c, '-' | '/' | '.')).unwrap_or('-');
    let parts: Vec<&str> = word.trim_end_matches('.').split(separator).collect();
    let numbers: Option<Vec<i16>> = parts.iter().map(|part| digits(part)).collect();
    let (year, month, day, is_ambiguous) = match (numbers?.as_slice(), parts.as_slice()) {
        ([_], [all]) if all.len() == 8 => (digits(&all[..4])?, digits(&all[4..6])?, digits(&all[6..])?, false),
        ([year, month, day], [first, ..]) if first.len() == 4 => (*year, *month, *day, false),
        ([first, second, year], [_, _, last]) if matches!(last.len(), 2 | 4) => {
            let year = if last.len() == 2 { 2000 + year } else { *year };
            let is_day_first = word.contains('.') || word.contains('-') || *first > 12;
            let is_ambiguous = word.contains('/') && *first <= 12 && *second <= 12 && first != second;
            let is_day_first = is_day_first && !(*second > 12 && *first <= 12);
            let (month, day) = if is_day_first { (*second, *first) } else { (*first, *second) };
            (year, month, day, is_ambiguous)
        }
        _ => return None,
    };
    let narrow = |number: i16| i8::try_from(number).ok();
    // Instants are 64 bits of nanoseconds, which end in 2262.
    let date = Date::new(year, narrow(month)?, narrow(day)?).ok().filter(|_| (1970..2200).contains(&year))?;
    let since = date.since(Date::constant(1970, 1, 1)).ok()?;
    Some(Day { midnight: i64::from(since.get_days()) * DAY, is_ambiguous })
}

fn digits(text: &str) -> Option<i16> {
    text.parse().ok().filter(|_| text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit())).or_else(|| {
        // Eight digits in one are taken apart by the caller.
        (text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit())).then_some(0)
    })
}

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// What `date` prints in the C locale (`Sat Nov 21 17:26:49 UTC 2026`), or an instant as RFC 3339, in nanoseconds since
/// 1970. The name of the time zone is read only when it is UTC or GMT: names are not unique.
#[must_use]
pub fn utc_instant(text: &str) -> Option<(i64, bool)> {
    let text = text.trim();
    if let Ok(timestamp) = text.parse::<jiff::Timestamp>() {
        return i64::try_from(timestamp.as_nanosecond()).ok().filter(|at| *at >= 0).map(|at| (at, true));
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let month = words.iter().find_map(|word| MONTHS.iter().position(|month| month == word))?;
    let half = words.iter().find_map(|word| Half::of(word));
    let clock = words.iter().find_map(|word| word.contains(':').then(|| time_of_day(word, half))?)?;
    let number = |length: &[usize]| words.iter().find(|word| length.contains(&word.len()) && digits(word).is_some());
    let date = format!("{}-{:02}-{:0>2}", number(&[4])?, month + 1, number(&[1, 2])?);
    let is_utc = words.iter().any(|word| matches!(*word, "UTC" | "GMT"));
    Some((day(&date)?.midnight + clock, is_utc))
}

/// An instant as people's scripts put it in front of a row, behind it, or on a line of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Nanoseconds since 1970, or since midnight for a time of day.
    pub(super) at: i64,
    /// What it counts from: [`ListingClock::Utc`], [`ListingClock::Local`] or [`ListingClock::TimeOfDay`].
    pub(super) clock: ListingClock,
}

impl Stamp {
    /// Words that are an instant and nothing else: a time of day, a date with one, what `date` prints, RFC 3339, seconds or
    /// milliseconds since 1970. Brackets, bars and commas around them count for nothing.
    pub(super) fn of(words: &[&str]) -> Option<Stamp> {
        /// `Mon Mar 2 02:03:21.123 PM CET +0100 2015` has no more.
        const MOST: usize = 10;
        if words.len() > MOST {
            return None;
        }
        let plain = words.iter().map(|word| plain_word(word)).filter(|word| !word.is_empty());
        let words: Vec<&str> = plain.collect();
        match words.as_slice() {
            [] => None,
            [word] => Stamp::of_word(word),
            words => Stamp::of_words(words),
        }
    }

    fn of_word(word: &str) -> Option<Stamp> {
        if let Ok(timestamp) = word.parse::<jiff::Timestamp>() {
            let at = i64::try_from(timestamp.as_nanosecond()).ok().filter(|at| *at >= 0)?;
            return Some(Stamp { at, clock: ListingClock::Utc });
        }
        if let Some((date, clock)) = word.split_once(['T', '_'])
            && let Some(date) = day(date)
        {
            return Some(Stamp { at: date.midnight + time_of_day(clock, None)?, clock: ListingClock::Local });
        }
        if let Some(at) = epoch(word) {
            return Some(Stamp { at, clock: ListingClock::Utc });
        }
        Some(Stamp { at: time_of_day(word, None)?, clock: ListingClock::TimeOfDay })
    }

    fn of_words(words: &[&str]) -> Option<Stamp> {
        let half = words.iter().find_map(|word| Half::of(word));
        let (mut clock, mut date, mut month, mut of_month, mut year) = (None, None, None, None, None);
        let (mut is_utc, mut ahead, mut zones, mut names) = (false, 0, 0, 0);
        // Nothing may stand there twice: two numbers are no date.
        let once = |slot: &mut Option<i64>, value: i64| slot.replace(value).is_none();
        for word in words {
            let number = word.parse::<i64>().ok().filter(|_| word.bytes().all(|byte| byte.is_ascii_digit()));
            let is_new = if word.contains(':') && !word.starts_with(['+', '-']) {
                once(&mut clock, time_of_day(word, half)?)
            } else if let Some(number) = number {
                match word.len() {
                    1 | 2 => once(&mut of_month, number),
                    4 => once(&mut year, number),
                    _ => once(&mut date, day(word)?.midnight),
                }
            } else if let Some(found) = day(word) {
                once(&mut date, found.midnight)
            } else if let Some(at) = MONTHS.iter().position(|month| month == word) {
                once(&mut month, at as i64 + 1)
            } else if Half::of(word).is_some() || WEEKDAYS.iter().any(|name| is_weekday(word, name)) {
                names += 1;
                names <= 2
            } else if let Some(offset) = offset(word) {
                (is_utc, ahead) = (true, offset);
                zones += 1;
                zones <= 2
            } else {
                let is_zone = (1..=5).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_uppercase());
                is_utc |= matches!(*word, "UTC" | "GMT" | "Z");
                zones += 1;
                is_zone && zones <= 2
            };
            if !is_new {
                return None;
            }
        }
        let clock = clock?;
        let written = match (date, month, of_month, year) {
            (Some(date), None, None, None) => Some(date),
            (None, Some(month), Some(of_month), Some(year)) => {
                Some(day(&format!("{year:04}-{month:02}-{of_month:02}"))?.midnight)
            }
            // As syslog writes it, without a year.
            (None, Some(_), Some(_), None) | (None, None, None, None) => None,
            _ => return None,
        };
        Some(match written {
            None => Stamp { at: clock, clock: ListingClock::TimeOfDay },
            Some(date) if is_utc => {
                Stamp { at: date.saturating_add(clock).saturating_sub(ahead), clock: ListingClock::Utc }
            }
            Some(date) => Stamp { at: date + clock, clock: ListingClock::Local },
        })
    }

    /// A line that holds an instant and nothing else but what sets it off: `Sat Mar  1 00:00:00 CET 2014`,
    /// `=== 2015-03-02 14:03:21 ===`, `zzz ***Sat Mar 1 00:00:00 CET 2014` (OSWatcher), `zzz <06/19/2024 10:15:40>
    /// Count:1` (ExaWatcher). The second is whether one of these two wrote it.
    pub(super) fn of_line(line: &str) -> Option<(Stamp, bool)> {
        const LABELS: [&str; 4] = ["date", "time", "timestamp", "now"];
        const LONGEST: usize = 120;
        let line = line.trim();
        if line.len() > LONGEST {
            return None;
        }
        let is_label = |word: &str| LABELS.contains(&word.trim_end_matches([':', '=']).to_ascii_lowercase().as_str());
        if let Some(behind) = line.strip_prefix("zzz ") {
            // A count or a length of the interval may follow.
            let words: Vec<&str> = behind.split_whitespace().collect();
            let most = words.len().min(8);
            return (1..=most).rev().find_map(|length| Some((Stamp::of(&words[..length])?, true)));
        }
        let mut words: Vec<&str> = line.split_whitespace().filter(|word| !word.bytes().all(is_rule)).collect();
        if words.first().is_some_and(|word| is_label(word)) {
            words.remove(0);
        }
        Some((Stamp::of(&words)?, false))
    }
}

/// What people draw lines with.
fn is_rule(byte: u8) -> bool {
    b"=-*#+~>".contains(&byte)
}

/// Without what stands around a word. A sign in front belongs to an offset.
fn plain_word(word: &str) -> &str {
    let word = word.trim_start_matches(['[', '(', '<', '{', '|', '*', '"', '\'', '#', '=']);
    word.trim_end_matches([']', ')', '>', '}', '|', '*', '"', '\'', ',', ';', ':', '=', '-'])
}

fn is_weekday(word: &str, short: &str) -> bool {
    word == short || (word.starts_with(short) && word.ends_with("day") && word.len() <= "Wednesday".len())
}

/// `+0100`, `-05:00`: how far ahead of UTC.
fn offset(word: &str) -> Option<i64> {
    let sign = if word.starts_with('-') { -1 } else { 1 };
    let digits = word.strip_prefix(['+', '-'])?.replace(':', "");
    if digits.len() != 4 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (hours, minutes): (i64, i64) = (digits[..2].parse().ok()?, digits[2..].parse().ok()?);
    (hours <= 14 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60) * SECOND)
}

/// Seconds since 1970 with or without decimals, or milliseconds, between 2001 and 2096.
fn epoch(word: &str) -> Option<i64> {
    match word.split_once('.').map_or(word.len(), |(whole, _)| whole.len()) {
        10 => seconds(word).filter(|at| *at <= 4_000_000_000 * SECOND),
        13 if !word.contains('.') => {
            let milliseconds = word.parse::<i64>().ok().filter(|_| word.bytes().all(|byte| byte.is_ascii_digit()))?;
            (milliseconds <= 4_000_000_000_000).then(|| milliseconds * (SECOND / 1000))
        }
        _ => None,
    }
}

/// Readings of a clock in the order they were written: turns a time of day into a time that goes on over midnight, and
/// notices a clock that was set back.
#[derive(Clone, Debug, Default)]
pub(super) struct Running {
    /// As it was written, and where it was put.
    last: Option<(i64, i64)>,
    offset: i64,
    step: i64,
}

/// What a reading was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reading {
    /// Where it stands on a line without steps back.
    pub(super) at: i64,
    /// By how much the clock was set back just before.
    pub(super) set_back: Option<i64>,
}

impl Running {
    /// The next reading, always later than the one before. With `has_date` a step back of any length was a clock set
    /// back; without it half a day or more is the next day.
    pub(super) fn next(&mut self, raw: i64, has_date: bool) -> Reading {
        let mut set_back = None;
        if let Some((last_raw, last)) = self.last {
            let back = last_raw.saturating_sub(raw);
            if back >= DAY / 2 && !has_date {
                self.offset = self.offset.saturating_add((back / DAY + 1).saturating_mul(DAY));
            } else if back > 0 {
                set_back = Some(back);
                let behind = last.saturating_add(self.step.max(1));
                self.offset = behind.saturating_sub(raw);
            } else if back < 0 {
                self.step = -back;
            }
        }
        // Two readings within the resolution of the clock stay two.
        let earliest = self.last.map_or(i64::MIN, |(_, last)| last.saturating_add(1));
        let at = raw.saturating_add(self.offset).max(earliest);
        self.last = Some((raw, at));
        Reading { at, set_back }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_day_in_both_clocks() {
        assert_eq!(time_of_day("10:33:08", None), Some((10 * 3600 + 33 * 60 + 8) * SECOND));
        assert_eq!(time_of_day("17:31:05.008", None), Some((17 * 3600 + 31 * 60 + 5) * SECOND + 8_000_000));
        assert_eq!(time_of_day("12:00:01", Some(Half::Before)), Some(SECOND));
        assert_eq!(time_of_day("12:00:01", Some(Half::After)), Some(12 * 3600 * SECOND + SECOND));
        assert_eq!(time_of_day("01:02:03", Half::of("p.m.")), Some((13 * 3600 + 2 * 60 + 3) * SECOND));
        for word in ["", "10", "10:61:00", "25:00:00", "1:2:3:4", "10:33:08.", "a:b:c", "10:33:0x", "100:00:00", "::"] {
            assert_eq!(time_of_day(word, None), None, "{word}");
        }
        assert_eq!(time_of_day("13:00:00", Some(Half::After)), None);
    }

    #[test]
    fn dates_of_several_countries() {
        let midnight = |word| day(word).map(|day| day.midnight / DAY);
        let expected = midnight("2026-11-21");
        assert_eq!(expected, Some(20_778));
        for word in ["20261121", "11/21/2026", "11/21/26", "21/11/2026", "21.11.2026", "21-11-2026"] {
            assert_eq!(midnight(word), expected, "{word}");
        }
        assert!(day("03/04/2026").unwrap().is_ambiguous && !day("03/03/2026").unwrap().is_ambiguous);
        for word in ["", "2026", "2026-13-01", "30/30/2026", "9999-01-01", "a/b/c", "//", "1/2/3/4", "-1/2/2020"] {
            assert_eq!(midnight(word), None, "{word}");
        }
    }

    #[test]
    fn what_date_prints() {
        let at = utc_instant("Sat Nov 21 17:26:49 UTC 2026\n").unwrap();
        assert_eq!(at, (20_778 * DAY + (17 * 3600 + 26 * 60 + 49) * SECOND, true));
        assert_eq!(utc_instant("2026-11-21T17:26:49Z"), Some(at));
        assert_eq!(utc_instant("Sat Nov  7 05:26:49 PM CET 2026").map(|(_, is_utc)| is_utc), Some(false));
        assert_eq!(utc_instant("no date"), None);
    }

    #[test]
    fn an_instant_stands_in_front_of_a_row_or_on_a_line_of_its_own() {
        let of = |text: &str| Stamp::of(&text.split_whitespace().collect::<Vec<_>>());
        let clock = (14 * 3600 + 3 * 60 + 21) * SECOND;
        let midnight = day("2015-03-02").unwrap().midnight;
        let local = Some(Stamp { at: midnight + clock, clock: ListingClock::Local });
        let utc = Some(Stamp { at: midnight + clock, clock: ListingClock::Utc });
        for text in [
            "2015-03-02 14:03:21",
            "2015-03-02T14:03:21",
            "2015-03-02_14:03:21",
            "[2015-03-02 14:03:21]",
            "Mon Mar  2 14:03:21 2015 |",
            "Mon Mar 2 02:03:21 PM CET 2015",
            "Monday, 2 Mar 2015 14:03:21:",
            "03/02/2015 14:03:21 -",
        ] {
            assert_eq!(of(text), local, "{text}");
        }
        for text in [
            "1425305001",
            "1425305001000",
            "2015-03-02T14:03:21Z",
            "Mon, 2 Mar 2015 15:03:21 +0100",
            "2015-03-02 14:03:21 UTC",
        ] {
            assert_eq!(of(text), utc, "{text}");
        }
        let bare = Some(Stamp { at: clock, clock: ListingClock::TimeOfDay });
        assert_eq!((of("14:03:21"), of("Mar 2 14:03:21"), of("|14:03:21|")), (bare, bare, bare));
        for text in ["", "1 0 0", "2 3 14:03:21", "hello 14:03:21", "14:03:21 up", "14:03:21 14:03:22", "2015", "1 0"] {
            assert_eq!(of(text), None, "{text}");
        }
        let line = |text: &str| Stamp::of_line(text);
        assert_eq!(line("zzz ***Mon Mar 2 14:03:21 CET 2015"), local.map(|stamp| (stamp, true)));
        assert_eq!(line("zzz <03/02/2015 14:03:21> Count:17"), local.map(|stamp| (stamp, true)));
        assert_eq!(line("zzz ***Mon Mar 2 14:03:21 UTC 2015 Sample interval: 5 secs"), utc.map(|stamp| (stamp, true)));
        assert_eq!(line("=== Date: 2015-03-02 14:03:21 ==="), local.map(|stamp| (stamp, false)));
        assert_eq!(line("Date: 2015-03-02 14:03:21"), local.map(|stamp| (stamp, false)));
        assert_eq!(line("On Mon, Mar 2, 2015 at 14:03:21 somebody wrote:"), None);
        assert_eq!(line(&"9".repeat(500)), None);
    }

    #[test]
    fn midnight_is_the_next_day_and_an_hour_back_is_a_clock_set_back() {
        let mut running = Running::default();
        let hour = 3600 * SECOND;
        assert_eq!(running.next(23 * hour, false).at, 23 * hour);
        assert_eq!(running.next(hour, false), Reading { at: 25 * hour, set_back: None });
        assert_eq!(running.next(2 * hour, false).at, 26 * hour);
        let back = running.next(hour, false);
        assert_eq!((back.at, back.set_back), (27 * hour, Some(hour)), "a step on");
        assert_eq!(running.next(2 * hour, false).at, 28 * hour);
        assert_eq!(running.next(2 * hour, false), Reading { at: 28 * hour + 1, set_back: None }, "the same again");
    }
}
