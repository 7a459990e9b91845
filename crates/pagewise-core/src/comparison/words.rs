//! Numbers as sentences say them.

/// A p-value with two significant digits, as far as anyone reads them.
#[must_use]
pub fn p_value(p: f64) -> String {
    match p {
        p if p < 0.0001 => "0.0001 or less".to_owned(),
        p if p < 0.001 => format!("{p:.4}"),
        p if p < 0.1 => format!("{p:.3}"),
        p if p > 0.995 => "1".to_owned(),
        p => format!("{p:.2}"),
    }
}
