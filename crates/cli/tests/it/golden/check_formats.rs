//! `ensembles check` in each format, over a directory with several findings.

use super::is_golden;
use crate::checks::project;

const BROKEN: &str = r#"[ensemble]
name = "broken"
description = "Has mistakes"
timout = 3

[[invokers]]
name = "bad name"
description = "Its name has a space"
builtin = "calculater"

[[invokers]]
name = "delete"
description = "Deletes a file"
command = { argv = ["rm", "{path}"] }
"#;

#[test]
fn check_in_every_format() {
    let env = project();
    env.write("work/d/broken.toml", BROKEN);
    let check = |format: &str, code: i32| {
        let providers = "--provider=anthropic,openai,gemini";
        let ran = env.run(&["ensembles", "check", "d", providers, "--format", format]).exits(code);
        format!("{}\n== stderr\n{}", ran.stdout, ran.stderr)
    };
    for format in ["text", "json", "sarif", "junit", "github"] {
        is_golden(&format!("check-{format}"), &check(format, 3));
    }
}

#[test]
fn check_without_findings() {
    let env = crate::env::TestEnv::new();
    env.write(
        "work/d/sums.toml",
        "[ensemble]\nname = \"sums\"\ndescription = \"Sums\"\n\n[[invokers]]\nname = \"sum\"\n\
         description = \"Adds\"\nbuiltin = \"calculator\"\n[invokers.arguments]\ntype = \"object\"\n\
         properties = { expression = { type = \"string\", description = \"A sum\" } }\n\
         required = [\"expression\"]\n",
    );
    let formats = ["text", "json", "sarif", "junit", "github"].map(|format| {
        let ran = env.run(&["ensembles", "check", "d", "--format", format]).exits(0);
        format!("== {format}\n{}\n== stderr\n{}\n", ran.stdout, ran.stderr)
    });
    is_golden("check-clean", &formats.concat());
}
