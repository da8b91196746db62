//! Servers that ask who you are: access granted in a browser or by pasting, kept, renewed, widened, forgotten; and what
//! nobody may see of it.

mod realm;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use converse_testkit::hang_guard::{LIMIT, wait_for};

use crate::env::canary::overhear;
use crate::env::{Ran, TestEnv, files, wait};
use realm::Realm;

const HINT: &str = "the server requires a login: run `converse ensembles login web`";

fn env(realm: &Realm) -> TestEnv {
    let env = TestEnv::new();
    env.write("servers/web.toml", &realm.descriptor(""));
    env
}

fn args<'a>(words: &[&'a str], servers: &'a Path) -> Vec<&'a str> {
    [words, &["--ensembles", servers.to_str().unwrap()]].concat()
}

fn run(env: &TestEnv, words: &[&str]) -> Ran {
    env.run(&args(words, &env.path("servers")))
}

fn start(env: &TestEnv, words: &[&str]) -> Child {
    env.command(args(words, &env.path("servers"))).stdin(Stdio::piped()).spawn().unwrap()
}

/// The address that is shown; the rest of stderr is read on.
fn shown(child: &mut Child) -> String {
    let mut stderr = BufReader::new(overhear(child.stderr.take().unwrap()));
    let mut line = String::new();
    while !line.trim_start().starts_with("http") {
        line.clear();
        assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "no address was shown");
    }
    std::thread::spawn(move || stderr.read_to_end(&mut Vec::new()));
    line.trim().to_owned()
}

/// One request of a browser: the whole answer.
fn get(url: &str, host: Option<&str>) -> std::io::Result<String> {
    let rest = url.strip_prefix("http://").unwrap();
    let (authority, path) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(authority)?;
    stream.set_read_timeout(Some(LIMIT))?;
    let host = host.unwrap_or(authority);
    stream.write_all(format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// The person says yes: where the browser is sent.
fn agree(url: &str) -> String {
    let answer = get(url, None).unwrap();
    let location = answer.lines().find_map(|line| line.strip_prefix("location: "));
    location.unwrap_or_else(|| panic!("{answer}")).trim().to_owned()
}

fn log_in(env: &TestEnv, flags: &[&str]) -> Ran {
    let mut child = start(env, &[&["ensembles", "login", "web", "--no-browser"], flags].concat());
    let back = agree(&shown(&mut child));
    child.stdin.take().unwrap().write_all(format!("{back}\n").as_bytes()).unwrap();
    wait(child)
}

fn call(env: &TestEnv) -> Ran {
    run(env, &["ensembles", "call", "web.echo", "text=hi"])
}

fn tokens(env: &TestEnv) -> Vec<PathBuf> {
    let below = env.path("home/.local/share/converse/tokens");
    files(&below).into_iter().filter(|file| file.extension().is_some_and(|end| end == "json")).collect()
}

#[test]
fn access_is_granted_once_and_kept_for_the_user_alone() {
    let realm = Realm::new();
    let env = env(&realm);
    let told = call(&env).exits(10);
    assert!(told.stderr.contains(HINT), "{}", told.stderr);
    let told = log_in(&env, &[]).exits(0);
    let issuer = realm.issuer();
    assert!(
        told.stdout.contains(&format!("web: access granted by {issuer}, for read, until 20")),
        "{}",
        told.stdout
    );
    assert!(told.stdout.contains("then renewed automatically\nweb: 2 tools\n"), "{}", told.stdout);
    let files = tokens(&env);
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((files.len(), mode(&files[0]), mode(files[0].parent().unwrap())), (1, 0o600, 0o700));
    let seen = realm.state().authorizations;
    assert!(call(&env).exits(0).stdout.contains("said hi"));
    assert_eq!((seen, realm.state().authorizations), (1, 1), "nobody was asked again");
    // A token that others could have read is not used.
    std::fs::set_permissions(&files[0], std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(call(&env).exits(10).stderr.contains("chmod 600"));
    std::fs::set_permissions(&files[0], std::fs::Permissions::from_mode(0o600)).unwrap();
    assert!(run(&env, &["ensembles", "logout", "web"]).exits(0).stdout.contains("forgotten"));
    assert!(tokens(&env).is_empty() && realm.state().revoked == 1);
    assert!(run(&env, &["ensembles", "logout", "web"]).exits(0).stdout.contains("there was no token"));
    assert!(call(&env).exits(10).stderr.contains(HINT));
    realm.is_content();
}

#[test]
fn the_browser_is_opened_and_only_its_own_answer_is_taken() {
    let realm = Realm::new();
    let env = env(&realm);
    let programs = env.path("programs");
    let script = "#!/bin/sh\nenv > \"$HOME/env\"\nprintf '%s\\n' \"$#\" \"$@\" > \"$HOME/new\"\nmv \"$HOME/new\" \"$HOME/opened\"\n";
    let program = env.write("programs/xdg-open", script);
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let env = env.var("PATH", path).var("DISPLAY", ":9").var("SOME_API_KEY", "canary-0123456789");
    let mut child = start(&env, &["ensembles", "login", "web"]);
    let url = shown(&mut child);
    let opened = wait_for("a browser is opened", || std::fs::read_to_string(env.path("home/opened")).ok());
    assert_eq!(opened, format!("1\n{url}\n"));
    let given = std::fs::read_to_string(env.path("home/env")).unwrap();
    assert!(given.contains("DISPLAY=:9") && !given.contains("canary"), "{given}");
    let back = agree(&url);
    let port = back.strip_prefix("http://127.0.0.1:").unwrap().split('/').next().unwrap();
    let state = back.split_once("state=").unwrap().1.split('&').next().unwrap();
    for (odd, host) in [
        (back.clone(), Some("evil.example")),
        (back.clone(), Some("localhost")),
        (back.replace(state, "guessed"), None),
        (back.replace("/callback", "/"), None),
        (format!("http://127.0.0.1:{port}/favicon.ico"), None),
    ] {
        let answer = get(&odd, host).unwrap();
        assert!(answer.starts_with("HTTP/1.1 403 "), "{odd}: {answer}");
    }
    // A connection that says nothing keeps nobody waiting.
    let silent = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    let answer = get(&back, None).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 ") && !answer.contains(state), "{answer}");
    assert!(answer.contains("go back to the terminal") && !answer.contains("ranted"), "{answer}");
    let second = get(&back, None);
    assert!(second.as_ref().map_or(true, String::is_empty), "{second:?}");
    drop(silent);
    wait(child).exits(0);
    assert!(call(&env).exits(0).stdout.contains("said hi"));
    realm.is_content();
}

#[test]
fn who_refuses_is_not_told_that_access_was_granted() {
    let realm = Realm::new();
    let env = env(&realm);
    let mut child = start(&env, &["ensembles", "login", "web"]);
    let back = agree(&shown(&mut child));
    let (home, state) = (back.split('?').next().unwrap(), back.split_once("state=").unwrap().1);
    let answer = get(&format!("{home}?error=access_denied&state={state}"), None).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("was not granted"), "{answer}");
    wait(child).exits(10);
    assert!(tokens(&env).is_empty());
}

#[test]
fn nothing_is_opened_where_nobody_would_see_it() {
    let realm = Realm::new();
    for (name, value) in
        [("SSH_CONNECTION", "1.2.3.4 5 6.7.8.9 22"), ("SSH_TTY", "/dev/pts/0"), ("DISPLAY", "")]
    {
        let env = env(&realm);
        let script = "#!/bin/sh\n: > \"$HOME/opened\"\n";
        let program = env.write("programs/xdg-open", script);
        std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:{}", env.path("programs").display(), std::env::var("PATH").unwrap());
        let env = env.var("PATH", path).var("DISPLAY", ":9").var(name, value);
        let mut child = start(&env, &["ensembles", "login", "web"]);
        let back = agree(&shown(&mut child));
        assert!(get(&back, None).unwrap().starts_with("HTTP/1.1 200 "));
        wait(child).exits(0);
        assert!(!env.path("home/opened").exists(), "{name}");
    }
}

#[test]
fn a_token_that_has_ended_is_renewed_by_one_of_those_who_need_it() {
    let realm = Realm::new();
    let env = env(&realm);
    log_in(&env, &[]).exits(0);
    realm.state().end_all();
    // As if an hour had passed.
    let file = &tokens(&env)[0];
    let text = std::fs::read_to_string(file).unwrap();
    let old = text.replace("\"lifetime\":3600", "\"lifetime\":0");
    assert_ne!(old, text);
    std::fs::write(file, old).unwrap();
    let both = [(); 2].map(|()| start(&env, &["ensembles", "call", "web.echo", "text=hi"]));
    for child in both {
        assert!(wait(child).exits(0).stdout.contains("said hi"));
    }
    let state = realm.state();
    assert_eq!((state.renewals, state.authorizations), (1, 1));
    drop(state);
    // Nobody said that this one ends; the server does.
    realm.state().end_all();
    call(&env).exits(0);
    assert_eq!(realm.state().renewals, 2);
    realm.state().refuses_renewals = true;
    realm.state().end_all();
    let told = call(&env).exits(10);
    assert!(
        told.stderr.contains("no longer accepts the stored token: run `converse ensembles login web`"),
        "{told:?}"
    );
    assert!(tokens(&env).is_empty());
    realm.is_content();
}

#[test]
fn what_was_not_granted_is_asked_for_by_name() {
    let realm = Realm::new();
    let env = env(&realm);
    log_in(&env, &[]).exits(0);
    let write = ["ensembles", "call", "web.write", "text=hi"];
    let told = run(&env, &write).exits(10);
    let told = format!("{}{}", told.stdout, told.stderr);
    assert!(told.contains("`converse ensembles login web --scope write`"), "{told}");
    let told = log_in(&env, &["--scope", "write"]).exits(0);
    assert!(told.stdout.contains(", for read write,"), "{}", told.stdout);
    assert!(run(&env, &write).exits(0).stdout.contains("wrote hi"));
    assert!(call(&env).exits(0).stdout.contains("said hi"));
    realm.is_content();
}

#[test]
fn who_answers_for_another_gets_nothing() {
    let realm = Realm::new();
    let env = env(&realm);
    realm.state().issuer_in_redirect = Some("https://evil.example".to_owned());
    let told = log_in(&env, &[]).exits(10);
    assert!(told.stdout.is_empty() && tokens(&env).is_empty());
    assert_eq!(realm.state().tokens.len(), 0, "no code was spent");
    // Whatever address is pasted, it must be the answer to this question.
    realm.state().issuer_in_redirect = None;
    let mut child = start(&env, &["ensembles", "login", "web", "--no-browser"]);
    let back = agree(&shown(&mut child)).replace("state=", "state=x");
    child.stdin.take().unwrap().write_all(back.as_bytes()).unwrap();
    wait(child).exits(10);
    assert_eq!(realm.state().tokens.len(), 0);
    realm.is_content();
}

#[test]
fn a_person_is_not_sent_to_what_is_no_page() {
    for address in
        ["javascript:alert(1)", "file:///etc/passwd", "-x", "$(touch opened)", "http://169.254.169.254/x"]
    {
        let realm = Realm::new();
        let env = env(&realm);
        realm.state().authorization_endpoint = Some(address.to_owned());
        let told = run(&env, &["ensembles", "login", "web"]).exits(10);
        assert!(told.stderr.contains("is not allowed"), "{}", told.stderr);
        assert!(!env.path("work/opened").exists());
    }
}

#[test]
fn only_a_server_that_asks_is_logged_in_to() {
    let realm = Realm::new();
    let env = env(&realm);
    let stdio = "[ensemble]\nname = \"local\"\ndescription = \"x\"\n[connection]\ntransport = \"stdio\"\ncommand = [\"x\"]\n";
    env.write("servers/local.toml", stdio);
    let open = realm.descriptor("").replace("\"web\"", "\"open\"").replace("auth = \"oauth\"\n", "");
    env.write("servers/open.toml", &open);
    for (name, words) in
        [("local", "has no login"), ("open", "has no `auth"), ("essentials", "no server"), ("x", "x")]
    {
        for verb in ["login", "logout"] {
            let told = run(&env, &["ensembles", verb, name]);
            assert!(told.code == 2 || name == "x", "{told:?}");
            assert!(told.stderr.contains(words), "{}", told.stderr);
        }
    }
    let told = run(&env, &["ensembles", "call", "open.echo", "text=hi"]).exits(10);
    assert!(told.stderr.contains("put a token into `headers` or set `auth = \"oauth\"`"), "{}", told.stderr);
    assert!(run(&env, &["ensembles", "login", "web", "--scope", "a b"]).exits(2).stderr.contains("scope"));
}

#[test]
fn a_required_server_ends_the_run_with_how_to_log_in() {
    let realm = Realm::new();
    let env = env(&realm);
    env.write("servers/web.toml", &realm.descriptor("required = true"));
    let told = run(&env, &["ask", "hi", "-m", "understudy", "-e", "web"]).exits(10);
    assert!(told.stderr.contains(HINT) && told.stderr.contains("required"), "{}", told.stderr);
}

#[test]
fn nobody_sees_a_token() {
    let realm = Realm::new();
    let env = env(&realm);
    let mut said = String::new();
    let mut child = start(&env, &["-vvv", "ensembles", "login", "web", "--no-browser"]);
    let mut stderr = BufReader::new(overhear(child.stderr.take().unwrap()));
    let mut line = String::new();
    while !line.trim_start().starts_with("http") || line.contains(' ') && !line.starts_with("  http") {
        line.clear();
        assert_ne!(stderr.read_line(&mut line).unwrap(), 0);
    }
    let rest = std::thread::spawn(move || {
        let mut rest = String::new();
        let _ = stderr.read_to_string(&mut rest);
        rest
    });
    let back = agree(line.trim());
    child.stdin.take().unwrap().write_all(format!("{back}\n").as_bytes()).unwrap();
    said += &wait(child).exits(0).stdout;
    said += &rest.join().unwrap();
    // The server repeats the token, as careless ones do.
    for flags in [
        &["-vvv", "ensembles", "call", "web.echo", "text=token"][..],
        &["ensembles", "call", "web.echo", "text=token", "--json"],
    ] {
        let ran = run(&env, flags).exits(0);
        said += &format!("{}{}", ran.stdout, ran.stderr);
    }
    realm.state().end_all();
    let ran = run(&env, &["-vvv", "ensembles", "call", "web.echo", "text=token"]).exits(0);
    said += &format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains("[redacted]"), "the tokens came by");
    let state = realm.state();
    assert!(state.tokens.len() >= 2 && !state.codes_given.is_empty());
    let tokens_at = tokens(&env);
    let kept: Vec<(PathBuf, String)> = files(&env.path(""))
        .into_iter()
        .filter(|file| !tokens_at.contains(file))
        .map(|file| (file.clone(), String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned()))
        .collect();
    assert!(kept.iter().any(|(file, _)| file.to_string_lossy().contains("audit")), "the audit was looked at");
    for secret in state.secrets() {
        assert!(!said.contains(&secret), "{secret}");
        for (file, text) in &kept {
            assert!(!text.contains(&secret), "{secret} in {}", file.display());
        }
    }
}
