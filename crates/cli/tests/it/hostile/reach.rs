//! What a repository's commands reach: the values and files that decide what they do are shown, hashed, read only where they
//! are its own, and out of reach of its tools.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::json;

use super::SECRET;
use crate::body::{calls, text};
use crate::env::{Ran, TestEnv, files};
use crate::provider::{Line, Provider};

/// An ensemble with one command, and nothing else.
fn command(env: &TestEnv, rest: &str) {
    let text = format!(
        "[ensemble]\nname = \"own\"\ndescription = \"d\"\n[[invokers]]\nname = \"run\"\ndescription = \"d\"\n\
         [invokers.command]\n{rest}\n"
    );
    env.write("work/ensembles/own.toml", &text);
}

fn trust(env: &TestEnv) {
    let hash = env.run(&["ensembles", "trust", "--json"]).exits(3).json()["sha256"].clone();
    env.run(&["ensembles", "trust", "--hash", hash.as_str().unwrap()]).exits(0);
}

fn call(env: &TestEnv) -> Ran {
    env.run(&["ensembles", "call", "own.run", "--allow", "own.*"])
}

#[test]
fn values_are_shown_as_they_are_written() {
    let env = TestEnv::new().var("AWS_SECRET", SECRET);
    command(
        &env,
        "argv = [\"true\"]\n\
         environment = { PLAIN = \"a\\nb\", ROUND = \"x-${AWS_SECRET:-de fault}-y\", NODE_OPTIONS = \"--inspect\" }",
    );
    let web = "[ensemble]\nname = \"web\"\ndescription = \"d\"\nlazy = true\n[connection]\ntransport = \"http\"\n\
               url = \"http://127.0.0.1:9/mcp\"\nconnect_timeout = \"90s\"\nprotocol = \"legacy\"\n\
               headers = { X-Fixed = \"written-down\", X-Key = \"Key ${AWS_SECRET}\" }\n";
    env.write("work/ensembles/web.toml", web);
    let ran = env.run(&["ensembles", "trust"]).exits(3);
    for part in [
        r#"with the variable "PLAIN" = "a\nb""#,
        r#"with the variable "ROUND" = "x-${AWS_SECRET:-de fault}-y", which reads your AWS_SECRET"#,
        r#"SETS "NODE_OPTIONS" = "--inspect": it decides which code runs"#,
        r#"with the header "X-Fixed" = "written-down""#,
        r#"with the header "X-Key" = "Key ${AWS_SECRET}", which reads your AWS_SECRET"#,
        "connect_timeout = 90 s",
        "protocol = legacy",
        "lazy: started at the first call",
    ] {
        assert!(ran.stdout.contains(part), "no {part:?} in {}", ran.stdout);
    }
    let shown = env.run(&["ensembles", "trust", "--json"]).exits(3);
    assert!(!shown.stdout.contains(SECRET) && !ran.stdout.contains(SECRET));
    let shown = shown.json();
    let environment = &shown["ensembles"][0]["invokers"][0]["command"]["environment"];
    assert_eq!(
        environment[1],
        json!({ "name": "ROUND", "value": "x-${AWS_SECRET:-de fault}-y", "reads": ["AWS_SECRET"] })
    );
    let connection = &shown["ensembles"][1]["connection"];
    assert_eq!(connection["headers"][0]["value"], "written-down");
    assert_eq!((&connection["protocol"], &connection["connect_timeout"]), (&json!("legacy"), &json!(90.0)));
}

#[test]
fn what_acts_is_said_last() {
    let env = TestEnv::new();
    let text = "[ensemble]\nname = \"essentials\"\ndescription = \"d\"\n[[invokers]]\nname = \"run\"\ndescription = \"d\"\n\
                permission = \"allow\"\n[invokers.command]\nargv = [\"true\", \".\"]\nenvironment = { LD_PRELOAD = \"x.so\" }\n";
    env.write("work/ensembles/own.toml", text);
    let ran = env.run(&["ensembles", "trust"]).exits(3);
    let (_, last) = ran.stdout.split_once("sha256 of all").unwrap();
    let (_, last) = last.split_once("\nWhat this would do:\n").unwrap();
    let lines: Vec<&str> = last.lines().map(str::trim_start).collect();
    let [heading, replaces, whole, starts, program, sets, allowed] = lines.as_slice() else {
        panic!("{last}")
    };
    assert_eq!(*heading, "ensembles/own.toml:1  essentials");
    assert_eq!(*replaces, "REPLACES the ensemble `essentials` of builtin:essentials.toml");
    assert!(whole.starts_with("IS GIVEN THE WHOLE PROJECT"), "{whole}");
    assert_eq!(*starts, "run: STARTS \"true\" \".\"");
    assert!(program.starts_with("run: which is \"/") && program.ends_with("/true\" now"), "{program}");
    assert!(sets.starts_with("run: SETS \"LD_PRELOAD\" = \"x.so\": it decides"), "{sets}");
    assert!(allowed.starts_with("run: IS ALLOWED"), "{allowed}");
}

#[test]
fn the_program_is_looked_for_where_the_descriptor_says() {
    let env = TestEnv::new();
    let planted = env.write("elsewhere/true", "#!/bin/sh\necho planted\n");
    std::fs::set_permissions(&planted, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = planted.parent().unwrap().display();
    command(&env, &format!("argv = [\"true\"]\nenvironment = {{ PATH = \"{path}:${{PATH}}\" }}"));
    let ran = env.run(&["ensembles", "trust"]).exits(3);
    let line = format!("which is \"{}\" now", planted.display());
    assert!(ran.stdout.contains(&line) && ran.stdout.contains("SETS \"PATH\" = "), "{}", ran.stdout);
    trust(&env);
    assert_eq!(call(&env).exits(0).stdout, "planted\n");
}

#[test]
fn whatever_a_command_names_is_part_of_the_hash() {
    for (rest, script) in [
        ("argv = [\"true\", \"-r./pre.js\"]", "pre.js"),
        ("argv = [\"true\", \"--require=./pre.js\"]", "pre.js"),
        ("argv = [\"true\", \"x:tools/a.sh,y\"]", "tools/a.sh"),
        ("argv = [\"true\", \"tools\"]", "tools/deep/er.txt"),
        ("argv = [\"true\", \"-m\", \"server.main\"]", "server/other.py"),
        ("argv = [\"true\", \"-m\", \"module\"]\ncwd = \"tools\"", "tools/module.py"),
        ("argv = [\"true\"]\nenvironment = { PYTHONPATH = \"/x:lib\" }", "lib/json.py"),
        ("argv = [\"true\"]\nenvironment = { BASH_ENV = \"tools/env.sh\" }", "tools/env.sh"),
        ("argv = [\"true\"]\nenvironment = { NODE_OPTIONS = \"--require ./pre.js\" }", "pre.js"),
    ] {
        let env = TestEnv::new();
        let path = format!("work/{script}");
        env.write(&path, "before");
        command(&env, rest);
        trust(&env);
        call(&env).exits(0);
        env.write(&path, "after");
        let ran = call(&env).exits(3);
        assert!(ran.stderr.contains(&format!("changed since: {script};")), "{rest}: {}", ran.stderr);
    }
}

#[test]
fn what_cannot_be_covered_is_not_trusted() {
    let env = TestEnv::new();
    for number in 0..2001 {
        env.write(&format!("work/many/{number}"), "");
    }
    for (rest, why) in [
        ("argv = [\"true\", \"many\"]", "`many`: a directory with more than 2000 files cannot be trusted"),
        ("argv = [\"python3\", \".\"]", "`python3` would run the project's whole directory"),
    ] {
        command(&env, rest);
        for words in [&["ensembles", "trust"][..], &["ensembles", "trust", "--hash", "x"]] {
            let ran = env.run(words).exits(3);
            assert!(ran.stderr.contains(why), "{rest}: {}", ran.stderr);
        }
        assert!(call(&env).exits(3).stderr.contains(why), "{rest}");
    }
}

#[test]
fn a_link_out_of_it_is_named_and_never_read() {
    let env = TestEnv::new();
    let secret = env.write("outside/id_rsa", SECRET);
    env.write("work/tools/a.sh", "true");
    symlink(&secret, env.path("work/leak")).unwrap();
    symlink(env.path("outside"), env.path("work/away")).unwrap();
    symlink(&secret, env.path("work/tools/inner")).unwrap();
    // Opened as root, it would wait for ever.
    symlink("/proc/kmsg", env.path("work/log")).unwrap();
    symlink("/proc/kmsg", env.path("work/tools/log")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(env.path("work/tools/pipe")).status().unwrap();
    assert!(made.success());
    command(&env, "argv = [\"true\", \"leak\", \"away/id_rsa\", \"tools\", \"tools/pipe\", \"log\"]");
    let shown = env.run(&["ensembles", "trust"]).exits(3);
    for named in [
        format!("leak -> {}", secret.display()),
        format!("away -> {}", env.path("outside").display()),
        format!("tools/inner -> {}", secret.display()),
        "log -> /proc/kmsg".to_owned(),
        "tools/log -> /proc/kmsg".to_owned(),
    ] {
        assert!(shown.stdout.contains(&format!("  {named}\n")), "no {named} in {}", shown.stdout);
    }
    trust(&env);
    call(&env).exits(0);
    env.run(&["ask", "2+2", "-m", "understudy"]).exits(0);
    let secrets = |env: &TestEnv| {
        let holds = |file: &std::path::PathBuf| {
            String::from_utf8_lossy(&std::fs::read(file).unwrap()).contains(SECRET)
        };
        files(&env.path("home")).into_iter().filter(holds).collect::<Vec<_>>()
    };
    assert_eq!(secrets(&env), Vec::<std::path::PathBuf>::new());
    // What it holds is not in the hash, what it names is.
    env.write("outside/id_rsa", "another");
    call(&env).exits(0);
    std::fs::remove_file(env.path("work/leak")).unwrap();
    symlink("/etc/hostname", env.path("work/leak")).unwrap();
    assert!(call(&env).exits(3).stderr.contains("leak -> /etc/hostname (new)"));
}

#[test]
fn a_model_that_writes_what_it_then_calls_is_refused() {
    for (name, rest) in [
        ("tools/lint.sh", "argv = [\"sh\", \"tools/lint.sh\"]"),
        ("tools/new.sh", "argv = [\"sh\", \"tools/new.sh\"]"),
        ("lib/json.py", "argv = [\"true\"]\nenvironment = { PYTHONPATH = \"lib\" }"),
        ("tools/more.sh", "argv = [\"true\", \"tools\"]"),
        ("ensembles/more.toml", "argv = [\"true\"]"),
    ] {
        let writes = json!({ "path": name, "content": "touch trace", "create_directories": true });
        let script = [calls([("io__write_file", writes)]), calls([("own__run", json!({}))]), text("Done.")];
        let provider = Provider::chat(script.map(Line::from));
        let env = provider.env(TestEnv::new());
        env.write("work/tools/lint.sh", "true");
        command(&env, rest);
        trust(&env);
        let words = ["ask", "go", "-m", provider.model(), "-o", "json", "--allow", "*.*"];
        let ran = env.run(&words).exits(0);
        let written = ran.json()["invocations"][0]["result"].clone();
        assert!(written.as_str().unwrap().contains("is protected"), "{name}: {written}");
        assert!(!env.path("work/trace").exists(), "{name}");
        assert_ne!(
            std::fs::read_to_string(env.path(&format!("work/{name}"))).unwrap_or_default(),
            "touch trace"
        );
    }
}

#[test]
fn a_directory_of_descriptors_and_the_cache_are_out_of_reach() {
    let env = TestEnv::new();
    let home = env.path("work/home").display().to_string();
    let env = env.var("HOME", home);
    env.write("work/mytools/own.toml", "[ensemble]\nname = \"own\"\ndescription = \"d\"\n[[invokers]]\nname = \"run\"\ndescription = \"d\"\ncommand = { argv = [\"sh\", \"scripts/own.sh\"] }\n");
    env.write("work/scripts/own.sh", "true");
    for (path, free) in [
        ("mytools/evil.toml", false),
        ("mytools/own.toml", false),
        ("scripts/own.sh", false),
        ("scripts/other.sh", true),
        ("home/.cache/converse/lists/x", false),
        ("home/.cache/x", true),
    ] {
        let to = format!("path={path}");
        let words = ["ensembles", "call", "io.write_file", &to, "content=x", "create_directories=true"];
        let ran = env.run(&[&words[..], &["--ensembles", "mytools", "--allow", "*.*"]].concat());
        assert_eq!(ran.code, if free { 0 } else { 10 }, "{path}: {ran:?}");
        assert!(free || ran.stderr.contains("is protected"), "{path}: {}", ran.stderr);
    }
}

#[test]
fn at_home_there_is_no_project_to_avoid() {
    let env = TestEnv::new();
    let program = env.write("home/bin/own-tool", "#!/bin/sh\necho own\n");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", program.parent().unwrap().display());
    let env = env.var("PATH", path);
    command(&env, "argv = [\"own-tool\"]");
    std::fs::rename(env.path("work/ensembles"), env.path("home/ensembles")).unwrap();
    let at_home =
        |words: &[&str]| crate::env::wait(env.command(words).current_dir(env.path("home")).spawn().unwrap());
    let ran = at_home(&["ensembles", "trust"]).exits(3);
    assert!(ran.stdout.contains(&format!("which is \"{}\" now", program.display())), "{}", ran.stdout);
    let hash = at_home(&["ensembles", "trust", "--json"]).json()["sha256"].clone();
    at_home(&["ensembles", "trust", "--hash", hash.as_str().unwrap()]).exits(0);
    assert_eq!(at_home(&["ensembles", "call", "own.run", "--allow", "own.*"]).exits(0).stdout, "own\n");
}
