//! What the rules say of a stretch of time. A recording is read for that by a thread of its own: a day of it takes longer
//! than a key may.

use pagewise_core::finding::{self, Diagnosis, Observed};
use pagewise_core::recording::{Part, Profile, Recorded};
use std::fmt::Display;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

/// A verdict on a stretch.
#[derive(Clone, Debug)]
pub struct StretchVerdict {
    /// The stretch, CLOCK_BOOTTIME in nanoseconds.
    pub stretch: (u64, u64),
    /// Or why there is none.
    pub said: Result<Diagnosis, String>,
}

/// Asks the rules about a part of a recording, or of a host.
#[must_use]
pub fn judged<R: Recorded>(part: &Part<'_, R>, stretch: (u64, u64), subject: &str) -> StretchVerdict
where
    R::Error: Display,
{
    let observed = Observed::of(part).map_err(|error| error.to_string());
    StretchVerdict { stretch, said: observed.map(|observed| finding::diagnose(&observed, subject)) }
}

/// The thread that reads a recording again for each stretch it is asked about.
pub struct Reader {
    asks: Sender<(u64, u64)>,
    answers: Receiver<StretchVerdict>,
    thread: JoinHandle<()>,
    asked: Option<(u64, u64)>,
    judged: Option<StretchVerdict>,
}

impl Reader {
    /// Starts it.
    ///
    /// # Errors
    /// When there can be no further thread.
    pub fn start<R>(recording: R, profile: Option<Arc<Profile>>, subject: String) -> io::Result<Reader>
    where
        R: Recorded<Error: Display> + Send + 'static,
    {
        let (asks, asked) = mpsc::channel::<(u64, u64)>();
        let (answer, answers) = mpsc::channel();
        let read = move || {
            while let Ok(first) = asked.recv() {
                // Only the newest question is still of interest.
                let (from, to) = asked.try_iter().last().unwrap_or(first);
                let profile = profile.as_ref().map(|profile| profile.part(from, to));
                let part = Part::new(&recording, from, to, profile);
                if answer.send(judged(&part, (from, to), &subject)).is_err() {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("judge".to_owned()).spawn(read)?;
        Ok(Reader { asks, answers, thread, asked: None, judged: None })
    }

    /// Asks about a stretch, unless that was asked last. Gives whether an answer has come.
    pub fn ask(&mut self, stretch: (u64, u64)) -> bool {
        if self.asked != Some(stretch) {
            self.asked = Some(stretch);
            // Nobody listens only after a panic, which is told by `has_ended`.
            let _ = self.asks.send(stretch);
        }
        let newest = self.answers.try_iter().last();
        let has_come = newest.is_some();
        self.judged = newest.or(self.judged.take());
        has_come
    }

    /// The newest answer.
    #[must_use]
    pub fn judged(&self) -> Option<&StretchVerdict> {
        self.judged.as_ref()
    }

    /// Whether an answer is still to come.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.asked != self.judged.as_ref().map(|judged| judged.stretch)
    }

    /// Whether the thread is gone, which it never is but after a defect.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }
}
