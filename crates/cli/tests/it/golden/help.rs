//! `--help` of every command.

use super::is_golden;
use crate::env::TestEnv;

/// Appends the help of a command and of all commands below it.
fn collect(env: &TestEnv, command: &[String], all: &mut String, count: &mut usize) {
    let args = command.iter().map(String::as_str).chain(["--help"]).collect::<Vec<_>>();
    let ran = env.run(&args).exits(0);
    assert_eq!(ran.stderr, "", "{command:?}");
    *count += 1;
    let title = ["converse"].into_iter().chain(args).collect::<Vec<_>>().join(" ");
    all.push_str(&format!("{}\n$ {title}\n\n{}\n", "=".repeat(100), ran.stdout));
    for name in subcommands(&ran.stdout) {
        collect(env, &[command, &[name]].concat(), all, count);
    }
}

/// Returns the names under `Commands:`; names are indented by two spaces, their descriptions by more.
fn subcommands(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| line.is_empty() || line.starts_with(' '));
    let names = lines.filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')));
    let names = names.filter_map(|line| line.split_whitespace().next().map(str::to_owned));
    names.filter(|name| name != "help").collect()
}

#[test]
fn help_of_every_command() {
    let (mut all, mut count) = (String::new(), 0);
    collect(&TestEnv::new(), &[], &mut all, &mut count);
    assert!(count > 30, "only {count} commands were found");
    is_golden("help", &all);
}
