//! Who is disturbed: the command that is timed, and how long each of its steps took.

use super::super::WorkloadError;
use super::arguments::{Arguments, Victim};
use super::part::{Part, burst, stamp, stencil};
use crate::process;
use regex_lite::Regex;
use std::fs;
use std::path::Path;

/// Processes that a step of a burst starts.
const PROCESSES: u32 = 16;

/// A melt of Lennard-Jones atoms, 32,000 of them, of which LAMMPS prints the time at every step.
fn lammps_input(steps: u32) -> String {
    format!(
        "units lj\natom_style atomic\nlattice fcc 0.8442\nregion box block 0 20 0 20 0 20\ncreate_box 1 box\n\
         create_atoms 1 box\nmass 1 1.0\nvelocity all create 1.44 12345 loop geom\npair_style lj/cut 2.5\n\
         pair_coeff 1 1 1.0 1.0\nneighbor 0.3 bin\nneigh_modify delay 0 every 20 check no\nfix 1 all nve\n\
         thermo_style custom step cpu\nthermo_modify format float %.6f\nthermo 1\nrun {steps}\n"
    )
}

/// Adds 4 MiB to the heap in every step, so that it grows from the first to the last of 200.
const GROWING_HEAP: &str = r#"
public class GrowingHeap {
    public static void main(String[] args) {
        int steps = Integer.parseInt(args[0]);
        java.util.ArrayList<byte[]> held = new java.util.ArrayList<>();
        for (int step = 1; step <= steps; step++) {
            long began = System.nanoTime();
            if (held.size() >= 1024) {
                held.clear();
            }
            for (int piece = 0; piece < 4; piece++) {
                byte[] bytes = new byte[1 << 20];
                bytes[step % bytes.length] = 1;
                held.add(bytes);
            }
            System.out.printf(java.util.Locale.ROOT, "step %d %.9f%n", step, (System.nanoTime() - began) * 1e-9);
        }
    }
}
"#;

/// Its command line, with the files it needs in the run's scratch folder.
pub(super) fn argv(
    arguments: &Arguments,
    command: &[String],
    cpus: u32,
    scratch: &Path,
) -> Result<Vec<String>, WorkloadError> {
    let (steps, ranks) = (arguments.steps(), arguments.ranks.count(cpus));
    let write = |name: &str, text: &str| {
        let path = scratch.join(name);
        fs::write(&path, text).map_err(WorkloadError::file("write", &path))?;
        Ok::<String, WorkloadError>(path.display().to_string())
    };
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<String>>();
    Ok(match arguments.victim {
        Victim::Lammps => {
            let mut argv = match ranks {
                1 => Vec::new(),
                // As root MPI asks to be told twice; ranks are bound by nobody, as with most users.
                _ => words(&format!("mpirun --allow-run-as-root --oversubscribe --bind-to none -np {ranks}")),
            };
            argv.extend(words("lmp -log none -in"));
            argv.push(write("lammps.in", &lammps_input(steps))?);
            argv
        }
        Victim::Stencil => Part::Stencil(stencil::Stencil { ranks, steps }).argv(),
        Victim::Probe => Part::ProbeVictim(steps).argv(),
        Victim::Jvm => {
            let mut argv = words("java -XX:+UseParallelGC -Xms16m -Xmx2g");
            argv.push(write("GrowingHeap.java", GROWING_HEAP)?);
            argv.push(steps.to_string());
            argv
        }
        Victim::Burst => Part::Burst(burst::Burst { steps, processes: PROCESSES }).argv(),
        Victim::Command => Part::Stamp(command.to_vec()).argv(),
    })
}

/// Whether what it needs is here, before the first run.
pub(super) fn check(arguments: &Arguments, command: &[String], cpus: u32) -> Result<(), WorkloadError> {
    let missing = |program: &str, install: &str| match process::find_program(program) {
        Ok(_) => Ok(()),
        Err(error) => Err(WorkloadError::Missing(format!("{error}. On Debian and Ubuntu: apt install {install}"))),
    };
    match arguments.victim {
        Victim::Lammps => {
            missing("lmp", "lammps")?;
            if arguments.ranks.count(cpus) > 1 { missing("mpirun", "openmpi-bin") } else { Ok(()) }
        }
        // It is compiled as it is started.
        Victim::Jvm => {
            missing("javac", "openjdk-17-jdk-headless").and_then(|()| missing("java", "openjdk-17-jdk-headless"))
        }
        Victim::Command => match command {
            [] => Err(WorkloadError::Usage(
                "victim=command has no command: give it in the plan with run = [\"program\", \"argument\"]".to_owned(),
            )),
            _ if arguments.step_regex.is_none() => Err(WorkloadError::Usage(
                "victim=command needs step_regex: what a line of its output looks like that ends a step".to_owned(),
            )),
            [program, ..] => Ok(process::find_program(program).map(drop)?),
        },
        _ => Ok(()),
    }
}

/// The seconds of every step, from what the victim printed.
pub(super) fn steps(arguments: &Arguments, printed: &str) -> Result<Vec<f64>, String> {
    let found = match arguments.victim {
        Victim::Lammps => differences(lammps_times(printed)),
        Victim::Command => of_command(arguments, printed)?,
        _ => printed.lines().filter_map(|line| line.strip_prefix("step ")?.split(' ').nth(1)?.parse().ok()).collect(),
    };
    if found.is_empty() { Err("the victim's output has no step".to_owned()) } else { Ok(found) }
}

/// Below the heading `Step CPU` a line for every step has its number and the seconds since the first.
fn lammps_times(printed: &str) -> Vec<f64> {
    let table = printed.lines().skip_while(|line| !line.trim_start().starts_with("Step")).skip(1);
    table
        .map_while(|line| match line.split_whitespace().collect::<Vec<&str>>()[..] {
            [step, seconds] => step.parse::<u64>().ok().and(seconds.parse().ok()),
            _ => None,
        })
        .collect()
}

fn differences(times: Vec<f64>) -> Vec<f64> {
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

fn of_command(arguments: &Arguments, printed: &str) -> Result<Vec<f64>, String> {
    let pattern = arguments.step_regex.as_deref().unwrap_or_default();
    let regex = Regex::new(pattern).map_err(|error| error.to_string())?;
    let mut times = Vec::new();
    let mut printed_seconds = Vec::new();
    for (time, line) in printed.lines().filter_map(|line| line.split_once(stamp::AFTER_TIME)) {
        let Some(captures) = regex.captures(line) else { continue };
        match captures.get(1) {
            Some(group) => {
                let seconds = group.as_str().parse();
                printed_seconds
                    .push(seconds.map_err(|_| format!("{pattern} matched '{}', which is no number", group.as_str()))?);
            }
            None => times.extend(time.parse::<f64>()),
        }
    }
    Ok(if printed_seconds.is_empty() { differences(times) } else { printed_seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_lammps_are_differences_of_its_clock() {
        let printed = "Setting up Verlet run ...\n   Step          CPU\n       0    0.000000\n       1    0.010000\n       2    0.025000\n\
                       Loop time of 0.025 on 2 procs\n";
        let steps = steps(&Arguments::default(), printed).unwrap();
        assert!((steps[0] - 0.01).abs() < 1e-9 && (steps[1] - 0.015).abs() < 1e-9 && steps.len() == 2, "{steps:?}");
    }

    #[test]
    fn steps_of_a_command_are_what_it_prints_or_the_time_between_its_lines() {
        let arguments =
            |regex: &str| Arguments::default().with("victim", "command").unwrap().with("step_regex", regex).unwrap();
        let wrf = "1.0\tTiming for main: time 00:06 on domain 1:   0.25 elapsed seconds\n1.1\tother\n\
                   2.5\tTiming for main: time 00:12 on domain 1:   0.50 elapsed seconds\n";
        assert_eq!(steps(&arguments(r"Timing for main.*?:\s+([0-9.]+) elapsed"), wrf), Ok(vec![0.25, 0.5]));
        assert_eq!(steps(&arguments("Timing for main"), wrf), Ok(vec![1.5]));
        assert!(steps(&arguments("nothing like it"), wrf).is_err());
        assert!(steps(&arguments("time ([0-9:]+)"), wrf).unwrap_err().contains("no number"));
    }
}
