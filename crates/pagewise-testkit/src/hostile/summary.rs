//! What a run of `scripts/fuzz` comes to, for `bench/long/fuzz.json`.

use serde::Serialize;

#[derive(Serialize)]
struct Summary<'a> {
    schema: &'static str,
    date: &'a str,
    version: &'static str,
    commit: &'a str,
    rustc: &'a str,
    seconds: f64,
    executions: u64,
    crashes: u64,
    targets: Vec<Fed<'a>>,
}

#[derive(Serialize)]
struct Fed<'a> {
    target: &'a str,
    reads: &'static str,
    seconds: f64,
    executions: u64,
    crashes: u64,
    /// Edges of the program that some input reached.
    edges: u64,
    /// Inputs that are kept, each for something no other reaches.
    kept: u64,
    kept_bytes: u64,
}

/// JSON of lines `target, seconds, executions, crashes, edges, kept, kept bytes`, with tabs between.
///
/// # Errors
/// With the line that is none.
pub fn summary(lines: &str, date: &str, commit: &str, rustc: &str) -> Result<String, String> {
    let targets = lines.lines().map(fed).collect::<Result<Vec<Fed<'_>>, String>>()?;
    let summary = Summary {
        schema: "pagewise.fuzz/1",
        date,
        version: env!("CARGO_PKG_VERSION"),
        commit,
        rustc,
        seconds: targets.iter().map(|fed| fed.seconds).sum(),
        executions: targets.iter().map(|fed| fed.executions).sum(),
        crashes: targets.iter().map(|fed| fed.crashes).sum(),
        targets,
    };
    serde_json::to_string_pretty(&summary).map(|text| text + "\n").map_err(|error| error.to_string())
}

fn fed(line: &str) -> Result<Fed<'_>, String> {
    let wrong =
        || format!("'{line}' is not target, seconds, executions, crashes, edges, kept, bytes with tabs between");
    let fields: Vec<&str> = line.split('\t').collect();
    let [target, seconds, executions, crashes, edges, kept, kept_bytes] = fields.as_slice() else {
        return Err(wrong());
    };
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| wrong());
    let reads = super::find(target).ok_or_else(wrong)?.reads;
    Ok(Fed {
        target,
        reads,
        seconds: seconds.trim().parse().map_err(|_| wrong())?,
        executions: number(executions)?,
        crashes: number(crashes)?,
        edges: number(edges)?,
        kept: number(kept)?,
        kept_bytes: number(kept_bytes)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_summed_up_and_a_line_that_is_none_is_named() {
        let text =
            summary("sar\t600\t1000\t0\t50\t7\t900\nplan\t600\t30\t1\t9\t2\t80\n", "2026-11-22", "abc", "1").unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!((value["executions"].as_u64(), value["crashes"].as_u64()), (Some(1030), Some(1)));
        assert_eq!(value["targets"][1]["reads"], "plans of trials");
        assert!(summary("nobody\t1\t1\t1\t1\t1\t1\n", "", "", "").is_err());
        assert!(summary("sar\t1\t1\n", "", "", "").unwrap_err().contains("sar"));
    }
}
