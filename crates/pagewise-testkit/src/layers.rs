//! A crate whose modules stand in layers: each imports only those before it, in the order in which its `lib.rs` has them, so that
//! a reader can start at the top and never look ahead.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What the sources of a crate say of its layers.
#[derive(Debug)]
pub struct Layers {
    /// The modules in the order of `lib.rs`.
    pub order: Vec<String>,
    /// Every import from one module into another: the file, its module, the module it imports.
    pub imports: Vec<Import>,
}

/// One module named in another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The file, below `src`.
    pub file: PathBuf,
    /// The module the file belongs to.
    pub by: String,
    /// What it imports.
    pub of: String,
}

impl Layers {
    /// Reads those of the crate in a folder.
    ///
    /// # Errors
    /// When a source cannot be read.
    pub fn read(folder: &Path) -> io::Result<Layers> {
        let source = folder.join("src");
        let order = modules(&fs::read_to_string(source.join("lib.rs"))?);
        let mut files = Vec::new();
        sources(&source, &mut files)?;
        let mut imports = Vec::new();
        for path in files {
            let file = path.strip_prefix(&source).unwrap_or(&path).to_owned();
            let first = file.components().next().map(|part| part.as_os_str().to_string_lossy().replace(".rs", ""));
            let by = first.unwrap_or_default();
            if by == "lib" || is_test(&file) {
                continue;
            }
            let named = named(&fs::read_to_string(&path)?);
            let others = named.into_iter().filter(|of| *of != by && order.contains(of));
            imports.extend(others.map(|of| Import { file: file.clone(), by: by.clone(), of }));
        }
        Ok(Layers { order, imports })
    }

    /// The imports that look ahead.
    #[must_use]
    pub fn upward(&self) -> Vec<&Import> {
        let place = |name: &str| self.order.iter().position(|module| module == name);
        self.imports.iter().filter(|import| place(&import.of) > place(&import.by)).collect()
    }
}

/// The modules that a `lib.rs` declares, in its order.
#[must_use]
pub fn modules(lib: &str) -> Vec<String> {
    let declared = |line: &str| {
        let line = line.trim().trim_start_matches("pub ");
        Some(line.strip_prefix("mod ")?.strip_suffix(';')?.to_owned())
    };
    lib.lines().filter_map(declared).collect()
}

/// Every `crate::MODULE` in the code of a file, its tests left out: they may look anywhere.
#[must_use]
pub fn named(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let words = lines.flat_map(|line| line.split("crate::").skip(1).map(str::to_owned).collect::<Vec<_>>());
    words.map(|rest| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()).collect()
}

/// A file of tests alone.
fn is_test(file: &Path) -> bool {
    file.file_stem().is_some_and(|stem| stem == "tests")
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    Ok(())
}
