//! The entry in the text of a file.

use super::*;

const FLAT: &str = r#""converse": {"command":"converse","args":["serve"]}"#;

fn gateway() -> GatewayAddress {
    GatewayAddress::command("converse".to_owned(), &[], vec![])
}

fn at(url: &str) -> GatewayAddress {
    GatewayAddress::Url(url.to_owned())
}

fn merged(text: &str, force: bool) -> Result<Merged, MergeError> {
    Client::ClaudeCode.merged(text, &gateway(), force)
}

/// Every byte of the old text is in the new one, in its order.
fn keeps(old: &str, new: &str) -> bool {
    let mut rest = new.bytes();
    old.bytes().all(|byte| rest.any(|other| other == byte))
}

#[test]
fn an_entry_is_added_and_every_other_byte_stays() {
    let lines = |indent: &str, unit: &str| {
        let entry =
            ["\"converse\": {", "@\"command\": \"converse\",", "@\"args\": [", "@@\"serve\"", "@]", "}"];
        entry.map(|line| format!("{indent}{}", line.replace('@', unit))).join("\n")
    };
    for (old, new) in [
        // Comments and trailing commas, by four blanks.
        (
            "// mine\n{\n    \"mcpServers\": {\n        \"a\": { \"command\": \"x\" }, // note\n        // end\n    },\n    \"b\": [1, 2,],\n}\n",
            format!(
                "// mine\n{{\n    \"mcpServers\": {{\n        \"a\": {{ \"command\": \"x\" }}, // note\n        // end\n{},\n    }},\n    \"b\": [1, 2,],\n}}\n",
                lines("        ", "    ")
            ),
        ),
        // No trailing comma: the note stays with its server.
        (
            "{\n\t\"mcpServers\": {\n\t\t\"a\": {} // note, with a comma\n\t}\n}",
            format!(
                "{{\n\t\"mcpServers\": {{\n\t\t\"a\": {{}}, // note, with a comma\n{}\n\t}}\n}}",
                lines("\t\t", "\t")
            ),
        ),
        // The key is missing.
        (
            "{\n  \"theme\": \"dark\"\n}\n",
            format!("{{\n  \"theme\": \"dark\",\n  \"mcpServers\": {{\n{}\n  }}\n}}\n", lines("    ", "  ")),
        ),
        (
            "{\n  \"mcpServers\": {}\n}\n",
            format!("{{\n  \"mcpServers\": {{\n{}\n  }}\n}}\n", lines("    ", "  ")),
        ),
        // On one line.
        (r#"{"mcpServers":{"a":{}},"b":1}"#, format!(r#"{{"mcpServers":{{"a":{{}}, {FLAT}}},"b":1}}"#)),
        (
            "{ \"mcpServers\": { \"a\": {}, /* c */ } }\n",
            format!("{{ \"mcpServers\": {{ \"a\": {{}}, /* c */ {FLAT}, }} }}\n"),
        ),
        ("{\n\"x\": \"{\", \"mcpServers\": { /* none */ }}", {
            let entry = lines("  ", "  ");
            format!("{{\n\"x\": \"{{\", \"mcpServers\": {{ /* none */\n{entry}\n }}}}")
        }),
        ("{}", r#"{"mcpServers": {"converse":{"command":"converse","args":["serve"]}}}"#.to_owned()),
        // A byte order mark and line ends of Windows.
        (
            "\u{feff}{\r\n  \"mcpServers\": {\r\n    \"a\": {}\r\n  }\r\n}\r\n",
            format!(
                "\u{feff}{{\r\n  \"mcpServers\": {{\r\n    \"a\": {{}},\r\n{}\r\n  }}\r\n}}\r\n",
                lines("    ", "  ").replace('\n', "\r\n")
            ),
        ),
    ] {
        let Ok(Merged::Added(text)) = merged(old, false) else { panic!("{old}: {:?}", merged(old, false)) };
        assert_eq!(text, new);
        assert!(keeps(old, &text), "{text}");
        assert_eq!(merged(&text, false), Ok(Merged::Unchanged), "{text}");
    }
    for empty in ["", " \n"] {
        let whole = Client::ClaudeCode.entry(&gateway()).unwrap();
        assert_eq!(merged(empty, false), Ok(Merged::Added(whole)));
    }
}

#[test]
fn another_entry_is_replaced_only_by_force() {
    let old = "{\n  // mine\n  \"mcpServers\": {\n    \"converse\": { \"command\": \"/opt/converse\" }, // old\n    \"b\": {}\n  }\n}\n";
    assert_eq!(merged(old, false), Err(MergeError::Differs("`converse`".to_owned())));
    let Ok(Merged::Replaced(new)) = merged(old, true) else { panic!() };
    let (before, after) = old.split_once("{ \"command\": \"/opt/converse\" }").unwrap();
    assert!(new.starts_with(before) && new.ends_with(after), "{new}");
    assert_eq!(merged(&new, false), Ok(Merged::Unchanged));
}

#[test]
fn a_file_of_another_form_stays_as_it_is() {
    for text in [
        "[]",
        "{",
        "# not JSON",
        r#"{"mcpServers": []}"#,
        r#"{"mcpServers": null}"#,
        r#"{"mcpServers": {}, "mcpServers": {}}"#,
        r#"{"mcpServers": {"a": 1, "a": 2}}"#,
    ] {
        assert!(merged(text, true).is_err(), "{text}");
    }
    let secret = merged("{\"k\": \"s3cret\" x}", true).unwrap_err();
    assert!(!format!("{secret} {secret:?}").contains("s3cret"), "{secret}");
    let large = format!("{{}}{}", " ".repeat(crate::MAX_BYTES));
    assert!(matches!(merged(&large, false), Err(MergeError::Unreadable(_))));
}

#[test]
fn vs_code_gets_the_question_for_the_token_once() {
    let url = at("https://g.example/mcp");
    let old = "{\n  \"inputs\": [\n    { \"id\": \"mine\" },\n  ],\n  \"servers\": {}\n}\n";
    let Ok(Merged::Added(new)) = Client::VsCode.merged(old, &url, false) else { panic!() };
    assert!(keeps(old, &new) && new.matches("\"id\": \"converse-token\"").count() == 1, "{new}");
    assert_eq!(Client::VsCode.merged(&new, &url, false), Ok(Merged::Unchanged));
    let other = at("https://h.example/mcp");
    assert!(matches!(Client::VsCode.merged(&new, &other, false), Err(MergeError::Differs(_))));
    let Ok(Merged::Replaced(new)) = Client::VsCode.merged(&new, &other, true) else { panic!() };
    assert_eq!(new.matches("converse-token\"").count(), 1, "{new}");
}

#[test]
fn a_table_is_added_at_the_end_of_a_toml_file() {
    let merged = |text: &str, force| Client::Codex.merged(text, &gateway(), force);
    let table = Client::Codex.entry(&gateway()).unwrap();
    for (old, new) in [
        ("", table.clone()),
        (
            "# mine\nmodel = \"x\" # note\n\n[mcp_servers.a]\ncommand = \"a\"",
            format!("# mine\nmodel = \"x\" # note\n\n[mcp_servers.a]\ncommand = \"a\"\n\n{table}"),
        ),
        ("a = 1\r\n", format!("a = 1\r\n\r\n{}", table.replace('\n', "\r\n"))),
    ] {
        assert_eq!(merged(old, false), Ok(Merged::Added(new.clone())), "{old}");
        assert_eq!(merged(&new, true), Ok(Merged::Unchanged));
    }
    let other = "[mcp_servers.converse]\ncommand = \"other\"\n";
    for force in [false, true] {
        assert!(matches!(merged(other, force), Err(MergeError::ByHand(_))));
    }
    for text in ["mcp_servers = {}", "mcp_servers = 1", "mcp_servers = { a = { command = \"a\" } }", "a = ["]
    {
        assert!(merged(text, true).is_err(), "{text}");
    }
}

#[test]
fn codex_is_told_which_variables_to_pass_on() {
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let allowed = names(&["notes.list*"]);
    let options: [(&str, &[String]); 2] = [("-e", &[]), ("--allow", &allowed)];
    let gateway =
        GatewayAddress::command("/opt/converse".to_owned(), &options, names(&["HOME", "API_NOTES"]));
    let entry = Client::Codex.entry(&gateway).unwrap();
    assert_eq!(
        entry,
        "[mcp_servers.converse]\ncommand = \"/opt/converse\"\nargs = [\"serve\", \"--allow\", \"notes.list*\"]\nenv_vars = [\"API_NOTES\"]\n"
    );
    let Ok(Merged::Added(new)) = Client::Codex.merged("", &gateway, false) else { panic!() };
    assert_eq!(Client::Codex.merged(&new, &gateway, false), Ok(Merged::Unchanged));
    let passed = GatewayAddress::command("/opt/converse".to_owned(), &[], names(&["PATH"]));
    assert!(!Client::Codex.entry(&passed).unwrap().contains("env_vars"));
}
