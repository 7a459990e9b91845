//! Results as text, Markdown, JSON and one HTML file. Bytes out: files are opened elsewhere.

pub mod changes;

pub mod doctor;

pub mod facts;
