//! Whether page cache is taken back before the kernel has to, by a guard of ours.

use super::descriptor::Descriptor;
use super::grammar::{Form, Grammar};
use crate::guard::asked::GuardRequest;

/// The tunable's name.
pub const NAME: &str = "guard";

/// Nobody guards.
pub const OFF: &str = "off";

static FORM: Form = Form {
    canonical: |text| match parse(text)? {
        Some(asked) => Ok(asked.to_string()),
        None => Ok(OFF.to_owned()),
    },
    allowed: "off, on, on(…) with any of batch=TIME, cap=CORES, cgroup=PATTERN, no-brake, no-gate, no-baseline and no-trails, joined by +; or \
              paper(threshold=BYTES+amount=BYTES)",
};

/// Reads a value of `guard`; no guard is `off`.
///
/// # Errors
/// A sentence on what is wrong with it.
pub fn parse(text: &str) -> Result<Option<GuardRequest>, String> {
    if text == OFF { Ok(None) } else { text.parse().map(Some) }
}

pub(super) const ALL: &[Descriptor] = &[Descriptor::live(
    NAME,
    &["/sys/devices/system/node/node0/reclaim"],
    Grammar::Form(&FORM),
    "6.17, mm/vmscan.c (reclaim_store)",
    "whether a guard takes page cache back before kswapd has to, as long as a stream fills memory",
)
.held_as(OFF)
.switched(
    15.0,
    5.0,
    "for some seconds a guard only looks on, to learn what filling memory costs without it; what it freed is used up \
     within a batch, a second or two",
)
.noting(
    "a process of its own holds it and ends with the change; it changes no setting, so nothing is left behind. \
     paper(...) is the published mechanism with its two numbers (Oyama et al., ROSS 2014). See docs/guide/guard.md",
)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tunable::policy::Policy;

    #[test]
    fn a_policy_carries_a_guard_with_its_numbers() {
        let text = "guard=on(batch=0.2s+no-brake),thp.enabled=never";
        let policy: Policy = text.parse().expect("a policy");
        assert_eq!(policy.to_string(), text);
        assert_eq!(policy.settings[0].canonical().as_deref(), Ok("on(batch=0.2s+no-brake)"));
        for (text, canonical) in
            [("off", "off"), ("on()", "on"), ("paper(amount=1M+threshold=2M)", "paper(threshold=2M+amount=1M)")]
        {
            assert_eq!((FORM.canonical)(text).as_deref(), Ok(canonical));
        }
        assert!((FORM.canonical)("yes").is_err());
    }
}
