//! A rule at work on a recording: clauses held against thresholds, tiers that agree or not, and the verdict they make.

use super::answer::Answer;
use super::document::{Confidence, Cost, Evidence, Participant, Quantity, Severity, Tier};
use super::families::{ENOUGH_SAMPLES, Family};
use super::observed::{Hits, Missing, Observed, Track, WINDOW, Windows};
use super::processes::RankedBy;
use super::proposal::Proposal;
use super::rule::{Rule, Threshold};
use super::signal;
use super::stalls::{Stalled, in_words, source_of};
use super::words;
use crate::recording::StallKind;
use crate::stats::clopper_pearson;

/// A rule and the recording it reads.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// What it judges.
    pub observed: &'a Observed,
    /// The rule.
    pub rule: &'static Rule,
    /// Ids of the rules that found something, of those before it in the list.
    pub found: &'a [&'static str],
}

/// What a rule says.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// It is there.
    Found(Box<Draft>),
    /// It is not there, for this evidence.
    NotFound(Vec<Evidence>),
    /// It cannot be told.
    NotDecided {
        /// What is missing.
        missing: Vec<Missing>,
        /// How long a recording would do, when this one was too short.
        needs_seconds: Option<f64>,
        /// What was seen.
        evidence: Vec<Evidence>,
    },
}

/// A finding before what the table says is added to it.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// What was seen.
    pub summary: String,
    /// The same in a word or two for each thing, of a caveat of the measurement.
    pub marks: Vec<&'static str>,
    /// Title and meaning in place of the rule's, where it has two forms.
    pub other: Option<(&'static str, &'static str)>,
    /// What it costs.
    pub cost: Cost,
    /// At least this severe, whatever it costs.
    pub at_least: Option<Severity>,
    /// How sure it is.
    pub confidence: Option<Confidence>,
    /// The kinds of evidence that show it.
    pub tiers: Vec<Tier>,
    /// Where it held.
    pub hits: Hits,
    /// Who takes part.
    pub who: Vec<Participant>,
    /// What shows it.
    pub evidence: Vec<Evidence>,
    /// What would have helped.
    pub missing: Vec<Missing>,
    /// Changes that the table cannot know, such as of one control group. They come before the table's.
    pub changes: Vec<Proposal>,
    /// Counter-indications that only this recording shows.
    pub watch: Vec<String>,
    /// The table's counter-indications speak against changes that do not help here.
    pub without_counterindications: bool,
}

/// A quantity held against a threshold, window by window.
#[derive(Clone, Debug)]
pub struct Clause {
    threshold: Threshold,
    source: String,
    /// The quantity.
    pub track: Track,
    /// Where it holds.
    pub hits: Hits,
}

impl Clause {
    /// Its mean where `over` hits.
    #[must_use]
    pub fn value(&self, over: &Hits, windows: &Windows) -> Option<f64> {
        self.track.mean(over, windows)
    }

    /// The same as evidence.
    #[must_use]
    pub fn evidence(&self, over: &Hits, windows: &Windows) -> Evidence {
        let value = self.value(over, windows);
        evidence(&self.threshold, &self.source, value)
    }
}

/// A value held against a threshold.
fn evidence(threshold: &Threshold, source: &str, value: Option<f64>) -> Evidence {
    Evidence {
        source: source.to_owned(),
        name: threshold.name.to_owned(),
        value,
        unit: threshold.unit,
        threshold: Some(threshold.value),
        compare: Some(threshold.compare),
        origin: Some(threshold.origin.view()),
        holds: value.map(|value| threshold.holds(value)),
    }
}

/// A value that is only said.
#[must_use]
pub fn said(source: &str, name: &str, value: Option<f64>, unit: Quantity) -> Evidence {
    Evidence {
        source: source.to_owned(),
        name: name.to_owned(),
        value,
        unit,
        threshold: None,
        compare: None,
        origin: None,
        holds: None,
    }
}

/// Whether something lasts.
#[derive(Clone, Debug)]
pub struct Lasting {
    /// Whether it does.
    pub answer: Answer,
    /// Where it holds.
    pub hits: Hits,
    /// How long a recording would tell.
    pub needs_seconds: Option<f64>,
    /// What was held against what.
    pub evidence: Vec<Evidence>,
}

/// What one kind of evidence says about the mechanism.
#[derive(Clone, Debug)]
pub struct TierAnswer {
    /// Which.
    pub tier: Tier,
    /// Whether it shows the mechanism.
    pub answer: Answer,
    /// By what.
    pub evidence: Vec<Evidence>,
    /// What is missing.
    pub missing: Vec<Missing>,
    /// Who was seen.
    pub who: Vec<Participant>,
    /// The share it gives, where it gives one.
    pub share: Option<f64>,
}

impl Verdict {
    /// Another finding says it already.
    #[must_use]
    pub fn explained_by(id: &str) -> Verdict {
        Verdict::NotFound(vec![said("findings", &format!("explained by {id}"), None, Quantity::Number)])
    }
}

impl<'a> Case<'a> {
    /// The rule's threshold of this name.
    ///
    /// A name that is not in the rule's table cannot hold: the tests of the table look for it.
    fn threshold(&self, name: &'static str) -> Threshold {
        let known = self.rule.thresholds.iter().find(|threshold| threshold.name == name).copied();
        known.unwrap_or(Threshold::at_least(name, f64::INFINITY, Quantity::Number))
    }

    /// How its time is divided.
    #[must_use]
    pub fn windows(&self) -> &'a Windows {
        &self.observed.windows
    }

    /// A quantity held against the rule's threshold of that name.
    #[must_use]
    pub fn clause(&self, name: &'static str, source: &str, track: Track) -> Clause {
        let threshold = self.threshold(name);
        let hits = track.hits(|value| threshold.holds(value));
        Clause { threshold, source: source.to_owned(), track, hits }
    }

    /// The rate of a signal held against a threshold.
    #[must_use]
    pub fn rate(&self, name: &'static str, signal: &signal::Quantity) -> Clause {
        self.clause(name, &self.observed.source_of(signal), self.observed.rate(signal))
    }

    /// The rate of a signal per CPU (of one where their number is not known), which has to be `least` on the whole host.
    #[must_use]
    pub fn rate_by_cpu(&self, name: &'static str, signal: &signal::Quantity, least: f64) -> Clause {
        let cpus = self.observed.cpus().unwrap_or(1.0);
        let mut threshold = self.threshold(name);
        threshold.value = threshold.value.max(least / cpus);
        let track = self.observed.rate(signal).map(|rate| rate / cpus);
        let hits = track.hits(|value| threshold.holds(value));
        Clause { threshold, source: self.observed.source_of(signal), track, hits }
    }

    /// One value for the whole recording held against a threshold.
    #[must_use]
    pub fn whole(&self, name: &'static str, source: &str, value: Option<f64>) -> (Answer, Evidence) {
        let threshold = self.threshold(name);
        let value = value.filter(|value| value.is_finite());
        (Answer::of(value.map(|value| threshold.holds(value))), evidence(&threshold, source, value))
    }

    /// Whether all clauses hold at once for as long as the rule wants.
    #[must_use]
    pub fn lasting(&self, clauses: &[&Clause]) -> Lasting {
        let start = Hits::always(Answer::Yes, self.windows().count);
        let hits = clauses.iter().fold(start, |hits, clause| hits.and(&clause.hits));
        let lasting = self.lasting_hits(hits);
        let evidence = clauses.iter().map(|clause| clause.evidence(&lasting.hits, self.windows())).collect();
        Lasting { evidence, ..lasting }
    }

    /// The same of levels: a listing tells them as they are, however short it is. Two tools that were asked one after the other say no less
    /// than one of them.
    #[must_use]
    pub fn standing(&self, clauses: &[&Clause]) -> Lasting {
        self.stands(self.lasting(clauses))
    }

    /// The same of hits that were joined by hand.
    #[must_use]
    pub fn standing_hits(&self, hits: Hits) -> Lasting {
        self.stands(self.lasting_hits(hits))
    }

    fn stands(&self, lasting: Lasting) -> Lasting {
        let answers = &lasting.hits.answers;
        let is_whole = !answers.is_empty() && answers.iter().all(|answer| *answer == Answer::Yes);
        if self.observed.is_import && is_whole {
            return Lasting { answer: Answer::Yes, needs_seconds: None, ..lasting };
        }
        lasting
    }

    /// Whether something that nobody overlooks held anywhere in a listing: it is named whatever the rest of the listing is.
    #[must_use]
    pub fn anywhere(&self, clause: &Clause) -> Lasting {
        let is_there = clause.hits.answers.contains(&Answer::Yes) && self.observed.ticks != FEWEST_ROWS - 1;
        let lasting = self.lasting(&[clause]);
        if is_there { Lasting { answer: Answer::Yes, needs_seconds: None, ..lasting } } else { lasting }
    }

    /// Whether hits that were joined by hand last.
    ///
    /// What holds for a shorter time than the rule asks is not decided: it is there, and may have begun before or gone on after. A
    /// listing is as long as somebody cared to paste: what holds for half of it is what it shows.
    #[must_use]
    pub fn lasting_hits(&self, mut hits: Hits) -> Lasting {
        let windows = self.windows();
        let width = windows.width as f64 * 1e-9;
        let asked = ((self.rule.lasts / width.max(1e-9) - 1e-9).ceil().max(1.0)) as usize;
        let is_import = self.observed.is_import;
        let wanted = if is_import { asked.min(windows.count.div_ceil(2)).max(1) } else { asked };
        let (first, sure) = hits.longest(|answer| answer == Answer::Yes);
        let (_, perhaps) = hits.longest(|answer| answer != Answer::No);
        let is_whole = sure == windows.count && (self.rule.may_be_shorter || is_import);
        // One row of a listing is a state, or a mean over the time that its tool waited; two readings of the kernel's counters are such a mean.
        let is_long = windows.seconds() >= 0.9 * WINDOW as f64 * 1e-9;
        let is_enough = windows.seconds() >= 0.9 * width
            || (is_import && (self.observed.ticks >= FEWEST_ROWS || self.observed.ticks == 1 || is_long));
        let mut needs_seconds = None;
        let answer = if windows.count == 0 {
            Answer::Unknown
        } else if (sure >= wanted || is_whole) && (is_enough || windows.count >= asked) {
            Answer::Yes
        } else if sure == 0 && perhaps < wanted.min(windows.count) {
            Answer::No
        } else {
            if windows.count < asked {
                needs_seconds = (sure > 0 && perhaps == sure).then_some(self.rule.lasts);
            } else if sure > 0 && perhaps < wanted {
                let held: f64 = (first..first + sure).map(|window| windows.length(window)).sum();
                let (held, lasts) = (words::seconds(held), words::seconds(self.rule.lasts));
                let why = format!("it held for {held} at most without a break; {lasts} would decide");
                hits.missing.push(Missing { what: "how long it lasts".to_owned(), why });
            }
            Answer::Unknown
        };
        Lasting { answer, hits, needs_seconds, evidence: Vec::new() }
    }

    /// What stacks say: whether CPUs were in a family for the part the rule's threshold names. In a profile without
    /// callers, whether it is most of what the kernel does beside waiting for locks, where waiting is what it mostly does.
    #[must_use]
    pub fn stacks(&self, name: &'static str, family: Family, not: &[Family], over: &Hits) -> TierAnswer {
        self.stacks_against(self.threshold(name), family, not, over)
    }

    /// The same against any threshold.
    #[must_use]
    pub fn stacks_against(&self, threshold: Threshold, family: Family, not: &[Family], over: &Hits) -> TierAnswer {
        let Some(profile) = &self.observed.profile else {
            return TierAnswer::silent(Tier::Stacks, "stacks", "no stacks were recorded");
        };
        let counts = profile.counts(family, not, over, self.windows());
        let share = counts.share();
        let is_few = counts.all < ENOUGH_SAMPLES;
        let too_few = |count: u64, which: &str| {
            let why = format!("{count} samples{which} are too few to tell; {ENOUGH_SAMPLES} would do");
            TierAnswer::silent(Tier::Stacks, "stacks", &why)
        };
        // A few decide where the share is far from the threshold.
        let (least, most) =
            if is_few { clopper_pearson::interval(counts.family, counts.all, SURE) } else { (share, share) };
        let mut holds = threshold.holds(least);
        if !holds {
            if threshold.holds(most) || (is_few && profile.is_flat()) {
                return too_few(counts.all, "");
            }
            // What was not recorded all the time may have been missed.
            let coverage = profile.coverage(over, self.windows());
            let unseen = coverage.unseen_part();
            if threshold.holds(most * (1.0 - unseen) + unseen) {
                return TierAnswer::silent(Tier::Stacks, "stacks", coverage.why_not_all());
            }
        }
        let source = format!("stacks: {}", family.words());
        let mut evidence = vec![evidence(&threshold, &source, Some(share))];
        let mut shown = share;
        // What a function has with all it calls is there however few of its callers are known; what else was in the stack is not.
        let is_sure = profile.has_few_callers() || not.is_empty();
        if let Some(with_callees) = profile.with_callees(family, not).filter(|all| is_sure && *all > share) {
            (holds, shown) = (holds || threshold.holds(with_callees), with_callees);
            let name = format!("{}, with all that is called", threshold.name);
            evidence = vec![Evidence { name, ..self::evidence(&threshold, &source, Some(with_callees)) }];
        }
        if !holds && profile.is_flat() {
            let locks = profile.counts(Family::LockSpin, &[], over, self.windows());
            let lock_share = locks.share();
            let beside = profile.beside_locks(family, over, self.windows());
            let part = beside.family as f64 / beside.kernel.max(1) as f64;
            let is_enough = beside.kernel >= ENOUGH_SAMPLES;
            if !is_enough && threshold.holds(lock_share + share) {
                return too_few(beside.kernel, " of the kernel beside those that wait for locks");
            }
            // Locks that others wait for hide what they are of.
            let is_of_it = family == Family::MmapLock || part >= LEAST_BESIDE_LOCKS;
            let may_be = lock_share > share && threshold.holds(lock_share) && is_of_it;
            if is_enough && part < MOST_BESIDE_LOCKS && may_be {
                let why = format!("callers were not recorded, and {} waits for locks", words::percent(lock_share));
                return TierAnswer::silent(Tier::Stacks, "stacks", &why);
            }
            if is_enough && part >= MOST_BESIDE_LOCKS && threshold.holds(lock_share + share) {
                holds = true;
                shown = lock_share + share;
                evidence.clear();
                evidence.push(said("stacks", LOCKS_OF_UNKNOWN, Some(lock_share), Quantity::Fraction));
                let name = format!("{}, of what the kernel does beside waiting", family.words());
                evidence.push(Evidence { threshold: Some(MOST_BESIDE_LOCKS), ..of_beside(&name, part) });
            }
        }
        let unlisted = profile.not_listed();
        if !holds && threshold.holds(shown + unlisted) && unlisted > 0.0 {
            let why = format!("functions with {} of the samples are not listed", words::percent(unlisted));
            return TierAnswer { evidence, share: Some(shown), ..TierAnswer::silent(Tier::Stacks, "stacks", &why) };
        }
        TierAnswer {
            tier: Tier::Stacks,
            answer: Answer::of(Some(holds)),
            evidence,
            missing: Vec::new(),
            who: self.who(family, not, over),
            share: Some(shown),
        }
    }

    /// The processes that were seen most with a family and none of the others.
    #[must_use]
    pub fn who(&self, family: Family, not: &[Family], over: &Hits) -> Vec<Participant> {
        let Some(profile) = &self.observed.profile else { return Vec::new() };
        let of = format!("samples of {}", family.words());
        profile
            .who(family, not, over, self.windows())
            .into_iter()
            .map(|share| self.observed.participant(share, &of))
            .collect()
    }

    /// What stacks say, and where they are too few to say it and stalls deny it, what stalls leave room for: no task is on a
    /// CPU in something for longer than it is held up by it.
    #[must_use]
    pub fn stacks_within(
        &self,
        stalls: &TierAnswer,
        name: &'static str,
        stacks: TierAnswer,
        kind: StallKind,
        over: &Hits,
    ) -> TierAnswer {
        if stacks.answer != Answer::Unknown || stalls.answer != Answer::No {
            return stacks;
        }
        let threshold = self.threshold(name);
        let busy = self.observed.busy();
        let most = self.stalled(kind, over).filter(|stalled| stalled.coverage.unseen == 0.0).and_then(|stalled| {
            let on_cpu = busy.mean(over, self.windows())? * stalled.coverage.seconds;
            (on_cpu > 0.0).then(|| stalled.durations.total() as f64 * 1e-9 / on_cpu)
        });
        let Some(most) = most.filter(|most| !threshold.holds(*most)) else { return stacks };
        let source = format!("{}, of busy CPU", source_of(kind));
        let line = evidence(&threshold, &source, Some(most));
        let evidence = vec![Evidence { name: format!("{}, at most", threshold.name), ..line }];
        TierAnswer { answer: Answer::No, evidence, missing: Vec::new(), share: None, ..stacks }
    }

    /// What stalls say: whether the process that waited longest did so for the part of the time the rule's threshold names.
    #[must_use]
    pub fn stalls(&self, name: &'static str, kind: StallKind, over: &Hits) -> TierAnswer {
        self.of_stalls(kind, over, |stalled, source| {
            let threshold = self.threshold(name);
            let share = stalled.worst_process_seconds / stalled.coverage.seconds;
            // As if it had been stalled whenever nobody saw it.
            let most = (stalled.worst_process_seconds + stalled.coverage.unseen) / stalled.coverage.awake;
            // Of less than a hundred the longest is the 99th percentile.
            let name = if stalled.durations.count() < 100 { "the longest" } else { "99 of 100 are shorter than" };
            let p99 = stalled.durations.quantile(0.99).map(|nanoseconds| nanoseconds as f64 * 1e-9);
            let longest = said(source, name, p99, Quantity::Seconds);
            let answer = Case::unless_unseen(threshold.holds(share), threshold.holds(most));
            (answer, Some(share), vec![evidence(&threshold, source, Some(share)), longest])
        })
    }

    /// What stalls say about how long one of them takes.
    #[must_use]
    pub fn stall_lengths(&self, name: &'static str, kind: StallKind, over: &Hits) -> TierAnswer {
        self.of_stalls(kind, over, |stalled, source| {
            let threshold = self.threshold(name);
            let p99 = stalled.durations.quantile(0.99).map_or(0.0, |nanoseconds| nanoseconds as f64 * 1e-9);
            let answer = Case::unless_unseen(threshold.holds(p99), stalled.coverage.unseen_part() > LEAST_UNSEEN);
            (answer, None, vec![evidence(&threshold, source, Some(p99))])
        })
    }

    /// Stalls of a kind, judged: an answer, the share it gives, and what shows it. Silent where they were not recorded for long enough.
    fn of_stalls(
        &self,
        kind: StallKind,
        over: &Hits,
        judge: impl Fn(&Stalled, &str) -> (Answer, Option<f64>, Vec<Evidence>),
    ) -> TierAnswer {
        let stalled = match self.stalled(kind, over) {
            Some(stalled) if stalled.coverage.lasts_for(SHORTEST_RECORDING) => stalled,
            other => {
                let why = other.and_then(|stalled| stalled.coverage.why);
                let why = why.unwrap_or_else(|| "no stalls were recorded".to_owned());
                return TierAnswer::silent(Tier::Stalls, "stalls", &why);
            }
        };
        let source = source_of(kind);
        let (answer, share, mut shown) = judge(&stalled, &source);
        let total = stalled.durations.total() as f64 * 1e-9;
        shown.push(said(&source, "all tasks together", Some(total), Quantity::Seconds));
        let who = self.who_stalled(&stalled, kind);
        TierAnswer { tier: Tier::Stalls, answer, evidence: shown, missing: Case::unseen(answer, &stalled), who, share }
    }

    /// Stalls of a kind where it hits.
    #[must_use]
    pub fn stalled(&self, kind: StallKind, over: &Hits) -> Option<Stalled> {
        self.observed.stalls.as_ref().map(|stalls| stalls.of_kind(kind, over, self.windows()))
    }

    /// Time that tasks were held up by a kind where it hits, in seconds a second; all tasks together, so it may be more than one.
    /// `None` where they were not recorded.
    #[must_use]
    pub fn held_up(&self, kind: StallKind, over: &Hits) -> Option<f64> {
        let stalled = self.stalled(kind, over).filter(|stalled| stalled.coverage.seconds > 0.0)?;
        Some(stalled.durations.total() as f64 * 1e-9 / stalled.coverage.seconds)
    }

    /// The part of the time in which some task waited for memory and it can have been for this: pressure is whoever waits for memory, for
    /// whatever reason, and what was timed of one reason bounds how much of it is that.
    #[must_use]
    pub fn waited_for(&self, kind: StallKind, over: &Hits) -> Option<f64> {
        let pressure = self.observed.rate(&signal::PSI_MEMORY_SOME).mean(over, self.windows())?;
        Some(self.held_up(kind, over).map_or(pressure, |most| pressure.min(most)))
    }

    /// What holds holds; what does not may have been there unseen.
    fn unless_unseen(holds: bool, may_hold: bool) -> Answer {
        match (holds, may_hold) {
            (true, _) => Answer::Yes,
            (false, true) => Answer::Unknown,
            (false, false) => Answer::No,
        }
    }

    /// Why that is not known.
    fn unseen(answer: Answer, stalled: &Stalled) -> Vec<Missing> {
        let missing = Missing { what: "stalls".to_owned(), why: stalled.coverage.why_not_all().to_owned() };
        if answer == Answer::Unknown { vec![missing] } else { Vec::new() }
    }

    /// Who was held up by a kind, by time.
    pub(super) fn who_stalled(&self, stalled: &Stalled, kind: StallKind) -> Vec<Participant> {
        let of = format!("time held up by {}", in_words(kind));
        stalled.who.iter().map(|share| self.observed.participant(share.clone(), &of)).collect()
    }

    /// Names the processes that lead by a measure where neither stacks nor stalls named anybody. It is no evidence: a process
    /// that takes much may do so rightly.
    pub fn name(&self, draft: &mut Draft, by: RankedBy) {
        let Some(processes) = self.observed.processes.as_ref().filter(|_| draft.who.is_empty()) else { return };
        let (leaders, of) = processes.leaders(by, &draft.hits, self.windows(), self.observed.memory());
        draft.who = leaders.into_iter().map(|share| self.observed.participant(share, of)).collect();
    }

    /// What counters say about the mechanism: a quantity on average where it hits.
    #[must_use]
    pub fn counters(&self, clauses: &[&Clause], over: &Hits) -> TierAnswer {
        let mut says = TierAnswer::nothing(Tier::Counters);
        for clause in clauses {
            let evidence = clause.evidence(over, self.windows());
            says.answer = says.answer.and(Answer::of(evidence.holds));
            if evidence.holds.is_none() {
                says.missing.extend(clause.track.missing().iter().cloned());
            }
            says.evidence.push(evidence);
        }
        says
    }

    /// Nothing of it is there: for rules whose precondition is a setting or a machine.
    #[must_use]
    pub fn absent(&self, name: &str, value: Option<f64>, unit: Quantity) -> Verdict {
        Verdict::NotFound(vec![said(name, name, value, unit)])
    }

    /// What a rule says by a part of its evidence, which decides alone where it holds in some window: `draft` fills it in. `None`:
    /// it holds nowhere, and the rest of the evidence is asked.
    #[must_use]
    pub fn where_it_holds(&self, symptom: Lasting, draft: impl FnOnce(&mut Draft)) -> Option<Verdict> {
        let holds = symptom.hits.answers.contains(&Answer::Yes);
        holds.then(|| self.decide(symptom, Vec::new()).found(draft))
    }

    /// What the kernel counted since the host started, or between readings whose time nobody said, held against thresholds: all there is then. That it
    /// holds says that it was so, and not when, nor that it is so now. `None`: it is not known, or does not hold.
    #[must_use]
    pub fn since_boot<const N: usize>(
        &self,
        source: &str,
        values: [(&'static str, Option<f64>); N],
        summary: impl FnOnce([f64; N]) -> String,
    ) -> Option<Verdict> {
        let mut known = [0.0; N];
        let mut symptom = self.lasting_hits(Hits::always(Answer::Yes, self.windows().count));
        for (place, (name, value)) in known.iter_mut().zip(values) {
            let (answer, line) = self.whole(name, source, value);
            *place = value.filter(|_| answer == Answer::Yes)?;
            symptom.evidence.push(line);
        }
        let (since, open, why) = if self.observed.without_time().is_some() {
            (
                "Between the readings",
                "How far they are apart is not said.",
                "the time between the readings is not known",
            )
        } else {
            let why =
                "one reading says what was counted since the host started: a second one, a minute later, would tell";
            ("Since the host started", "One reading does not say when.", why)
        };
        symptom.hits.missing.push(Missing { what: "when it was".to_owned(), why: why.to_owned() });
        // A sum says nothing of how long it took.
        symptom.answer = Answer::Yes;
        Some(self.decide(symptom, Vec::new()).found(|draft| {
            draft.confidence = Some(Confidence::Low);
            draft.at_least = Some(Severity::Medium);
            draft.summary = format!("{since} {}. {open}", summary(known));
        }))
    }

    /// A symptom that lasts and a mechanism that some kind of evidence shows.
    ///
    /// Without any mechanism the symptom is the thing itself, and counters are what shows it. Counters let infer where time
    /// goes; stacks and stalls measure it: what both recorded and neither saw is not there, whatever counters say.
    #[must_use]
    pub fn decide(&self, symptom: Lasting, mechanisms: Vec<TierAnswer>) -> Verdict {
        let denies = |tier: Tier| mechanisms.iter().any(|says| says.tier == tier && says.answer == Answer::No);
        let shown = if mechanisms.is_empty() {
            Answer::Yes
        } else if denies(Tier::Stacks) && denies(Tier::Stalls) {
            Answer::No
        } else {
            Answer::any(mechanisms.iter().map(|says| says.answer))
        };
        let mut missing = symptom.hits.missing.clone();
        for says in &mechanisms {
            missing.extend(says.missing.iter().filter(|new| !missing.contains(new)).cloned().collect::<Vec<_>>());
        }
        let mut evidence = symptom.evidence.clone();
        match symptom.answer.and(shown) {
            Answer::No => {
                evidence.extend(mechanisms.into_iter().flat_map(|says| says.evidence));
                let against: Vec<Evidence> =
                    evidence.iter().filter(|evidence| evidence.holds == Some(false)).cloned().collect();
                Verdict::NotFound(if against.is_empty() { evidence } else { against })
            }
            Answer::Unknown => {
                evidence.extend(mechanisms.into_iter().flat_map(|says| says.evidence));
                let needs_seconds = symptom.needs_seconds.filter(|_| shown != Answer::No);
                if missing.is_empty() && needs_seconds.is_none() {
                    missing.push(Missing { what: "samples".to_owned(), why: "there are none".to_owned() });
                }
                Verdict::NotDecided { missing, needs_seconds, evidence }
            }
            Answer::Yes => {
                let mut tiers: Vec<Tier> =
                    mechanisms.iter().filter(|says| says.answer == Answer::Yes).map(|says| says.tier).collect();
                if mechanisms.is_empty() {
                    tiers.push(Tier::Counters);
                }
                tiers.sort_unstable();
                tiers.dedup();
                let speaks_against = mechanisms.iter().any(|says| says.answer == Answer::No);
                let lacks = self.rule.tiers.iter().filter(|tier| !tiers.contains(tier)).count();
                // A listing has a few numbers of many, and each of them is rounded.
                let is_of_listing = self.observed.is_import && tiers == [Tier::Counters];
                let confidence = match (tiers.len(), speaks_against) {
                    _ if is_of_listing => Confidence::Low,
                    (2.., false) => Confidence::High,
                    // One tells of CPUs, one of waiting: what does the one need not do the other.
                    (2.., true) => Confidence::Medium,
                    (_, true) => Confidence::Low,
                    // The symptom is known in part only.
                    (_, false) if lacks > 0 && !symptom.hits.missing.is_empty() => Confidence::Low,
                    _ => Confidence::Medium,
                };
                let who = mechanisms.iter().max_by_key(|says| says.who.len()).map(|says| says.who.clone());
                evidence.extend(mechanisms.into_iter().flat_map(|says| says.evidence));
                Verdict::Found(Box::new(Draft {
                    confidence: Some(confidence),
                    tiers,
                    hits: symptom.hits,
                    who: who.unwrap_or_default(),
                    evidence,
                    missing,
                    ..Draft::default()
                }))
            }
        }
    }
}

/// Where locks are taken for those of what the kernel does beside waiting.
pub(super) const LOCKS_OF_UNKNOWN: &str = "waiting for locks, callers not recorded";

/// Fewer rows of a listing show nothing that lasts: the first has no rates.
pub(super) const FEWEST_ROWS: u64 = 3;

/// How sure a share has to be on one side of its threshold where samples are few.
const SURE: f64 = 0.95;

/// A recording of stalls that is shorter says nothing, in seconds, but where the symptom itself is. Ours.
const SHORTEST_RECORDING: f64 = 1.0;

/// With less of the time unseen, lengths of stalls are as they were seen. Ours.
const LEAST_UNSEEN: f64 = 0.1;

/// In a profile without callers a family has to be most of what the kernel does beside waiting for locks. Ours.
const MOST_BESIDE_LOCKS: f64 = 0.5;

/// With less of it beside the locks it is not what they are of. Ours.
const LEAST_BESIDE_LOCKS: f64 = 0.1;

fn of_beside(name: &str, part: f64) -> Evidence {
    Evidence {
        compare: Some(super::document::Compare::AtLeast),
        origin: Some(super::document::OriginView::Ours),
        holds: Some(part >= MOST_BESIDE_LOCKS),
        ..said("stacks", name, Some(part), Quantity::Fraction)
    }
}

impl TierAnswer {
    /// It holds and has nothing to say yet.
    fn nothing(tier: Tier) -> TierAnswer {
        TierAnswer {
            tier,
            answer: Answer::Yes,
            evidence: Vec::new(),
            missing: Vec::new(),
            who: Vec::new(),
            share: None,
        }
    }

    /// Not recorded, or what was recorded decides nothing.
    #[must_use]
    pub fn silent(tier: Tier, what: &str, why: &str) -> TierAnswer {
        let missing = Missing { what: what.to_owned(), why: why.to_owned() };
        TierAnswer { answer: Answer::Unknown, missing: vec![missing], ..TierAnswer::nothing(tier) }
    }
}

impl Verdict {
    /// Adds to what was found; nothing to the others.
    #[must_use]
    pub fn found(self, add: impl FnOnce(&mut Draft)) -> Verdict {
        match self {
            Verdict::Found(mut draft) => {
                add(&mut draft);
                Verdict::Found(draft)
            }
            other => other,
        }
    }
}
