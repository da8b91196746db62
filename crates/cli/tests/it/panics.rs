//! The program has a bug, in a tool or in itself, and says what it was busy with: no key is among that.

use serde_json::json;

use crate::body::{Says, calls, text};
use crate::env::TestEnv;
use crate::provider::{KEY, Provider, SPOKEN};

const PANICS: &str = "[ensemble]\nname = \"own\"\ndescription = \"d\"\n[[invokers]]\nname = \"tool\"\ndescription = \"d\"\n\
    builtin = \"test_panic\"\npermission = \"allow\"\narguments = { type = \"object\", properties = { text = { type = \"string\" } } }\n";

#[test]
fn a_bug_of_the_program_is_told_without_the_key_that_it_names() {
    let provider = Provider::chat(Vec::<Says>::new());
    for (extra, told) in [(&[][..], 0), (&["-v"], 1), (&["-vvv"], 1)] {
        let env = provider.env(TestEnv::new()).var("CONVERSE_TEST_PANIC", "OPENAI_API_KEY");
        let ran = env.run(&[&["ask", "go", "-m", provider.model()], extra].concat()).exits(1);
        assert!(ran.stderr.contains("error[internal]: the program has a bug and stopped"), "{}", ran.stderr);
        let words = ran.stderr.matches("a bug on purpose, with Some(\"[redacted]\")").count();
        assert_eq!(words, told, "{extra:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains(KEY) && !ran.stdout.contains(KEY), "{}", ran.stderr);
    }
}

#[test]
fn a_bug_of_a_tool_is_a_failed_call_and_told_without_the_key_that_it_names() {
    let call = calls([("own__tool", json!({ "text": SPOKEN }))]);
    let provider = Provider::chat([call, text("It failed.")]);
    let env = provider.env(TestEnv::new()).var("SPOKEN_KEY", SPOKEN);
    env.write("work/own/own.toml", PANICS);
    let ran = env.run(&["ask", "go", "-m", provider.model(), "--ensembles", "own", "-vvv"]).exits(0);
    provider.is_content();
    assert_eq!(ran.stdout, "It failed.\n");
    assert!(ran.stderr.contains("a tool panics on purpose: [redacted]"), "{}", ran.stderr);
    assert!(!ran.stderr.contains(SPOKEN), "{}", ran.stderr);
}
