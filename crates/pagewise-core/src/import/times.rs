//! Clocks of listings: a time of day as tools print it, a date, and which of two readings of a date is meant.

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

/// What `date` prints in the C locale (`Sat Nov 21 17:26:49 UTC 2026`), or an instant as RFC 3339, in nanoseconds since
/// 1970. The name of the time zone is looked at only when it is UTC or GMT: names are not unique.
#[must_use]
pub fn utc_instant(text: &str) -> Option<(i64, bool)> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
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
