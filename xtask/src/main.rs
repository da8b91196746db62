//! Commands for the workspace, run as `cargo xtask COMMAND`: benchmarks, generated pages, suites around other programs.

#![allow(
    clippy::disallowed_methods,
    reason = "a chore is a program of its own: it reads its environment itself"
)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a chore speaks to who runs it")]

mod bench;
mod built;
mod child;
mod figures;
mod request;
mod scenario;
mod serving;
mod stub;

use std::process::ExitCode;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const USAGE: &str = "\
usage: cargo xtask COMMAND

measure:
  bench [--json] [--rounds N] [--binary PATH] [--only curl|instructions|servers|check|decode|sessions|search|soak|genai|serve]
                               measure the program; exit 1 if a gate fails
  bench --only gateways [--rounds N] [--seconds S] [--binary PATH]
                               measure `serve` beside the gateways of others
  bench --only growth [--of UNIT]... [--most N] [--runs N] [--database N] [--binary PATH]
                               measure how costs grow with messages, tools, servers, descriptors and sessions
  bench --only typing [--rounds N] [--keys N] [--binary PATH]
                               measure the terminal: start to prompt with slow servers, key to echo while an answer streams
  front [--aichat PATH]        measure the HTTP front beside LiteLLM's proxy and aichat's server
  dist                         build the program as it is published, its functions in the order of use; prints where it is
  count [COMMIT]               count lines, files, crates and packages; prints a Markdown table
  size [--binary PATH] [--top N]
                               list what the program is made of, by crate and by function

generate:
  codegen                      write the generated pages of docs/reference
  screenshots [--binary PATH] [--only NAME]... [--check]
                               draw the pictures of docs/images; with --check, exit 1 if one differs

check (exit 1 if something is wrong; each takes --help):
  check [BASE]                 format, lints and unit tests of the crates that changed since main
  agentdojo                    replay the tasks of AgentDojo through the gate, without a model
  canary                       run the end-to-end tests with keys and search for the keys
  conformance                  run MCP's conformance suite against the client and the gateway
  crash [--store postgres]     kill the program at every write, or hit it, its database or the connection at a statement
  durable [--nodes 3] [--tau2] kill workers of a Restate server, and its nodes in turn, while conversations run; with
                               `--calm`, measure them with workers and without, in both stores
  fuzz                         drive the decoders with libFuzzer
  interop                      use MCP servers of others, and point clients of others at the gateway
  openai                       point OpenAI's libraries and other clients at the HTTP front
  openapi                      import documents of others, and call the tools against Prism's servers of them
  panel                        drive a browser through the web panel
  real                         use llama.cpp's server with a model of random weights
  replicas [--upstreams]       restart gateways behind nginx, or servers behind a gateway, under load; `--turns N`: kill
                               one of N servers with one database, or `--orderly` restart it; `--stores`: compare
                               turns in a database and in files
  terminals                    replay sequences in the terminal on an emulator of others
  validators                   give what the program writes to validators of others
  wire                         hold requests against the types of the vendors' clients";

fn main() -> ExitCode {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        // Before anything that needs memory: a measured child's peak cannot read below its parent's.
        [child::HELPER, account, command @ ..] => return child::helper(account, command),
        ["bench", "--only", name @ ("gateways" | "growth" | "typing"), options @ ..] => {
            script(&format!("{name}/run.py"), options)
        }
        ["bench", options @ ..] => bench::run(options),
        ["dist"] => bench::order::program().map(|program| {
            println!("{}", program.display());
            ExitCode::SUCCESS
        }),
        [name @ ("check" | "count" | "size"), options @ ..] => script(&format!("{name}.py"), options),
        ["codegen"] => codegen().map(|()| ExitCode::SUCCESS),
        [name, options @ ..] if scripts().join(name).join("run.py").is_file() => {
            script(&format!("{name}/run.py"), options)
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::from(2)
    })
}

/// The directory of the Python scripts. Each suite around programs of others is a `run.py` in a directory of its name.
fn scripts() -> std::path::PathBuf {
    built::root().join("xtask")
}

/// Runs a script with the options of the command, and ends as it does.
fn script(path: &str, options: &[&str]) -> Result<ExitCode> {
    let mut python = std::process::Command::new("python3");
    // What they share is in `kit.py`.
    python.env("PYTHONPATH", scripts()).env("PYTHONDONTWRITEBYTECODE", "1");
    let code = python.arg(scripts().join(path)).args(options).status()?.code();
    Ok(ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(2)))
}

/// Writes the pages of the reference that are made from the code, and the packed descriptors of the binary. A test of the
/// crate that owns one fails when it is out of date.
fn codegen() -> Result<()> {
    let reference = built::root().join("docs/reference");
    std::fs::create_dir_all(&reference)?;
    let schema = converse_config::schema_text;
    for (name, page) in [
        ("codes.md", converse_config::codes_markdown()),
        ("ensemble.schema.json", schema(&converse_config::ensemble_schema())),
        ("invoker.schema.json", schema(&converse_config::invoker_schema())),
    ] {
        std::fs::write(reference.join(name), page)?;
        println!("docs/reference/{name}");
    }
    let packed = converse_config::packed_shipped()
        .ok_or("a file in ensembles/ has an error, or what has no packed form")?;
    std::fs::write(built::root().join("crates/config/src/shipped.packed"), packed)?;
    println!("crates/config/src/shipped.packed");
    Ok(())
}
