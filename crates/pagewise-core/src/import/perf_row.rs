//! A row of `perf top`, `perf report` or OProfile's `opreport -l`: which of its words are the share, the samples, the command, the module and the
//! function. A header says it, where one was pasted along; else the form of the words does.
//!
//! Columns are two blanks apart (perf's `hist_entry__snprintf`), unless one is as wide as it can be.

use super::kernel_names;
use super::perf_script::module_name;
use super::words;
use crate::recording::Frame;
use crate::recording::stack::KERNEL;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    /// Share of the function itself, or of it with its callees where that is all there is.
    Share,
    /// Share of it with its callees.
    Children,
    Samples,
    Comm,
    Module,
    Symbol,
    /// A function that calls it.
    Caller,
    Other,
}

/// The columns of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    columns: Vec<Column>,
    names: Vec<String>,
    /// Levels below each other in one column: `perf report --hierarchy`.
    pub(super) is_hierarchy: bool,
    /// `kernel function` of perf 2.6.31 and .32: no other functions are listed.
    is_kernel_only: bool,
    /// Shares have no sign of a percentage, and nothing but the name of its file says that a function is the kernel's.
    pub(super) is_oprofile: bool,
}

impl Header {
    /// `None` when it is none.
    pub(super) fn of(text: &str) -> Option<Header> {
        let text = text.trim_start_matches('#').trim();
        if let Some(header) = Header::of_oprofile(text) {
            return Some(header);
        }
        let first = text.split_whitespace().next()?.to_ascii_lowercase();
        let is_first = matches!(first.as_str(), "overhead" | "children" | "self" | "samples" | "baseline" | "event");
        let is_other = |word: &str| {
            matches!(
                word,
                "pcnt" | "Self" | "Command" | "Shared" | "Symbol" | "DSO" | "function" | "Samples" | "Period"
            )
        };
        if !is_first
            || text.contains(['%', '\''])
            || text.contains(": ")
            || !text.split_whitespace().skip(1).any(is_other)
        {
            return None;
        }
        let mut header = Header::default();
        // perf before 3.x set columns apart by one blank: `samples  pcnt function          DSO`.
        let spaced = text.replace("pcnt ", "pcnt  ");
        for name in names_of(&spaced) {
            let lower = name.to_ascii_lowercase();
            header.is_hierarchy |= lower.contains(" / ");
            header.is_kernel_only |= lower == "kernel function";
            header.columns.push(column(&lower, &header.columns));
            header.names.push(name.to_owned());
        }
        Some(header)
    }

    /// `samples  %        app name                 symbol name`, with `vma` in front of it and `image name` in it as asked for; before 0.6 the
    /// symbol stood first.
    pub(super) fn of_oprofile(text: &str) -> Option<Header> {
        let names: Vec<&str> = cells(text).collect();
        let behind = names.iter().position(|name| *name == "samples")? + 1;
        if names.get(behind) != Some(&"%") || !names.contains(&"symbol name") {
            return None;
        }
        let mut header = Header { is_oprofile: true, ..Header::default() };
        for name in names {
            let is_new = |column: Column| if header.has(column) { Column::Other } else { column };
            header.columns.push(match name {
                "samples" => is_new(Column::Samples),
                "%" => is_new(Column::Share),
                "image name" | "image" | "app name" => is_new(Column::Module),
                "symbol name" => Column::Symbol,
                _ => Column::Other,
            });
            header.names.push(name.to_owned());
        }
        Some(header)
    }

    fn has(&self, column: Column) -> bool {
        self.columns.contains(&column)
    }

    /// Whether it has a share for each command and no functions (`--sort comm`): of the kernel's own threads that says enough.
    fn is_by_command(&self) -> bool {
        self.has(Column::Comm) && self.has(Column::Share) && !self.has(Column::Symbol) && !self.has(Column::Module)
    }

    /// That of OProfile's rows, where none was pasted: of one file, `2331728 22.8834  copy_page_range`, and before 0.6 with the address in front and
    /// the file behind, `c0129c10 349662   5.3899      do_anonymous_page  /boot/vmlinux-2.5.28`.
    pub(super) fn of_row_of_oprofile(text: &str) -> Option<Header> {
        let words: Vec<&str> = text.split_whitespace().take(6).collect();
        let (samples, part, name, header) = match words.as_slice() {
            // Without a function it is of opreport's list of files.
            [samples, part, name] => (samples, part, name, "samples  %  symbol name"),
            [address, samples, part, name, file] if is_oprofiles_address(address) && file.starts_with('/') => {
                (samples, part, name, "vma  samples  %  symbol name  image name")
            }
            _ => return None,
        };
        // Six digits, or four decimals.
        let has_decimals = part.split_once('.').is_some_and(|(whole, decimals)| {
            decimals.len() == 4 || (words.len() == 5 && whole.len() + decimals.len() >= 4)
        });
        let is_share = has_decimals && scaled(part, 100.0).is_some_and(|part| part <= 10_000);
        let is_row = is_share && scaled(samples, 1.0).is_some() && kernel_names::is_kernel(name);
        is_row.then(|| Header::of_oprofile(header))?
    }

    /// Whether all functions are of one file, whose name it does not have: opreport has a column of them where there are several.
    pub(super) fn is_of_one_file(&self) -> bool {
        self.is_oprofile && !self.has(Column::Module)
    }

    /// Whether it has the shares of functions with all that they call, and not their own.
    pub(super) fn has_children_only(&self) -> bool {
        self.has(Column::Children) && !self.has(Column::Share)
    }

    /// What must be there and is not, for people.
    pub(super) fn missing(&self) -> Option<String> {
        let what = match (self.has(Column::Symbol) || self.is_hierarchy, self.has(Column::Share)) {
            (false, _) => "functions (Symbol)",
            (true, false) if !self.has(Column::Children) => "shares (Overhead)",
            _ => return None,
        };
        Some(format!("there is no column of {what} in it, only {}", self.names.join(", ")))
    }
}

fn column(name: &str, before: &[Column]) -> Column {
    let is_new = |column: Column| if before.contains(&column) { Column::Other } else { column };
    match name {
        "children" => Column::Children,
        "overhead" | "self" | "pcnt" | "baseline" => is_new(Column::Share),
        "samples" => Column::Samples,
        "command" | "comm" | "pid:command" | "tid:command" | "pid" => is_new(Column::Comm),
        "symbol" | "function" | "kernel function" | "source symbol" => is_new(Column::Symbol),
        "parent symbol" | "caller" => Column::Caller,
        _ if name.starts_with("shared o") || matches!(name, "dso" | "source shared object") => is_new(Column::Module),
        _ if name.starts_with("command") || name.contains(" / ") => Column::Symbol,
        // `SymbolCoverage]`, as a screen was copied.
        _ if name.starts_with("symbol") => is_new(Column::Symbol),
        _ => Column::Other,
    }
}

/// What stands for the functions of a command where none are listed.
const ALL_OF_A_COMMAND: &str = "[all of it]";

/// A row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Row {
    /// Of the function itself, in hundredths of a percent.
    pub(super) share: u64,
    /// With all that it calls, where that is listed beside it.
    pub(super) children: Option<u64>,
    /// Where they are listed.
    pub(super) samples: Option<u64>,
    pub(super) comm: String,
    pub(super) pid: Option<u32>,
    pub(super) name: String,
    /// As [`Frame`] has it.
    pub(super) module: String,
    /// What called it, in a column of its own.
    pub(super) caller: Option<String>,
    /// More than a share and a name: a line of prose has no such thing.
    pub(super) is_sure: bool,
}

impl Row {
    pub(super) fn frame(&self) -> Frame {
        Frame { name: self.name.clone(), module: self.module.clone() }
    }
}

/// The names of a header. Where a page left one blank between its columns, those of two words are known.
fn names_of(header: &str) -> Vec<&str> {
    const TWO: &str = "Shared Object";
    let names: Vec<&str> = cells(header).collect();
    let [one] = names.as_slice() else {
        // The name of a column that is narrower than it.
        let parts = names.into_iter().flat_map(|name| match name.strip_prefix(TWO).map(str::trim) {
            Some(behind) if !behind.is_empty() && !behind.starts_with('/') => vec![TWO, behind],
            _ => vec![name],
        });
        return parts.collect();
    };
    let is_second = |word: &str| matches!(word, "Object" | "Symbol");
    let mut names = Vec::new();
    let mut rest = *one;
    while let Some((first, behind)) = next_word(rest) {
        let second = next_word(behind).filter(|(second, _)| {
            let is_pair = first == "Shared" || (matches!(first, "Source" | "Parent") && *second != "Shared");
            is_pair && is_second(second)
        });
        let end = second.map_or(behind, |(_, behind)| behind);
        names.push(rest[..rest.len() - end.len()].trim());
        rest = end;
    }
    names
}

/// Parts that are two blanks or a tab apart.
pub(super) fn cells(text: &str) -> impl Iterator<Item = &str> {
    text.split("  ").flat_map(|part| part.split('\t')).map(str::trim).filter(|part| !part.is_empty())
}

/// Counts and shares are never negative.
fn scaled(word: &str, scale: f64) -> Option<u64> {
    words::scaled(word, scale).filter(|value| *value <= 1 << 53)
}

/// `12.34%`, `12,34%` in hundredths of a percent.
pub(super) fn share(word: &str) -> Option<u64> {
    scaled(word.strip_suffix('%')?, 100.0).filter(|share| *share <= 10_100)
}

/// `[k]`: where a function runs. The text in front of it and behind it.
pub(super) fn at_privilege(text: &str) -> Option<(&str, &str, &str)> {
    const MARKS: [&str; 5] = ["[k]", "[.]", "[g]", "[u]", "[H]"];
    let mut rest = text;
    loop {
        let at = rest.find('[')?;
        let begin = text.len() - rest.len() + at;
        let is_word = text[..begin].chars().next_back().is_none_or(char::is_whitespace);
        let mark = MARKS.into_iter().find(|mark| rest[at..].starts_with(mark));
        if let Some(mark) = mark.filter(|_| is_word) {
            let behind = &text[begin + mark.len()..];
            if behind.is_empty() || behind.starts_with(char::is_whitespace) {
                return Some((&text[..begin], mark, behind));
            }
        }
        rest = &rest[at + 1..];
    }
}

/// Whether a word is where functions lie, and no function or command.
pub(super) fn is_module(word: &str) -> bool {
    let file = word.rsplit('/').next().unwrap_or(word);
    word.starts_with('[') && word.ends_with(']') && word.len() > 2 && word != "[...]"
        || word.starts_with("[kernel")
        || word.starts_with("[guest.kernel")
        || (word.starts_with('/') && word.len() > 1)
        || file.starts_with("vmlinux")
        || file.starts_with("vmlinuz")
        || file.contains(".so.")
        || file.ends_with(".so")
        || file.ends_with(".ko")
        || (file.starts_with("perf-") && file.ends_with(".map"))
}

/// As our own profiles write it. `is_kernel`: perf said that the function runs in the kernel.
pub(super) fn module_of(word: &str, is_kernel: bool) -> String {
    const NOT_OF_KERNEL: [&str; 7] = ["[unknown]", "[vdso]", "[vsyscall]", "[heap]", "[stack]", "[jit]", "[anon]"];
    if word.starts_with("[kernel") || word.starts_with("[guest.kernel") || word.starts_with("[kvm-") {
        return KERNEL.to_owned();
    }
    let file = word.rsplit('/').next().unwrap_or(word);
    if is_kernel && (word.is_empty() || NOT_OF_KERNEL.contains(&word) || file.starts_with("vmlinu") || word == "kcore")
    {
        return KERNEL.to_owned();
    }
    let is_kernel_module = (word.starts_with('[') && !NOT_OF_KERNEL.contains(&word)) || file.ends_with(".ko");
    module_name(word, is_kernel_module || is_kernel)
}

/// A row of a table with that header. `None` when it is none.
pub(super) fn row(line: &str, header: Option<&Header>) -> Option<Row> {
    let text = without_sign(line.trim());
    if let Some(header) = header.filter(|header| header.is_oprofile) {
        // One blank stands behind an address.
        return match text.split_once(' ').filter(|(word, _)| header.names[0] == "vma" && is_oprofiles_address(word)) {
            Some((address, rest)) => of_cells(&format!("{address}  {rest}"), header),
            // And one behind a number that is as wide as its column.
            None if header.names[0] == "samples" => of_cells(&text.replacen(' ', "  ", 1), header),
            None => of_cells(text, header),
        };
    }
    // What somebody wrote beside it.
    let text = text.split(['←', '⟵']).next().unwrap_or(text).trim_end();
    let first = text.split_whitespace().next()?;
    if let Some(row) = of_readprofile(text) {
        return Some(row);
    }
    if share(first).is_some() {
        let by_header = header.and_then(|header| of_cells(text, header));
        return by_header.or_else(|| share_first(text, header));
    }
    scaled(first, 1.0)?;
    samples_first(text, header)
}

/// Where a function lies, on a machine of 32 or of 64 bits: `c0130e43`.
fn is_address(word: &str) -> bool {
    matches!(word.len(), 8 | 16) && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The same in OProfile, which gives it eight digits or as many more as it has: `7f1204a1b2c3`.
fn is_oprofiles_address(word: &str) -> bool {
    word.len() >= 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// `212723 csum_partial_copy_generic  916.9095`: ticks, function of the kernel, and ticks for each of its bytes (readprofile of util-linux); with
/// `-v` its address stands in front, and the ticks behind it.
fn of_readprofile(text: &str) -> Option<Row> {
    // What perf lists has a share in each row.
    if text.contains('%') {
        return None;
    }
    let mut words: Vec<&str> = text.split_whitespace().take(5).collect();
    if words.len() == 4 && words.first().is_some_and(|word| is_address(word)) {
        words.remove(0);
        words.swap(0, 1);
    }
    let mut words = words.into_iter();
    let (ticks, name, load) = (words.next()?, words.next()?, words.next()?);
    let has_four_decimals = load.split_once('.').is_some_and(|(_, decimals)| decimals.len() == 4);
    // Its last line is the sum of all functions.
    let is_row = words.next().is_none() && has_four_decimals && is_function(name) && name != "total";
    let row = Row { samples: scaled(ticks, 1.0), name: name.to_owned(), is_sure: true, ..Row::default() };
    (is_row && scaled(load, 1.0).is_some()).then(|| finished(row, "", "[k]"))?
}

/// What the screen shows before a row that can be opened.
pub(super) fn without_sign(text: &str) -> &str {
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest.starts_with(char::is_whitespace) || rest.starts_with(|c: char| c.is_ascii_digit()) {
        rest.trim_start()
    } else {
        text
    }
}

/// `14.5%  intel_idle`: two columns, and no prose has a name in it that only the kernel knows.
pub(super) fn is_of_kernel_alone(line: &str) -> bool {
    let mut cells = cells(line.split('←').next().unwrap_or(line));
    let (first, name) = (cells.next(), cells.next());
    let is_name = |name: &str| name.contains('_') && kernel_names::is_kernel(name);
    first.is_some_and(|first| share(first).is_some()) && name.is_some_and(is_name) && cells.next().is_none()
}

/// As many cells as the header has: each is what its column says.
fn of_cells(text: &str, header: &Header) -> Option<Row> {
    let cells: Vec<&str> = cells(text).collect();
    let is_by_command = header.is_by_command();
    let has_functions = header.has(Column::Symbol) && (header.has(Column::Share) || header.has(Column::Children));
    let has_all = has_functions || is_by_command;
    if cells.len() != header.columns.len() || !has_all || header.is_hierarchy {
        return None;
    }
    let mut row = Row { is_sure: true, ..Row::default() };
    let (mut module, mut mark, mut own) = ("", "", None);
    for (cell, column) in cells.into_iter().zip(&header.columns) {
        match column {
            // `1.8e-04` is less than can be told.
            Column::Share if header.is_oprofile && cell.contains("e-") => own = Some(0),
            Column::Share if header.is_oprofile => own = Some(scaled(cell, 100.0).filter(|share| *share <= 10_100)?),
            Column::Share => own = Some(share(cell)?),
            Column::Children => row.children = Some(share(cell)?),
            Column::Samples => row.samples = Some(scaled(cell, 1.0)?),
            Column::Comm => (row.pid, row.comm) = command(cell),
            Column::Module => module = cell,
            Column::Symbol => {
                let (_, privilege, name) = at_privilege(cell).unwrap_or(("", "", cell));
                mark = privilege;
                row.name = symbol(name);
            }
            Column::Caller => row.caller = Some(symbol(at_privilege(cell).map_or(cell, |(_, _, name)| name))),
            Column::Other => {}
        }
    }
    if header.is_oprofile && module.contains("vmlinu") {
        (module, mark) = (KERNEL, "[k]");
    }
    if is_by_command {
        ALL_OF_A_COMMAND.clone_into(&mut row.name);
    }
    row.share = own.or(row.children)?;
    row.caller = row.caller.filter(|caller| caller != "[other]" && caller != "-" && !caller.is_empty());
    finished(row, module, mark)
}

/// Gives the function its module; a row without a function is none.
fn finished(mut row: Row, module: &str, mark: &str) -> Option<Row> {
    let is_named = || kernel_names::is_kernel(&row.name) || kernel_names::is_kernel_thread(&row.comm);
    let is_kernel = matches!(mark, "[k]" | "[g]") || (mark.is_empty() && module.is_empty() && is_named());
    row.module = if module.is_empty() && !is_kernel { String::new() } else { module_of(module, is_kernel) };
    (!row.name.is_empty()).then_some(row)
}

/// `1234:java`, `java`.
fn command(text: &str) -> (Option<u32>, String) {
    match text.split_once(':') {
        Some((pid, comm)) if !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit()) => {
            (pid.parse().ok(), comm.trim().to_owned())
        }
        _ => (None, text.to_owned()),
    }
}

/// The name in front of what wide screens pad rows with: `-      -`, `0.45   [ 12.3%]`.
fn symbol(text: &str) -> String {
    let mut words: Vec<&str> = cells(text).next().unwrap_or("").split_whitespace().collect();
    while let Some(last) = words.last()
        && words.len() > 1
        && (*last == "-" || share(last.trim_end_matches(']')).is_some())
    {
        words.pop();
    }
    words.join(" ")
}

/// perf before 3.4: `223182.00 93.8% _spin_lock_irq [kernel.kallsyms]`, and in 2.6.31
/// `1234.00 - 12.3% - ffffffff8101f3a0 : poll_idle`.
fn samples_first(text: &str, header: Option<&Header>) -> Option<Row> {
    let mut words = text.split_whitespace().filter(|word| *word != "-").peekable();
    let samples = scaled(words.next()?, 1.0)?;
    let share = share(words.next()?)?;
    let mut rest: Vec<&str> = words.collect();
    let mut in_kernel = header.is_some_and(|header| header.is_kernel_only);
    if rest.len() > 1 && is_address(rest[0]) {
        let address = rest.remove(0);
        in_kernel |= address.len() == 16 && address.as_bytes()[0] >= b'8';
    }
    if rest.first() == Some(&":") {
        rest.remove(0);
    }
    let has_module = rest.len() > 1 && (!in_kernel || rest.last().is_some_and(|last| is_module(last)));
    let module = if has_module { rest.pop()? } else { "" };
    let row =
        Row { share, samples: Some(samples), name: rest.join(" "), is_sure: has_module || in_kernel, ..Row::default() };
    finished(row, module, if in_kernel { "[k]" } else { "" })
}

/// `12.34%  [kernel]  [k] clear_page_erms`, `45.00% 40.00% 120 java libjvm.so [.] f`: share of itself and its callees, of
/// itself, samples, command, module, privilege, function; and whatever of that was left out.
fn share_first(text: &str, header: Option<&Header>) -> Option<Row> {
    // A header that was cut off says less than a row that names its function as one.
    if header.is_some_and(|header| header.missing().is_some()) && at_privilege(text).is_none() {
        return None;
    }
    let mut rest = text;
    let mut shares = Vec::new();
    while let Some((word, behind)) = next_word(rest)
        && let Some(share) = share(word)
    {
        shares.push(share);
        rest = behind;
    }
    let mut numbers = Vec::new();
    while let Some((word, behind)) = next_word(rest)
        && let Some(number) = scaled(word, 1.0).filter(|_| !behind.trim().is_empty())
    {
        numbers.push(number);
        rest = behind;
    }
    // Behind Overhead stand shares of a part of it (`sys`, `usr`) or of another event; behind Children the function's own.
    let is_overhead = header.is_some_and(|header| !header.has(Column::Children) && header.has(Column::Share));
    let (own, children) = match shares.as_slice() {
        [own] => (*own, None),
        [own, ..] if is_overhead => (*own, None),
        [children, own, ..] => (*own, Some(*children)),
        [] => return None,
    };
    let has_samples = header.is_none_or(|header| header.columns.is_empty() || header.has(Column::Samples));
    let samples = numbers.first().copied().filter(|_| has_samples);
    let row = Row { share: own, children, samples, ..Row::default() };
    match at_privilege(rest) {
        Some((before, mark, behind)) => with_privilege(row, before, mark, behind, header),
        None => without_privilege(row, rest.trim()),
    }
}

fn next_word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let word = text.split_whitespace().next()?;
    Some((word, &text[word.len()..]))
}

fn with_privilege(mut row: Row, before: &str, mark: &str, behind: &str, header: Option<&Header>) -> Option<Row> {
    row.is_sure = true;
    row.name = symbol(behind);
    let mut words: Vec<&str> = before.split_whitespace().collect();
    let only_command = header.is_some_and(|header| header.has(Column::Comm) && !header.has(Column::Module));
    let module = match words.last().copied() {
        _ if only_command => "",
        // `java [k] clear_page`: no program holds functions of the kernel.
        Some(last) if matches!(mark, "[k]" | "[g]") && !is_module(last) && words.len() == 1 => "",
        Some(last) => {
            words.pop();
            last
        }
        // `[k] foo  [kernel.kallsyms]`: sorted by function first.
        None => cells(behind).skip(1).find(|cell| is_module(cell)).unwrap_or(""),
    };
    (row.pid, row.comm) = command(&words.join(" "));
    finished(row, module, mark)
}

/// `[kernel] f`, `java libc.so.6 f`, `f`, `f [kernel]`.
fn without_privilege(mut row: Row, rest: &str) -> Option<Row> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let modules: Vec<usize> = (0..words.len()).filter(|at| is_module(words[*at])).collect();
    let module = match modules.first().copied() {
        Some(at) if at + 1 < words.len() => {
            (row.pid, row.comm) = command(&words[..at].join(" "));
            row.name = symbol(&rest[place(rest, words[at]) + words[at].len()..]);
            row.is_sure = true;
            words[at]
        }
        Some(at) if at > 0 => {
            // `java  f  [kernel]`, or `f [kernel]`.
            let before: Vec<&str> = cells(&rest[..place(rest, words[at])]).collect();
            let (name, comm) = before.split_last()?;
            (row.pid, row.comm) = command(&comm.join(" "));
            row.name = symbol(name);
            row.is_sure = true;
            words[at]
        }
        Some(_) => return None,
        None => {
            // Wide screens pad a row with columns that have nothing to say.
            let is_padding = |cell: &&str| *cell == "-" || share(cell.trim_matches(['[', ']'])).is_some();
            let cells: Vec<&str> = cells(rest).filter(|cell| !is_padding(cell)).collect();
            match cells.as_slice() {
                [name] => {
                    row.name = symbol(name);
                    ""
                }
                [module, name] => {
                    row.name = symbol(name);
                    // A command and a function of the kernel, or a program and its own. What a thread of the kernel is in is the kernel's.
                    if kernel_names::is_kernel(name) || kernel_names::is_kernel_thread(module) {
                        row.comm = (*module).to_owned();
                        row.is_sure = true;
                        ""
                    } else {
                        module
                    }
                }
                [comm, module, name, ..] => {
                    (row.pid, row.comm) = command(comm);
                    row.name = symbol(name);
                    row.is_sure = true;
                    module
                }
                [] => return None,
            }
        }
    };
    is_function(&row.name).then_some(())?;
    finished(row, module, "")
}

fn place(text: &str, word: &str) -> usize {
    word.as_ptr() as usize - text.as_ptr() as usize
}

/// Whether it can be a function's name, and is no prose.
pub(super) fn is_function(name: &str) -> bool {
    let is_of_name = |c: char| c.is_alphanumeric() || "_.$@:<>~*&,()[]+-/=!;|^% #{}'".contains(c);
    let is_long_name = name.contains(['(', '<']) || name.contains("::");
    let starts = name.starts_with(|c: char| c.is_alphabetic() || "_.$@~[(<".contains(c)) || name.starts_with("0x");
    let is_one = !name.contains(char::is_whitespace) || is_long_name;
    starts
        && is_one
        && name.chars().all(is_of_name)
        && !name.ends_with([',', ':', ';'])
        && name.chars().any(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn is(line: &str, share: u64, comm: &str, module: &str, name: &str) {
        let row = row(line, None).unwrap_or_else(|| panic!("no row: {line}"));
        let seen = (row.share, row.comm.as_str(), row.module.as_str(), row.name.as_str());
        assert_eq!(seen, (share, comm, module, name), "{line}");
    }

    #[test]
    fn a_header_that_was_cut_off_hides_no_function_that_is_marked_as_one() {
        let header = Header::of("# Overhead          Command           Shared Object").unwrap();
        assert!(header.missing().is_some());
        let cut = row("20.57%           vivi-*  [kernel.kallsyms]       [k] memcpy", Some(&header)).unwrap();
        assert_eq!((cut.share, cut.comm.as_str(), cut.name.as_str()), (2057, "vivi-*", "memcpy"));
        assert_eq!(row("20.57%           vivi-*  [kernel.kallsyms]", Some(&header)), None);
    }

    #[test]
    fn rows_are_known_by_the_form_of_their_words() {
        is("12.3% clear_page_c_e", 1230, "", KERNEL, "clear_page_c_e");
        is("    43.99%  kswapd1  page_vma_mapped_walk", 4399, "kswapd1", KERNEL, "page_vma_mapped_walk");
        is("     0.95%  kswapd0  of_no_list_we_have", 95, "kswapd0", KERNEL, "of_no_list_we_have");
        is("  59.2% [k] _spin_lock_irqsave", 5920, "", KERNEL, "_spin_lock_irqsave");
        is(" 8.47%     8.47%           802  [k] clear_page_erms      -      -", 847, "", KERNEL, "clear_page_erms");
        is("+    9.58%  [kernel]           [k] clear_page_erms", 958, "", KERNEL, "clear_page_erms");
        is(
            "-   12,34%  java  [kernel.vmlinux]  [k] isolate_migratepages_ran",
            1234,
            "java",
            KERNEL,
            "isolate_migratepages_ran",
        );
        is("12.3% [kernel] odd_name", 1230, "", KERNEL, "odd_name");
        is("12.3% java libjvm.so G1::work(unsigned int)", 1230, "java", "libjvm.so", "G1::work(unsigned int)");
        is("12.3%  mongod  mongod  mongo::f", 1230, "mongod", "mongod", "mongo::f");
        is("12.3%  java  [k] clear_page", 1230, "java", KERNEL, "clear_page");
        is("12.3%  libc.so.6  [.] memcpy", 1230, "", "libc.so.6", "memcpy");
        is("12.3%  1234:my job  [zfs]  [k] arc_get", 1230, "my job", "[zfs.ko]", "arc_get");
        is("12.3%  [k] arc_get   [zfs]", 1230, "", "[zfs.ko]", "arc_get");
        is("12.3%  x  /usr/lib/debug/lib/modules/3.10.0/vmlinux  [k] f", 1230, "x", KERNEL, "f");
        is("12.3%  x  [guest.kernel.kallsyms]  [g] f", 1230, "x", KERNEL, "f");
        is("12.3%  x  [kernel.vmlinux].init.text  [k] f", 1230, "x", KERNEL, "f");
        is("12.3%  x  [unknown]  [k] 0xffffffff81012345", 1230, "x", KERNEL, "0xffffffff81012345");
        is("12.3%  x  [unknown]  [.] 0x0000000000012345", 1230, "x", "", "0x0000000000012345");
        is("3879.00  1.6% _spin_lock_irqsave [kernel.kallsyms]", 160, "", KERNEL, "_spin_lock_irqsave");
        is("  19.00 - 33.9% - ffffffff8101f3a0 : poll_idle", 3390, "", KERNEL, "poll_idle");
        is(" 670.00 - 15.6% - ffffffff81101a33 : page_check_address", 1560, "", KERNEL, "page_check_address");
        is(" 165.00 -  3.8% - ffffffffa01cbc39 : rpc_sleep_on  [sunrpc]", 380, "", "[sunrpc.ko]", "rpc_sleep_on");
        is("  19.00 33.9% ffffffff8101f3a0 odd_name [ext4]", 3390, "", "[ext4.ko]", "odd_name");
        is("212723 csum_partial_copy_generic  916.9095", 0, "", KERNEL, "csum_partial_copy_generic");
        is("c0130e43 sys_kill                                    757   9.2317", 0, "", KERNEL, "sys_kill");
        is("3.1%  smp_call_function_many_cond     ← cross-CPU IPI", 310, "", KERNEL, "smp_call_function_many_cond");
        assert_eq!(row("2409123 total  1.2345", None), None);
    }

    #[test]
    fn a_header_says_what_forms_do_not() {
        let header = |text: &str| Header::of(text).unwrap();
        let both = header("# Children      Self       Samples  Command  Shared Object  Symbol");
        let row = |line: &str, header: &Header| row(line, Some(header)).unwrap();
        let seen = row("45.00%  40.00%  120  java  libjvm.so  [.] f(int)", &both);
        assert_eq!((seen.children, seen.share, seen.samples), (Some(4500), 4000, Some(120)));
        let parts = header("# Overhead       sys       usr  Command  Symbol");
        let seen = row("45.00%  40.00%  5.00%  java  [.] f", &parts);
        assert_eq!((seen.share, seen.children, seen.comm.as_str()), (4500, None, "java"));
        let period = header("# Overhead        Period  Command  Symbol");
        assert_eq!(row("45.00%  1234567  java  [.] f", &period).samples, None, "a period is no number of samples");
        let caller = header("Overhead  Command  Shared Object  Symbol  Parent symbol");
        let seen = row("45.00%  java  [kernel]  [k] _raw_spin_lock  compact_zone", &caller);
        assert_eq!(seen.caller.as_deref(), Some("compact_zone"));
        let old = header("             samples  pcnt   RIP          kernel function");
        assert!(row("19.00 33.9% odd_name", &old).module == KERNEL);
        let spaced = header("Children Self Shared Object Symbol");
        let seen = row("55.58% 0.06% [kernel] [k] mdc_enqueue_base", &spaced);
        assert_eq!((seen.children, seen.share, seen.module.as_str()), (Some(5558), 6, KERNEL));
        assert!(header("Overhead Command Shared Object Symbol").missing().is_none());
        let narrow = header("# Children      Self  Command  Shared Object Symbol");
        let seen = row("94.86%    94.86%  lscpu    [kernel.vmlinux]  [k] get_page_from_freelist", &narrow);
        assert_eq!((seen.comm.as_str(), seen.share), ("lscpu", 9486));
        let opreport = Header::of_row_of_oprofile("2331728 22.8834  copy_page_range").unwrap();
        let seen = row("667975    6.5555  page_remove_rmap", &opreport);
        assert_eq!((seen.samples, seen.share), (Some(667_975), 656));
        assert_eq!(row("2331728 22.8834  copy_page_range", &opreport).share, 2288);
        assert!(Header::of_row_of_oprofile("3192131 14.2768 /lib/libcrypto.so.0.9.8a").is_none());
        let text = "c0129c10 349662   5.3899      do_anonymous_page       /boot/vmlinux-2.5.28-3";
        let of_addresses = Header::of_row_of_oprofile(text).unwrap();
        assert_eq!((row(text, &of_addresses).share, row(text, &of_addresses).samples), (539, Some(349_662)));
        let small = row("c013d85a 64302    0.991189    .text.lock.rmap         /boot/vmlinux-2.5.28-3", &of_addresses);
        assert_eq!((small.name.as_str(), small.share, small.module.as_str()), (".text.lock.rmap", 99, KERNEL));
        let of_library = row("7f1204a1b2c3 9551    0.147225    memcpy    /lib/libc-2.3.so", &of_addresses);
        assert_eq!((of_library.name.as_str(), of_library.samples), ("memcpy", Some(9551)));
        assert!(header("# Overhead  Command  Shared Object").missing().unwrap().contains("no column of functions"));
        assert!(Header::of("samples: 12").is_none() && Header::of("Overhead is large").is_none());
    }

    #[test]
    fn what_is_padded_and_what_a_kernel_thread_runs_is_known_without_privilege() {
        is("12.3%  clear_page_erms      -      -", 1230, "", KERNEL, "clear_page_erms");
        is("12.3%  kswapd0  [kernel]  odd_name", 1230, "kswapd0", KERNEL, "odd_name");
        let header = Header::of("# Overhead      Pid:Command  Shared Object  Symbol").unwrap();
        let seen = row("12.3%  77:java  libc.so.6  [.] f", Some(&header)).unwrap();
        assert_eq!((seen.pid, seen.comm.as_str()), (Some(77), "java"));
    }

    #[test]
    fn prose_is_no_function() {
        for line in ["20% of the time is spent there", "20%", "20% java:", "80% -> 90%", "12 34% x", "1 2 3", "150% x"]
        {
            assert!(row(line, None).is_none_or(|row| !row.is_sure), "{line}");
        }
        assert_eq!(row("20% of the time is spent there", None), None);
    }
}
