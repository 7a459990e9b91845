//! A policy: `[NAME:]TUNABLE=VALUE[,TUNABLE=VALUE…]`, or `now` to leave the host as it is.
//!
//! `\,` stands for a comma inside a value, `\=`, `\:` and `\\` for those characters, `\[` and `\]` for brackets. Between
//! the brackets of a name nothing needs an escape. `@FILE.toml` is opened by the caller and parsed with
//! [`Policy::from_toml`].

use super::{NameError, Tunable, ValueError, find};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use toml::de::{DeTable, DeValue};

/// One tunable and the value asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "WrittenSetting", try_from = "WrittenSetting")]
pub struct Setting {
    /// What it sets.
    pub tunable: Tunable,
    /// The tunable's name as written, such as `block[/dev/vda].read_ahead_kb` or `vm.dirty_ratio`.
    pub name: String,
    /// The value as written.
    pub value: String,
}

impl Setting {
    /// A setting from its two texts.
    ///
    /// # Errors
    /// When no tunable has this name.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Result<Self, NameError> {
        let (name, value) = (name.into(), value.into());
        Ok(Setting { tunable: find(&name)?, name, value })
    }

    /// The one text for its value.
    ///
    /// # Errors
    /// When it is no value of the tunable.
    pub fn canonical(&self) -> Result<String, ValueError> {
        self.tunable.canonical_beside(&self.name, &self.value)
    }

    /// The one text for its value, held to the limits that what a user asks for has to keep.
    ///
    /// # Errors
    /// When it is no value of the tunable, or outside its limits.
    pub fn checked(&self) -> Result<String, ValueError> {
        let canonical = self.canonical()?;
        self.tunable.descriptor.grammar.check(&canonical)?;
        Ok(canonical)
    }
}

/// A setting as JSON has it: two texts.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Setting")]
struct WrittenSetting {
    /// The tunable's name, such as `thp.enabled` or `block[vda].read_ahead_kb`.
    tunable: String,
    /// The value.
    value: String,
}

impl From<Setting> for WrittenSetting {
    fn from(setting: Setting) -> Self {
        WrittenSetting { tunable: setting.name, value: setting.value }
    }
}

impl TryFrom<WrittenSetting> for Setting {
    type Error = NameError;

    fn try_from(written: WrittenSetting) -> Result<Self, NameError> {
        Setting::new(written.tunable, written.value)
    }
}

/// Settings that are applied together. Empty: leave the host as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Policy {
    /// The name it was given.
    pub name: Option<String>,
    /// What it sets.
    #[schemars(with = "Vec<WrittenSetting>")]
    pub settings: Vec<Setting>,
}

/// The text of a policy that changes nothing.
pub const NOW: &str = "now";

/// A text is not a policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// It sets what is no tunable.
    #[error(transparent)]
    Name(#[from] NameError),
    /// In a policy on the command line.
    #[error("the policy '{text}' is wrong at character {at}: {why}")]
    Text {
        /// As written.
        text: String,
        /// Where, in characters from 1.
        at: usize,
        /// What is wrong, and what would be right.
        why: String,
    },
    /// In a file.
    #[error("{file}:{line}:{column}: {why}")]
    File {
        /// The file's name.
        file: String,
        /// From 1.
        line: usize,
        /// In characters from 1.
        column: usize,
        /// What is wrong, and what would be right.
        why: String,
    },
}

impl FromStr for Policy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let mut reader = Reader::new(text)?;
        let name = reader.name()?;
        if reader.rest() == NOW {
            return Ok(Policy { name, settings: Vec::new() });
        }
        let mut settings = vec![reader.setting()?];
        while reader.comma() {
            settings.push(reader.setting()?);
        }
        Ok(Policy { name, settings })
    }
}

/// One character and whether it was escaped, so that it stands for itself.
#[derive(Clone, Copy, Debug)]
struct Symbol {
    char: char,
    literal: bool,
    /// Where it stands in the text, in characters from 0.
    at: usize,
}

/// Walks over a policy's text.
struct Reader<'a> {
    text: &'a str,
    symbols: Vec<Symbol>,
    next: usize,
}

/// What may follow a backslash.
const ESCAPABLE: &str = "\\,=:[]";

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Result<Self, PolicyError> {
        let mut symbols = Vec::with_capacity(text.len());
        let mut chars = text.chars().enumerate();
        while let Some((at, char)) = chars.next() {
            if char != '\\' {
                symbols.push(Symbol { char, literal: false, at });
                continue;
            }
            match chars.next() {
                Some((_, escaped)) if ESCAPABLE.contains(escaped) => {
                    symbols.push(Symbol { char: escaped, literal: true, at });
                }
                _ => {
                    let why = format!("a backslash stands before one of {ESCAPABLE}; write \\\\ for a backslash");
                    return Err(error(text, at, why));
                }
            }
        }
        mark_brackets(&mut symbols);
        Ok(Reader { text, symbols, next: 0 })
    }

    /// `NAME:` when a colon comes before the first `=`.
    fn name(&mut self) -> Result<Option<String>, PolicyError> {
        let Some(colon) = self.symbols.iter().position(|s| !s.literal && ":=,".contains(s.char)) else {
            return Ok(None);
        };
        if self.symbols[colon].char != ':' {
            return Ok(None);
        }
        let name = collect(&self.symbols[..colon]).trim().to_owned();
        if name.contains(char::is_control) {
            return Err(error(self.text, 0, "the name before ':' has a control character"));
        }
        if name.is_empty() {
            return Err(error(self.text, 0, "the name before ':' is empty"));
        }
        self.next = colon + 1;
        Ok(Some(name))
    }

    fn rest(&self) -> String {
        collect(&self.symbols[self.next..]).trim().to_owned()
    }

    fn setting(&mut self) -> Result<Setting, PolicyError> {
        let start = self.next;
        let equals = self.find("=,", start);
        let name = collect(&self.symbols[start..equals]).trim().to_owned();
        if self.symbols.get(equals).is_none_or(|symbol| symbol.char != '=') {
            return Err(error(self.text, self.at(start), self.without_equals(&name)));
        }
        if name.is_empty() {
            return Err(error(self.text, self.at(start), "the tunable's name before '=' is empty"));
        }
        self.next = self.find(",", equals + 1);
        let value = collect(&self.symbols[equals + 1..self.next]);
        if value.is_empty() && !name.starts_with("env.") {
            return Err(error(self.text, self.at(equals), format!("'{name}' has no value after '='")));
        }
        Ok(Setting::new(name, value)?)
    }

    fn without_equals(&self, tunable: &str) -> String {
        match tunable {
            "" if self.text.trim().is_empty() => format!("it is empty; write TUNABLE=VALUE, or {NOW}"),
            "" => "a comma must be followed by TUNABLE=VALUE".to_owned(),
            NOW => format!("'{NOW}' stands alone"),
            _ => format!("'{tunable}' is not TUNABLE=VALUE; a comma inside a value is written \\,"),
        }
    }

    fn comma(&mut self) -> bool {
        let more = self.next < self.symbols.len();
        self.next += usize::from(more);
        more
    }

    /// The next of these characters that is not escaped, or the end.
    fn find(&self, wanted: &str, from: usize) -> usize {
        let found = self.symbols[from..].iter().position(|s| !s.literal && wanted.contains(s.char));
        found.map_or(self.symbols.len(), |offset| from + offset)
    }

    fn at(&self, index: usize) -> usize {
        self.symbols.get(index).map_or_else(|| self.text.chars().count(), |symbol| symbol.at)
    }
}

/// What stands between brackets in a name stands for itself. Brackets in a value mean nothing.
fn mark_brackets(symbols: &mut [Symbol]) {
    let mut in_value = false;
    let mut index = 0;
    while index < symbols.len() {
        let Symbol { char, literal, .. } = symbols[index];
        match char {
            ',' if !literal => in_value = false,
            '=' if !literal => in_value = true,
            '[' if !literal && !in_value => {
                let close = symbols[index..].iter().position(|s| !s.literal && s.char == ']');
                let inside = close.map_or(index..index, |offset| index..index + offset);
                index = inside.end;
                symbols[inside].iter_mut().for_each(|symbol| symbol.literal = true);
            }
            _ => {}
        }
        index += 1;
    }
}

fn collect(symbols: &[Symbol]) -> String {
    symbols.iter().map(|symbol| symbol.char).collect()
}

fn error(text: &str, at: usize, why: impl Into<String>) -> PolicyError {
    PolicyError::Text { text: text.to_owned(), at: at + 1, why: why.into() }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            write!(f, "{}:", escaped(name, "\\,=:[]"))?;
        }
        if self.settings.is_empty() {
            return f.write_str(NOW);
        }
        for (index, Setting { name, value, .. }) in self.settings.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{}={}", escaped_name(name), escaped(value, "\\,"))?;
        }
        Ok(())
    }
}

/// Brackets of a plain `family[key].field` stay readable; any others are escaped.
fn escaped_name(name: &str) -> String {
    let plain = match (name.find('['), name.rfind(']')) {
        (Some(open), Some(close)) if open < close => {
            let key = &name[open + 1..close];
            !key.contains(['[', ']']) && !name[close + 1..].contains('[') && !name[..open].contains(']')
        }
        _ => !name.contains(['[', ']']),
    };
    escaped(name, if plain { "\\,=:" } else { "\\,=:[]" })
}

fn escaped(text: &str, special: &str) -> String {
    text.chars().flat_map(|c| special.contains(c).then_some('\\').into_iter().chain([c])).collect()
}

impl Policy {
    /// Reads a policy file: an optional `name`, and a table `settings` whose keys are tunables, in their order.
    ///
    /// ```toml
    /// name = "calm"
    /// [settings]
    /// thp.defrag = "never"
    /// vm.swappiness = 1
    /// "mthp[64k].enabled" = "always"
    /// ```
    ///
    /// # Errors
    /// When it is not TOML, or not of that form; with line and column.
    pub fn from_toml(text: &str, file: &str) -> Result<Policy, PolicyError> {
        let place = |offset: usize, why: String| file_error(text, file, offset, why);
        let table = DeTable::parse(text)
            .map_err(|error| place(error.span().map_or(0, |span| span.start), error.message().to_owned()))?;
        let mut policy = Policy::default();
        for (key, value) in table.get_ref() {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("name", DeValue::String(name)) if !name.trim().is_empty() && !name.contains(char::is_control) => {
                    policy.name = Some(name.trim().to_owned());
                }
                ("name", _) => {
                    return Err(place(value.span().start, "name must be a text of one line that is not empty".into()));
                }
                ("settings", DeValue::Table(settings)) => {
                    let mut found = Vec::new();
                    flatten("", settings, &mut found).map_err(|(offset, why)| place(offset, why))?;
                    // The parser sorts keys; the order they were written in is the order they are applied in.
                    found.sort_by_key(|(offset, _)| *offset);
                    policy.settings = found.into_iter().map(|(_, setting)| setting).collect();
                }
                (other, _) => {
                    let why = format!("'{other}' is not known here; write name = \"…\" and a table [settings]");
                    return Err(place(key.span().start, why));
                }
            }
        }
        Ok(policy)
    }
}

type Placed<T> = (usize, T);

/// Dotted keys arrive as nested tables: `vm.swappiness = 1` is `{vm = {swappiness = 1}}`.
fn flatten(prefix: &str, table: &DeTable<'_>, found: &mut Vec<Placed<Setting>>) -> Result<(), Placed<String>> {
    for (key, value) in table {
        let name = format!("{prefix}{}", key.get_ref());
        let text = match value.get_ref() {
            DeValue::Table(inner) => {
                flatten(&format!("{name}."), inner, found)?;
                continue;
            }
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().replace('_', ""),
            DeValue::Boolean(flag) => flag.to_string(),
            _ => {
                return Err((value.span().start, format!("'{name}' must be a text, a whole number, true or false")));
            }
        };
        let setting = Setting::new(name, text).map_err(|error| (key.span().start, error.to_string()))?;
        found.push((value.span().start, setting));
    }
    Ok(())
}

fn file_error(text: &str, file: &str, offset: usize, why: String) -> PolicyError {
    let before = text.get(..offset.min(text.len())).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    PolicyError::File { file: file.to_owned(), line, column, why }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn policy(text: &str) -> Policy {
        text.parse().unwrap_or_else(|e| panic!("{e}"))
    }

    fn settings(text: &str) -> Vec<(String, String)> {
        policy(text).settings.into_iter().map(|s| (s.name, s.value)).collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|(tunable, value)| ((*tunable).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn settings_are_read_in_their_order() {
        let read = settings("thp.enabled=never, vm.swappiness=1");
        assert_eq!(read, pairs(&[("thp.enabled", "never"), ("vm.swappiness", "1")]));
    }

    #[test]
    fn now_leaves_the_host_as_it_is_with_or_without_a_name() {
        assert_eq!(policy("now"), Policy::default());
        assert_eq!(policy("base:now"), Policy { name: Some("base".to_owned()), settings: vec![] });
    }

    #[test]
    fn a_name_stands_before_the_first_colon_but_a_colon_in_a_value_is_no_name() {
        assert_eq!(policy("off:swap=off").name.as_deref(), Some("off"));
        assert_eq!(policy("swap=file:4G").name, None);
        assert_eq!(settings("z:swap=zram:4G:lz4"), pairs(&[("swap", "zram:4G:lz4")]));
    }

    #[test]
    fn a_comma_in_a_value_is_escaped() {
        assert_eq!(settings(r"env.LIST=a\,b,env.B=\\c"), pairs(&[("env.LIST", "a,b"), ("env.B", r"\c")]));
    }

    #[test]
    fn between_brackets_nothing_needs_an_escape() {
        let read = settings("cgroup[/a:b,c=d].memory.high=1G");
        assert_eq!(read, pairs(&[("cgroup[/a:b,c=d].memory.high", "1G")]));
    }

    #[test]
    fn only_a_variable_may_be_empty() {
        assert_eq!(settings("env.EMPTY="), pairs(&[("env.EMPTY", "")]));
        assert!("thp.enabled=".parse::<Policy>().is_err());
    }

    #[test]
    fn an_error_names_the_place() {
        for (text, at) in [
            ("", 1),
            ("thp.enabled", 1),
            ("thp.enabled=never,", 19),
            ("thp.enabled=never,swap", 19),
            ("=never", 1),
            (":a=b", 1),
            ("a\u{1b}[2Jb:env.A=1", 1),
            (r"env.A=\d", 7),
            ("now,thp.enabled=never", 1),
            ("vm.swappiness=", 14),
        ] {
            match text.parse::<Policy>() {
                Err(PolicyError::Text { at: found, .. }) => assert_eq!(found, at, "{text}"),
                other => panic!("'{text}': {other:?}"),
            }
        }
    }

    #[test]
    fn a_file_gives_the_settings_in_the_order_written() {
        let text = "name = 'calm'\n[settings]\nvm.swappiness = 1\nthp.defrag = 'never'\n\
                    'mthp[64k].enabled' = 'always'\nenv.A = 'x,y'\njvm.UseTransparentHugePages = true\n";
        let policy = Policy::from_toml(text, "calm.toml").unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(
            policy.to_string(),
            r"calm:vm.swappiness=1,thp.defrag=never,mthp[64k].enabled=always,env.A=x\,y,jvm.UseTransparentHugePages=true"
        );
    }

    #[test]
    fn a_name_that_is_none_is_told_with_those_near_it_and_in_a_file_with_its_place() {
        let told = |error: PolicyError| error.to_string();
        let text = told("thp.enabled=never,vm.swapiness=1".parse::<Policy>().unwrap_err());
        assert!(text.starts_with("there is no tunable 'vm.swapiness'; did you mean vm.swappiness"), "{text}");
        let file = told(Policy::from_toml("[settings]\nvm.swapiness = 1\n", "p.toml").unwrap_err());
        assert!(file.starts_with("p.toml:2:4: there is no tunable 'vm.swapiness'"), "{file}");
    }

    #[test]
    fn a_value_is_read_beside_the_name_as_written() {
        let policy = policy("vm.dirty_ratio=20,vm.swappiness=300");
        let [ratio, swappiness] = &policy.settings[..] else { panic!("two") };
        assert_eq!((ratio.tunable.name.as_str(), ratio.checked().as_deref()), ("vm.dirty", Ok("20%")));
        assert!(swappiness.canonical().is_ok() && swappiness.checked().is_err());
    }

    #[test]
    fn an_error_in_a_file_names_line_and_column() {
        for (text, line, column) in [
            ("[settings\n", 1, 10),
            ("[settings]\nthp.enabled = [1]\n", 2, 15),
            ("\n\nsetings = 1\n", 3, 1),
            ("name = 3\n", 1, 8),
            ("name = \"a\\nb\"\n", 1, 8),
            ("[settings]\nä = 1.5\n", 2, 1),
        ] {
            match Policy::from_toml(text, "p.toml") {
                Err(PolicyError::File { line: l, column: c, .. }) => assert_eq!((l, c), (line, column), "{text}"),
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    fn any_policy() -> impl Strategy<Value = Policy> {
        let word = "[^\\s\\pC]([^\\pC]{0,10}[^\\s\\pC])?";
        let name = prop_oneof![
            Just("thp.enabled".to_owned()),
            Just("vm.dirty_ratio".to_owned()),
            Just("mthp[64K].enabled".to_owned()),
            word.prop_map(|key| format!("block[{key}].read_ahead_kb")),
            word.prop_map(|key| format!("cgroup[/{key}].memory.max")),
        ];
        let setting = (name, "\\PC{1,12}")
            .prop_filter_map("a key that cannot be", |(name, value)| Setting::new(name, value).ok());
        (prop::option::of(word), prop::collection::vec(setting, 0..4))
            .prop_map(|(name, settings)| Policy { name, settings })
    }

    proptest! {
        #[test]
        fn a_policy_survives_its_text(policy in any_policy()) {
            let text = policy.to_string();
            prop_assert_eq!(text.parse::<Policy>(), Ok(policy), "{}", text);
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,80}") {
            let _ = text.parse::<Policy>();
            let _ = Policy::from_toml(&text, "p.toml");
        }
    }
}
