//! Words of others in a conversation at the terminal: what is streamed, listed, completed, recalled.

use serde_json::json;

use super::servers::Talker;
use super::shown::{Manner, each, holds, lasting, parts, without_nul, words};
use crate::body::{Says, text};
use crate::http::Answer;
use crate::provider::{Line, Provider};
use crate::screen::Screen;
use crate::signals::send;

/// Where nothing can be drawn, and as people do.
const WAYS: [(&str, Manner); 2] = [("dumb", Manner::Plain), ("xterm-256color", Manner::Drawn)];

fn leaves(mut screen: Screen, manner: Manner, told: &str) {
    screen.says("/quit");
    assert_eq!(screen.finishes(), 0);
    holds(screen.bytes(), manner, &["repl"], told);
}

#[test]
fn a_turn() {
    for (term, manner) in WAYS {
        let calls: Vec<(&'static str, String)> = parts(12)
            .into_iter()
            .enumerate()
            .map(|(index, part)| match index % 3 {
                0 => ("broken__echo", json!({ "text": part, &part: part }).to_string()),
                1 => (lasting(part.clone()), json!({ &part: part }).to_string()),
                _ => ("broken__progress", json!({ "steps": 2, "ms": 30, "note": part }).to_string()),
            })
            .collect();
        let said = lasting(words());
        let asks = Says { calls, ..text(said).thinking(said) };
        let ends = lasting(format!("{said}\n\nall of it"));
        let error = json!({ "error": { "message": words(), "type": words() } }).to_string();
        let refusal = Answer::new(400, "application/json", error);
        let script = [Line::from(asks), text(ends).thinking(said).into(), refusal.into()];
        let provider = Provider::chat(script);
        let mut talker = Talker::new(&[]);
        talker.env = provider.env(talker.env);
        let servers = talker.servers.as_str();
        let args = ["-m", provider.model(), "--ensembles", servers, "--allow", "*"];
        let mut screen = Screen::of(term, &talker.env, &args);
        screen.says("/reasoning on");
        screen.says("go");
        screen.shows("all of it");
        for command in ["/show 1", "/show 2", "/show 3", "/tools", "/ensembles", "/usage", "/help"] {
            screen.says(command);
        }
        screen.says("again");
        screen.shows("/retry");
        leaves(screen, manner, "⟦");
        // What was said last is shown to whoever goes on.
        let mut screen = Screen::of(term, &talker.env, &["-c"]);
        screen.prompts();
        leaves(screen, manner, "again");
    }
}

#[test]
fn names_of_files_and_sessions_and_what_was_typed_before() {
    for (term, manner) in WAYS {
        let said = lasting(words());
        let provider = Provider::chat([text(said), text(said), text("heard")]);
        let talker = Talker::new(&[]);
        let env = provider.env(talker.env);
        for evil in each() {
            let name: String = without_nul(&evil).replace('/', "_").chars().take(50).collect();
            env.write(&format!("work/names/n{name}"), "x");
        }
        let evil = without_nul(&words());
        env.run(&["ask", &evil, "-m", provider.model()]).exits(0);
        let title: String = without_nul(&parts(40).swap_remove(3));
        env.run(&["ask", &title, "-m", provider.model()]).exits(0);
        let mut screen = Screen::of(term, &env, &["-m", provider.model()]);
        for (times, command) in ["/sessions", "/sessions evil"].into_iter().enumerate() {
            screen.says(command);
            // A list that is drawn is gone when it was left.
            match manner {
                Manner::Drawn => screen.shows(["which one?", "which one? evil"][times]),
                _ => screen.shows_times("which one?", times + 1),
            };
            screen.types(if manner == Manner::Drawn { "\x1b" } else { "\r" });
        }
        screen.says("/attach names/none");
        screen.shows("error[");
        screen.says("/save evil");
        screen.prompts();
        if manner == Manner::Drawn {
            // A menu of files, below four names that are there already.
            screen.types("/attach names/\t");
            screen.shows_times("⟦", 5);
            send("TERM", &screen.child);
            assert_eq!(screen.finishes(), 143);
            holds(screen.bytes(), manner, &["repl"], "⟦");
            let mut screen = Screen::of(term, &env, &["-m", provider.model()]);
            screen.prompts();
            // What is pasted, too little at once to be folded, is sent, and comes again.
            for part in parts(100).iter().take(20) {
                let pasted: String = part.replace("\x1b[20", "").chars().filter(|c| *c != '\0').collect();
                screen.types(&format!("\x1b[200~{pasted}\x1b[201~"));
            }
            screen.shows("⟧");
            screen.types("\r");
            screen.shows("heard");
            screen.prompts();
            screen.types("\x1b[A");
            screen.shows_times("⟧", 2);
            // With all of it still on the line.
            send("TERM", &screen.child);
            assert_eq!(screen.finishes(), 143);
            holds(screen.bytes(), manner, &["repl"], "⟦");
            continue;
        }
        leaves(screen, manner, "⟦");
    }
}
