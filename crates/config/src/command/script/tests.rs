use super::*;
use crate::source::Span;
use crate::{Scope, SourceMap};

/// `kind argument` of the first risk.
fn found_with(argv: &[&str], stdin: Option<&str>) -> Option<String> {
    let source = SourceMap::new().add("x", Scope::User, "");
    let span = Span { source, start: 0, end: 0 };
    let template = |text: &str| Spanned { value: Template::parse(text).unwrap(), span };
    let argv: Vec<_> = argv.iter().map(|text| ArgvDescriptor::One(template(text))).collect();
    let stdin = stdin.map(template);
    let risks = arguments_as_code(&argv, stdin.as_ref());
    risks.first().map(|risk| format!("{:?} {}", risk.kind, risk.argument))
}

fn found(argv: &[&str]) -> Option<String> {
    found_with(argv, None)
}

#[test]
fn arguments_in_scripts_are_found() {
    for argv in [
        &["sh", "-c", "echo {x}"][..],
        &["/bin/bash", "-c", "{x}"],
        &["bash", "-euxc", "a\n{x}"],
        &["bash", "-o", "pipefail", "-c", "{x} | wc"],
        &["bash", "-euo", "pipefail", "-c", "{x} | wc"],
        &["bash", "-c", "-x", "{x}"],
        &["bash", "-co", "pipefail", "{x}"],
        &["bash", "-c", "-o", "pipefail", "{x}"],
        &["sh", "-c", "--", "{x}"],
        &["env", "A=b", "sh", "-c", "'{x}'"],
        &["docker", "exec", "box", "sh", "-c", "{x}"],
        &["docker", "exec", "sh", "sh", "-c", "{x}"],
        &["${SHELL}", "-c", "{x}"],
        &["${SH:-/bin/sh}", "-c", "{x}"],
        &["${PREFIX}/bin/sh", "-c", "{x}"],
        &["fish", "--command", "{x}"],
        &["fish", "--command=ls {x}"],
        &["sh", "-c", "true", "sh", "-c", "{x}"],
        &["sh", "-{x}"],
        // a text that is split into words
        &["env", "-S", "sh -c {x}"],
        &["env", "-S{x}"],
        &["env", "-i", "-vS", "{x}"],
        &["/usr/bin/env", "--split-string", "sh {x}"],
        &["env", "--split-string=sh {x}"],
        &["env", "-u", "A", "-S", "sh {x}"],
        &["env", "-S", "sh -c", "{x}"],
        &["env", "-S", "'sh' -c", "{x}"],
        // other shells
        &["su", "-c", "ls {x}", "me"],
        &["su", "-", "me", "-c", "ls {x}"],
        &["su", "me", "--command=ls {x}"],
        &["su", "me", "-cls {x}"],
        &["su", "-s", "/bin/sh", "me", "--session-command", "{x}"],
        &["sudo", "runuser", "me", "-c", "{x}"],
        &["runuser", "-u", "me", "--", "sh", "-c", "{x}"],
        &["cmd", "/c", "dir {x}"],
        &["cmd.exe", "/C", "dir", "{x}"],
        &["C:\\Windows\\cmd.exe", "/k", "{x}"],
        &["pwsh", "-c", "ls {x}"],
        &["pwsh", "-NoProfile", "-Command", "ls", "{x}"],
        &["powershell.exe", "-EncodedCommand", "{x}"],
        &["powershell", "ls {x}"],
        // other languages
        &["python", "-c", "print('{x}')"],
        &["python3.12", "-Ic", "{x}"],
        &["/usr/bin/python3", "-W", "ignore", "-cprint({x})"],
        &["env", "-i", "python3", "-c", "{x}"],
        &["uv", "run", "python", "-c", "{x}"],
        &["timeout", "5", "perl", "-e", "{x}"],
        &["perl", "-lane", "print {x}"],
        &["perl", "-0777ne", "{x}"],
        &["perl", "-e", "1;", "-e", "{x}"],
        &["perl", "-M{x}", "-e", "1"],
        &["perl", "-{x}"],
        &["ruby", "-rjson", "-ne", "{x}"],
        &["ruby", "-r", "json", "-e", "{x}"],
        &["node", "-e", "{x}"],
        &["node", "-pe", "{x}"],
        &["nodejs", "--eval={x}"],
        &["node", "-r", "./a.js", "--print", "{x}"],
        &["node", "--{x}"],
        &["php", "-d", "a=b", "-r", "{x}"],
        &["php8.3", "--run", "{x}"],
        &["lua5.4", "-l", "m", "-e", "x={x}"],
        &["awk", "/{x}/ {{ print }}", "file"],
        &["awk", "-F:", "-v", "a=b", "{x}"],
        &["gawk", "--source={x}"],
    ] {
        assert_eq!(found(argv).as_deref(), Some("Code x"), "{argv:?}");
    }
}

#[test]
fn arguments_that_choose_what_runs_are_found() {
    for argv in [
        &["sh", "{x}"][..],
        &["bash", "-e", "tools/{x}"],
        &["bash", "-o", "pipefail", "{x}"],
        &["sh", "--", "{x}"],
        &["env", "A=b", "sh", "{x}"],
        &["sh", "{x}", "-c", "{y}"],
        &["pwsh", "-File", "{x}"],
        &["pwsh", "-f", "{x}"],
        &["python", "{x}"],
        &["python", "-m", "{x}"],
        &["python", "-m{x}"],
        &["node", "{x}.js"],
        &["php", "-f", "{x}"],
        &["awk", "-f", "{x}"],
        &["awk", "--file={x}", "data"],
    ] {
        assert_eq!(found(argv).as_deref(), Some("File x"), "{argv:?}");
    }
}

#[test]
fn arguments_beside_code_are_not() {
    for argv in [
        &["sh", "-c", "echo \"$1\"", "sh", "{x}"][..],
        &["sh", "-c", "echo {{x}} ${HOME}"],
        &["sh", "script.sh", "-c", "{x}"],
        &["sh", "-e", "script.sh", "{x}"],
        &["sh", "${SCRIPT}", "{x}"],
        &["bash", "-o", "{x}", "script.sh"],
        &["grep", "-c", "{x}"],
        &["git", "-c", "a={x}"],
        &["publish", "-c", "{x}"],
        &["env", "A={x}", "ls"],
        &["env", "-u", "S", "ls", "{x}"],
        &["env", "-S", "sh tools/a.sh", "{x}"],
        &["sudo", "systemctl", "restart", "{x}"],
        &["su", "-c", "id", "{x}"],
        &["runuser", "-u", "{x}", "--", "id"],
        &["pwsh", "-NoProfile", "-File", "a.ps1", "{x}"],
        &["pwsh", "-WorkingDirectory", "{x}", "-File", "a.ps1"],
        &["cmd", "/c", "dir"],
        &["python", "tool.py", "-c", "{x}"],
        &["python", "-c", "import sys", "{x}"],
        &["python", "-c", "import sys", "-c", "{x}"],
        &["python", "-m", "http.server", "-c", "{x}"],
        &["python", "-X{x}", "tool.py"],
        &["perl", "-ne", "print if /$ARGV[0]/", "{x}"],
        &["perl", "-I{x}", "-e", "1"],
        &["perl", "-i.{x}", "-pe", "1", "f"],
        &["ruby", "-e", "p ARGV", "{x}"],
        &["node", "-e", "1", "{x}"],
        &["php", "-r", "1;", "--", "{x}"],
        &["lua", "a.lua", "{x}"],
        &["awk", "-v", "x={x}", "{{ print x }}", "{y}"],
        &["awk", "-f", "a.awk", "{x}"],
        // Here these are names, patterns and kinds of files.
        &["rg", "--type", "perl", "-e", "{x}"],
        &["kubectl", "get", "node", "{x}"],
        &["rg", "--type", "sh", "{x}"],
        &["git", "log", "--", "awk", "{x}"],
        &[],
    ] {
        assert_eq!(found(argv), None, "{argv:?}");
    }
}

#[test]
fn an_input_is_code_where_there_is_no_other() {
    for (argv, is_code) in [
        (&["sh"][..], true),
        (&["bash", "-x"], true),
        (&["sh", "-"], true),
        (&["bash", "-s", "a", "b"], true),
        (&["sh", "/dev/stdin"], true),
        (&["env", "A=b", "sh"], true),
        (&["env", "-S", "sh -x"], true),
        (&["su", "me"], true),
        (&["su", "-", "me", "-s", "/bin/sh"], true),
        (&["cmd"], true),
        (&["cmd", "/q"], true),
        (&["pwsh", "-NoProfile"], true),
        (&["pwsh", "-Command", "-"], true),
        (&["pwsh", "-File", "-"], true),
        (&["pwsh", "-ExecutionPolicy", "Bypass"], true),
        (&["python"], true),
        (&["python3", "-"], true),
        (&["python3", "-", "tool.py"], true),
        (&["node", "--no-warnings"], true),
        (&["perl", "-w"], true),
        (&["sh", "-c", "cat"], false),
        (&["sh", "script.sh"], false),
        (&["bash", "-e", "--", "script.sh"], false),
        (&["su", "me", "-c", "cat"], false),
        (&["runuser", "-u", "me", "cat"], false),
        (&["runuser", "-u", "me", "sh"], true),
        (&["cmd", "/c", "sort"], false),
        (&["pwsh", "-File", "a.ps1"], false),
        (&["pwsh", "-c", "$input"], false),
        (&["python", "tool.py"], false),
        (&["python", "-c", "1", "-"], false),
        (&["python", "-m", "json.tool"], false),
        (&["perl", "-pe", "s/a/b/"], false),
        (&["awk", "{{ print }}"], false),
        (&["jq", "."], false),
        (&["grep", "sh"], false),
        (&["cat"], false),
    ] {
        let expected = is_code.then_some("Input x");
        assert_eq!(found_with(argv, Some("a {x}")).as_deref(), expected, "{argv:?}");
        assert_eq!(found_with(argv, Some("fixed")), None, "{argv:?}");
    }
}
