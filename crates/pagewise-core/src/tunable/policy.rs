//! A policy: `[NAME:]TUNABLE=VALUE[,TUNABLE=VALUE…]`, or `now` to leave the host as it is.
//!
//! `\,` stands for a comma inside a value, `\=`, `\:` and `\\` for those characters. `@FILE.toml` is opened by the
//! caller and parsed with [`Policy::from_toml`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One tunable and the value asked for, both as written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// The tunable's name, such as `thp.enabled` or `block[vda].read_ahead_kb`.
    pub tunable: String,
    /// The value.
    pub value: String,
}

/// Settings that are applied together. Empty: leave the host as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Policy {
    /// The name it was given.
    pub name: Option<String>,
    /// What it sets.
    pub settings: Vec<Setting>,
}
