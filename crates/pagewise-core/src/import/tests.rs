//! Real listings and bent ones.

use super::*;
