//! `ensembles import`, `export` and `init`: files of other programs, in the shapes their documentation shows, become
//! descriptors that `check` accepts, and no secret of theirs is written or said.

mod files;
mod openapi;

use serde_json::{Value, json};

use crate::env::{Ran, TestEnv};
use crate::fake_server::own_command;
use crate::terminal::Terminal;

use files::PROGRAMS;

/// Stands in every place of the files where a secret can stand.
const SECRET: &str = "Zq7xW9Tn4Lr2";

fn import(env: &TestEnv, args: &[&str]) -> Ran {
    env.run(&[&["ensembles", "import"], args].concat())
}

/// Every byte below the directory.
fn written(env: &TestEnv, below: &str) -> String {
    let mut text = String::new();
    let mut open = vec![env.path(below)];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() { open.push(path) } else { text += &std::fs::read_to_string(path).unwrap() }
        }
    }
    text
}

#[test]
fn six_programs_are_taken_over_and_check_accepts_them() {
    for program in PROGRAMS {
        let env = TestEnv::new();
        env.write(&format!("work/{}", program.file), &program.text.replace("SECRET", SECRET));
        let ran = import(&env, &[program.file, "--into", "taken"]).exits(0);
        let mut files: Vec<&str> = ran.stdout.lines().collect();
        files.sort_unstable();
        let expected: Vec<String> = program.names.iter().map(|name| format!("taken/{name}.toml")).collect();
        assert_eq!(files, expected, "{}\n{}", program.file, ran.stderr);
        for part in program.notes {
            assert!(ran.stderr.contains(part), "{}: no {part:?} in {}", program.file, ran.stderr);
        }
        let said = format!("{}{}{}", ran.stdout, ran.stderr, written(&env, "work/taken"));
        assert!(!said.contains(SECRET), "{}: {said}", program.file);
        let check = env.run(&["ensembles", "check", "taken"]).exits(0);
        assert!(!check.stdout.contains("error["), "{}", check.stdout);
        let list = env.run(&["ensembles", "list", "--ensembles", "taken", "--json"]).exits(0).json();
        for (name, enabled) in program.names.iter().zip(program.enabled) {
            let row = list.as_array().unwrap().iter().find(|row| row["name"] == *name).unwrap();
            assert_eq!(row["enabled"], *enabled, "{} {name}", program.file);
        }
    }
}

/// The files of a package are those that were imported, at each start of its server.
#[test]
fn a_plugin_is_imported_with_its_files_and_not_started_after_a_change() {
    let env = TestEnv::new();
    let command = own_command(&[]);
    let (program, arguments) = command.split_first().unwrap();
    let servers = json!({ "mcpServers": { "near": {
        "command": program, "args": arguments, "cwd": "${PLUGIN_ROOT}" } } });
    env.write("work/plugin/.mcp.json", &servers.to_string());
    env.write("work/plugin/.plugin/plugin.json", r#"{ "name": "a-plugin" }"#);
    env.write("work/plugin/lib/code.js", "one");
    let ran = import(&env, &["plugin", "--into", "taken"]).exits(0);
    let place = ran.stderr.split("its files are in ").nth(1).unwrap().split(" and are").next().unwrap();
    assert!(place.contains("/a-plugin-"), "{}", ran.stderr);
    let connect = ["ensembles", "check", "taken", "--connect"];
    env.run(&connect).exits(0);
    // Where it came from does not matter any more.
    env.write("work/plugin/lib/code.js", "another");
    env.run(&connect).exits(0);
    let copy = std::path::Path::new(place).join("lib/code.js");
    std::fs::write(&copy, "another").unwrap();
    let ran = env.run(&connect).exits(10);
    assert!(ran.stdout.contains("code.js` has changed since the package was imported"), "{ran:?}");
    import(&env, &["plugin", "--into", "taken", "--force"]).exits(0);
    env.run(&connect).exits(0);
    env.write("work/no-bundle.mcpb", "PK\u{3}\u{4}");
    let ran = import(&env, &["no-bundle.mcpb", "--into", "taken"]).exits(3);
    assert!(ran.stderr.contains("not a zip archive that can be read: it is damaged"), "{}", ran.stderr);
}

#[test]
fn a_client_gets_the_entry_for_the_gateway() {
    let env = TestEnv::new();
    let export = |args: &[&str]| env.run(&[&["ensembles", "export", "--client"], args].concat());
    let ran = export(&["claude-code", "essentials"]).exits(0);
    let entry = &ran.json()["mcpServers"]["converse"];
    assert_eq!(entry["args"], json!(["serve", "-e", "essentials"]));
    assert!(ran.stderr.contains("`.mcp.json`"), "{}", ran.stderr);
    let ran = export(&["codex", "--url", "https://tools.example/mcp"]).exits(0);
    assert!(ran.stdout.contains("bearer_token_env_var = \"CONVERSE_TOKEN\""), "{}", ran.stdout);
    export(&["claude-desktop", "--url", "https://tools.example/mcp"]).exits(2);
    let ran = export(&["codex", "--url", "https://tools.example/mcp", "--allow", "x.*"]).exits(2);
    assert!(ran.stderr.contains("are its own"), "{}", ran.stderr);
    let ran = env.run(&["ensembles", "export", "--allow", "x.*"]).exits(2);
    assert!(ran.stderr.contains("--client codex"), "{}", ran.stderr);
    export(&["claude-code", "no-such-ensemble"]).exits(2);
    export(&["emacs"]).exits(2);
}

#[test]
fn an_entry_starts_the_same_gateway_from_anywhere() {
    let env = TestEnv::new();
    env.write(
        "tools/notes.toml",
        "[ensemble]\nname = \"notes\"\ndescription = \"d\"\n[connection]\ntransport = \"stdio\"\n\
         command = [\"notes\"]\nenvironment = { API_NOTES = \"${API_NOTES}\" }\n",
    );
    let flags = ["--ensembles", "../tools", "-e", "notes", "--allow", "notes.list*", "--deny", "notes.drop"];
    let ran = env.run(&[&["ensembles", "export", "--client", "gemini"], &flags[..]].concat()).exits(0);
    let entry = &ran.json()["mcpServers"]["converse"];
    let tools = env.path("tools").canonicalize().unwrap();
    let args = ["serve", "--ensembles", tools.to_str().unwrap()];
    let args = [&args[..], &["-e", "notes", "--allow", "notes.list*", "--deny", "notes.drop"]].concat();
    assert_eq!(entry["args"], json!(args));
    let program = std::path::Path::new(entry["command"].as_str().unwrap());
    assert!(program.is_absolute() && program.is_file(), "{entry}");
    // codex passes on few variables.
    let ran = env.run(&[&["ensembles", "export", "--client", "codex"], &flags[..]].concat()).exits(0);
    assert!(ran.stdout.contains("\nenv_vars = [\"API_NOTES\"]\n"), "{}", ran.stdout);
}

#[test]
fn an_entry_serves_the_project_from_any_directory() {
    let env = TestEnv::new();
    let entry = || {
        let ran =
            env.run(&["ensembles", "export", "--client", "claude-desktop", "-e", "essentials"]).exits(0);
        ran.json()["mcpServers"]["converse"]["args"].clone()
    };
    assert_eq!(entry(), json!(["serve", "-e", "essentials"]), "there is no project");
    env.write("work/converse.toml", "[permissions]\ndeny = [\"io.*\"]\n");
    let work = env.path("work").canonicalize().unwrap().display().to_string();
    assert_eq!(entry(), json!(["serve", "--project", work, "-e", "essentials"]), "its rules count");
    std::fs::remove_file(env.path("work/converse.toml")).unwrap();
    env.write(
        "work/ensembles/own.toml",
        "[ensemble]\nname = \"own\"\ndescription = \"d\"\n[[invokers]]\nname = \"sum\"\ndescription = \"Adds\"\nbuiltin = \"calculator\"\n",
    );
    let ran = env.run(&["ensembles", "export", "--client", "codex"]).exits(0);
    assert!(ran.stdout.contains(&format!("args = [\"serve\", \"--project\", \"{work}\"]")), "{}", ran.stdout);
    // It is found there, and in no other directory.
    std::fs::create_dir(env.path("work/below")).unwrap();
    let serve = |more: &str| env.shell(&format!("cd below && \"$converse\" serve -e own {more} </dev/null"));
    serve("").exits(2);
    serve(&format!("--project '{work}'")).exits(0);
    let ran = serve("--project nowhere").exits(2);
    assert!(
        ran.stderr.contains("error[no-directory]: the directory `nowhere` cannot be used"),
        "{}",
        ran.stderr
    );
}

#[test]
fn an_entry_is_added_to_the_file_of_a_client() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let env = TestEnv::new();
    let export = |args: &[&str]| env.run(&[&["ensembles", "export", "--client"], args].concat());
    let read = |path: &str| std::fs::read_to_string(env.path(path)).unwrap();
    // A file that is missing, with its directory.
    let ran = export(&["cursor", "essentials", "--write"]).exits(0);
    assert_eq!(read("work/.cursor/mcp.json"), ran.stdout);
    assert!(
        ran.stderr.contains("added this to") && ran.stderr.contains("/.cursor/mcp.json"),
        "{}",
        ran.stderr
    );
    // Comments, trailing commas and the mode stay.
    let (zed, before) =
        ("home/.config/zed/settings.json", "// mine\n{\n    \"theme\": \"dark\", // note\n}\n");
    env.write(zed, before);
    std::fs::set_permissions(env.path(zed), std::fs::Permissions::from_mode(0o600)).unwrap();
    export(&["zed", "--write"]).exits(0);
    let added = read(zed);
    assert!(added.starts_with("// mine\n{\n    \"theme\": \"dark\", // note\n"), "{added}");
    assert!(added.contains("\n        \"converse\": {\n") && added.ends_with("},\n}\n"), "{added}");
    assert_eq!(std::fs::metadata(env.path(zed)).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(export(&["zed", "--write"]).exits(0).stderr.contains("has this entry already"));
    // Another entry of that name.
    let ran = export(&["zed", "essentials", "--write"]).exits(2);
    assert!(ran.stderr.contains("error[already-there]") && ran.stderr.contains("--force"), "{}", ran.stderr);
    assert_eq!((read(zed), ran.stdout.as_str()), (added.clone(), ""));
    let ran = export(&["zed", "essentials", "--write", "--force"]).exits(0);
    assert!(
        ran.stderr.contains("replaced this in") && read(zed).contains("\"essentials\""),
        "{}",
        ran.stderr
    );
    // TOML, and another file than the usual one.
    env.write("home/.codex/config.toml", "model = \"x\" # mine\n");
    let ran = export(&["codex", "--write"]).exits(0);
    assert_eq!(read("home/.codex/config.toml"), format!("model = \"x\" # mine\n\n{}", ran.stdout));
    export(&["claude-code", "--write=other/servers.json"]).exits(0);
    assert!(read("work/other/servers.json").contains("mcpServers"));
    // What cannot be read stays as it is.
    env.write("work/opencode.json", "{ x }");
    let ran = export(&["opencode", "--write", "--force"]).exits(3);
    assert!(
        ran.stderr.contains("error[foreign-file]") && read("work/opencode.json") == "{ x }",
        "{}",
        ran.stderr
    );
    // A link of the project is not followed out of it; a link of the user is, and stays a link.
    env.write("outside.json", "{}");
    symlink("../outside.json", env.path("work/.mcp.json")).unwrap();
    assert!(export(&["claude-code", "--write"]).exits(2).stderr.contains("error[leads-out]"));
    assert_eq!(read("outside.json"), "{}");
    export(&["claude-code", "--write=.mcp.json"]).exits(0);
    assert!(env.path("work/.mcp.json").is_symlink() && read("outside.json").contains("mcpServers"));
    export(&["claude-code", "--force"]).exits(2);
    env.run(&["ensembles", "export", "--write"]).exits(2);
    let left = std::fs::read_dir(env.path("home/.config/zed")).unwrap().count();
    assert_eq!(left, 1, "no temporary file");
}

#[test]
fn files_go_to_the_project_or_home_and_nothing_is_written_over() {
    let env = TestEnv::new();
    env.write("work/x.json", r#"{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}"#);
    let home = env.path("home/.config/converse/ensembles/a.toml");
    let ran = import(&env, &["x.json", "a"]).exits(0);
    assert_eq!(ran.stdout.trim(), home.display().to_string());
    assert!(home.exists() && ran.stderr.contains("converse ensembles check"), "{}", ran.stderr);
    std::fs::create_dir(env.path("work/ensembles")).unwrap();
    let ran = import(&env, &["x.json"]).exits(0);
    assert_eq!(ran.stdout, "ensembles/a.toml\nensembles/b.toml\n");
    assert!(ran.stderr.contains("converse ensembles trust"), "{}", ran.stderr);
    std::fs::remove_file(env.path("work/ensembles/a.toml")).unwrap();
    env.write("work/ensembles/b.toml", "# mine\n");
    let ran = import(&env, &["x.json"]).exits(2);
    assert!(ran.stderr.contains("error[already-there]: `ensembles/b.toml`"), "{}", ran.stderr);
    assert!(!env.path("work/ensembles/a.toml").exists(), "all or nothing");
    assert_eq!(written(&env, "work/ensembles"), "# mine\n");
    let dry = import(&env, &["x.json", "--dry-run"]).exits(0);
    assert!(dry.stdout.starts_with("# ensembles/a.toml\n[ensemble]\nname = \"a\"\n"), "{}", dry.stdout);
    assert_eq!(written(&env, "work/ensembles"), "# mine\n");
    import(&env, &["x.json", "--force"]).exits(0);
    assert!(written(&env, "work/ensembles").contains("name = \"a\""));
}

#[test]
fn a_name_that_takes_the_place_of_one_in_the_binary_is_told() {
    let env = TestEnv::new();
    let init = |name: &str| {
        env.run(&["ensembles", "init", name, "--into", "e", "--command", "--", "wc"]).exits(0).stderr
    };
    assert!(init("web").contains("note: this ensemble replaces the built-in ensemble `web`"));
    assert!(!init("mine").contains("replaces the built-in"));
}

/// Whoever made the project says where its links lead.
#[test]
fn nothing_is_written_through_a_link_that_leads_out() {
    use std::os::unix::fs::symlink;

    let env = TestEnv::new();
    let init =
        |args: &[&str]| env.run(&[&["ensembles", "init", "foo"], args, &["--command", "--", "wc"]].concat());
    env.write("work/x.json", r#"{"mcpServers": {"a": {"command": "x"}}}"#);
    std::fs::create_dir_all(env.path("work/ensembles")).unwrap();
    std::fs::create_dir_all(env.path("work/inside/invokers")).unwrap();
    std::fs::create_dir_all(env.path("outside")).unwrap();
    symlink(env.path("outside"), env.path("work/ensembles/foo")).unwrap();
    symlink(env.path("outside"), env.path("work/linked")).unwrap();
    for (ran, link) in [
        (init(&[]), "`ensembles/foo`"),
        (init(&["--force"]), "`ensembles/foo`"),
        (init(&["--into", "./ensembles"]), "/foo`"),
        (init(&["--into", "linked"]), "linked`"),
        (import(&env, &["x.json", "--into", "linked/deep"]), "linked`"),
    ] {
        let ran = ran.exits(2);
        assert!(ran.stderr.contains("error[leads-out]") && ran.stderr.contains(link), "{}", ran.stderr);
    }
    assert_eq!(std::fs::read_dir(env.path("outside")).unwrap().count(), 0);
    assert!(!env.path("work/ensembles/foo.toml").exists(), "all or nothing");
    std::fs::remove_file(env.path("work/ensembles/foo")).unwrap();
    std::fs::create_dir(env.path("work/ensembles/foo")).unwrap();
    symlink("../../../outside", env.path("work/ensembles/foo/invokers")).unwrap();
    assert!(init(&[]).exits(2).stderr.contains("`ensembles/foo/invokers`"));
    // What stays in the project, and what somebody names, is written.
    std::fs::remove_dir_all(env.path("work/ensembles/foo")).unwrap();
    symlink("../inside", env.path("work/ensembles/foo")).unwrap();
    init(&[]).exits(0);
    assert!(env.path("work/inside/invokers/wc.toml").exists());
    import(&env, &["x.json", "--into", "../outside"]).exits(0);
    assert!(env.path("outside/a.toml").exists());
}

#[test]
fn what_cannot_be_taken_over_is_an_error_with_a_place() {
    let env = TestEnv::new();
    env.write("work/bad.json", "{\"mcpServers\": {\n  \"a\": {\"env\": {\"KEY\": \"Zq7xW9Tn4Lr2\" oops}}}}");
    env.write("work/other.json", r#"{"some": "thing"}"#);
    env.write("work/none.json", r#"{"mcpServers": {"a": {"type": "stdio"}}}"#);
    std::fs::write(env.path("work/latin.json"), b"{\"mcpServers\": {\"caf\xe9\": {}}}").unwrap();
    env.write("work/large.json", &" ".repeat(1024 * 1024 + 1));
    for (args, code, part) in [
        (&["bad.json"][..], 3, "line 2"),
        (&["other.json"], 3, "`--format`"),
        (&["none.json"], 3, "no server in it can be imported"),
        (&["latin.json"], 3, "not UTF-8"),
        (&["large.json"], 3, "larger than 1048576 bytes"),
        (&["absent.json"], 3, "cannot be read"),
        (&["."], 3, "nor a plugin (it has no `plugin.json`)"),
        (&["/dev/null"], 3, "not a regular file"),
        (&["none.json", "b"], 2, "no server `b`"),
        (&["none.json", "--format", "nonsense"], 2, "possible values"),
    ] {
        let ran = import(&env, args).exits(code);
        assert!(ran.stderr.contains(part), "{args:?} {}", ran.stderr);
        assert!(!ran.stderr.contains(SECRET), "{}", ran.stderr);
    }
    assert!(!env.path("home/.config/converse/ensembles").exists());
}

#[test]
fn nasty_files_leave_clean_descriptors() {
    let env = TestEnv::new();
    let text = format!(
        "\u{feff}// commented\r\n{{ \"mcpServers\": {{ /* c */\r\n\"../../../evil\": {{\"command\": \"x\"}},\r\n\
         \"Погода 世界\": {{\"command\": \"x\", \"env\": {{\"API_KEY\": \"{SECRET}\",}}}},\r\n\
         \"twice\": {{\"command\": \"old\", \"args\": [\"--token\", \"{SECRET}\"]}},\r\n\
         \"twice\": {{\"command\": \"new\", \"args\": [\"--header\", \"Authorization: Bearer {SECRET}\"]}},\r\n\
         \"a\\u001b[2J/b\": {{\"url\": \"https://u:{SECRET}@h.example/mcp?key={SECRET}\", \"trust\": true,\r\n\
         \"headers\": {{\"Cookie\": \"{SECRET}\", \"Evil\\nName\": \"{SECRET}\"}} }},}},}}"
    );
    let ran = env
        .run_with_stdin(&["ensembles", "import", "-", "--into", "out", "--json"], text.as_bytes())
        .exits(0);
    let told = ran.json();
    assert_eq!(told["format"], "gemini");
    let names: Vec<&Value> =
        told["servers"].as_array().unwrap().iter().map(|server| &server["name"]).collect();
    assert_eq!(names, ["evil", "server", "twice", "a-2J-b"]);
    assert_eq!(told["servers"][1]["variables"], json!(["API_KEY"]));
    let out = written(&env, "work/out");
    assert!(out.contains("[\"new\", \"--header\"") && !out.contains("old"), "{out}");
    assert!(!out.contains("permission"), "trust is not imported: {out}");
    for text in [&ran.stdout, &ran.stderr, &out] {
        assert!(!text.contains(SECRET) && !text.contains('\u{1b}'), "{text}");
    }
    assert!(
        ran.stderr.contains("`twice` is given twice") && ran.stderr.contains("`trust`"),
        "{}",
        ran.stderr
    );
    let files = std::fs::read_dir(env.path("work/out")).unwrap().count();
    assert!(files == 4 && !env.path("evil.toml").exists());
    env.run(&["ensembles", "check", "out"]).exits(0);
}

#[test]
fn what_is_handed_out_comes_back() {
    let env = TestEnv::new();
    env.write("work/x.json", &PROGRAMS[0].text.replace("SECRET", SECRET));
    import(&env, &["x.json", "--into", "one"]).exits(0);
    let first = env.run(&["ensembles", "export", "--ensembles", "one"]).exits(0);
    assert!(first.json()["mcpServers"].as_object().unwrap().len() >= 2 && !first.stdout.contains(SECRET));
    env.run_with_stdin(&["ensembles", "import", "-", "--into", "two"], first.stdout.as_bytes()).exits(0);
    let second = env.run(&["ensembles", "export", "--ensembles", "two"]).exits(0);
    assert_eq!(first.json(), second.json());
    let named = env.run(&["ensembles", "export", "essentials"]).exits(0);
    assert_eq!(named.json(), json!({ "mcpServers": {} }));
    assert!(named.stderr.contains("essentials: its tools are declared"), "{}", named.stderr);
    env.run(&["ensembles", "export", "nobody"]).exits(2);
}

#[test]
fn secrets_that_hide_are_written_nowhere() {
    let env = TestEnv::new();
    let file = json!({ "mcpServers": {
        "env": { "command": "x", "env": {
            "AUTH_HEADER": format!("Bearer {SECRET}-x"), "DBPASS": SECRET, "DB_PW": SECRET, "DB_CREDS": SECRET,
            "MY_PASSCODE": SECRET, "AUTH_TOKEN_PROVIDER": SECRET,
            "WEBHOOK_PATH": format!("/services/T024BE7LH/B024BE7LH/{SECRET}") } },
        "args": { "command": "bash", "args": ["-c", format!("npx -y srv --api-key {SECRET} --token {SECRET}"),
            format!("password=${SECRET}"), "--with-token", SECRET] },
        "url": { "type": "http", "url": format!("https://a.example/mcp?pw={SECRET}&to=x%3Fapi_key%3D{SECRET}"),
            "headers": { "X-Auth-Header": SECRET, "X-Any": format!("Bearer {SECRET}") } } } });
    env.write("work/x.json", &file.to_string());
    let ran = import(&env, &["x.json", "--into", "e"]).exits(0);
    for variable in
        ["AUTH_HEADER", "DBPASS", "DB_PW", "DB_CREDS", "MY_PASSCODE", "AUTH_TOKEN_PROVIDER", "WEBHOOK_PATH"]
    {
        assert!(ran.stderr.contains(&format!("`{variable}`")), "{variable} {}", ran.stderr);
    }
    let server = ["bash", "-c", &format!("srv --api-key {SECRET} --token {SECRET}")];
    let init = env
        .run(&[&["ensembles", "init", "new", "--into", "e", "--server", "--"], &server[..]].concat())
        .exits(0);
    let tool = [
        "--http",
        &format!("https://a.example/?pw={SECRET}"),
        "--header",
        &format!("X-Any: Bearer {SECRET}"),
    ];
    let http = env.run(&[&["ensembles", "init", "tool", "--into", "e"], &tool[..]].concat()).exits(0);
    let own = "[ensemble]\nname = \"own\"\ndescription = \"d\"\n[connection]\ntransport = \"http\"\n\
        url = \"https://a.example/mcp\"\n[connection.headers]\nX-Any = \"Bearer SECRET\"\nX-Auth-Header = \"SECRET\"\n";
    env.write("work/own/own.toml", &own.replace("SECRET", SECRET));
    let export = env.run(&["ensembles", "export", "--ensembles", "own"]).exits(0);
    assert!(export.stderr.contains("not exported"), "{}", export.stderr);
    for text in [ran, init, http, export].map(|ran| format!("{}{}", ran.stdout, ran.stderr)) {
        assert!(!text.contains(SECRET), "{text}");
    }
    assert!(!written(&env, "work/e").contains(SECRET), "{}", written(&env, "work/e"));
}

#[test]
fn each_kind_of_new_ensemble_is_sound() {
    for (args, files) in [
        (&["mine", "--server", "--", "npx", "-y", "some-server@1.2.3"][..], &["e/mine.toml"][..]),
        (
            &["mine", "--url", "https://a.example/mcp", "--header", "Authorization: Bearer Zq7xW9Tn4Lr2"],
            &["e/mine.toml"],
        ),
        (
            &["mine", "--command", "--", "wc", "-w", "--", "{file}"],
            &["e/mine.toml", "e/mine/invokers/wc.toml"],
        ),
        (&["mine", "--command", "--", "uptime"], &["e/mine.toml", "e/mine/invokers/uptime.toml"]),
        (
            &[
                "mine",
                "--http",
                "https://a.example/v1/{city}",
                "--method",
                "post",
                "--description",
                "Weather",
            ],
            &["e/mine.toml", "e/mine/invokers/post.toml"],
        ),
    ] {
        let env = TestEnv::new();
        let ran = env.run(&[&["ensembles", "init", "--into", "e"], args].concat()).exits(0);
        assert_eq!(ran.stdout.lines().collect::<Vec<_>>(), files);
        let check = env.run(&["ensembles", "check", "e"]).exits(0);
        assert!(!check.stdout.contains("error["), "{}", check.stdout);
        let all = format!("{}{}{}", ran.stdout, ran.stderr, written(&env, "work/e"));
        assert!(!all.contains(SECRET) && all.contains("# "), "{all}");
        env.run(&[&["ensembles", "init", "--into", "e"], args].concat()).exits(2);
    }
}

#[test]
fn flags_that_say_too_little_are_told_what_is_missing() {
    let env = TestEnv::new();
    for (args, part) in [
        (&[][..], "--server"),
        (&["mine"], "--http URL"),
        (&["--server", "--", "x"], "the name of the ensemble is missing"),
        (&["mine", "--server"], "after `--`"),
        (&["mine", "--", "x"], "`--server` and `--command`"),
        (&["mine", "--server", "--command", "--", "x"], "cannot be used with"),
        (&["mine", "--url", "a.example"], "http://"),
        (&["mine", "--server", "--header", "A: b", "--", "x"], "`--header`"),
        (&["mine", "--command", "--", "sh", "-c", "echo {x}"], "not be valid"),
        (&["a b", "--server", "--", "x"], "not a valid"),
    ] {
        let ran = env.run(&[&["ensembles", "init"], args].concat()).exits(2);
        assert!(ran.stderr.contains(part), "{args:?} {}", ran.stderr);
    }
    assert!(!env.path("home/.config/converse/ensembles").exists());
}

#[test]
fn on_a_terminal_what_is_missing_is_asked_for() {
    let env = TestEnv::new();
    let mut terminal = Terminal::run(&env, &["ensembles", "init", "--into", "e"]);
    terminal.shows("name of the new ensemble: ");
    terminal.types("no good\n");
    terminal.shows("not a valid");
    terminal.types("words\n");
    terminal.shows("1, 2, 3 or 4: ");
    terminal.types("3\n");
    terminal.shows("argument of the tool: ");
    terminal.types("wc -w -- '{the.file}'\n");
    terminal.shows("may be empty");
    terminal.types("Counts words\n");
    terminal.shows("e/words/invokers/wc.toml");
    assert_eq!(terminal.ends(), 0);
    let tool = std::fs::read_to_string(env.path("work/e/words/invokers/wc.toml")).unwrap();
    assert!(tool.contains("argv = [\"wc\", \"-w\", \"--\", \"{the.file}\"]"), "{tool}");
    env.run(&["ensembles", "check", "e"]).exits(0);
}
