//! Manual pages and shell completions, from the one definition of the command line: `docs/reference/man/`, `packaging/completions/`.
//! `make docs` writes them again; `make install` and the packages copy them (docs/design/0034-installed.md).

use super::Cli;
use clap::{Command, CommandFactory};
use clap_complete::aot::{Shell, generate};
use clap_mangen::Man;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What a file holds, by its path in the repository.
type Files = BTreeMap<PathBuf, Vec<u8>>;

const PAGES: &str = "docs/reference/man";
const COMPLETIONS: &str = "packaging/completions";

/// The command line as a reader has it: without the verbs for Pagewise's own processes, and without `help` as a verb of every verb.
fn shown() -> Command {
    let all = Cli::command();
    let verbs = all.get_subcommands().filter(|verb| !verb.is_hide_set()).cloned().map(without_help_verb);
    let program = Command::new("pagewise").disable_help_subcommand(true).subcommands(verbs).args(all.get_arguments());
    let program = program.about(all.get_about().unwrap().clone()).version(env!("CARGO_PKG_VERSION"));
    program.after_help(all.get_after_help().unwrap().clone())
}

fn without_help_verb(verb: Command) -> Command {
    verb.disable_help_subcommand(true).mut_subcommands(without_help_verb)
}

/// A page for the program, one for each verb, and one for each verb of a verb: `pagewise-trial-run.1`.
fn pages() -> Files {
    let mut command = shown();
    command.build();
    let mut files = Files::new();
    page_of(&command, &mut files);
    files
}

fn page_of(command: &Command, files: &mut Files) {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    files.insert(Path::new(PAGES).join(format!("{name}.1")), page(command).into_bytes());
    for verb in command.get_subcommands() {
        page_of(verb, files);
    }
}

/// What stands below the options in `--help` gets the headings that readers of manuals look for.
fn page(command: &Command) -> String {
    let source = concat!("Pagewise ", env!("CARGO_PKG_VERSION"));
    let mut page = Vec::new();
    Man::new(command.clone()).source(source).manual("Pagewise").render(&mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    let page = page.replace(".SH EXTRA\nExit status: ", ".SH \"EXIT STATUS\"\n").replace(".SH EXTRA\n", ".SH NOTES\n");
    let page = page
        .replace(".SH NOTES\nExamples:\n", ".SH EXAMPLES\n.nf\n")
        .replace("\n\nExamples:\n", "\n.SH EXAMPLES\n.nf\n");
    // The number of the version is in the footer.
    let page = page.split(".SH VERSION\n").next().unwrap();
    let more = if command.get_name() == "pagewise" { "" } else { "\\fBpagewise\\fR(1)\n.PP\n" };
    format!(
        "{}\n.SH \"SEE ALSO\"\n{more}Guides, methods and reference: share/pagewise/docs of the prefix it was installed under.\n",
        page.trim_end()
    )
}

fn completions() -> Files {
    let shells = [(Shell::Bash, "pagewise.bash"), (Shell::Zsh, "_pagewise"), (Shell::Fish, "pagewise.fish")];
    shells
        .into_iter()
        .map(|(shell, name)| {
            let mut text = Vec::new();
            generate(shell, &mut shown(), "pagewise", &mut text);
            (Path::new(COMPLETIONS).join(name), text)
        })
        .collect()
}

/// The files of a folder, with their paths in the repository.
fn there(root: &Path, folder: &str) -> Files {
    let entries = fs::read_dir(root.join(folder))
        .map(|entries| entries.map(Result::unwrap).collect())
        .unwrap_or_else(|_| Vec::new());
    entries.iter().map(|entry| (Path::new(folder).join(entry.file_name()), fs::read(entry.path()).unwrap())).collect()
}

fn hold(folder: &str, said: &Files) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if std::env::var_os("PAGEWISE_BLESS").is_some() {
        let _ = fs::remove_dir_all(root.join(folder));
        fs::create_dir_all(root.join(folder)).unwrap();
        for (path, text) in said {
            fs::write(root.join(path), text).unwrap();
        }
    }
    let committed = there(&root, folder);
    let names = |files: &Files| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&committed), names(said), "`make docs` writes {folder} again");
    for (path, text) in said {
        assert!(
            committed[path] == *text,
            "{} is not what the command line says; `make docs` writes it again",
            path.display()
        );
    }
}

#[test]
fn the_manual_pages_in_the_reference_are_those_of_the_command_line() {
    hold(PAGES, &pages());
}

#[test]
fn the_completions_in_the_reference_are_those_of_the_command_line() {
    hold(COMPLETIONS, &completions());
}
