//! The report as one HTML file that needs nothing else: no network, figures inline, and a script only where runs kept
//! stacks.
//!
//! Every value passes through the templates' escaping, figures included: names of levels and commands are anyone's.

use super::Report;
use super::arms;
use super::content::{self, Content, Table};
use super::figure::{IntervalPlot, PairSlopes, RunOrder};
use super::number;
use super::script::Script;
use super::two_arms::TwoArms;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, HtmlEscape, UndefinedBehavior, Value};
use serde::Serialize;

/// The built-in templates do not fit the report: a defect of this version, not of the trial.
#[derive(Debug, thiserror::Error)]
#[error("cannot lay out the HTML report: {0}; the text, Markdown and JSON reports do not need this step")]
pub struct TemplateError(#[from] minijinja::Error);

const TEMPLATES: [(&str, &str); 9] = [
    ("page", include_str!("template/page.html")),
    ("style", include_str!("template/style.css")),
    ("shapes", include_str!("template/shapes.html")),
    ("tables", include_str!("template/tables.html")),
    ("flame", include_str!("template/flame/flame.html")),
    ("flame_style", include_str!("template/flame/flame.css")),
    ("interval", include_str!("template/interval.svg")),
    ("run_order", include_str!("template/run_order.svg")),
    ("pairs", include_str!("template/pairs.svg")),
];

#[derive(Serialize)]
struct Page {
    content: Content,
    interval: Option<IntervalPlot>,
    run_order: Option<RunOrder>,
    pairs: Option<PairSlopes>,
    runs: Table,
    a: String,
    b: String,
    metric: String,
    /// Of the metric, when the ticks do not say it.
    unit: String,
    /// For the flame graph, where runs kept stacks.
    script: Option<Script>,
    /// Below it.
    flame_note: String,
}

/// Where templates are rendered: everything escaped, nothing missing, and the pieces that pages share.
pub(super) fn environment() -> Result<Environment<'static>, TemplateError> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.add_filter("with_names", with_names);
    for (name, source) in TEMPLATES {
        environment.add_template(name, source)?;
    }
    Ok(environment)
}

/// A text in which what stands between backticks is set as a name.
fn with_names(text: &str) -> Value {
    let escaped = |(place, piece): (usize, &String)| match place % 2 {
        0 => HtmlEscape(piece).to_string(),
        _ => format!("<code>{}</code>", HtmlEscape(piece)),
    };
    Value::from_safe_string(content::pieces(text).iter().enumerate().map(escaped).collect())
}

/// The report as one HTML document.
///
/// # Errors
/// When a template is broken, which the tests of this crate rule out.
pub fn html(report: &Report) -> Result<String, TemplateError> {
    let Some(two) = TwoArms::of(report) else { return super::study::html(report) };
    let environment = environment()?;
    // A line must not begin with a percent sign.
    let content = Content::of(&two).map(|text| text.replace(" %", "\u{a0}%"));
    let page = Page {
        content,
        interval: IntervalPlot::of(&two),
        run_order: RunOrder::of(&two),
        pairs: PairSlopes::of(&two),
        runs: content::runs(&two),
        a: content::arm_name("A", &two.a),
        b: content::arm_name("B", &two.b),
        unit: number::custom_unit(&super::printable::printable(two.unit())).to_owned(),
        metric: super::printable::printable(&two.metric.metric.name),
        script: report.flames.as_ref().map(arms::script).transpose()?,
        flame_note: report.flames.as_ref().map_or_else(String::new, arms::note),
    };
    Ok(environment.get_template("page")?.render(Serde(page))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_set_as_names_and_whatever_they_hold_stays_text() {
        let set =
            |text: &str| environment().unwrap().render_str("{{ t | with_names }}", minijinja::context!(t => text));
        assert_eq!(set("of `a` and `<b>` & c").unwrap(), "of <code>a</code> and <code>&lt;b&gt;</code> &amp; c");
        assert_eq!(set("an odd ` in <it>").unwrap(), "an odd ` in &lt;it&gt;");
    }
}
