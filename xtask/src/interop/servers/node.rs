//! The other reference servers on Node: files, a knowledge graph, thoughts.

use std::fs;

use super::{Era, Plan, Server, Transport};
use crate::Result;
use crate::interop::check::{Check, complains, once, says};
use crate::interop::install::NPM;
use crate::interop::pages::{Pages, WORDS};
use crate::interop::site::Site;
use crate::interop::step::{Step, ask, call};

pub(crate) const FILESYSTEM: Server = Server {
    name: "filesystem",
    kit: NPM,
    program: "mcp-server-filesystem",
    transport: Transport::Stdio,
    era: Era::Legacy,
    tools: &[
        "create_directory",
        "directory_tree",
        "edit_file",
        "get_file_info",
        "list_allowed_directories",
        "list_directory",
        "list_directory_with_sizes",
        "move_file",
        "read_file",
        "read_media_file",
        "read_multiple_files",
        "read_text_file",
        "search_files",
        "write_file",
    ],
    plan: filesystem,
};

/// The same, told by its client where it may go.
pub(crate) const ROOTS: Server = Server { name: "filesystem-roots", plan: roots, ..FILESYSTEM };

pub(crate) const MEMORY: Server = Server {
    name: "memory",
    program: "mcp-server-memory",
    tools: &[
        "add_observations",
        "create_entities",
        "create_relations",
        "delete_entities",
        "delete_observations",
        "delete_relations",
        "open_nodes",
        "read_graph",
        "search_nodes",
    ],
    plan: memory,
    ..FILESYSTEM
};

pub(crate) const THINKING: Server = Server {
    name: "thinking",
    program: "mcp-server-sequential-thinking",
    tools: &["sequentialthinking"],
    plan: thinking,
    ..FILESYSTEM
};

fn filesystem(site: &Site, _: &Pages) -> Result<Plan> {
    let files = site.work("files");
    fs::create_dir_all(&files)?;
    fs::write(files.join("moon.txt"), format!("{WORDS}\n"))?;
    let (files, moon) = (files.display().to_string(), files.join("moon.txt").display().to_string());
    let path = format!("path={moon}");
    let new = format!("path={files}/new.txt");
    let ask = |prompt: String, tool: &str| ask(FILESYSTEM.name, &prompt, &[tool]);
    let steps = vec![
        // Its results are there as text and again inside structured content.
        call("read_text_file", &[&path]).with([once(WORDS)]),
        call("read_text_file", &[&path]).json().with([once(WORDS)]),
        call("list_directory", &[&format!("path={files}")]).with([once("[FILE] moon.txt")]),
        call("write_file", &[&new, "content=5"]).with([says("new.txt")]),
        call("read_multiple_files", &[&format!(r#"{{"paths": ["{files}/new.txt", "{moon}"]}}"#)])
            .with([says("new.txt"), once(WORDS)]),
        call("read_media_file", &[&path]).with([says("moon.txt")]),
        call("read_text_file", &["path=/etc/passwd"])
            .exits(10)
            .with([complains("outside allowed directories")]),
        call("read_text_file", &[]).exits(2).with([complains("path")]),
        ask(format!("Read the text file {moon}"), "read_text_file").with([says(WORDS)]),
        ask(format!("List the directory {files}"), "list_directory").with([says("moon.txt")]),
    ];
    let broken = Some((vec!["/nowhere".to_owned()], "Cannot access directory /nowhere"));
    Ok(Plan { arguments: vec![files], steps, broken, ..Plan::default() })
}

/// Roots take the place of the directories it was started with.
fn roots(site: &Site, _: &Pages) -> Result<Plan> {
    let [told, started] = ["told", "started"].map(|name| site.work(name));
    for dir in [&told, &started] {
        fs::create_dir_all(dir)?;
        fs::write(dir.join("moon.txt"), format!("{WORDS}\n"))?;
    }
    let [told, started] = [told, started].map(|dir| dir.display().to_string());
    let [inside, outside] = [&told, &started].map(|dir| format!("path={dir}/moon.txt"));
    let steps: Vec<Step> = vec![
        call("list_allowed_directories", &[]).with([says(&told), Check::Lacks(started.clone())]),
        call("read_text_file", &[&inside]).with([once(WORDS)]),
        call("read_text_file", &[&outside]).exits(10).with([complains("outside allowed directories")]),
        ask(ROOTS.name, &format!("Read the text file {told}/moon.txt"), &["read_text_file"])
            .with([says(WORDS)]),
    ];
    // It asks for them once it has begun to take calls.
    let steps = steps.into_iter().map(Step::settles).collect();
    Ok(Plan { arguments: vec![started], grants: "roots = [\"told\"]\n", steps, ..Plan::default() })
}

fn memory(site: &Site, _: &Pages) -> Result<Plan> {
    let file = site.work("memory.jsonl").display().to_string();
    let ada = r#"{"name": "Ada", "entityType": "person", "observations": ["wrote programs"]}"#;
    let ask = |prompt: &str, tool: &str| ask(MEMORY.name, prompt, &[tool]);
    let steps = vec![
        call("create_entities", &[&format!(r#"{{"entities": [{ada}]}}"#)]).with([once("wrote programs")]),
        call("create_entities", &[&format!("entities=[{}]", ada.replace("Ada", "Bob"))]).with([once("Bob")]),
        call("read_graph", &[]).with([once("Ada"), once("Bob"), once("\"relations\"")]),
        call("search_nodes", &["query=Ada"]).with([once("wrote programs")]),
        // A tool that says of itself that it only reads is asked for like any other.
        call("read_graph", &[]).unasked().exits(8).with([complains("approval")]),
        call("add_observations", &[r#"observations=[{"entityName": "Eve", "contents": ["x"]}]"#])
            .exits(10)
            .with([complains("Eve")]),
        ask("Read the knowledge graph", "read_graph").with([says("wrote programs")]),
        ask("Search the knowledge graph for \"Ada\"", "search_nodes").with([says("wrote programs")]),
    ];
    Ok(Plan { environment: vec![("MEMORY_FILE_PATH", file)], steps, ..Plan::default() })
}

fn thinking(_: &Site, _: &Pages) -> Result<Plan> {
    let thought = ["thought=one", "nextThoughtNeeded=false", "thoughtNumber=1", "totalThoughts=1"];
    // Four arguments that no plain sentence says.
    let prompt = "@thinking.sequentialthinking thought=\"one\" nextThoughtNeeded=false thoughtNumber=1 totalThoughts=1";
    let steps = vec![
        call("sequentialthinking", &thought).with([once("thoughtHistoryLength")]),
        call("sequentialthinking", &["thought=one"]).exits(2).with([complains("thoughtNumber")]),
        ask(THINKING.name, prompt, &["sequentialthinking"]).with([says("thoughtHistoryLength")]),
    ];
    Ok(Plan { steps, ..Plan::default() })
}
