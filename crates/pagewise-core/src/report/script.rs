//! A page that runs scripts: its data as JSON, our own code and that of others, in one file that loads nothing.
//!
//! Names of processes and symbols are anyone's. In the page's markup they pass through the templates' escaping; in its data
//! no character stands that could end a script or a string; the scripts put text where text goes and never make markup of
//! it. Behind that stands a policy that runs only the scripts with this page's nonce, which is a hash of the data: a name
//! in the data cannot know it.

use super::TemplateError;
use serde::Serialize;

/// What pages with stacks share: the flame graph with its tools.
pub(super) const FLAME: &str = include_str!("template/flame/flame.js");

/// Code of others, unchanged, with its licence: `report/vendor/README.md` says where from.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Vendored {
    pub(super) name: &'static str,
    pub(super) code: &'static str,
    pub(super) licence: &'static str,
}

/// Timelines.
pub(super) const UPLOT: Vendored = Vendored {
    name: "uPlot 1.6.32 (MIT)",
    code: include_str!("vendor/uplot.js"),
    licence: include_str!("vendor/uplot.LICENSE"),
};

/// What the flame graph is drawn with.
pub(super) const FLAME_GRAPH: [Vendored; 2] = [
    Vendored {
        name: "d3-selection 3.0.1 (ISC)",
        code: include_str!("vendor/d3-selection.js"),
        licence: include_str!("vendor/d3.LICENSE"),
    },
    Vendored {
        name: "d3-flame-graph 4.1.3 (Apache-2.0), with parts of d3 (ISC) and d3-ease (BSD-3-Clause)",
        code: include_str!("vendor/d3-flame-graph.js"),
        licence: concat!(include_str!("vendor/d3-ease.LICENSE"), "\n\n", include_str!("vendor/d3-flame-graph.LICENSE")),
    },
];

/// All that a page runs, and on what.
#[derive(Debug, Serialize)]
pub(super) struct Script {
    data: String,
    nonce: String,
    vendored: Vec<Vendored>,
    own: Vec<&'static str>,
}

impl Script {
    /// Scripts run in this order, those of others first.
    pub(super) fn new(
        data: &impl Serialize,
        vendored: &[Vendored],
        own: &[&'static str],
    ) -> Result<Script, TemplateError> {
        let json = serde_json::to_string(data).map_err(|error| {
            TemplateError::from(minijinja::Error::new(minijinja::ErrorKind::BadSerialization, error.to_string()))
        })?;
        let nonce = blake3::hash(json.as_bytes()).to_hex()[..32].to_owned();
        Ok(Script { data: embeddable(&json), nonce, vendored: vendored.to_vec(), own: own.to_vec() })
    }
}

/// JSON that may stand inside a script element of any kind: neither `</script>` nor `<!--` can occur in it, and no
/// character that some reader of JavaScript takes for the end of a line.
fn embeddable(json: &str) -> String {
    let mut safe = String::with_capacity(json.len() + json.len() / 64);
    for c in json.chars() {
        match c {
            '<' => safe.push_str("\\u003c"),
            '>' => safe.push_str("\\u003e"),
            '&' => safe.push_str("\\u0026"),
            '\u{2028}' => safe.push_str("\\u2028"),
            '\u{2029}' => safe.push_str("\\u2029"),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_end_the_script_it_stands_in() {
        let hostile = serde_json::to_string("</script><!--\u{2028}&\u{0}\"'").unwrap();
        let safe = embeddable(&hostile);
        assert!(!safe.contains(['<', '>', '&', '\u{2028}', '\u{0}']), "{safe}");
        assert_eq!(serde_json::from_str::<String>(&safe).unwrap(), "</script><!--\u{2028}&\u{0}\"'");
    }

    #[test]
    fn no_code_ends_its_own_script_element() {
        for Vendored { name, code, licence } in FLAME_GRAPH.iter().chain([&UPLOT]) {
            assert!(!code.to_ascii_lowercase().contains("</script") && !code.contains("<!--"), "{name}");
            assert!(licence.len() > 500, "{name}");
        }
        for code in [FLAME, super::super::recording::html::SCRIPT, super::super::arms::SCRIPT] {
            assert!(!code.contains("</script") && !code.contains("<!--"));
        }
    }
}
