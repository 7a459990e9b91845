//! What a careful reader must know before believing the verdict.
//!
//! A warning never changes the verdict. It names what was seen, with numbers, and what to do about it.

use super::effect::Found;
use super::live;
use super::pairs::{Side, Trial};
use super::sentence::{p_value, percent};
use super::verdict::{self, Concluded, Reason};
use super::{Conclusion, Question, Warning};
use crate::experiment::point::AppliedSetting;
use crate::stats::leave_one_out::each_left_out;
use crate::stats::{crossover, dip, randomisation, summary, trend};
use crate::tunable::policy::Policy;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use std::collections::{BTreeMap, BTreeSet};

/// Drift and bimodality are looked for in every trial; a stricter level keeps false alarms rare.
pub(super) const LOOKED_FOR_EVERY_TIME: f64 = 0.01;

/// See [`super::effect`]: stream 0 drew the order, stream 1 the randomisation test.
const DIP_STREAM: u64 = 2;

/// Fewer values than this form no heaps.
const FEWEST_FOR_DIP: usize = 6;

/// All that apply, in a fixed order.
pub(super) fn all(
    question: &Question,
    trial: &Trial,
    found: &Result<Found, String>,
    concluded: &Concluded,
) -> Vec<Warning> {
    let mut warnings = vec![
        live::ended_early(question, trial),
        not_positive(question, trial),
        incomplete_pairs(question, trial),
        attempts_replaced(trial),
        policy_changes_nothing(question, trial),
        levels_differ_in_more(question, trial),
        host_changed(question, trial),
    ];
    if let Ok(found) = found {
        warnings.extend([
            few_sequences(question, found),
            tests_disagree(question, found),
            noise_against_margin(question, found),
            one_point_decides(question, trial, found, concluded),
            live::still_changing(question, trial),
            drift(question, trial),
            bimodal(question, trial),
        ]);
    }
    warnings.into_iter().flatten().collect()
}

pub(super) fn warning(id: &str, text: String) -> Option<Warning> {
    Some(Warning { id: id.to_owned(), text })
}

fn not_positive(question: &Question, trial: &Trial) -> Option<Warning> {
    let values = Side::BOTH.into_iter().flat_map(|side| trial.values(side));
    let count = values.filter(|value| *value <= 0.0).count();
    if count == 0 {
        return None;
    }
    let text = format!(
        "{count} values of {} are zero or negative, so there is no ratio and no verdict on it.",
        question.metric.name
    );
    warning("not-positive", text)
}

fn incomplete_pairs(question: &Question, trial: &Trial) -> Option<Warning> {
    let missing = question.pairs_planned.saturating_sub(trial.pairs.len() as u32);
    if missing == 0 {
        return None;
    }
    let without_metric = match trial.without_metric {
        0 => String::new(),
        count => format!(" In {count} of them {} was not measured.", question.metric.name),
    };
    let text = format!(
        "{missing} of {} pairs have no two good runs to compare and are left out of the estimate.{without_metric}",
        question.pairs_planned
    );
    warning("incomplete-pairs", text)
}

fn attempts_replaced(trial: &Trial) -> Option<Warning> {
    let invalid = trial.invalid();
    let first = invalid.first()?;
    let reason = first.reason.as_deref().unwrap_or("no reason recorded");
    let text = match invalid.len() {
        1 => format!("One run was invalid and does not count: {reason}."),
        count => format!("{count} runs were invalid and do not count; the first: {reason}."),
    };
    warning("attempts-replaced", text)
}

/// What the points of each arm read back, by tunable.
struct ReadBack<'p> {
    of_a: BTreeMap<&'p str, BTreeSet<&'p str>>,
    of_b: BTreeMap<&'p str, BTreeSet<&'p str>>,
    /// Values found before a write, whichever arm wrote.
    before: BTreeMap<&'p str, BTreeSet<&'p str>>,
}

impl<'p> ReadBack<'p> {
    fn of(trial: &Trial<'p>, wanted: impl Fn(&AppliedSetting) -> bool) -> ReadBack<'p> {
        let mut read = ReadBack { of_a: BTreeMap::new(), of_b: BTreeMap::new(), before: BTreeMap::new() };
        for (side, point) in trial.results() {
            let values = if side == Side::A { &mut read.of_a } else { &mut read.of_b };
            for setting in point.applied.iter().filter(|setting| wanted(setting)) {
                values.entry(&setting.tunable).or_default().insert(&setting.after);
                read.before.entry(&setting.tunable).or_default().insert(&setting.before);
            }
        }
        read
    }

    fn tunables(&self) -> impl Iterator<Item = &'p str> {
        self.before.keys().copied()
    }

    /// Values a tunable had in one arm. An arm that does not write it runs with what the other found before its write.
    fn values(&self, side: Side, tunable: &str) -> Option<&BTreeSet<&'p str>> {
        let written = if side == Side::A { &self.of_a } else { &self.of_b };
        written.get(tunable).or_else(|| self.before.get(tunable))
    }

    fn differs(&self, tunable: &str) -> bool {
        self.values(Side::A, tunable) != self.values(Side::B, tunable)
    }
}

fn policy_changes_nothing(question: &Question, trial: &Trial) -> Option<Warning> {
    // The same policy in both arms is a question about noise: nothing is meant to change.
    if question.a_policy == question.b_policy {
        return None;
    }
    let requested = ReadBack::of(trial, |setting| setting.requested.is_some());
    let tunables: Vec<&str> = requested.tunables().collect();
    if tunables.is_empty() || !names_all(question, &tunables) || tunables.iter().any(|name| requested.differs(name)) {
        return None;
    }
    let text = format!(
        "Both levels ran with the same values of {}, so the host gave nothing to compare.",
        tunables.join(", ")
    );
    warning("policy-changes-nothing", text)
}

/// Whether everything the two policies name was read back. A setting that leaves no value to read, such as an
/// environment variable, may be what differs.
fn names_all(question: &Question, read_back: &[&str]) -> bool {
    [&question.a_policy, &question.b_policy].into_iter().all(|policy| {
        let Ok(policy) = policy.parse::<Policy>() else { return false };
        policy.settings.iter().all(|setting| read_back.contains(&setting.tunable.name.as_str()))
    })
}

fn levels_differ_in_more(question: &Question, trial: &Trial) -> Option<Warning> {
    let coupled = ReadBack::of(trial, |setting| setting.requested.is_none());
    let requested = ReadBack::of(trial, |setting| setting.requested.is_some());
    let on_purpose = |name: &str| question.also.iter().any(|also| also == name) || requested.before.contains_key(name);
    let listed = |values: Option<&BTreeSet<&str>>| {
        values.map(|values| values.iter().copied().collect::<Vec<_>>().join(" or ")).unwrap_or_default()
    };
    let differing: Vec<String> = coupled
        .tunables()
        .filter(|name| !on_purpose(name) && coupled.differs(name))
        .map(|name| {
            let (a, b) = (listed(coupled.values(Side::A, name)), listed(coupled.values(Side::B, name)));
            format!("{name} ({a} under `{}`, {b} under `{}`)", question.a, question.b)
        })
        .collect();
    if differing.is_empty() {
        return None;
    }
    let text = format!(
        "The kernel moved more than was asked: {}. The effect is that of all of it together; set it in both levels to \
         tell them apart.",
        differing.join(", ")
    );
    warning("levels-differ-in-more", text)
}

/// A level that leaves a tunable alone runs with what the host has. When the other level found several values before its
/// writes, someone changed the host between runs, and that level's runs are of several kinds.
fn host_changed(question: &Question, trial: &Trial) -> Option<Warning> {
    let read = ReadBack::of(trial, |_| true);
    let changed: Vec<String> = read
        .before
        .iter()
        .filter(|(name, found)| found.len() > 1 && !(read.of_a.contains_key(*name) && read.of_b.contains_key(*name)))
        .map(|(name, found)| {
            let bystander = if read.of_a.contains_key(name) { &question.b } else { &question.a };
            let values: Vec<&str> = found.iter().copied().collect();
            format!("{name} ({} under `{bystander}`)", values.join(" and "))
        })
        .collect();
    if changed.is_empty() {
        return None;
    }
    let text = format!(
        "Someone changed this host during the trial, between two runs: {}. The runs of that level do not belong together.",
        changed.join(", ")
    );
    warning("host-changed", text)
}

fn few_sequences(question: &Question, found: &Found) -> Option<Warning> {
    let smallest = found.effect.smallest_randomisation_p;
    if smallest <= question.alpha {
        return None;
    }
    let how_few = match smallest {
        ..0.995 => format!("so few orders that the randomisation test cannot go below p = {}", p_value(smallest)),
        _ => "no other order, and the randomisation test says nothing".to_owned(),
    };
    let text = format!(
        "So few complete pairs allow {how_few}. The verdict rests on the t interval alone, which assumes normal noise. Run {} \
         pairs or more.",
        randomisation::fewest_pairs(question.alpha)
    );
    warning("few-sequences", text)
}

fn tests_disagree(question: &Question, found: &Found) -> Option<Warning> {
    let effect = &found.effect;
    let reachable = effect.smallest_randomisation_p <= question.alpha;
    if !reachable || (effect.p <= question.alpha) == (effect.randomisation_p <= question.alpha) {
        return None;
    }
    let text = format!(
        "The t test (p = {}) and the randomisation test (p = {}) fall on different sides of {}: take the verdict as a \
         close call.",
        p_value(effect.p),
        p_value(effect.randomisation_p),
        question.alpha
    );
    warning("tests-disagree", text)
}

fn noise_against_margin(question: &Question, found: &Found) -> Option<Warning> {
    let (low, high) = found.estimate.interval(question.alpha);
    let half_width = (high - low) / 2.0;
    // Where the interval excludes no difference the noise did not stand in the way.
    if half_width <= question.log_margin() || low > 0.0 || high < 0.0 {
        return None;
    }
    let text = format!(
        "The interval reaches {:.1} % to either side of the estimate, more than your margin of {}: in this noise a \
         difference of that size can hardly be told from none.",
        libm::expm1(half_width) * 100.0,
        percent(question.margin)
    );
    warning("noise-against-margin", text)
}

fn one_point_decides(question: &Question, trial: &Trial, found: &Found, concluded: &Concluded) -> Option<Warning> {
    if !matches!(concluded.reason, Reason::Effect | Reason::NotDecided) {
        return None;
    }
    let without_one = each_left_out(&found.differences).filter_map(|(left_out, others)| {
        let word = verdict::by_effect(question, &crossover::estimate(&others).ok()?).word;
        (word != concluded.word).then_some((left_out, word))
    });
    let deciding: Vec<(usize, Conclusion)> = without_one.collect();
    let (first, word) = *deciding.first()?;
    let pair = trial.pairs.get(first)?.block + 1;
    let others = match deciding.len() {
        1 => String::new(),
        count => format!(" The same holds for {} other pairs.", count - 1),
    };
    let text = format!("Without pair {pair} the verdict would be {}.{others}", word.word());
    warning("one-point-decides", text)
}

/// A trend of what the arms leave unexplained, over the run order.
fn drift(question: &Question, trial: &Trial) -> Option<Warning> {
    let mut residuals: Vec<(f64, f64)> = Vec::new();
    for side in Side::BOTH {
        let logs: Vec<f64> = trial.values(side).into_iter().map(libm::log).collect();
        let mean = summary::mean(&logs)?;
        let places = trial.pairs.iter().map(|pair| f64::from(pair.run(side).point.planned.index));
        residuals.extend(places.zip(logs.iter().map(|log| log - mean)));
    }
    residuals.sort_by(|one, other| one.0.total_cmp(&other.0));
    let in_order: Vec<f64> = residuals.iter().map(|(_, residual)| *residual).collect();
    let p = trend::mann_kendall_p(&in_order);
    if p >= LOOKED_FOR_EVERY_TIME {
        return None;
    }
    let slope = trend::theil_sen_slope(&residuals)?;
    let text = format!(
        "{} drifts by {:+.2} % per run over the trial (Mann-Kendall p = {}). The pairs cancel it out of the estimate, \
         but something on the host changed meanwhile.",
        question.metric.name,
        libm::expm1(slope) * 100.0,
        p_value(p)
    );
    warning("drift", text)
}

fn bimodal(question: &Question, trial: &Trial) -> Option<Warning> {
    let mut rng = ChaCha20Rng::seed_from_u64(question.seed);
    rng.set_stream(DIP_STREAM);
    let mut two_heaps = Vec::new();
    for (side, level) in [(Side::A, &question.a), (Side::B, &question.b)] {
        let logs: Vec<f64> = trial.values(side).into_iter().map(libm::log).collect();
        if logs.len() < FEWEST_FOR_DIP {
            continue;
        }
        let p = dip::p_value(dip::dip(&logs)?, logs.len(), &mut rng);
        if p < LOOKED_FOR_EVERY_TIME {
            two_heaps.push(format!("`{level}` (p = {})", p_value(p)));
        }
    }
    if two_heaps.is_empty() {
        return None;
    }
    let text = format!(
        "The values of {} fall into two heaps (Hartigan's dip test), so their mean describes neither. Look for what \
         differs between the fast and the slow runs.",
        two_heaps.join(" and ")
    );
    warning("bimodal", text)
}
