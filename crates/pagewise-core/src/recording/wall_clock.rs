//! What the instants of a recording are on a calendar.

/// Under which name a recording that was made of listings says it.
const KEY: &str = "import.clock";

/// The same of recordings that were made before: `no` where there was no date.
const WAS_DATED: &str = "import.dated";

/// What a recording tells of when it was. One that was made on a host has dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WallClock {
    /// Date and time.
    Date,
    /// Times of day, of a day that is not known.
    TimeOfDay,
    /// How much time passed, and nothing else.
    None,
}

impl WallClock {
    /// As a recording has it: `about` gives what it says under a name.
    #[must_use]
    pub fn of<'r>(about: impl Fn(&str) -> Option<&'r str>) -> WallClock {
        match about(KEY) {
            Some("time of day") => WallClock::TimeOfDay,
            Some("none") => WallClock::None,
            None if about(WAS_DATED) == Some("no") => WallClock::TimeOfDay,
            _ => WallClock::Date,
        }
    }

    /// What a recording says of it: a name and a value.
    #[must_use]
    pub fn said(self) -> (&'static str, &'static str) {
        let word = match self {
            WallClock::Date => "date",
            WallClock::TimeOfDay => "time of day",
            WallClock::None => "none",
        };
        (KEY, word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood_and_so_is_what_was_said_before() {
        for clock in [WallClock::Date, WallClock::TimeOfDay, WallClock::None] {
            let (key, word) = clock.said();
            assert_eq!(WallClock::of(|asked| (asked == key).then_some(word)), clock);
        }
        let before = |said: &'static str| WallClock::of(move |asked| (asked == WAS_DATED).then_some(said));
        assert_eq!((before("no"), before("yes")), (WallClock::TimeOfDay, WallClock::Date));
        assert_eq!(WallClock::of(|_| None), WallClock::Date, "of a host");
    }
}
