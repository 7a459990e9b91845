//! `trial status --watch` where it cannot fill a screen.

use assert_cmd::Command;

#[test]
fn without_a_terminal_the_screen_is_refused_and_the_text_is_named() {
    let ended =
        Command::cargo_bin("pagewise").unwrap().args(["trial", "status", "--watch", "x.trial"]).output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(2), "{said}");
    assert!(said.contains("no terminal") && said.contains("leave --watch out"), "{said}");
    assert!(ended.stdout.is_empty());
}
