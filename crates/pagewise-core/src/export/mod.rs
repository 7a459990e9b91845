//! Recordings in the formats of other tools.
