//! `spark conf`: what it prints is what `spark-submit` and the plugin take.

use assert_cmd::Command;
use std::fs;
use std::path::Path;

fn conf(words: &[&str]) -> Command {
    let mut command = Command::cargo_bin("pagewise").unwrap();
    command.env_remove("SPARK_HOME").args(["spark", "conf"]).args(words);
    command
}

fn printed(words: &[&str]) -> String {
    let output = conf(words).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

const STORAGE: [&str; 8] = ["--policy", "storage", "--heap", "20g", "--spark", "4.3.0", "--jdk", "25.0.3"];

#[test]
fn a_shell_takes_the_lines_as_words_and_the_guide_shows_them() {
    let text = printed(&STORAGE);
    let words = shlex::split(&text.replace("\\\n", " ")).unwrap();
    assert!(words.iter().step_by(2).all(|word| word == "--conf"), "{words:?}");
    let options = "spark.executor.extraJavaOptions=-Xms20g -XX:MaxNewSize=8g --enable-native-access=ALL-UNNAMED";
    assert_eq!(words.last().unwrap(), options);
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/spark-plugin.md");
    assert!(fs::read_to_string(guide).unwrap().contains(&text), "docs/guide/spark-plugin.md does not show:\n{text}");
}

/// The plugin refuses a name that it does not know, and then does nothing: its own list is held to what is printed.
#[test]
fn every_setting_of_the_plugin_is_one_that_it_knows() {
    let settings =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../jvm/spark-plugin/src/main/java/pagewise/spark/Settings.java");
    let known = fs::read_to_string(settings).unwrap();
    for policy in ["none", "storage", "execution", "both"] {
        let words = ["--policy", policy, "--heap", "2g", "--spark", "4.3.0", "--jdk", "17", "--format", "properties"];
        let text = printed(&words);
        let own: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("spark.pagewise.")).collect();
        assert_eq!(own.len(), 2, "{text}");
        for (name, value) in own.into_iter().filter_map(|line| line.split_once(' ')) {
            assert!(known.contains(&format!("PREFIX + \"{name}\"")), "{name} is not in Settings.java");
            assert!(known.contains(&format!("\"{value}\"")), "{value} is not in Settings.java");
        }
    }
}

#[test]
fn a_spark_and_a_java_are_read_from_their_folders() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("jars")).unwrap();
    fs::write(folder.path().join("jars/spark-core_2.12-3.5.6.jar"), "").unwrap();
    fs::write(folder.path().join("release"), "JAVA_VERSION=\"17.0.15\"\n").unwrap();
    let here = folder.path().to_str().unwrap();
    let text = printed(&["--policy", "entire", "--heap", "1g", "--spark", here, "--jdk", here, "--json"]);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((json["spark"].as_str(), json["java"].as_str()), (Some("3.5.6"), Some("17.0.15")));
    assert_eq!(json["settings"][0]["name"], "spark.executor.memory");
}

#[test]
fn what_cannot_be_is_said_with_what_can() {
    let said = |words: &[&str]| {
        let output = conf(words).output().unwrap();
        assert_ne!(output.status.code(), Some(0));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(said(&["--policy", "storage", "--heap", "2g", "--jdk", "17"]).contains("--spark 4.3.0"));
    assert!(said(&["--policy", "storage", "--heap", "2g", "--jdk", "17", "--spark", "four"]).contains("no version"));
    let old = ["--policy", "both", "--heap", "2g", "--spark", "3.5.6", "--jdk", "1.8.0_402"];
    assert!(said(&old).contains("needs Java 17"));
    let nothing = tempfile::tempdir().unwrap();
    let home = nothing.path().to_str().unwrap();
    assert!(said(&["--policy", "storage", "--heap", "2g", "--jdk", "17", "--spark", home]).contains("no Spark in"));
}
