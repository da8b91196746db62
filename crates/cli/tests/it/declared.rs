//! Programs and HTTP requests as tools, through the real binary.

use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::body::{calls, text};
use crate::env::{Ran, TestEnv, files};
use crate::http::{Answer, Request, serve};
use crate::provider::{Line, Provider};

const SECRET: &str = "canary-0123456789abcdef";
/// For the tool itself.
const GRANTED: &str = "granted-canary-0123456789abcdef";

fn write(env: &TestEnv, invoker: &str) {
    let text = format!(
        "[ensemble]\nname = \"own\"\ndescription = \"d\"\n[[invokers]]\nname = \"tool\"\ndescription = \"d\"\n{invoker}\n"
    );
    env.write("work/own/own.toml", &text);
}

fn call(env: &TestEnv, arguments: &[&str]) -> Ran {
    let words = ["ensembles", "call", "own.tool", "--ensembles", "own", "--allow", "own.*"];
    env.run(&[&words, arguments].concat())
}

#[test]
fn a_program_is_a_tool_and_an_argument_is_one_word_of_it() {
    let env = TestEnv::new();
    write(
        &env,
        "command = { argv = [\"printf\", \"%s|\", \"a {word}\", [\"--to\", \"{to}\"], \"end\"] }\n\
         arguments = { type = \"object\", required = [\"word\"], properties = { word = { type = \"string\" }, to = { type = \"string\" } } }",
    );
    let ran = call(&env, &["word=$(id); `id` x"]).exits(0);
    assert_eq!(ran.stdout, "a $(id); `id` x|end|\n");
    let ran = call(&env, &["word=x", "to=y z"]).exits(0);
    assert_eq!(ran.stdout, "a x|--to|y z|end|\n");
    let ran = call(&env, &["word=x", "to=-rf"]).exits(2);
    assert!(ran.stderr.contains("`to`") && ran.stderr.contains("option"), "{}", ran.stderr);
    let ran = call(&env, &[]).exits(2);
    assert!(ran.stderr.contains("word"), "{}", ran.stderr);
}

#[test]
fn without_leave_a_program_does_not_run() {
    let env = TestEnv::new();
    write(&env, "effects = \"none\"\ncommand = { argv = [\"touch\", \"trace\"] }");
    let ran = env.run(&["ensembles", "call", "own.tool", "--ensembles", "own"]).exits(8);
    assert!(ran.stderr.contains("approval"), "{}", ran.stderr);
    assert!(!env.path("work/trace").exists());
}

/// Where it listens, and what it was sent.
fn listen(answer: Answer) -> (String, Arc<Mutex<Vec<Request>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&heard);
    let port = serve(move |request| {
        note.lock().unwrap().push(request);
        answer.clone()
    });
    (format!("http://127.0.0.1:{port}"), heard)
}

#[test]
fn a_request_is_a_tool_and_an_argument_stays_in_its_place() {
    let (origin, heard) = listen(Answer::new(200, "application/json", "{\"ok\": 1}"));
    let env = TestEnv::new().var("OWN_TOKEN", SECRET);
    let http = format!(
        "http = {{ method = \"POST\", url = \"{origin}/users/{{id}}\", query = {{ q = \"{{q}}\", none = \"{{none}}\" }}, \
         headers = {{ Authorization = \"Bearer ${{OWN_TOKEN}}\" }}, body = {{ count = \"{{count}}\" }} }}\n\
         arguments = {{ type = \"object\", required = [\"id\", \"q\", \"count\"], properties = {{ id = {{ type = \"string\" }}, \
         q = {{ type = \"string\" }}, count = {{ type = \"integer\" }}, none = {{ type = \"string\" }} }} }}"
    );
    write(&env, &http);
    let ran = call(&env, &["id=a/b?c#d", "q=x&admin=1", "count=3"]).exits(0);
    assert_eq!(ran.stdout, "{\"ok\":1}\n");
    let heard = heard.lock().unwrap();
    let [request] = heard.as_slice() else { panic!("{heard:?}") };
    assert_eq!(request.path, "/users/a%2Fb%3Fc%23d?q=x%26admin%3D1");
    assert_eq!(request.header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
    assert_eq!(String::from_utf8_lossy(&request.body), "{\"count\":3}");
}

#[test]
fn a_server_that_says_no_is_a_failed_call() {
    for (answer, said) in [
        (Answer::new(404, "text/plain", "gone"), "404"),
        (Answer::new(302, "text/plain", "").header("location", "http://127.0.0.1:1/"), "redirect"),
    ] {
        let (origin, _) = listen(answer);
        let env = TestEnv::new();
        write(&env, &format!("http = {{ url = \"{origin}/\" }}"));
        let ran = call(&env, &[]).exits(10);
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
    let env = TestEnv::new();
    write(&env, "http = { url = \"http://127.0.0.1:1/\" }");
    let ran = call(&env, &[]).exits(10);
    assert!(ran.stderr.contains("cannot be reached"), "{}", ran.stderr);
}

/// A key that a tool says again reaches neither the model nor the disk nor the screen.
#[test]
fn a_key_that_a_tool_echoes_goes_nowhere() {
    let provider = Provider::chat([Line::from(calls([("own__tool", json!({}))])), text("Done.").into()]);
    let env = provider.env(TestEnv::new()).var("MY_OWN_NAME_FOR_IT", GRANTED);
    write(
        &env,
        "command = { argv = [\"sh\", \"-c\", \"echo out $K; echo err $K >&2; exit $CODE\"], \
         environment = { K = \"env:MY_OWN_NAME_FOR_IT\", CODE = \"0\" } }",
    );
    let words = ["ask", "go", "-m", provider.model(), "-o", "json", "--ensembles", "own", "--allow", "own.*"];
    let ran = env.run(&words).exits(0);
    provider.is_content();
    let told = ran.json()["invocations"][0]["result"].clone();
    assert_eq!(told, "out [redacted]");
    let requests = format!("{:?}", provider.requests());
    assert!(requests.contains("out [redacted]") && !requests.contains(GRANTED));
    let ran = call(&env, &["--json"]).exits(0);
    assert!(!ran.stdout.contains(GRANTED), "{}", ran.stdout);
    for file in files(&env.path("home")) {
        let bytes = std::fs::read(&file).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains(GRANTED), "{}", file.display());
    }
}

/// Tests may run as root, whom nothing stops from reading the environment of another process.
#[test]
fn a_key_is_not_in_the_environment_of_the_process_that_a_tool_sees() {
    let env = TestEnv::new().var("OPENAI_API_KEY", SECRET).var("DB_PASS", SECRET).var("OWN_WORD", "harmless");
    write(&env, "command = { argv = [\"sh\", \"-c\", \"tr '\\\\0' '\\\\n' < /proc/$PPID/environ\"] }");
    let ran = call(&env, &[]);
    if ran.code == 0 {
        let words = ran.stdout;
        assert!(words.contains("OWN_WORD=harmless\n"), "{words}");
        assert!(words.contains("OPENAI_API_KEY=\n") && words.contains("DB_PASS=\n"), "{words}");
    } else {
        assert!(ran.stderr.contains("ermission denied"), "{}", ran.stderr);
    }
}
