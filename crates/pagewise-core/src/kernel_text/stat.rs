//! `/proc/stat`: where the CPUs' time went since boot, in clock ticks, and how much happened.

use super::visit::{Visit, labelled, plain};

/// Columns of a `cpu` line (proc_stat(5)); kernels before 2.6.33 have fewer.
pub const FIELDS: [&str; 10] =
    ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice"];

/// Columns of the `softirq` line after its total (`softirq_to_name` in `kernel/softirq.c`, 6.12).
const SOFTIRQS: [&str; 10] =
    ["hi", "timer", "net_tx", "net_rx", "block", "irq_poll", "tasklet", "sched", "hrtimer", "rcu"];

/// Times of all CPUs together and, with the label `cpu`, of each; totals of interrupts, soft interrupts by type, context
/// switches, forks. The counts of single interrupts say nothing about memory and are left out.
///
/// # Errors
/// When a field is no number.
pub fn visit<'t>(text: &'t str, to: &mut dyn Visit<'t>) -> Result<(), String> {
    for line in text.split_inclusive('\n') {
        let mut words = line.split_whitespace();
        let Some(first) = words.next() else { continue };
        let mut last = first;
        if let Some(cpu) = first.strip_prefix("cpu") {
            let label = [("cpu", cpu)];
            let labels = if cpu.is_empty() { &label[..0] } else { &label[..] };
            for (name, digits) in FIELDS.iter().zip(words) {
                to.number(labelled(name, labels, digits)?);
                last = digits;
            }
        } else if let Some(total) = words.next() {
            // Not to be taken for the time spent in them.
            let name = if first == "softirq" { "softirqs" } else { first };
            to.number(plain(name, total)?);
            last = total;
            if first == "softirq" {
                for (kind, digits) in SOFTIRQS.iter().zip(words) {
                    to.number(labelled(name, &[("type", kind)], digits)?);
                    last = digits;
                }
            }
        }
        let rest = &line[last.as_ptr() as usize - line.as_ptr() as usize + last.len()..];
        if !rest.trim().is_empty() {
            to.skip(rest);
        }
    }
    Ok(())
}
