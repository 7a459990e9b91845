//! pprof's `profile.proto` (github.com/google/pprof, proto/profile.proto), not yet compressed.
//!
//! Seven small messages are written by hand: a generator and its run time would be larger than they are.

use super::Selection;
use crate::recording::Profile;
use std::collections::{BTreeMap, HashMap};

/// A message that grows. Fields as protobuf's wire format has them: varints and length-delimited bytes.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(&mut self, field: u64, value: u64) {
        if value != 0 {
            self.varint(field << 3);
            self.varint(value);
        }
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn packed(&mut self, field: u64, values: impl Iterator<Item = u64>) {
        let mut inner = Message::default();
        values.for_each(|value| inner.varint(value));
        self.bytes(field, &inner.0);
    }
}

/// Strings by number; 0 is the empty one, as the format wants.
struct Strings {
    all: Vec<String>,
    numbers: HashMap<String, u64>,
}

impl Strings {
    fn number(&mut self, text: &str) -> u64 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.all.len() as u64;
        self.all.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }
}

/// The profile of a selection: samples per stack and command, their command as the label `comm`. `started`: nanoseconds
/// since 1970 of the clock's zero, `None` without a date.
#[must_use]
pub fn encode(profile: &Profile, selection: &Selection, started: Option<i64>) -> Vec<u8> {
    let mut strings = Strings { all: vec![String::new()], numbers: HashMap::from([(String::new(), 0)]) };
    let mut counts: BTreeMap<(u32, &str), u64> = BTreeMap::new();
    let (mut from, mut to) = (u64::MAX, 0);
    for sample in profile.samples.iter().filter(|sample| selection.overlaps(sample)) {
        let count = counts.entry((sample.stack.0, sample.comm.as_str())).or_default();
        *count = count.saturating_add(sample.count);
        (from, to) = (from.min(sample.from), to.max(sample.to));
    }
    let period = profile.hz.filter(|hz| *hz > 0.0).map(|hz| (1e9 / hz).round() as u64);
    let mut out = Message::default();
    let mut value_type = |field: u64, name: &str, unit: &str, out: &mut Message| {
        let mut message = Message::default();
        message.number(1, strings.number(name));
        message.number(2, strings.number(unit));
        out.bytes(field, &message.0);
    };
    value_type(1, "samples", "count", &mut out);
    if period.is_some() {
        value_type(1, "cpu", "nanoseconds", &mut out);
    }
    for ((stack, comm), count) in counts {
        let mut sample = Message::default();
        // Location ids are frame numbers plus one: zero is no id. The innermost comes first.
        sample.packed(1, profile.stacks.walk(crate::recording::StackId(stack)).map(|frame| u64::from(frame) + 1));
        let values = std::iter::once(count).chain(period.map(|period| count.saturating_mul(period)));
        sample.packed(2, values.map(|value| value.min(i64::MAX as u64)));
        if !comm.is_empty() {
            let mut label = Message::default();
            label.number(1, strings.number("comm"));
            label.number(2, strings.number(comm));
            sample.bytes(3, &label.0);
        }
        out.bytes(2, &sample.0);
    }
    let mut mappings: BTreeMap<&str, u64> = BTreeMap::new();
    for frame in profile.stacks.frames() {
        let next = mappings.len() as u64 + 1;
        mappings.entry(&frame.module).or_insert(next);
    }
    for (module, id) in &mappings {
        let mut mapping = Message::default();
        mapping.number(1, *id);
        mapping.number(5, strings.number(module));
        // has_functions: there is nothing left to symbolise.
        mapping.number(7, 1);
        out.bytes(3, &mapping.0);
    }
    for (index, frame) in profile.stacks.frames().iter().enumerate() {
        let id = index as u64 + 1;
        let mut line = Message::default();
        line.number(1, id);
        let mut location = Message::default();
        location.number(1, id);
        location.number(2, mappings.get(frame.module.as_str()).copied().unwrap_or(0));
        location.bytes(4, &line.0);
        out.bytes(4, &location.0);
        let mut function = Message::default();
        function.number(1, id);
        let name = strings.number(if frame.name.is_empty() { "[unknown]" } else { &frame.name });
        function.number(2, name);
        function.number(3, name);
        out.bytes(5, &function.0);
    }
    let event = strings.number(profile.event.as_ref().map_or("samples", |event| event.word()));
    let nanoseconds = strings.number("nanoseconds");
    for text in &strings.all {
        out.bytes(6, text.as_bytes());
    }
    if from < to {
        let start = started.unwrap_or(0).saturating_add_unsigned(from);
        out.number(9, u64::try_from(start).unwrap_or(0));
        out.number(10, to - from);
    }
    if let Some(period) = period {
        let mut kind = Message::default();
        kind.number(1, event);
        kind.number(2, nanoseconds);
        out.bytes(11, &kind.0);
        out.number(12, period);
    }
    out.0
}
