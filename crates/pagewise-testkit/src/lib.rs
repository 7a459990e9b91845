//! What the tests share. Never shipped.
