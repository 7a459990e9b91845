//! A toy model of a node under a stream, for laws to be tried on with a clock of its own: a fill with bursts, a cost to free, late wake-ups, kswapd behind
//! the low watermark, and a host that takes free memory back where there is one. A model, not a measurement: it shows what a law
//! cannot do, such as be late and not cross a watermark.

use super::sample::{Domain, Sample, Zone};
use super::{ControlLaw, Decision, MILLISECOND, SECOND, Slice};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use serde::Serialize;

/// What is modelled.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Bytes of the node.
    pub size: u64,
    /// Bytes a second that come in, by second of the run; the last goes on.
    pub fill: Vec<f64>,
    /// Every 100 ms the fill is between a half and one and a half of that.
    pub bursts: bool,
    /// CPU nanoseconds to free a byte, for the guard and for kswapd.
    pub freeing: f64,
    /// One wake-up in a hundred comes 2 to 15 ms late.
    pub late: bool,
    /// A host that takes back what was free for longer than two seconds: CPU nanoseconds to touch a byte of it again.
    pub reporting: Option<f64>,
    /// Seconds of the run.
    pub seconds: u64,
    /// Of its chances.
    pub seed: u64,
}

impl Model {
    /// A steady fill for a minute.
    #[must_use]
    pub fn of(size: u64, fill: f64, milliseconds_per_gib: f64) -> Model {
        let freeing = milliseconds_per_gib * MILLISECOND as f64 / GIB;
        Model { size, fill: vec![fill], bursts: true, freeing, late: true, reporting: None, seconds: 60, seed: 1 }
    }

    /// Watermarks of a node, as on a host of 24 GiB at the defaults: 0.32 and 0.41 % of it.
    fn watermarks(&self) -> (u64, u64) {
        (self.size / 311, self.size / 246)
    }
}

const GIB: f64 = (1_u64 << 30) as f64;

/// Nothing is simulated more finely than this.
const STEP: u64 = MILLISECOND / 4;

/// What a call to the kernel takes beside what it frees.
const CALL: u64 = MILLISECOND / 50;

/// What is touched for the first time costs so many CPU nanoseconds a byte: 0.2 s/GiB.
const TOUCHING: f64 = 0.2 * SECOND as f64 / GIB;

/// How a run went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SimulationOutcome {
    /// Times free memory fell below the low watermark, and kswapd woke.
    pub crossings: u64,
    /// Of them those after the first ten seconds.
    pub crossings_later: u64,
    /// Seconds in which nothing was free.
    pub stalled: f64,
    /// Of a core, by the guard.
    pub guard_cpu: f64,
    /// Of a core, by kswapd.
    pub kswapd_cpu: f64,
    /// CPU seconds for each GiB that came in, by all.
    pub cpu_per_gib: f64,
    /// Bytes that came in.
    pub filled: u64,
    /// Batches or slices that were made.
    pub slices: u64,
    /// Mean of free memory, bytes.
    pub held_free: f64,
}

struct Node<'m> {
    model: &'m Model,
    random: ChaCha20Rng,
    at: u64,
    free: f64,
    low: f64,
    high: f64,
    stolen: f64,
    kswapd: bool,
    burst: f64,
    burst_until: u64,
    touching: f64,
    /// How much of the free memory rests, by the lowest level of the last two seconds: what lies below was not touched for so long.
    lowest: [f64; 2],
    lowest_since: u64,
    reported: f64,
    ran: SimulationOutcome,
    free_seconds: f64,
}

impl<'m> Node<'m> {
    fn of(model: &'m Model) -> Node<'m> {
        let (low, high) = model.watermarks();
        let free = high as f64 * 2.0;
        Node {
            model,
            random: ChaCha20Rng::seed_from_u64(model.seed),
            at: SECOND,
            free,
            low: low as f64,
            high: high as f64,
            stolen: 0.0,
            kswapd: false,
            burst: 1.0,
            burst_until: 0,
            touching: 0.0,
            lowest: [free; 2],
            lowest_since: 0,
            reported: 0.0,
            ran: SimulationOutcome::default(),
            free_seconds: 0.0,
        }
    }

    fn chance(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn is_over(&self) -> bool {
        self.at > (self.model.seconds + 1) * SECOND
    }

    /// Time passes.
    fn pass(&mut self, nanoseconds: u64) {
        let mut left = nanoseconds;
        while left > 0 && !self.is_over() {
            let step = left.min(STEP);
            self.step(step);
            left -= step;
        }
    }

    fn step(&mut self, step: u64) {
        if self.at >= self.burst_until {
            self.burst = if self.model.bursts { 0.5 + self.chance() } else { 1.0 };
            self.burst_until = self.at + 100 * MILLISECOND;
        }
        let seconds = step as f64 / SECOND as f64;
        let second = ((self.at / SECOND).saturating_sub(1) as usize).min(self.model.fill.len().saturating_sub(1));
        let wanted = self.model.fill.get(second).copied().unwrap_or(0.0) * self.burst * seconds;
        let came = wanted.min(self.free);
        if came < wanted {
            self.ran.stalled += seconds * (1.0 - came / wanted);
        }
        self.free -= came;
        self.ran.filled += came as u64;
        let cold = (self.reported - self.free).clamp(0.0, came);
        self.reported -= cold;
        self.touching += (came - cold) * TOUCHING + cold * self.model.reporting.unwrap_or(TOUCHING);
        if self.free < self.low && !self.kswapd {
            self.kswapd = true;
            self.ran.crossings += 1;
            self.ran.crossings_later += u64::from(self.at > 11 * SECOND);
        }
        if self.kswapd {
            self.ran.kswapd_cpu += seconds;
            let freed = step as f64 / self.model.freeing;
            self.free += freed;
            self.stolen += freed;
            self.kswapd = self.free < self.high;
        }
        self.rest();
        self.free_seconds += self.free * seconds;
        self.at += step;
    }

    /// What nobody touched for two seconds goes to the host.
    fn rest(&mut self) {
        self.lowest[1] = self.lowest[1].min(self.free);
        if self.at.saturating_sub(self.lowest_since) >= SECOND {
            self.lowest_since = self.at;
            let rests = self.lowest[0].min(self.lowest[1]);
            self.lowest = [self.lowest[1], self.free];
            if self.model.reporting.is_some() {
                self.reported = self.reported.max(rests).min(self.free);
            }
        }
    }

    /// Asleep for so long, and perhaps longer.
    fn sleep(&mut self, nanoseconds: u64) {
        let late = if self.model.late && self.chance() < 0.01 {
            (2.0 + 13.0 * self.chance()) * MILLISECOND as f64
        } else {
            0.0
        };
        self.pass(nanoseconds + late as u64);
    }

    fn free_up(&mut self, bytes: u64) -> Slice {
        let took = (bytes as f64 * self.model.freeing) as u64 + CALL;
        self.pass(took);
        self.free += bytes as f64;
        self.stolen += bytes as f64;
        self.ran.guard_cpu += took as f64 / SECOND as f64;
        self.ran.slices += 1;
        Slice { asked: bytes, freed: bytes, of_files: 0, took, cpu: took }
    }

    fn show(&self, law: &mut impl ControlLaw) -> Decision {
        let zones = [Zone { free: self.free as u64, low: self.low as u64, protection: 0, drift: 0 }];
        let reclaiming = (self.ran.kswapd_cpu + self.ran.guard_cpu) * SECOND as f64;
        let file = self.model.size as f64 * 0.9 - self.free;
        law.decide(&Sample {
            at: self.at,
            domain: Domain::Node { size: self.model.size },
            zones: &zones,
            high: self.high as u64,
            file: file as u64,
            inactive_file: (file * 0.8) as u64,
            behind_streams: 0,
            dirty: 0,
            anonymous: self.model.size / 20,
            kernel: self.model.size / 20,
            stolen_file: self.stolen as u64,
            stolen_anonymous: 0,
            taken_of_files: 0,
            came_back: 0,
            came_back_of_files: 0,
            too_late: self.ran.crossings,
            system_cpu: (reclaiming + self.touching) as u64,
            streams: None,
        })
    }
}

/// Runs a law on a model to its end.
pub fn run(model: &Model, law: &mut impl ControlLaw) -> SimulationOutcome {
    let mut node = Node::of(model);
    while !node.is_over() {
        // A look at the kernel's files takes time, too.
        node.pass(CALL);
        node.ran.guard_cpu += CALL as f64 / SECOND as f64;
        match node.show(law) {
            Decision::Wait(nanoseconds) => node.sleep(nanoseconds.max(STEP)),
            Decision::Reclaim(bytes) => {
                let slice = node.free_up(bytes);
                law.made(slice);
            }
        }
    }
    let seconds = model.seconds as f64;
    let Node { mut ran, touching, free_seconds, .. } = node;
    let cpu = ran.guard_cpu + ran.kswapd_cpu + touching / SECOND as f64;
    ran.cpu_per_gib = cpu / (ran.filled as f64 / GIB).max(1e-9);
    ran.guard_cpu /= seconds;
    ran.kswapd_cpu /= seconds;
    ran.held_free = free_seconds / seconds;
    ran
}

/// Does nothing: what the kernel does by itself.
#[derive(Clone, Copy, Debug)]
pub struct NoGuard;

impl ControlLaw for NoGuard {
    fn decide(&mut self, _: &Sample<'_>) -> Decision {
        Decision::Wait(100 * MILLISECOND)
    }

    fn made(&mut self, _: Slice) {}
}

#[cfg(test)]
mod tests {
    use super::super::law::{Law, Mode, Settings, WaitReason};
    use super::super::paper::Paper;
    use super::*;

    const G: u64 = 1 << 30;

    /// Without a cap, and without a second in which the kernel is watched.
    fn uncapped() -> Law {
        Law::new(Settings { cpu_cap: 1.0, baseline: false, ..Settings::default() })
    }

    #[test]
    fn where_it_can_be_done_the_low_watermark_is_not_crossed_after_the_stream_was_recognised() {
        for (size, fill, cost, most_cpu) in [
            (24 * G, 1.3, 6.0, 0.05),
            (24 * G, 1.3, 98.0, 0.2),
            (24 * G, 1.3, 308.0, 0.5),
            (24 * G, 5.0, 98.0, 0.6),
            (24 * G, 12.0, 6.0, 0.2),
            (256 * G, 5.0, 98.0, 0.6),
        ] {
            let ran = run(&Model::of(size, fill * GIB, cost), &mut uncapped());
            let row = format!("{} GiB, {fill} GiB/s, {cost} ms/GiB: {ran:?}", size / G);
            assert_eq!((ran.crossings_later, ran.stalled), (0, 0.0), "{row}");
            assert!(ran.guard_cpu < most_cpu, "{row}");
            // Not held: what a batch holds, and twice what comes in between two samples, at the latest wake-up there is.
            let blind = 4.0 * fill * GIB * 0.021;
            assert!(ran.held_free < size as f64 * 0.03 + blind, "{row}");
        }
    }

    #[test]
    fn loops_with_a_fixed_period_are_too_late_or_hold_too_much() {
        let model = Model::of(24 * G, 5.0 * GIB, 98.0);
        let second = run(&model, &mut Paper::new(model.size / 100, model.size / 50, SECOND));
        let tenth = run(&model, &mut Paper::new(model.size / 100, model.size / 50, SECOND / 10));
        assert!(second.crossings_later > 100 && tenth.crossings_later > 100, "{second:?} {tenth:?}");
    }

    #[test]
    fn a_fill_that_needs_more_than_the_cap_is_refused_with_its_cores() {
        for (size, fill, cost) in [(24 * G, 5.0, 308.0), (256 * G, 12.0, 98.0)] {
            let mut law = Law::new(Settings { baseline: false, ..Settings::default() });
            let ran = run(&Model::of(size, fill * GIB, cost), &mut law);
            assert!(ran.guard_cpu < 0.1, "it raced: {ran:?}");
            let Mode::Leaving { because: WaitReason::Infeasible { cores } } = law.mode() else {
                panic!("{:?}", law.mode())
            };
            // More cannot come in than kswapd frees with a core.
            let wanted = (fill * cost / 1000.0).min(1.0);
            assert!((cores / wanted - 1.0).abs() < 0.2, "{cores} of {wanted}");
        }
    }

    #[test]
    fn the_cap_holds_whatever_is_asked() {
        for fill in [1.0, 3.0, 4.5, 5.0] {
            let mut law = Law::new(Settings { cpu_cap: 0.5, baseline: false, ..Settings::default() });
            let ran = run(&Model::of(24 * G, fill * GIB, 98.0), &mut law);
            assert!(ran.guard_cpu <= 0.6, "{fill}: {ran:?}");
        }
    }

    #[test]
    fn nothing_streams_and_nothing_is_spent() {
        let model = Model { fill: vec![0.0], ..Model::of(24 * G, 0.0, 98.0) };
        let ran = run(&model, &mut uncapped());
        assert_eq!((ran.slices, ran.crossings), (0, 0));
        assert!(ran.guard_cpu < 0.001, "{ran:?}");
    }

    #[test]
    fn a_host_that_takes_free_memory_back_is_never_worse_off_with_the_guard() {
        for fill in [0.1, 0.3, 0.6, 1.5, 3.0] {
            let model = Model {
                reporting: Some(0.85 * SECOND as f64 / GIB),
                seconds: 120,
                ..Model::of(24 * G, fill * GIB, 98.0)
            };
            let alone = run(&model, &mut NoGuard);
            let law = Law::new(Settings::default());
            for mut law in [law, law.where_free_goes_back()] {
                let guarded = run(&model, &mut law);
                assert!(guarded.cpu_per_gib < alone.cpu_per_gib * 1.1, "{fill} GiB/s: {alone:?} {guarded:?}");
            }
        }
        // Free what a naive guard frees, and it is.
        let model = Model { reporting: Some(0.85 * SECOND as f64 / GIB), ..Model::of(24 * G, 0.15 * GIB, 98.0) };
        let (alone, naive) =
            (run(&model, &mut NoGuard), run(&model, &mut Paper::new(500 << 20, 600 << 20, SECOND / 10)));
        assert!(naive.cpu_per_gib > alone.cpu_per_gib * 1.3, "{alone:?} {naive:?}");
    }
}
