//! The host's swap areas: reads, makes, switches and removes them.

use super::{Places, TunableError};
use crate::root::Root;
use std::path::PathBuf;

pub(super) fn read(root: &Root) -> Result<String, TunableError> {
    Err(not_yet(root))
}
pub(super) fn write(root: &Root, _value: &str) -> Result<(), TunableError> {
    Err(not_yet(root))
}
pub(super) fn resolve(root: &Root, _places: &Places, _value: &str) -> Result<String, TunableError> {
    Err(not_yet(root))
}
pub(super) fn shell_lines(_root: &Root, _value: &str) -> Vec<String> {
    Vec::new()
}
pub(super) fn artefacts(_value: &str) -> Vec<PathBuf> {
    Vec::new()
}
fn not_yet(_root: &Root) -> TunableError {
    TunableError::Missing { tunable: "swap".to_owned(), why: "this version cannot switch it yet".to_owned() }
}
