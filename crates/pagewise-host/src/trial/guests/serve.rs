//! Inside a guest: the runner that runs points on any host, asked by lines on standard input.

use super::super::engine::{PointRunner, PointStage};
use super::super::recordings::{self, Recordings};
use super::super::said::{self, LastLines};
use super::super::session::audience::{self, Audience, Note};
use super::super::session::{Session, SessionError, Wait, Words};
use super::{Answer, HostMessage, MARK, Points, move_files};
use crate::lab::SHARED;
use crate::process::Interrupt;
use crate::progress::Progress;
use crate::root::Root;
use crate::tunable;
use crate::workload;
use pagewise_core::experiment::plan::Plan;
use pagewise_core::experiment::point::{PlannedPoint, Point};
use std::fs;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};

/// Prepares the workload, says that it is ready, and runs every point it is asked for until standard input ends.
///
/// # Errors
/// When standard output is gone. What else goes wrong is said there.
pub fn serve(points: Points) -> io::Result<()> {
    match prepare_and_serve(&points) {
        Ok(()) => Ok(()),
        Err(SessionError::Scratch { source, .. }) if source.kind() == io::ErrorKind::BrokenPipe => Err(source),
        Err(error) => say(&Answer::Failed(error.to_string())),
    }
}

fn say(answer: &Answer) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(MARK.as_bytes())?;
    serde_json::to_writer(&mut out, answer)?;
    out.write_all(b"\n")?;
    out.flush()
}

fn prepare_and_serve(points: &Points) -> Result<(), SessionError> {
    let named = points.named.iter().fold(workload::Places::default(), |places, (name, path)| places.with(name, path));
    let session = Session {
        root: Root::live(),
        places: tunable::Places { state: points.state.clone(), cache: points.cache.clone() },
        named,
        data: points.data.clone(),
        wait: Wait::No,
        interrupt: Interrupt::default(),
        words: Words { holder: "trial", live_holder: "trial", data: "--data DIR" },
        audience: &NoReader,
    };
    // Recordings are written by a database, which a folder that is shared with the host does not carry.
    let kept = points.cache.join("runs/kept");
    let folder = kept.join(recordings::FOLDER);
    fs::create_dir_all(&folder).map_err(|source| SessionError::Scratch { path: folder.clone(), source })?;
    let held = session.hold(&points.plan)?;
    session.with_runner(held, &points.plan, |runner, _| {
        runner.recordings = Recordings::in_folder(folder, points.plan.recording.clone());
        runner.said = Some(LastLines::in_folder(kept.clone()));
        let gone = |source| SessionError::Scratch { path: PathBuf::from("standard output"), source };
        let (_, boot_id) = runner.instant();
        say(&Answer::Ready { boot_id, host: Box::new(runner.host()) }).map_err(gone)?;
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            let Ok(HostMessage::Run { planned, attempt }) = serde_json::from_str(&line) else { continue };
            let ran = runner.run_point(&planned, attempt, &mut |way| {
                let answer = match way {
                    PointStage::Waits(reason) => Answer::Waits(reason.to_owned()),
                    PointStage::Starts => Answer::Starts,
                };
                // Without anybody to hear it the guest is about to end.
                let _ = say(&answer);
                Ok(())
            });
            for name in [recordings::FOLDER, said::FOLDER] {
                move_files(&kept.join(name), &Path::new(SHARED).join(name));
            }
            let answer = match ran {
                Ok(record) => Answer::Record(Box::new(record)),
                Err(error) => Answer::Failed(error.to_string()),
            };
            say(&answer).map_err(gone)?;
        }
        Ok(())
    })
}

/// A guest has no reader: what matters of a point is in its record.
struct NoReader;

impl Audience for NoReader {
    fn note(&self, note: Note<'_>) {
        tracing::debug!("{note:?}");
    }

    fn step(&self) -> Box<dyn Progress + '_> {
        Box::new(NoReader)
    }

    fn points(&self, _: &Plan, _: &Interrupt) -> Box<dyn audience::Points + '_> {
        Box::new(NoReader)
    }
}

impl Progress for NoReader {
    fn stage(&self, _: &str, _: Option<f64>) {}
}

impl audience::Points for NoReader {
    fn tick(&self) {}
    fn starting(&self, _: &PlannedPoint, _: u32, _: usize, _: usize) {}
    fn ended(&self, _: &Point, _: usize, _: usize) {}
    fn over(&self) {}
}
