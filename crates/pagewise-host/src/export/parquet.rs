//! Parquet: a folder with a file per source, since sources are read at beats of their own.

use super::{ExportError, ExportSelection, Exporter, Format, FormatContent, KeepFile};
use pagewise_core::export::{parquet, source_tables};

pub(super) const FORMAT: Format = Format {
    word: "parquet",
    about: "a folder with a file per source",
    holds: FormatContent::Series,
    make: Exporter::Folder(make),
};

/// As good as it gets for plain columns; higher levels gain little (docs/design, on recordings).
const LEVEL: i32 = 3;

fn make(chosen: &ExportSelection<'_>, keep: KeepFile<'_>) -> Result<(), ExportError> {
    let about = chosen.recording.meta().iter();
    let about: Vec<(String, String)> = about.map(|(key, value)| (format!("pagewise.{key}"), value.clone())).collect();
    let tables = source_tables(chosen.recording, chosen.selection)?;
    for table in tables.iter().filter(|table| !table.rows.is_empty()) {
        let plain: String =
            table.source.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
        let bytes = parquet::write(table, &about, &|page| zstd::bulk::compress(page, LEVEL))
            .map_err(ExportError::making(chosen))?;
        keep(&format!("{plain}.parquet"), &bytes)?;
    }
    Ok(())
}
