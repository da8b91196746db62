//! Command lines from arguments: a table.

use converse_config::{ArgvPart, Environment};
use serde_json::{Value, json};

use crate::InvokeError;
use crate::command::argv::{Numbers, argv};
use crate::template_input::TemplateInput;
use crate::testing::template;

/// `"a {x}"` is one element, `["-n", "{x}"]` belong together.
fn parts(written: &Value) -> Vec<ArgvPart> {
    let one = |text: &Value| template(text.as_str().unwrap());
    let part = |part: &Value| match part {
        Value::Array(together) => ArgvPart::Group(together.iter().map(one).collect()),
        text => ArgvPart::One(one(text)),
    };
    written.as_array().unwrap().iter().map(part).collect()
}

fn made(written: &Value, arguments: &Value) -> Result<Vec<String>, InvokeError> {
    let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let environment = Environment::new([set("REPO", "/r{x}"), set("EMPTY", "")]);
    // `n` and `f` are numbers, `e` may be a text as well, of `x` nothing is said.
    let schema = json!({ "type": "object", "properties": {
        "n": { "type": "integer" },
        "f": { "type": ["integer", "number"] },
        "e": { "type": ["integer", "string"] },
        "x": {},
        "ns": { "type": "array", "items": { "type": "number" } },
    } });
    let given =
        TemplateInput { arguments: arguments.as_object().unwrap(), environment: &environment, styles: &[] };
    argv(&parts(written), &Numbers::of(Some(&schema)), given)
}

#[test]
fn one_argument_stays_one_argument() {
    for (written, arguments, expected) in [
        (json!(["git", "log"]), json!({}), json!(["git", "log"])),
        (json!(["git", "-n{n}"]), json!({ "n": 5 }), json!(["git", "-n5"])),
        // Of what can only be a number a dash is the sign.
        (json!(["git", "{n}"]), json!({ "n": -5 }), json!(["git", "-5"])),
        (json!(["git", "{f}", "{n}m"]), json!({ "f": -0.5, "n": -1 }), json!(["git", "-0.5", "-1m"])),
        (json!(["git", ["-n", "{n}"]]), json!({ "n": -5 }), json!(["git", "-n", "-5"])),
        (json!(["git", "{ns}"]), json!({ "ns": [-1, 2] }), json!(["git", "-1", "2"])),
        (json!(["git", "{e}"]), json!({ "e": 5 }), json!(["git", "5"])),
        (
            json!(["echo", "{x}"]),
            json!({ "x": "a b; rm -rf / `id` $(id)\n\"'" }),
            json!(["echo", "a b; rm -rf / `id` $(id)\n\"'"]),
        ),
        (json!(["echo", "{x}"]), json!({ "x": "${REPO}{y}" }), json!(["echo", "${REPO}{y}"])),
        (json!(["echo", "{x}"]), json!({ "x": "" }), json!(["echo", ""])),
        (json!(["echo", "${REPO}/{x}"]), json!({ "x": "f" }), json!(["echo", "/r{x}/f"])),
        (json!(["${REPO}/tool"]), json!({}), json!(["/r{x}/tool"])),
        // What is not given is left out, flag and all.
        (json!(["git", "{x}", "--a={x}", "z"]), json!({}), json!(["git", "z"])),
        (json!(["git", "{x}", "z"]), json!({ "x": null }), json!(["git", "z"])),
        (json!(["git", ["-n", "{n}"], "z"]), json!({}), json!(["git", "z"])),
        (json!(["git", ["-n", "{n}", "{m}"], "z"]), json!({ "n": 1 }), json!(["git", "z"])),
        (json!(["git", ["-n", "{n}"], "z"]), json!({ "n": 1 }), json!(["git", "-n", "1", "z"])),
        (json!(["x", "{b}"]), json!({ "b": false }), json!(["x", "false"])),
        // An array that is all of an element is one element for each entry.
        (
            json!(["x", "{l}", "z"]),
            json!({ "l": ["a b", 1, true, null, ["c"]] }),
            json!(["x", "a b", "1", "true", "[\"c\"]", "z"]),
        ),
        (json!(["x", "{l}"]), json!({ "l": [] }), json!(["x"])),
        (json!(["x", "-l={l}"]), json!({ "l": ["a", "b"] }), json!(["x", "-l=[\"a\",\"b\"]"])),
        (json!(["x", ["-l", "{l}"]]), json!({ "l": ["a", 1] }), json!(["x", "-l", "a", "1"])),
        (
            json!(["x", ["-l", "{l}", "{n}"]]),
            json!({ "l": ["a", "b"], "n": 1 }),
            json!(["x", "-l", "a", "b", "1"]),
        ),
        // A flag for nothing would take the next word.
        (json!(["x", ["-l", "{l}"], "z"]), json!({ "l": [] }), json!(["x", "z"])),
        (json!(["x", ["-l", "{l}"], "z"]), json!({ "l": [null] }), json!(["x", "z"])),
        (json!(["x", ["--", "{l}"]]), json!({ "l": ["-a"] }), json!(["x", "--", "-a"])),
        (json!(["x", "{o}"]), json!({ "o": { "k": 1 } }), json!(["x", "{\"k\":1}"])),
        // A dash is harmless behind other text and behind the end of options.
        (json!(["x", "--path={x}"]), json!({ "x": "-rf" }), json!(["x", "--path=-rf"])),
        (json!(["x", "-{x}"]), json!({ "x": "-rf" }), json!(["x", "--rf"])),
        (json!(["x", "--", "{x}"]), json!({ "x": "-rf" }), json!(["x", "--", "-rf"])),
        (json!(["x", ["--", "{x}"]]), json!({ "x": "-rf" }), json!(["x", "--", "-rf"])),
        (json!(["x", "--", "{l}"]), json!({ "l": ["-a", "--"] }), json!(["x", "--", "-a", "--"])),
        (json!(["x", "{x}"]), json!({ "x": "a-b" }), json!(["x", "a-b"])),
    ] {
        let expected: Vec<&str> = expected.as_array().unwrap().iter().map(|e| e.as_str().unwrap()).collect();
        assert_eq!(made(&written, &arguments).unwrap(), expected, "{written} of {arguments}");
    }
}

#[test]
fn what_would_mean_more_than_itself_is_refused() {
    let long = "x".repeat(131_072);
    for (written, arguments, telling) in [
        (json!(["x", "{x}"]), json!({ "x": "-rf" }), "`x` begins with `-` and would be read as an option"),
        (json!(["x", "{x}"]), json!({ "x": "--" }), "`x` begins with `-`"),
        (json!(["x", "{x}", "--"]), json!({ "x": "-rf" }), "`x` begins with `-`"),
        (json!(["x", "{x}/y"]), json!({ "x": "-rf" }), "`x` begins with `-`"),
        (json!(["x", "{a}{x}"]), json!({ "a": "", "x": "-rf" }), "`x` begins with `-`"),
        (json!(["x", "${EMPTY}{x}"]), json!({ "x": "-rf" }), "`x` begins with `-`"),
        (json!(["x", ["-n", "{x}"]]), json!({ "x": "-rf" }), "`x` begins with `-`"),
        (json!(["x", "{l}"]), json!({ "l": ["a", "-rf"] }), "`l` begins with `-`"),
        (json!(["x", ["-m", "{l}"]]), json!({ "l": ["a", "-rf"] }), "`l` begins with `-`"),
        // Where a text would be taken a number is as good as one.
        (json!(["x", "{e}"]), json!({ "e": -1 }), "`e` begins with `-`"),
        (json!(["x", "{x}"]), json!({ "x": -1 }), "`x` begins with `-`"),
        (json!(["x", "{y}"]), json!({ "y": -1 }), "`y` begins with `-`"),
        (json!(["x", ["-n", "{x}.5"]]), json!({ "x": -1 }), "`x` begins with `-`"),
        (json!(["x", "{l}"]), json!({ "l": [1, -1] }), "`l` begins with `-`"),
        (json!(["x", "{ns}"]), json!({ "ns": ["-rf"] }), "`ns` begins with `-`"),
        (json!(["x", "{n}"]), json!({ "n": "-rf" }), "`n` begins with `-`"),
        // The end of options must be the descriptor's own.
        (json!(["x", "{a}", "{x}"]), json!({ "a": "--", "x": "-rf" }), "`a` begins with `-`"),
        (json!(["x", ["--", "{a}"], "{x}"]), json!({ "x": "-rf" }), "`x` begins with `-`"),
        (json!(["--", "{x}"]), json!({ "x": "-rf" }), "`x` begins with `-`"),
        (json!(["x", "{x}"]), json!({ "x": "a\0b" }), "`x` contains a NUL character"),
        (json!(["x", "-{x}"]), json!({ "x": ["a\0b"] }), ""),
        (json!(["x", "{l}"]), json!({ "l": ["a", "b\0"] }), "`l` contains a NUL character"),
        (json!(["x", "-{x}"]), json!({ "x": long }), "`x` is too long for a command line"),
        (json!(["x", "{x}"]), json!({ "x": long }), "`x` is too long for a command line"),
        (json!(["x", "{l}"]), json!({ "l": vec!["x".repeat(131_000); 9] }), "`l` is too long"),
        (json!(["x", "{l}"]), json!({ "l": vec![""; 120_000] }), "`l` is too long"),
    ] {
        match made(&written, &arguments) {
            // Within JSON text a NUL is six harmless characters.
            Ok(made) => assert!(telling.is_empty() && made[1] == "-[\"a\\u0000b\"]", "{written}: {made:?}"),
            Err(InvokeError::Invalid(told)) => {
                assert!(!telling.is_empty() && told.starts_with(telling), "{written}: {told}");
                assert!(told.len() < 300, "{told}");
            }
            Err(other) => panic!("{written}: {other:?}"),
        }
    }
    let most = json!({ "x": "x".repeat(131_071) });
    assert_eq!(made(&json!(["x", "{x}"]), &most).unwrap()[1].len(), 131_071);
    assert_eq!(made(&json!(["x", "{l}"]), &json!({ "l": vec![""; 100_000] })).unwrap().len(), 100_001);
}

#[test]
fn a_program_is_never_an_argument() {
    for written in [json!([]), json!(["{x}"]), json!([["x"]]), json!(["${EMPTY}"]), json!(["/bin/{x}"])] {
        let refused = made(&written, &json!({ "x": "rm" }));
        assert_eq!(refused, Err(InvokeError::Failed("the command names no program".into())), "{written}");
    }
    let unset = made(&json!(["x", "${NONE}"]), &json!({}));
    assert_eq!(
        unset,
        Err(InvokeError::Failed(
            "the environment variable `NONE` is not set; set it: `export NONE=…`".into()
        ))
    );
}
