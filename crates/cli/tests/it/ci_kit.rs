//! The GitHub action and the pre-commit hook, as far as they can be run without their hosts.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::env::{Ran, TestEnv, wait};

const SOUND: &str = "[ensemble]\nname = \"sound\"\ndescription = \"d\"\n[[invokers]]\nname = \"add\"\n\
                     description = \"d\"\nbuiltin = \"calculator\"\n[invokers.arguments]\ntype = \"object\"\n\
                     properties.expression.type = \"string\"\n";
const BROKEN: &str = "[ensemble]\nname = \"broken\"\ntimout = 3\n";

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn text(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap()
}

fn project() -> TestEnv {
    let env = TestEnv::new();
    env.write("work/good/sound.toml", SOUND);
    env.write("work/bad/broken.toml", BROKEN);
    env
}

/// Runs the step of the action as the runner does: the inputs in variables, those that are not given by their defaults.
fn action(env: &TestEnv, inputs: &[(&str, &str)]) -> Ran {
    let action = text("action.yml");
    let line = action.lines().find_map(|line| line.trim().strip_prefix("run: ")).unwrap();
    let environment = env.command(["unused"]);
    let mut bash = Command::new("bash");
    bash.args(["-c", line]).env_clear().current_dir(env.path("work"));
    bash.envs(environment.get_envs().filter_map(|(name, value)| Some((name, value?))));
    bash.env("GITHUB_ACTION_PATH", root()).env("GITHUB_OUTPUT", env.path("output"));
    bash.env("CONVERSE_BINARY", env!("CARGO_BIN_EXE_converse"));
    for (name, value) in
        defaults(&action).into_iter().chain(inputs.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())))
    {
        if name != "binary" || !value.is_empty() {
            bash.env(format!("CONVERSE_{}", name.to_uppercase()), value);
        }
    }
    bash.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    wait(bash.spawn().unwrap())
}

/// The inputs of the action and their defaults.
fn defaults(action: &str) -> Vec<(String, String)> {
    let inputs = action.split("\ninputs:\n").nth(1).unwrap().split("\noutputs:\n").next().unwrap();
    let mut found: Vec<(String, String)> = Vec::new();
    for line in inputs.lines() {
        let name = line
            .strip_prefix("  ")
            .filter(|rest| !rest.starts_with(' '))
            .and_then(|rest| rest.strip_suffix(':'));
        if let Some(name) = name {
            found.push((name.to_owned(), String::new()));
        }
        if let (Some(value), Some(last)) = (line.trim().strip_prefix("default: "), found.last_mut()) {
            last.1 = value.trim_matches('"').to_owned();
        }
    }
    found
}

#[test]
fn the_action_passes_everything_on_in_variables() {
    let action = text("action.yml");
    let script = text("xtask/ci/check.sh");
    let inputs = defaults(&action);
    assert_eq!(inputs.len(), 7, "{inputs:?}");
    for (name, _) in &inputs {
        let variable = format!("CONVERSE_{}", name.to_uppercase());
        assert!(action.contains(&format!("        {variable}: ${{{{ inputs.{name} }}}}\n")), "{name}");
        assert!(script.contains(&variable), "{name}");
    }
    // An expression anywhere else would become part of a script.
    for line in action.lines().filter(|line| line.contains("${{")) {
        let (key, _) = line.trim().split_once(": ").unwrap();
        assert!(key.starts_with("CONVERSE_") || key == "value", "{line}");
    }
    assert!(action.contains("  using: composite\n") && action.contains("      shell: bash\n"));
    assert!(!script.contains("eval ") && script.starts_with("#!/usr/bin/env bash\n"), "{script}");
}

#[test]
fn the_action_fails_as_the_check_does_and_says_where() {
    let env = project();
    let ran = action(&env, &[("directory", "good")]).exits(0);
    assert_eq!(ran.stdout, "", "nothing to annotate");
    let ran = action(&env, &[("directory", "good\nbad")]).exits(3);
    assert!(
        ran.stdout.contains("::error file=bad/broken.toml,line=3,col=1,title=unknown-key::"),
        "{}",
        ran.stdout
    );
    action(&env, &[("directory", "nowhere")]).exits(3);
    let ran = action(&env, &[("directory", "good"), ("provider", "openai"), ("format", "text")]).exits(0);
    assert!(ran.stdout.contains("0 errors, 0 warnings"), "{}", ran.stdout);
    for wrong in [("locked", "maybe"), ("format", "prose"), ("provider", "nobody")] {
        action(&env, &[("directory", "good"), wrong]).exits(2);
    }
}

#[test]
fn a_pull_request_that_breaks_the_settings_is_not_green() {
    let env = project();
    env.write("work/ensembles/sound.toml", SOUND);
    env.write("work/converse.toml", "[permissions]\ndeny = [\"sound.add\"]\n");
    action(&env, &[]).exits(0);
    env.write("work/converse.toml", "[permissions]\ndney = [\"sound.add\"]\n");
    let ran = action(&env, &[]).exits(3);
    assert!(ran.stdout.contains("::error file=converse.toml,line=2,"), "{}", ran.stdout);
}

#[test]
fn a_report_goes_into_a_file_also_if_the_check_fails() {
    let env = project();
    let inputs = [("directory", "bad"), ("format", "sarif"), ("output", "report.sarif")];
    let ran = action(&env, &inputs).exits(3);
    assert_eq!(ran.stdout, "");
    let report = std::fs::read_to_string(env.path("work/report.sarif")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let rules = report["runs"][0]["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["ruleId"].as_str().unwrap());
    assert!(rules.into_iter().any(|rule| rule == "unknown-key"), "{report}");
    assert_eq!(std::fs::read_to_string(env.path("output")).unwrap(), "report=report.sarif\n");
}

#[test]
fn no_input_is_read_as_a_command() {
    let env = project();
    for value in [
        "$(touch pwned)",
        "`touch pwned`",
        "good; touch pwned",
        "good\" && touch pwned && \"",
        "--help",
        "-f\ntext",
    ] {
        for input in ["directory", "provider", "locked", "format", "output", "arguments"] {
            if input == "arguments" && value.starts_with('-') {
                continue;
            }
            let inputs = if input == "directory" {
                vec![(input, value)]
            } else {
                vec![("directory", "good"), (input, value)]
            };
            let ran = action(&env, &inputs);
            assert!(!env.path("work/pwned").exists(), "{input} = {value}");
            assert!(!ran.stdout.contains("Usage:"), "{input} = {value}: {}", ran.stdout);
        }
    }
    let ran = action(&env, &[("directory", "good"), ("arguments", "--require-env\n\n--format=text")]);
    // The later word wins, or there is a usage error: either way it was one word.
    assert!(matches!(ran.code, 0 | 2), "{ran:?}");
}

/// A binary that is not named is looked for on the PATH.
#[test]
fn the_hook_runs_the_check_of_the_directory_that_it_watches() {
    let hooks = text(".pre-commit-hooks.yaml");
    let value = |key: &str| {
        let line = hooks.lines().find_map(|line| line.trim_start_matches("- ").trim().strip_prefix(key));
        line.unwrap_or_else(|| panic!("{key}")).trim().to_owned()
    };
    assert_eq!((value("id:").as_str(), value("language:").as_str()), ("converse-ensembles-check", "system"));
    assert_eq!(
        (value("files:").as_str(), value("pass_filenames:").as_str()),
        (r"^(ensembles/|converse\.toml$)", "false")
    );
    let words = format!("{} {}", value("entry:"), value("args:").trim_matches(['[', ']']));
    let env = TestEnv::new();
    let bin: PathBuf = env.path("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_converse"), bin.join("converse")).unwrap();
    let line = format!("PATH={}:$PATH {words}", bin.display());
    env.write("work/ensembles/sound.toml", SOUND);
    env.shell(&line).exits(0);
    env.write("work/ensembles/broken.toml", BROKEN);
    let ran = env.shell(&line).exits(3);
    assert!(ran.stdout.contains("ensembles/broken.toml:3:1"), "{}", ran.stdout);
    std::fs::remove_file(env.path("work/ensembles/broken.toml")).unwrap();
    env.write("work/converse.toml", "[permissions]\ndney = [\"sound.add\"]\n");
    let ran = env.shell(&line).exits(3);
    assert!(ran.stdout.contains("converse.toml:2:1"), "{}", ran.stdout);
}
