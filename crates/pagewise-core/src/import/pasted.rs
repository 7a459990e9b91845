//! Text as people paste it: quoted in a mail, fenced in a comment, copied from a web page or a terminal. What was put
//! around a line is taken off before any parser sees it; the line keeps its number.
//!
//! Columns stay where they are as far as they can: the drawings of `perf report` are read by them.

use super::listing::Listing;
use super::perf_row;
use super::settings::Settings;
use super::{Parser, Problem};
use std::borrow::Cow;

/// A parser that gets its lines as the tool printed them.
pub(super) struct Pasted {
    parser: Box<dyn Parser>,
    joined: Joined,
    comment: Comment,
    /// What stands beside the listing, whatever tool wrote that.
    settings: Settings,
}

impl Pasted {
    pub(super) fn new(parser: Box<dyn Parser>) -> Pasted {
        Pasted { parser, joined: Joined::default(), comment: Comment::default(), settings: Settings::default() }
    }
}

/// Lines that a mail program broke and whose rest has not come yet.
#[derive(Debug, Default)]
struct Joined(Option<String>);

impl Joined {
    /// The whole line, once it is there. A mail as it was sent has `=` at the end of what goes on in the next line, and no more
    /// than 76 characters in one (RFC 2045): a shorter line that ends so is what a tool printed.
    fn take<'l>(&mut self, line: &'l str) -> Option<Cow<'l, str>> {
        let whole = match self.0.take() {
            Some(before) => Cow::Owned(before + line),
            None => Cow::Borrowed(line),
        };
        match whole.strip_suffix('=') {
            Some(part) if (70..=76).contains(&line.trim_end_matches('\r').len()) && whole.len() < LONGEST_JOINED => {
                self.0 = Some(part.to_owned());
                None
            }
            _ => Some(whole),
        }
    }
}

/// No line of a tool is longer.
const LONGEST_JOINED: usize = 4096;

/// Whether a listing stands in comments of a shell, as people keep what a command printed: `# top - 23:17:49 up 19 days`.
#[derive(Debug, Default)]
struct Comment {
    is_one: bool,
}

/// Whether a listing begins whose tool prints no comments of its own. A command behind the prompt of root is none.
fn begins_listing(line: &str) -> bool {
    let line = line.trim_start();
    let has = |words: [&str; 2]| words.iter().all(|word| line.contains(word));
    line.starts_with("top - ")
        || line.starts_with("procs -")
        || line.starts_with("MemTotal:")
        || line.starts_with("r ") && has([" swpd ", " free "])
        || line.starts_with("total ") && has([" used ", " free "])
}

impl Comment {
    /// The line without its mark, once a listing has begun in comments.
    fn take_off<'l>(&mut self, line: Cow<'l, str>) -> Cow<'l, str> {
        self.is_one = self.is_one || line.strip_prefix('#').is_some_and(begins_listing);
        self.without(line)
    }

    fn without<'l>(&self, line: Cow<'l, str>) -> Cow<'l, str> {
        match line.strip_prefix('#') {
            Some(rest) if self.is_one => Cow::Owned(without_blank(rest).to_owned()),
            _ => line,
        }
    }
}

/// Behind the one blank that belongs to a mark.
fn without_blank(rest: &str) -> &str {
    rest.strip_prefix(' ').unwrap_or(rest)
}

/// The lines of a text as the tool printed them.
pub(super) fn lines(text: &str) -> impl Iterator<Item = String> {
    let (mut joined, mut comment) = (Joined::default(), Comment::default());
    text.lines().filter_map(move |line| {
        let line = joined.take(line)?;
        as_printed(&line).map(|line| comment.take_off(line).into_owned())
    })
}

impl Parser for Pasted {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Problem> {
        let Some(line) = self.joined.take(line) else { return Ok(()) };
        match as_printed(&line) {
            Some(line) => {
                let line = self.comment.take_off(line);
                self.settings.line(&line);
                self.parser.line(number, &line)
            }
            None => Ok(()),
        }
    }

    fn is_whole(&self, line: &str, before: &str) -> bool {
        let printed = |line| as_printed(line).map(|line| self.comment.without(line));
        match (printed(line), printed(before)) {
            (Some(line), before) => self.parser.is_whole(&line, before.as_deref().unwrap_or("")),
            (None, _) => true,
        }
    }

    fn finish(self: Box<Self>) -> Result<Listing, Problem> {
        let mut listing = self.parser.finish()?;
        for (name, value) in self.settings.told() {
            listing.setting(name, Some(value));
        }
        Ok(listing)
    }
}

/// The line without what was put around it. `None`: it is nothing but that, such as a fence.
fn as_printed(line: &str) -> Option<Cow<'_, str>> {
    // The common case costs one pass and no copy.
    let is_plain = |byte: u8| byte == b'\t' || (b' '..0x7f).contains(&byte) && !b"&>`~{<*".contains(&byte);
    if line.bytes().all(is_plain)
        && !line.starts_with(':')
        && !line.ends_with("=20")
        && !line.contains("____")
        && !is_fence(line.trim())
    {
        return Some(Cow::Borrowed(without_comment(line)));
    }
    let mut text = Cow::Borrowed(line.trim_end_matches('\r'));
    if text.contains('\u{1b}') {
        text = Cow::Owned(without_escapes(&text));
    }
    if text.contains(is_blank) {
        text =
            Cow::Owned(text.chars().filter(|c| !is_nothing(*c)).map(|c| if is_blank(c) { ' ' } else { c }).collect());
    }
    // Mails in an archive as they were sent (RFC 2045): a blank at the end of a line.
    while let Some(kept) = text.strip_suffix("=20").map(str::len) {
        text = match text {
            Cow::Borrowed(text) => Cow::Borrowed(&text[..kept]),
            Cow::Owned(text) => Cow::Owned(text[..kept].to_owned()),
        };
    }
    if text.contains('&') {
        text = Cow::Owned(without_entities(&text));
    }
    if is_underscored(&text) {
        text = Cow::Owned(text.replace('_', " "));
    }
    text = match (unquoted(&text).len(), text) {
        (kept, Cow::Borrowed(text)) => Cow::Borrowed(&text[text.len() - kept..]),
        (kept, Cow::Owned(text)) => Cow::Owned(text[text.len() - kept..].to_owned()),
    };
    if let Some(plain) = without_bold_cells(&text) {
        text = Cow::Owned(plain);
    }
    if let Some(plain) = without_emphasis(&text) {
        text = Cow::Owned(plain);
    }
    if let Some(plain) = with_plain_sign(&text) {
        text = Cow::Owned(plain);
    }
    if is_fence(text.trim()) { None } else { Some(text) }
}

/// Behind the `# ` of a shell's comment, in which people keep what a command printed, where a row of shares follows; the tool's own comments have none.
fn without_comment(line: &str) -> &str {
    let Some(rest) = line.strip_prefix('#') else { return line };
    let first = perf_row::without_sign(rest.trim_start()).split_whitespace().next();
    if first.and_then(perf_row::share).is_some() { rest } else { line }
}

/// The sign of a row that can be opened, of which a text program made a dash: `– 89.81%`. `None`: there is no such.
fn with_plain_sign(line: &str) -> Option<String> {
    let rest = line.trim_start().strip_prefix(['–', '—', '−'])?;
    rest.starts_with(' ').then(|| format!("{}-{rest}", &line[..line.len() - line.trim_start().len()]))
}

/// A line that somebody set in bold, to point at it: `**HugePages_Total:   53342`; or one with which a text in italics begins or ends:
/// `*04:50:14  all  0.19`. `None`: nothing was.
fn without_emphasis(line: &str) -> Option<String> {
    let text = line.trim_end();
    let inner = text.trim_start();
    // A single star stands in many lines, and hardly beside a number.
    let is_beside =
        |mark: &str, c: char| c.is_ascii_digit() || mark == "**" && (c.is_alphanumeric() || "%)".contains(c));
    let marks = ["**", "*"];
    // The sign of a row of perf that can be opened may stand in between.
    let begins = marks.iter().find_map(|mark| {
        let rest = inner.strip_prefix(mark)?;
        perf_row::without_sign(rest).starts_with(|c| is_beside(mark, c)).then_some(rest)
    });
    let rest = begins.unwrap_or(inner);
    let ends = marks.iter().find_map(|mark| {
        let rest = rest.strip_suffix(mark)?;
        // What begins in bold ends so, with whatever blank a mail put in front.
        (rest.ends_with(|c| is_beside(mark, c)) || begins.is_some() && rest.ends_with(' ')).then_some(rest)
    });
    if begins.is_none() && ends.is_none() {
        return None;
    }
    let indent = &text[..text.len() - inner.len()];
    Some(format!("{indent}{}", ends.unwrap_or(rest)))
}

/// A line of which single cells are set in bold: `5491  **366**  3008`. `None`: none is.
fn without_bold_cells(line: &str) -> Option<String> {
    let is_bold = |word: &str| {
        let inner = word.strip_prefix("**").and_then(|rest| rest.strip_suffix("**"));
        inner.filter(|inner| !inner.is_empty() && !inner.contains('*')).map(str::len)
    };
    if !line.split_whitespace().any(|word| is_bold(word).is_some()) {
        return None;
    }
    let cell = |word: &str| match is_bold(word) {
        Some(length) => word[2..2 + length].to_owned(),
        None => word.to_owned(),
    };
    Some(line.split(' ').map(cell).collect::<Vec<String>>().join(" "))
}

/// Whether a mail program set underscores for the blanks of a table: `__r__ b____ swpd____ free`. A name has no two such runs.
fn is_underscored(line: &str) -> bool {
    const MANY: usize = 4;
    let runs = line.split(|c: char| c != '_').filter(|run| run.len() >= 2).count();
    runs >= MANY
        && line
            .split_whitespace()
            .any(|word| word.starts_with(|c: char| c.is_ascii_alphanumeric()) && word.ends_with("__"))
}

/// Behind `> `, `>> `, `> > `, and behind the colon that some mail programs quote with. The one blank behind the marks belongs to them, any other to
/// the line.
fn unquoted(line: &str) -> &str {
    let mut rest = line.strip_prefix(':').filter(|rest| rest.is_empty() || rest.starts_with(' ')).unwrap_or(line);
    while let Some(behind) = rest.trim_start_matches(' ').strip_prefix('>') {
        rest = without_blank(behind);
    }
    rest
}

/// Markdown's fences, and what trackers and pages put around a listing.
fn is_fence(text: &str) -> bool {
    let is_word = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_+.".contains(&byte));
    let fence = text.strip_prefix("```").or_else(|| text.strip_prefix("~~~"));
    if fence.is_some_and(|info| is_word(info.trim_start_matches(['`', '~']).trim())) {
        return true;
    }
    let lower = text.to_ascii_lowercase();
    let is_macro = |name: &str| {
        lower.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).is_some_and(|inside| {
            inside.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        })
    };
    let is_tag = matches!(
        lower.as_str(),
        "<pre>" | "</pre>" | "<code>" | "</code>" | "<pre><code>" | "</code></pre>" | "[code]" | "[/code]"
    );
    is_tag || is_macro("code") || is_macro("noformat")
}

/// What a page or a mail program writes for a blank.
fn is_blank(c: char) -> bool {
    matches!(c, '\u{a0}' | '\u{2000}'..='\u{200b}' | '\u{202f}' | '\u{205f}' | '\u{2060}' | '\u{3000}' | '\u{feff}')
}

/// Blanks without width.
fn is_nothing(c: char) -> bool {
    matches!(c, '\u{200b}' | '\u{2060}' | '\u{feff}')
}

/// What an HTML page writes for the letters that it needs itself, each once: `&amp;gt;` is `&gt;`.
fn without_entities(line: &str) -> String {
    const ENTITIES: [(&str, &str); 8] = [
        ("&gt;", ">"),
        ("&lt;", "<"),
        ("&amp;", "&"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&#x27;", "'"),
        ("&nbsp;", " "),
        ("&#160;", " "),
    ];
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('&') {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let (entity, letter) = ENTITIES.into_iter().find(|(entity, _)| rest.starts_with(entity)).unwrap_or(("&", "&"));
        plain.push_str(letter);
        rest = &rest[entity.len()..];
    }
    plain.push_str(rest);
    plain
}

/// Without what moves a terminal's cursor and colours its letters (ECMA-48).
fn without_escapes(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            plain.push(c);
        } else if chars.next_if_eq(&']').is_some() {
            // A title: up to BEL, or to ESC and a backslash.
            while let Some(c) = chars.next() {
                if c == '\u{7}' || (c == '\u{1b}' && chars.next_if_eq(&'\\').is_some()) {
                    break;
                }
            }
        } else if let Some(kind) = chars.next() {
            // CSI: up to its final letter. A character set: one letter. Anything else is two letters long.
            match kind {
                '[' => drop(chars.by_ref().find(|c| ('@'..='~').contains(c))),
                '(' | ')' | '*' | '+' => drop(chars.next()),
                _ => {}
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn reads(line: &str, printed: &str) {
        assert_eq!(as_printed(line).as_deref(), Some(printed), "{line:?}");
    }

    #[test]
    fn a_line_that_nobody_touched_is_not_copied() {
        assert!(matches!(as_printed("  12.34%  java\t[k] f"), Some(Cow::Borrowed(_))));
        assert!(matches!(as_printed(" 1  0      0 21794168\t12"), Some(Cow::Borrowed(_))));
    }

    #[test]
    fn underscores_that_stand_for_blanks_are_blanks_and_those_of_names_stay() {
        reads("> __r__ b____ swpd____ free____ buff", "  r   b     swpd     free     buff");
        reads(
            "__1__ 1 296924 153064____ 6936 2479664______ 0______ 0",
            "  1   1 296924 153064     6936 2479664       0       0",
        );
        reads(" 1.00%  [k] __alloc_pages_nodemask", " 1.00%  [k] __alloc_pages_nodemask");
        reads("_______ _____ ________________ ____________", "_______ _____ ________________ ____________");
    }

    #[test]
    fn what_somebody_set_in_bold_is_read_as_it_was() {
        reads("**HugePages_Total:   53342", "HugePages_Total:   53342");
        reads("HugePages_Free:    11904**", "HugePages_Free:    11904");
        reads("  **MemFree: 12 kB**", "  MemFree: 12 kB");
        reads("Mem:  8192  **366**  **2334**  366", "Mem:  8192  366  2334  366");
        reads("    *00:00:01     CPU     %user", "    00:00:01     CPU     %user");
        reads("04:50:14     all      0.19     35.78*", "04:50:14     all      0.19     35.78");
        reads(
            "*+   27.78%    27.78%  job  [kernel.kallsyms]  [k] f *",
            "+   27.78%    27.78%  job  [kernel.kallsyms]  [k] f ",
        );
        for line in ["2*4kB 1*8kB = 12kB", "*** glibc detected ***", "a ** b", "  ** ", "12.3%  [k] f*", "****"] {
            reads(line, line);
        }
    }

    #[test]
    fn a_line_that_goes_on_in_the_next_is_one() {
        let long = format!("> procs {}----=\n--cpu-----\na = b =\nc", "-".repeat(60));
        let read: Vec<String> = lines(&long).collect();
        assert_eq!(read, [format!("procs {}------cpu-----", "-".repeat(60)), "a = b =".to_owned(), "c".to_owned()]);
    }

    #[test]
    fn quoting_of_mails_is_taken_off_and_columns_stay() {
        reads("> a", "a");
        reads(">> a", "a");
        reads("> >  a", " a");
        reads(" > a", "a");
        reads(">", "");
        reads("&gt; &gt;    1.00%  [k] a&lt;b&gt;(c&amp;)", "   1.00%  [k] a<b>(c&)");
        reads("a -> b > c", "a -> b > c");
        reads("&amp;gt;", "&gt;");
        reads("a & b", "a & b");
    }

    #[test]
    fn blanks_of_pages_ends_of_windows_and_codes_of_terminals_are_plain() {
        reads("\u{a0}\u{a0}12\u{a0}a\u{200b}b\r", "  12 ab");
        reads("\u{1b}[H\u{1b}[2J   PerfTop: 1\u{1b}[0m", "   PerfTop: 1");
        reads("\u{1b}]0;title\u{7}a\u{1b}(Bb\u{1b}]2;x\u{1b}\\c", "abc");
        reads("\u{1b}[31", "");
        reads("a\u{1b}", "a");
        reads("a\tb\u{a0}", "a\tb ");
        reads(">    |         =20", "   |         ");
    }

    #[test]
    fn rows_in_a_comment_and_signs_that_became_dashes_are_read_as_they_were_printed() {
        reads("# +   99.88%     0.00%  a.out", " +   99.88%     0.00%  a.out");
        reads("#   28.47%  [kernel]  [k] mwait_idle", "   28.47%  [kernel]  [k] mwait_idle");
        reads("– 89.81% 89.81% [kernel] [k] _spin_lock", "- 89.81% 89.81% [kernel] [k] _spin_lock");
        for line in ["# Overhead  Symbol", "# 12 samples", "#", "–", "a – b"] {
            reads(line, line);
        }
    }

    #[test]
    fn a_listing_in_comments_is_read_without_their_marks_and_comments_of_tools_stay() {
        let read = |text: &str| lines(text).collect::<Vec<String>>();
        assert_eq!(
            read(
                "# ran it\n# top - 23:17:49 up 19 days,  4:18,  1 user,  load average: 0.79, 0.73, 1.79\n#\n#   PID USER\nx"
            ),
            [
                "# ran it",
                "top - 23:17:49 up 19 days,  4:18,  1 user,  load average: 0.79, 0.73, 1.79",
                "",
                "  PID USER",
                "x"
            ]
        );
        for line in [
            "# Overhead  Command",
            "# HELP node_memory_MemFree_bytes Memory",
            "#<--------CPU-------->",
            "# free -m",
            "# cat /proc/meminfo",
        ] {
            assert_eq!(read(line), [line]);
        }
    }

    #[test]
    fn fences_are_no_lines() {
        for fence in ["```", "```text", "~~~", "> ```", "{noformat}", "{code:none}", "<pre>", "[code]", "````"] {
            assert_eq!(as_printed(fence), None, "{fence}");
        }
        for line in ["```a b", "{code} x", "<pre> 12", "[kernel]", ""] {
            reads(line, line);
        }
    }
}
