//! The guide for a team, as it is written.

use super::reload::taken_over;
use super::*;

const GUIDE: &str = include_str!("../../../../../docs/guides/team.md");

/// Returns the block of this kind that has this text, with its continued lines as one.
fn block(kind: &str, text: &str) -> String {
    let fence = format!("```{kind}\n");
    let mut blocks = GUIDE.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.find(|block| block.contains(text)).unwrap().replace("\\\n", "")
}

/// The values of a key of the unit, in order.
fn values<'u>(unit: &'u str, key: &'u str) -> impl Iterator<Item = &'u str> {
    unit.lines().filter_map(move |line| line.strip_prefix(key)?.strip_prefix('='))
}

/// Returns the arguments of a command line of the guide, on a free port.
fn arguments(line: &str) -> Vec<String> {
    let words = shlex::split(&line.replace("127.0.0.1:8080", "127.0.0.1:0")).unwrap();
    assert!(words[0].ends_with("converse"), "{line}");
    words[1..].to_vec()
}

#[test]
fn its_unit_serves_reloads_and_stops() {
    let env = TestEnv::new();
    let settings = env.write("etc/converse/config.toml", &block("toml", "# config.toml"));
    set_mode(&env.write("etc/tokens", &format!("{TOKEN}\n")), 0o600);
    std::fs::create_dir_all(env.path("var/work")).unwrap();
    let here = |text: &str| {
        let at = |path: &str| env.path(path).display().to_string();
        text.replace("/var/lib/converse", &at("var")).replace("/etc/converse", &at("etc"))
    };
    let unit = here(&block("ini", "[Service]"));
    let variables = || values(&unit, "Environment").map(|pair| pair.split_once('=').unwrap());
    let mut command = env.command(arguments(values(&unit, "ExecStart").next().unwrap()));
    command.envs(variables()).current_dir(values(&unit, "WorkingDirectory").next().unwrap());
    let mut gate = Gate::begun(&mut command);
    let ask = |gate: &Gate, path: &str| {
        let header = format!("host: converse.example\r\nauthorization: Bearer {TOKEN}\r\n");
        gate.ask(&get(path).replace("host: localhost\r\n", &header))
    };
    assert_eq!(gate.ask(&get("/healthz")).0, 200);
    let (status, models) = ask(&gate, "/v1/models");
    assert!(status == 200 && models.contains("\"helper\""), "{models}");
    let (status, page) = ask(&gate, "/");
    assert!(status == 200 && page.contains("<html"), "{page}");
    let (_, answer) = gate.call("essentials__calculator", &sum(), Some(TOKEN));
    assert!(answer.contains("42"), "{answer}");

    assert_eq!(values(&unit, "ExecReload").collect::<Vec<_>>(), ["/bin/kill -HUP $MAINPID"]);
    let text = std::fs::read_to_string(&settings).unwrap();
    std::fs::write(&settings, text + "\n[permissions]\ndeny = [\"essentials.calculator\"]\n").unwrap();
    assert!(taken_over(&mut gate).contains("the rules"));
    let (_, answer) = gate.call("essentials__calculator", &sum(), Some(TOKEN));
    assert!(!answer.contains("42"), "{answer}");
    gate.signal();
    assert_eq!(gate.ended().0, Some(0));

    // The log is where the backup has it, and is verified as the page says. Nothing is in a home of the environment.
    let verify = here(&block("sh", "audit verify"));
    let verify = verify.lines().find(|line| line.contains("audit verify")).unwrap();
    let (_, words) = verify.split_once(" env ").unwrap();
    let given = words.split(' ').map_while(|word| word.split_once('='));
    let mut command = env.command(["audit", "verify"]);
    command.envs(given);
    let verified = crate::env::wait(command.spawn().unwrap()).exits(0);
    assert!(env.path("var/state/converse/audit.jsonl").is_file(), "{}", verified.stdout);
    assert!(!env.path("home/.local").exists() && !env.path("home/.config").exists());
}

#[test]
fn its_server_with_an_issuer_says_where_tokens_come_from() {
    let env = TestEnv::new();
    let gate = Gate::begun(&mut env.command(arguments(&block("sh", "--oauth-issuer"))));
    let (status, answer) = gate.ask(&get("/.well-known/oauth-protected-resource/mcp"));
    let says = [
        r#""https://login.example/realms/team""#,
        r#""https://converse.example/mcp""#,
        r#""scopes_supported":["converse"]"#,
    ];
    assert!(status == 200 && says.iter().all(|text| answer.contains(text)), "{answer}");
    for path in ["/v1/models", "/api/status", "/metrics"] {
        assert_eq!(gate.ask(&get(path)).0, 401, "{path}");
    }
    gate.signal();
    assert_eq!(gate.ended().0, Some(0));
}
