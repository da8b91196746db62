//! `ensembles check`: what providers reject, what is unpinned or secret, and all forms of the report.

use serde_json::{Value, json};

use crate::env::{Ran, TestEnv};
use crate::fake_server::FakeServer;
use crate::http::{Answer, serve};

const SECRET: &str = "ghp_a8Kd02LqZx7Vb3Nm5Tp9Rw1Yc4Ue6Hs0Jf2Gk";
const PROVIDERS: &str = "--provider=anthropic,openai,gemini";

/// A command with a schema that each provider has something against.
pub(crate) fn project() -> TestEnv {
    let env = TestEnv::new();
    env.write(
        "work/d/finder.toml",
        &format!(
            "[ensemble]\nname = \"finder\"\ndescription = \"d\"\n\n[[invokers]]\nname = \"find\"\n\
             description = \"Finds\"\n[invokers.command]\nargv = [\"npx\", \"-y\", \"pkg\", \"{{tags}}\"]\n\
             environment = {{ TOKEN = \"{SECRET}\" }}\n[invokers.arguments]\ntype = \"object\"\n\
             additionalProperties = false\n[invokers.arguments.properties]\ntags = {{ type = \"array\" }}\n\n\
             [[invokers]]\nname = \"add\"\ndescription = \"Adds\"\nbuiltin = \"calculator\"\n\
             [invokers.arguments]\ntype = \"object\"\n[invokers.arguments.properties.\"a b\"]\n\
             type = \"string\"\n[invokers.arguments.properties.expression]\ntype = \"string\"\n"
        ),
    );
    env
}

fn findings(ran: &Ran) -> Vec<Value> {
    ran.json().as_array().unwrap().clone()
}

/// `code severity line` of each.
fn brief(findings: &[Value]) -> Vec<String> {
    let word = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    let line = |finding: &Value| {
        format!("{} {} {}", word(finding, "code"), word(finding, "severity"), finding["line"])
    };
    findings.iter().map(line).collect()
}

#[test]
fn unpinned_packages_and_secrets_are_warned_of_and_the_secret_is_never_shown() {
    let env = project();
    for format in ["text", "json", "sarif", "junit", "github"] {
        let ran = env.run(&["ensembles", "check", "d", "--format", format]).exits(0);
        for code in ["unpinned-package", "secret-in-file"] {
            assert!(ran.stdout.contains(code), "{format}: {}", ran.stdout);
        }
        assert!(!format!("{ran:?}").contains(&SECRET[4..12]), "{format}: {ran:?}");
    }
    let found = findings(&env.run(&["ensembles", "check", "d", "--json"]).exits(0));
    assert_eq!(brief(&found), ["unpinned-package warning 9", "secret-in-file warning 10"]);
    // No news in a run.
    let ran = env.run(&["ask", "2+2", "--ensembles", "d"]).exits(0);
    assert!(!ran.stderr.contains("unpinned"), "{}", ran.stderr);
}

/// One line about a project that is not trusted, and nothing about variables of what a run does not use.
#[test]
fn a_run_is_warned_only_of_what_it_uses() {
    let env = TestEnv::new();
    let server = |name: &str| {
        format!(
            "[ensemble]\nname = \"{name}\"\ndescription = \"d\"\n[connection]\ntransport = \"stdio\"\n\
             command = [\"x\"]\nenvironment = {{ A = \"env:UNSET_{name}\" }}\n[tools.a]\npermission = \"allow\"\n"
        )
    };
    env.write("work/ensembles/one.toml", &server("one"));
    env.write("work/ensembles/two.toml", &server("two"));
    let ran = env.run(&["ask", "2+2", "-m", "understudy"]).exits(0);
    let warnings: Vec<_> = ran.stderr.lines().filter(|line| line.contains("warning")).collect();
    assert_eq!(warnings.len(), 1, "{}", ran.stderr);
    assert!(warnings[0].contains("this project is not trusted"), "{}", ran.stderr);
    env.write("own/three.toml", &server("three"));
    let own = env.path("own");
    let used = ["ask", "2+2", "-m", "understudy", "-e", "essentials", "--ensembles", own.to_str().unwrap()];
    let ran = env.run(&used).exits(0);
    assert!(!ran.stderr.contains("UNSET_"), "{}", ran.stderr);
    // Nothing starts, so nothing of it needs trust.
    let ran = env.run(&["ensembles", "check"]).exits(0);
    assert!(ran.stdout.contains("warning[untrusted-connection]"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("UNSET_"), "{}", ran.stdout);
    assert!(env.run(&["ensembles", "show", "one"]).exits(0).stdout.contains("ensembles/one.toml"));
    env.run(&["ensembles", "check", "--connect"]).exits(3);
    // The tools in the binary are not the user's to change.
    let bare = TestEnv::new();
    let ran = bare.run(&["ensembles", "check", PROVIDERS]).exits(0);
    assert!(!ran.stdout.contains("builtin:"), "{}", ran.stdout);
}

#[test]
fn settings_are_checked_with_what_is_used_under_them() {
    let env = project();
    env.write("work/converse.toml", "modle = 1\n[permissions]\ndeny = 3\n");
    let ran = env.run(&["ensembles", "check", "--json"]).exits(3);
    let found = findings(&ran);
    let of_settings: Vec<&Value> = found.iter().filter(|one| one["file"] == "converse.toml").collect();
    assert!(of_settings.len() >= 2, "all of it at once: {found:#?}");
    assert_eq!(brief(&[of_settings[0].clone()]), ["unknown-key error 1"]);
    // Directories that are named stand alone.
    env.run(&["ensembles", "check", "d"]).exits(0);
}

#[test]
fn the_settings_of_a_project_are_checked_with_its_ensembles() {
    let env = project();
    let text = std::fs::read_to_string(env.path("work/d/finder.toml")).unwrap();
    env.write("work/ensembles/finder.toml", &text);
    env.write("work/part/ensembles/finder.toml", &text);
    // What the user has elsewhere plays no part.
    env.write("home/.config/converse/config.toml", "modle = 1\n");
    let of_settings = |directory: &[&str], code: i32| {
        let ran = env.run(&[&["ensembles", "check", "--json"], directory].concat()).exits(code);
        let mut found = findings(&ran);
        found.retain(|one| one["file"].as_str().unwrap().ends_with("converse.toml"));
        found
            .iter()
            .map(|one| format!("{} {}", one["file"].as_str().unwrap(), brief(std::slice::from_ref(one))[0]))
            .collect::<Vec<_>>()
    };
    assert_eq!(of_settings(&["ensembles"], 0), [""; 0]);
    let rules = "[permissions]\ndeny = [\"io.write_file\", \"finder.find\", \"finder.fnid\"]\n";
    env.write("work/converse.toml", rules);
    let idle = ["converse.toml rule-never-matches warning 2"];
    for directory in [&["ensembles"][..], &["./ensembles/"], &["--ensembles", "ensembles"]] {
        assert_eq!(of_settings(directory, 0), idle, "{directory:?}");
    }
    env.write("work/converse.toml", "[permissions]\ndney = [\"finder.find\"]\n");
    assert_eq!(of_settings(&["ensembles"], 3), ["converse.toml unknown-key error 2"]);
    env.write("work/part/converse.toml", "[limits]\nmax_cost = true\n");
    assert_eq!(of_settings(&["part/ensembles"], 3).len(), 1, "each with its own");
    assert!(of_settings(&["part/ensembles"], 3)[0].starts_with("part/converse.toml "));
    assert_eq!(of_settings(&["d"], 0), [""; 0]);
}

#[test]
fn what_a_provider_rejects_is_an_error_at_the_line_of_the_schema() {
    let env = project();
    let of = |provider: &str, code: i32| {
        let ran = env.run(&["ensembles", "check", "d", "--json", "--provider", provider]).exits(code);
        let mut found = findings(&ran);
        found.retain(|finding| finding["code"].as_str().unwrap().starts_with("provider-"));
        found
    };
    assert_eq!(brief(&of("anthropic", 3)), ["provider-rejects error 23"]);
    let openai = of("openai", 0);
    assert_eq!(brief(&openai), ["provider-adapts warning 15"]);
    let message = openai[0]["message"].as_str().unwrap();
    for said in ["`finder`", "`find`", "OpenAI", "/properties/tags", "items"] {
        assert!(message.contains(said), "{said}: {message}");
    }
    let gemini = of("gemini", 0);
    assert_eq!(
        brief(&gemini),
        ["provider-adapts warning 13", "provider-adapts warning 15", "provider-adapts warning 23"]
    );
    assert!(gemini[0]["message"].as_str().unwrap().contains("`parametersJsonSchema`"));
    let all = of("anthropic,openai,gemini,openai", 3);
    assert_eq!(all.len(), 5);
    let ran = env.run(&["ensembles", "check", "d", PROVIDERS]).exits(3);
    assert!(ran.stdout.contains("15 | tags = { type = \"array\" }"), "{}", ran.stdout);
}

#[test]
fn one_error_in_an_ensemble_does_not_hide_what_providers_reject_of_it() {
    let env = project();
    let text = std::fs::read_to_string(env.path("work/d/finder.toml")).unwrap();
    env.write(
        "work/d/finder.toml",
        &text.replacen("description = \"d\"\n", "description = \"d\"\nbogus = 1\n", 1),
    );
    let ran = env.run(&["ensembles", "check", "d", "--json", "--provider", "anthropic"]).exits(3);
    let mut found = brief(&findings(&ran));
    found.retain(|one| one.contains(" error "));
    assert_eq!(found, ["unknown-key error 4", "provider-rejects error 24"]);
}

#[test]
fn colour_is_for_people_who_want_it() {
    let env = project();
    let check = |flags: &[&str]| {
        env.run(&[&["--color", "always", "ensembles", "check", "d", "--provider", "openai"], flags].concat())
            .exits(0)
            .stdout
    };
    let text = check(&[]);
    assert!(text.contains("\x1b[1;33mwarning[unpinned-package]\x1b[0m: "), "{text}");
    let tags = "15 | tags = { type = \"array\" }\n   | \x1b[1;33m^";
    assert!(text.contains(tags) && text.contains("^\x1b[0m\n"), "{text}");
    assert_eq!(text.matches('\x1b').count(), 8, "of a secret no line is shown: {text}");
    for format in ["json", "sarif", "junit", "github"] {
        assert!(!check(&["--format", format]).contains('\x1b'), "{format}");
    }
    assert!(!env.run(&["ensembles", "check", "d"]).exits(0).stdout.contains('\x1b'));
}

#[test]
fn tools_of_servers_are_held_against_providers_too() {
    let env = TestEnv::new();
    FakeServer::new("fake", &[]).write(&env);
    let dir = env.path("servers").display().to_string();
    let without = findings(&env.run(&["ensembles", "check", &dir, PROVIDERS, "--json"]).exits(0));
    assert_eq!(without, Vec::<Value>::new(), "nothing was started");
    let ran = env.run(&["ensembles", "check", &dir, PROVIDERS, "--connect", "--json"]).exits(0);
    assert_eq!(findings(&ran), Vec::<Value>::new(), "nothing of it needs a change");
    let text = env.run(&["ensembles", "check", &dir, PROVIDERS, "--connect"]).exits(0).stdout;
    let lines: Vec<&str> = text.lines().filter(|line| line.ends_with("no change is needed")).collect();
    assert!(lines.iter().any(|line| line.starts_with("Gemini: converse adapts ")), "{text}");
    assert!(lines.len() <= 6 && text.ends_with(": 0 errors, 0 warnings\n"), "{text}");
}

/// What needs a change is a finding of its own, at the ensemble: nobody here can change the schema.
#[test]
fn a_tool_of_a_server_that_a_provider_rejects_is_an_error() {
    let env = TestEnv::new();
    let properties = json!({ "a b": { "type": "string" }, "c": { "type": ["string", "null"] } });
    let port = serve(move |request| {
        let message: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({ "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
                                    "serverInfo": { "name": "site", "version": "3" } }),
            "tools/list" => json!({ "tools": [{ "name": "odd", "description": "Odd",
                "inputSchema": { "type": "object", "properties": properties } }] }),
            _ if message["id"].is_null() => return Answer::new(202, "text/plain", ""),
            _ => {
                let error = json!({ "code": -32601, "message": "no such method" });
                let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "error": error });
                return Answer::new(200, "application/json", answer.to_string());
            }
        };
        let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
        Answer::new(200, "application/json", answer.to_string())
    });
    let text = format!(
        "[ensemble]\nname = \"site\"\ndescription = \"d\"\n[connection]\ntransport = \"http\"\n\
         url = \"http://127.0.0.1:{port}/mcp\"\n"
    );
    env.write("work/s/site.toml", &text);
    let ran = env.run(&["ensembles", "check", "s", PROVIDERS, "--connect", "--json"]).exits(3);
    let found = findings(&ran);
    assert_eq!(brief(&found), ["provider-rejects error 1"]);
    assert!(found[0]["message"].as_str().unwrap().starts_with("`site`: `odd` at "), "{found:?}");
    assert!(found[0]["file"].as_str().unwrap().ends_with("site.toml"), "{found:?}");
}

#[test]
fn each_form_of_the_report_has_every_finding_and_nothing_else_is_on_stdout() {
    let env = project();
    FakeServer::new("gone", &["--exit=3"]).write(&env);
    let servers = env.path("servers").display().to_string();
    let run = |format: &str| {
        let words = ["ensembles", "check", "d", &servers, "--connect", PROVIDERS, "--format", format];
        env.run(&words).exits(3)
    };
    let found = findings(&run("json"));
    let count = found.len();
    assert!(brief(&found).iter().any(|line| line.starts_with("connect-failed error")), "{found:#?}");
    assert_eq!(run("github").stdout.lines().filter(|line| line.starts_with("::")).count(), count);
    let sarif = run("sarif");
    let results = sarif.json()["runs"][0]["results"].clone();
    assert_eq!(results.as_array().unwrap().len(), count);
    let place = &results[0]["locations"][0]["physicalLocation"]["artifactLocation"];
    assert_eq!(*place, json!({ "uri": "d/finder.toml", "uriBaseId": "%SRCROOT%" }));
    let junit = run("junit").stdout;
    assert!(junit.starts_with("<?xml ") && junit.ends_with("</testsuites>\n"), "{junit}");
    let errors = found.iter().filter(|finding| finding["severity"] == "error").count();
    assert_eq!(junit.matches("<failure ").count(), errors, "{junit}");
    assert_eq!(junit.matches("<testcase ").count(), 2, "{junit}");
    let text = run("text").stdout;
    assert_eq!(text.matches(" = hint: ").count(), count, "{text}");
    assert!(!text.contains("= help"), "{text}");
    // The summary is for people.
    assert!(text.contains(" errors, ") && sarif.stderr.contains(" errors, "), "{}", sarif.stderr);
    let quiet = env.run(&["ensembles", "check", "d", "--format", "sarif", "--quiet"]).exits(0);
    assert_eq!(quiet.stderr, "");
    env.run(&["ensembles", "check", "d", "--format", "sarif", "--json"]).exits(2);
}

#[test]
fn a_report_is_the_same_each_time() {
    let env = project();
    for format in ["json", "sarif", "junit", "github"] {
        let run = || env.run(&["ensembles", "check", "d", PROVIDERS, "--format", format]).stdout;
        assert_eq!(run(), run(), "{format}");
    }
}
