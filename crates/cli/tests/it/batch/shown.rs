//! What a batch shows while it runs: a bar on a terminal, a summary everywhere, nothing with `-q`.

use super::{MODEL, answering, batch, questions, says};
use crate::terminal::Terminal;

#[test]
fn a_pipe_gets_results_and_a_summary() {
    let env = answering(says);
    env.write("work/in.jsonl", &questions(3));
    let ran = batch(&env, &[]).exits(0);
    assert_eq!(ran.records().len(), 3);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    assert!(ran.stderr.starts_with("3 conversations: 3 answered; "), "{}", ran.stderr);
    assert!(!ran.stderr.contains('\u{1b}'));
    assert_eq!(batch(&env, &["-q"]).exits(0).stderr, "");
}

#[test]
fn a_terminal_gets_a_bar_that_goes_away() {
    let (open, is_open) = std::sync::mpsc::channel::<()>();
    let is_open = std::sync::Mutex::new(is_open);
    let env = answering(move |question| {
        if question == "1" {
            is_open.lock().unwrap().recv().unwrap();
        }
        says(question)
    });
    env.write("work/in.jsonl", &questions(2));
    let args = [&["batch", "in.jsonl", "-o", "out.jsonl", "-j", "1"], &MODEL[..]].concat();
    let mut terminal = Terminal::run(&env, &args);
    terminal.shows("1/2");
    open.send(()).unwrap();
    let (code, seen) = terminal.ends_showing();
    assert_eq!(code, 0, "{seen}");
    let (_, last) = seen.rsplit_once("2 conversations: 2 answered; ").unwrap();
    assert!(!last.contains("2/2"), "{seen:?}");
}
