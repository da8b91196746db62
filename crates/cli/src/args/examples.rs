//! The examples below the help of each command. A test parses each of them.

pub(super) const CONVERSE: &str = r#"Examples:
  converse "What is 15% of 2500, and what time is it in Tokyo?"
  converse -c

Guide: docs/guides/getting-started.md"#;

pub(super) const ASK: &str = r#"Examples:
  converse ask -m ollama/qwen3 -a report.pdf "Summarize this in three lines"
  git diff | converse ask "Write a commit message" -o json | jq -r .answer

Guide: docs/guides/scripts.md"#;

pub(super) const BATCH: &str = r#"Examples:
  converse batch questions.jsonl -o answers.jsonl
  converse batch reviews.jsonl --template "Sum up: {{text}}" --max-cost 5 -j 16 -o out.jsonl
  converse batch reviews.jsonl -m anthropic/claude-sonnet-4-6 --provider-batch -o out.jsonl

Guide: docs/guides/batch.md"#;

pub(super) const EVAL: &str = "Examples:
  converse eval suite.toml
  converse eval suite.toml -m anthropic/claude-sonnet-4-6 -m understudy --repeat 5 --record cassettes
  converse eval suite.toml --replay cassettes --baseline baseline.json --junit eval.xml

Guide: docs/guides/eval.md";

pub(super) const REPL: &str = "Examples:
  converse
  converse -m anthropic/claude-sonnet-4-6 -e git

Guide: docs/guides/repl.md";

pub(super) const SESSIONS_LIST: &str = "Examples:
  converse sessions list -n 10
  converse sessions list --tag work --json

Guide: docs/guides/sessions.md";

pub(super) const SESSIONS_SHOW: &str = "Examples:
  converse sessions show last
  converse sessions show last --full | less

Guide: docs/guides/sessions.md";

pub(super) const SESSIONS_SEARCH: &str = r#"Examples:
  converse sessions search lockfile drift
  converse sessions search "exit code" --in assistant

Guide: docs/guides/sessions.md"#;

pub(super) const SESSIONS_RESUME: &str = "Examples:
  converse sessions resume last

Guide: docs/guides/sessions.md";

pub(super) const SESSIONS_FORK: &str = r#"Examples:
  converse sessions fork last --at 4 --name "second try"

Guide: docs/guides/sessions.md"#;

pub(super) const SESSIONS_RENAME: &str = r#"Examples:
  converse sessions rename last "release notes"

Guide: docs/guides/sessions.md"#;

pub(super) const SESSIONS_TAG: &str = "Examples:
  converse sessions tag last work -draft

Guide: docs/guides/sessions.md";

pub(super) const SESSIONS_EXPORT: &str = "Examples:
  converse sessions export last -o talk.html
  converse sessions export last --format json > talk.json

Guide: docs/guides/sessions.md";

pub(super) const SESSIONS_IMPORT: &str = "Examples:
  converse sessions import talk.json

Guide: docs/guides/sessions.md";

pub(super) const SESSIONS_DELETE: &str = "Examples:
  converse sessions delete last

Guide: docs/guides/sessions.md";

pub(super) const SESSIONS_CHECK: &str = "Examples:
  converse sessions check
  converse sessions check last --repair

Guide: docs/guides/sessions.md";

pub(super) const SESSIONS_GC: &str = "Examples:
  converse sessions gc --older-than 90d --dry-run
  converse sessions gc --empty --yes

Guide: docs/guides/sessions.md";

pub(super) const SESSIONS_MIGRATE: &str = "Examples:
  converse sessions migrate --to postgres://me@db.example/converse
  converse sessions migrate --from postgres://me@db.example/converse --to files

Guide: docs/guides/postgres.md";

pub(super) const STATS: &str = "Examples:
  converse stats --days 7
  converse stats --html -o stats.html

Guide: docs/guides/stats.md";

pub(super) const LIST: &str = r#"Examples:
  converse ensembles list --tools
  converse ensembles list --json | jq -r ".[].name"

Guide: docs/guides/ensembles.md"#;

pub(super) const SHOW: &str = "Examples:
  converse ensembles show io
  converse ensembles show my-server --connect

Guide: docs/guides/ensembles.md";

pub(super) const CHECK: &str = "Examples:
  converse ensembles check --provider openai,gemini
  converse ensembles check --locked --format github

Guide: docs/guides/ci.md";

pub(super) const LOCK: &str = "Examples:
  converse ensembles lock
  converse ensembles lock my-server --accept

Guide: docs/guides/lockfile.md";

pub(super) const TEST: &str = "Examples:
  converse ensembles test
  converse ensembles test io.read_file --format junit

Guide: docs/guides/testing-tools.md";

pub(super) const SCHEMA: &str = "Examples:
  converse ensembles schema > ensemble.schema.json

Reference: docs/reference/descriptors.md";

pub(super) const IMPORT: &str = "Examples:
  converse ensembles import ~/.claude.json
  converse ensembles import .vscode/mcp.json --dry-run
  converse ensembles import weather.mcpb

Guide: docs/guides/migrating.md";

pub(super) const IMPORT_OPENAPI: &str = "Examples:
  converse ensembles import openapi petstore.yaml --tag pets
  converse ensembles import openapi https://api.example.com/openapi.json --name example --dry-run

Guide: docs/guides/openapi.md";

pub(super) const EXPORT: &str = "Examples:
  converse ensembles export > .mcp.json
  converse ensembles export --client codex --write

Guide: docs/guides/migrating.md";

pub(super) const INIT: &str = r#"Examples:
  converse ensembles init time --server -- uvx mcp-server-time
  converse ensembles init count --command -- wc -w -- "{file}"

Guide: docs/guides/tools.md"#;

pub(super) const TRUST: &str = "Examples:
  converse ensembles trust
  converse ensembles trust --revoke

Reference: docs/reference/descriptors.md";

pub(super) const LOGIN: &str = "Examples:
  converse ensembles login my-server
  converse ensembles login my-server --scope repo --no-browser

Guide: docs/guides/mcp.md";

pub(super) const LOGOUT: &str = "Examples:
  converse ensembles logout my-server

Guide: docs/guides/mcp.md";

pub(super) const CALL: &str = r#"Examples:
  converse ensembles call essentials.calculate expression="2500 * 15%"
  converse ensembles call io.read_file '{"path": "README.md"}' --json

Guide: docs/guides/testing-tools.md"#;

pub(super) const EXPLAIN: &str = r#"Examples:
  converse explain io.write_file path=todo.txt content=milk
  converse explain git.log --unattended --deny "git.*"
  converse explain web.fetch url=https://example.org --session last

Reference: docs/reference/settings.md"#;

pub(super) const APPROVALS_LIST: &str = "Examples:
  converse approvals list

Reference: docs/reference/settings.md";

pub(super) const APPROVALS_REVOKE: &str = "Examples:
  converse approvals revoke 2 3

Reference: docs/reference/settings.md";

pub(super) const PROBE: &str = "Examples:
  converse mcp probe -- npx -y @modelcontextprotocol/server-everything
  converse mcp probe https://mcp.example.com/mcp --oauth browser

Guide: docs/guides/mcp.md";

pub(super) const WEB: &str = "Examples:
  converse web
  converse web --no-open --port 8080

Guide: docs/guides/web-panel.md";

pub(super) const SERVE: &str = "Examples:
  converse serve -e git
  CONVERSE_SERVE_TOKEN=… converse serve --http 127.0.0.1:8080

Guide: docs/guides/gateway.md";

pub(super) const DOCTOR: &str = "Examples:
  converse doctor
  converse doctor --offline --json

Guide: docs/guides/getting-started.md";

pub(super) const MODELS_LIST: &str = "Examples:
  converse models list
  converse models list openrouter --refresh

Guide: docs/guides/getting-started.md";

pub(super) const MODELS_SHOW: &str = "Examples:
  converse models show anthropic/claude-sonnet-4-6

Guide: docs/guides/getting-started.md";

pub(super) const VERIFY: &str = "Examples:
  converse audit verify
  converse audit verify old.jsonl --json

Reference: docs/reference/audit.md";

pub(super) const COMPLETIONS: &str = "Examples:
  converse completions bash > ~/.local/share/bash-completion/completions/converse

Guide: docs/guides/getting-started.md";

pub(super) const MAN: &str = "Examples:
  converse man ~/.local/share/man/man1
  converse man | man -l -

Guide: docs/guides/getting-started.md";

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory as _};

    use super::super::{Cli, parsed};

    /// Calls `each` with the lines of the examples of a command and of all commands below it.
    fn examples(command: &Command, each: &mut impl FnMut(&str)) {
        let help = command.get_after_help().map(ToString::to_string);
        if !command.has_subcommands() || command.get_name() == "converse" {
            let help = help.unwrap_or_else(|| panic!("{} has no examples", command.get_name()));
            help.lines().filter_map(|line| line.strip_prefix("  ")).for_each(&mut *each);
        }
        command.get_subcommands().for_each(|command| examples(command, each));
    }

    #[test]
    fn every_example_is_a_valid_command_line() {
        let mut count = 0;
        examples(&Cli::command(), &mut |line| {
            let words = shlex::split(line).unwrap_or_else(|| panic!("{line}"));
            let begin = words.iter().position(|word| word == "converse").unwrap_or_else(|| panic!("{line}"));
            let words = words[begin..].iter().take_while(|word| !matches!(word.as_str(), "|" | ">"));
            let words: Vec<std::ffi::OsString> = words.map(Into::into).collect();
            assert!(parsed(&words).is_ok(), "{line}: {:?}", parsed(&words).map(drop));
            count += 1;
        });
        assert!(count > 40, "only {count} examples");
    }
}
