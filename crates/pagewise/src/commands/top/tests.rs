//! Screens of a made-up hour with a storm in it, at the sizes terminals have.

use super::*;
use pagewise_core::report::Style as Wanted;
use pagewise_testkit::MadeUpDay;

fn hour() -> Seen {
    let day = MadeUpDay::of(600, 5_000);
    let mut meter = Meter::new(lines(), day.series(), 4096.0);
    let profile = day.profile().unwrap();
    let mut seen =
        Seen { title: "hour.pgw".into(), is_live: false, lines: lines(), at: Vec::new(), values: Vec::new(), profile };
    for block in day.blocks() {
        each_tick(&block.unwrap(), &mut meter, |tick, values| {
            seen.at.push((tick.begin, i128::from(tick.begin) + i128::from(tick.wall_offset)));
            seen.values.push(values.clone());
        });
    }
    seen
}

fn screen(seen: &Seen, window: Window, size: (u16, u16), unicode: bool) -> Vec<String> {
    let wanted = Wanted { color: false, unicode, ..Wanted::default() };
    let picture = Picture { seen, window, is_following: false, help: false, wanted };
    page(&picture, size.0, size.1).iter().map(ToString::to_string).collect()
}

#[test]
fn every_size_is_filled_and_never_overflows() {
    use unicode_width::UnicodeWidthStr;
    let seen = hour();
    let whole = Window { last: seen.at.len() - 1, span: seen.at.len() };
    for size in [(80, 24), (48, 8), (120, 50), (300, 100)] {
        let lines = screen(&seen, whole, size, true);
        assert_eq!(lines.len(), usize::from(size.1));
        assert!(lines.iter().all(|line| line.width() <= usize::from(size.0)), "{size:?} {lines:#?}");
    }
    assert!(screen(&seen, whole, (47, 24), true)[0].contains("needs 48"));
    assert!(screen(&seen, whole, (3, 1), true)[0].width() <= 3);
    assert!(screen(&seen, whole, (80, 24), false).iter().all(|line| line.is_ascii()));
}

#[test]
fn the_storm_is_where_it_was_and_the_kernel_has_its_part() {
    let seen = hour();
    let storm = seen.at.partition_point(|(at, _)| *at < seen.at[0].0 + 300_000_000_000);
    let window = Window { last: storm + 50, span: 45 };
    let lines = screen(&seen, window, (100, 40), true);
    let row = |label: &str| lines.iter().find(|line| line.starts_with(label)).unwrap_or_else(|| panic!("{lines:#?}"));
    assert!(row("direct compactions").ends_with("/s") && !row("direct compactions").ends_with(" 0/s"));
    assert!(lines.iter().any(|line| line.contains("_raw_spin_unlock_irqrestore")), "{lines:#?}");
    let before = screen(&seen, Window { last: 50, span: 45 }, (100, 40), true);
    assert!(before.iter().any(|line| line.starts_with("direct compactions") && line.ends_with(" 0/s")), "{before:#?}");
    assert!(lines.iter().all(|line| !line.contains('\u{1b}')), "a name steers the terminal");
}

#[test]
fn what_is_not_known_is_a_dot_and_a_dash() {
    let mut seen = hour();
    seen.values.iter_mut().for_each(|values| values[2] = None);
    let lines = screen(&seen, Window { last: 99, span: 100 }, (80, 24), true);
    let free = lines.iter().find(|line| line.starts_with("free")).unwrap();
    assert!(free.ends_with(" -") && free.contains("···") && !free.contains('▁'), "{free}");
}

#[test]
fn time_travel_stays_within_what_was_seen() {
    let window = Window { last: 99, span: 100 };
    assert_eq!(window.moved(isize::MIN, 1000).last, 99);
    assert_eq!(window.moved(isize::MAX, 1000).last, 999);
    assert_eq!(window.moved(10, 1000).first(), 10);
    assert_eq!(window.zoomed(true, 1000).span, 50);
    assert_eq!((0..20).fold(window, |window, _| window.zoomed(false, 1000)), Window { last: 999, span: 1000 });
    assert_eq!((0..20).fold(window, |window, _| window.zoomed(true, 1000)).span, CLOSEST);
    for count in 0..3 {
        let small = Window { last: 0, span: 120 }.zoomed(true, count).moved(5, count);
        assert!(small.last <= count.saturating_sub(1).max(small.span.min(count).saturating_sub(1)));
    }
}
