//! The reference servers on Python, each with its own environment.

use std::fs;
use std::process::Command;

use super::{Era, Plan, Server, Transport};
use crate::Result;
use crate::interop::check::{complains, once, says};
use crate::interop::install;
use crate::interop::pages::{PAGE, Pages, WORDS};
use crate::interop::site::Site;
use crate::interop::step::{ask, call};

pub(crate) const TIME: Server = Server {
    name: "time",
    kit: install::TIME,
    program: "mcp-server-time",
    transport: Transport::Stdio,
    era: Era::Modern,
    tools: &["convert_time", "get_current_time"],
    plan: time,
};

pub(crate) const GIT: Server = Server {
    name: "git",
    kit: install::GIT,
    program: "mcp-server-git",
    tools: &[
        "git_add",
        "git_branch",
        "git_checkout",
        "git_commit",
        "git_create_branch",
        "git_diff",
        "git_diff_staged",
        "git_diff_unstaged",
        "git_log",
        "git_reset",
        "git_show",
        "git_status",
    ],
    plan: git,
    ..TIME
};

pub(crate) const FETCH: Server = Server {
    name: "fetch",
    kit: install::FETCH,
    program: "mcp-server-fetch",
    tools: &["fetch"],
    plan: fetch,
    ..TIME
};

pub(crate) const SQLITE: Server = Server {
    name: "sqlite",
    kit: install::SQLITE,
    program: "mcp-server-sqlite",
    era: Era::Legacy,
    tools: &["append_insight", "create_table", "describe_table", "list_tables", "read_query", "write_query"],
    plan: sqlite,
    ..TIME
};

pub(crate) const CALCULATOR: Server = Server {
    name: "calculator",
    kit: install::CALCULATOR,
    program: "mcp-server-calculator",
    tools: &["calculate"],
    plan: calculator,
    ..SQLITE
};

fn time(_: &Site, _: &Pages) -> Result<Plan> {
    let ask = |prompt: &str, tools: &[&str]| ask(TIME.name, prompt, tools);
    let now = "get_current_time";
    let steps = vec![
        call(now, &["timezone=Asia/Tokyo"]).with([once("Asia/Tokyo"), once("+09:00")]),
        call("convert_time", &["source_timezone=Asia/Tokyo", "time=12:00", "target_timezone=Asia/Dubai"])
            .with([once("\"-5.0h\"")]),
        call(now, &["timezone=No/Where"]).exits(10).with([complains("No/Where")]),
        call(now, &["zone=UTC"]).exits(2).with([complains("timezone")]),
        ask("What time is it in Tokyo?", &[now]).with([says("+09:00")]),
        ask("What time is it in Tokyo and in Dubai?", &[now, now]).with([says("+09:00"), says("+04:00")]),
    ];
    Ok(Plan { arguments: words(&["--local-timezone", "UTC"]), steps, ..Plan::default() })
}

fn git(site: &Site, _: &Pages) -> Result<Plan> {
    let repository = site.work("repository");
    let message = "the first commit of all";
    fs::create_dir_all(&repository)?;
    let commit = ["commit", "--quiet", "--allow-empty", "--message", message];
    let before = [&["init", "--quiet"][..], &commit].map(|arguments| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env_remove("GIT_DIR");
        git.args(arguments).current_dir(&repository);
        git
    });
    let repository = repository.display().to_string();
    let path = format!("repo_path={repository}");
    let ask = |prompt: String, tool: &str| ask(GIT.name, &prompt, &[tool]);
    let steps = vec![
        call("git_log", &[&path, "max_count=1"]).with([once(message)]),
        call("git_status", &[&path]).with([once("nothing to commit")]),
        call("git_show", &[&path, "revision=HEAD"]).with([says(message)]),
        call("git_status", &["repo_path=/nowhere"]).exits(10).with([complains("/nowhere")]),
        call("git_show", &[&path, "revision=nothing"]).exits(10).with([complains("nothing")]),
        ask(format!("Show the commit log of {repository}"), "git_log").with([says(message)]),
        ask(format!("What is the status of the repository {repository}?"), "git_status")
            .with([says("nothing to commit")]),
    ];
    let arguments = vec!["--repository".to_owned(), repository];
    let broken = Some((words(&["--repository", "/nowhere"]), "/nowhere does not exist"));
    Ok(Plan { before: before.into(), arguments, steps, broken, ..Plan::default() })
}

fn fetch(_: &Site, pages: &Pages) -> Result<Plan> {
    let url = |path: &str| format!("url={}", pages.url(path));
    let steps = vec![
        call("fetch", &[&url(PAGE)]).with([once(WORDS)]),
        call("fetch", &[&url(PAGE), "max_length=8"]).with([says("start_index"), says("the moon")]),
        call("fetch", &[&url("/none")]).exits(10).with([complains("404")]),
        call("fetch", &[&url(PAGE), "max_length=0"]).exits(2).with([complains("max_length")]),
        ask(FETCH.name, &format!("Fetch {}", pages.url(PAGE)), &["fetch"]).with([says(WORDS)]),
    ];
    let arguments = words(&["--ignore-robots-txt", "--allow-private-ips"]);
    Ok(Plan { arguments, steps, ..Plan::default() })
}

fn sqlite(site: &Site, _: &Pages) -> Result<Plan> {
    let file = site.work("moons.db").display().to_string();
    let ask = |prompt: &str, tool: &str| ask(SQLITE.name, prompt, &[tool]);
    let steps = vec![
        call("create_table", &["query=CREATE TABLE moons (name TEXT, planet TEXT)"]).with([says("created")]),
        call("write_query", &["query=INSERT INTO moons VALUES ('Io', 'Jupiter')"])
            .with([once("'affected_rows': 1")]),
        call("read_query", &["query=SELECT name FROM moons"]).with([once("[{'name': 'Io'}]")]),
        call("describe_table", &["table_name=moons"]).with([once("'planet'")]),
        // This one says an error as if it were an answer.
        call("read_query", &["query=SELECT colour FROM moons"]).with([once("no such column: colour")]),
        call("read_query", &[]).exits(2).with([complains("query")]),
        ask("List the tables of the database", "list_tables").with([says("moons")]),
        ask("Execute the query \"SELECT name FROM moons\"", "read_query").with([says("'Io'")]),
    ];
    Ok(Plan { arguments: vec!["--db-path".to_owned(), file], steps, ..Plan::default() })
}

fn calculator(_: &Site, _: &Pages) -> Result<Plan> {
    let steps = vec![
        // As text, and as structured content around it.
        call("calculate", &["expression=2 * (3 + 4)"]).with([once("14")]),
        call("calculate", &["expression=1 / 0"]).exits(10).with([complains("division by zero")]),
        call("calculate", &[]).exits(2).with([complains("expression")]),
        ask(CALCULATOR.name, "@calculator.calculate expression=\"7 * 6\"", &["calculate"]).with([says("42")]),
    ];
    Ok(Plan { steps, ..Plan::default() })
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
