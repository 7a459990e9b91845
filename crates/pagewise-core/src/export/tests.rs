//! One small recording in every format, each read by a reader that knows nothing of the writer.

use super::*;
use crate::import::{Assumed, Kind, merge, parse};
use crate::recording::{Frame, Profile, Recorded, SamplingEvent, StackSample, Stacks};

const SAR: &str = include_str!("../../../../recordings/imports/sar-iso.txt");

fn recording() -> crate::import::Imported {
    let assumed = Assumed::default();
    merge(vec![("sar.txt".to_owned(), parse(Kind::Sar, SAR, &assumed).unwrap())], &assumed)
}

fn profile() -> Profile {
    let mut stacks = Stacks::default();
    let mut push = |parent, name: &str, module: &str| {
        let frame = stacks.frame(Frame { name: name.to_owned(), module: module.to_owned() });
        stacks.push(parent, frame)
    };
    let main = push(None, "main;x\n\u{1b}[2J", "java");
    let leaf = push(main, "compact_zone", crate::recording::stack::KERNEL);
    let sample = |stack, from: u64, count| StackSample {
        from,
        to: from + 1_000_000_000,
        cpu: Some(0),
        pid: Some(7),
        comm: "my job".to_owned(),
        stack,
        count,
    };
    let samples =
        vec![sample(leaf.unwrap(), 0, 3), sample(main.unwrap(), 0, 1), sample(leaf.unwrap(), 5_000_000_000, 4)];
    Profile { event: Some(SamplingEvent::CpuClock), hz: Some(100.0), stacks, samples, lost: 0 }
}

#[test]
fn csv_has_a_line_per_value_in_base_units() {
    let selection = Selection { series: vec!["meminfo.MemFree".into(), "cpu_*".into()], ..Selection::default() };
    let text = csv::write(&recording(), &selection).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], csv::HEADER);
    assert!(lines.contains(&"2026-11-21T17:30:37Z,0,meminfo.MemFree,,bytes,gauge,22296031232"), "{text}");
    assert!(lines.contains(&"2026-11-21T17:30:38Z,1,import.cpu_system_percent,,fraction,gauge,0.0503"), "{text}");
    assert!(!text.contains("pgscand"));
    let from = recording().blocks().next().unwrap().unwrap().ticks[2].begin;
    let late = Selection { from: Some(from), ..selection };
    assert!(
        csv::write(&recording(), &late)
            .unwrap()
            .lines()
            .skip(1)
            .all(|line| line.starts_with("2026-11-21T17:30:39Z,0,"))
    );
}

/// The grammar of OpenMetrics 1.0 as far as it is used: families stand together, types come first, EOF last.
fn check_openmetrics(text: &str) -> usize {
    let mut lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.pop(), Some("# EOF"));
    let (mut family, mut seen, mut samples) = (String::new(), Vec::new(), 0);
    for line in lines {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            family = rest.split(' ').next().unwrap().to_owned();
            assert!(!seen.contains(&family), "{family} twice");
            seen.push(family.clone());
        } else if let Some(rest) = line.strip_prefix("# UNIT ") {
            let (name, unit) = rest.split_once(' ').unwrap();
            assert!(name == family && name.ends_with(&format!("_{unit}")), "{line}");
        } else if !line.starts_with("# HELP ") {
            let words: Vec<&str> = line.rsplitn(3, ' ').collect();
            let name = words[2].split('{').next().unwrap();
            assert!(name == family || name == format!("{family}_total"), "{line}");
            assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'), "{line}");
            assert!(words[0].parse::<f64>().is_ok() && words[1].parse::<f64>().is_ok(), "{line}");
            samples += 1;
        }
    }
    samples
}

#[test]
fn openmetrics_keeps_families_together_and_ends() {
    let text = openmetrics::write(&recording(), &Selection::default()).unwrap();
    assert!(check_openmetrics(&text) > 60);
    assert!(text.contains("pagewise_meminfo_memfree_bytes 22296031232 1795282237.000000000\n"), "{text}");
    assert!(text.contains("# UNIT pagewise_import_cpu_busy_ratio ratio\n"));
}

#[test]
fn folded_lines_survive_hostile_names() {
    let text = folded::write(&profile(), &Selection::default());
    assert_eq!(text, "my job;main:x  [2J 1\nmy job;main:x  [2J;compact_zone_[k] 7\n");
    let early = Selection { until: Some(2_000_000_000), ..Selection::default() };
    assert!(folded::write(&profile(), &early).ends_with("compact_zone_[k] 3\n"));
}

/// Fields of a protobuf message: number, and a varint or bytes.
fn fields(mut bytes: &[u8]) -> Vec<(u64, u64, Vec<u8>)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let (first, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            value |= u64::from(first & 127) << shift;
            shift += 7;
            if first & 128 == 0 {
                return value;
            }
        }
    }
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        match key & 7 {
            0 => all.push((key >> 3, varint(&mut bytes), Vec::new())),
            2 => {
                let length = varint(&mut bytes) as usize;
                all.push((key >> 3, 0, bytes[..length].to_vec()));
                bytes = &bytes[length..];
            }
            other => panic!("wire type {other}"),
        }
    }
    all
}

#[test]
fn pprof_has_every_sample_under_its_names() {
    let encoded = pprof::encode(&profile(), &Selection::default(), Some(1_000));
    let all = fields(&encoded);
    let of = |field: u64| all.iter().filter(|(number, ..)| *number == field).cloned().collect::<Vec<_>>();
    let strings: Vec<String> = of(6).into_iter().map(|(.., bytes)| String::from_utf8(bytes).unwrap()).collect();
    assert_eq!(strings[0], "");
    let string = |message: &[u8], field: u64| {
        let number = fields(message).iter().find(|(number, ..)| *number == field).unwrap().1;
        strings[number as usize].clone()
    };
    let functions: Vec<String> = of(5).iter().map(|(.., bytes)| string(bytes, 2)).collect();
    assert_eq!(functions, ["main;x\n\u{1b}[2J", "compact_zone"]);
    let samples: Vec<_> = of(2).iter().map(|(.., bytes)| fields(bytes)).collect();
    // Locations innermost first, then 7 samples of 10 ms each.
    assert_eq!((samples[1][0].2.as_slice(), samples[1][1].2[0]), (&[2u8, 1][..], 7));
    assert_eq!(string(&samples[1][2].2, 2), "my job");
    assert_eq!((of(4).len(), of(3).len(), of(12)[0].1, of(9)[0].1), (2, 2, 10_000_000, 1_000));
    let types: Vec<String> = of(1).iter().map(|(.., bytes)| string(bytes, 1)).collect();
    assert_eq!(types, ["samples", "cpu"]);
}

#[test]
fn parquet_begins_and_ends_as_it_must() {
    let tables = source_tables(&recording(), &Selection::default()).unwrap();
    let bytes = parquet::write(&tables[0], &[("kernel".into(), "6.18".into())], &|page| Ok(page.to_vec())).unwrap();
    assert_eq!((&bytes[..4], &bytes[bytes.len() - 4..]), (&b"PAR1"[..], &b"PAR1"[..]));
    let length = u32::from_le_bytes(bytes[bytes.len() - 8..bytes.len() - 4].try_into().unwrap()) as usize;
    let footer = &bytes[bytes.len() - 8 - length..bytes.len() - 8];
    assert!(footer.windows(6).any(|window| window == b"kernel") && footer.last() == Some(&0));
}
