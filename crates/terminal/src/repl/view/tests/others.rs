//! Others on the same terminal: questions, warnings, servers that start.

use converse_testkit::hang_guard::ends;

use super::*;
use crate::render::progress::{self, Progress};
use converse_host::context::while_waiting;

fn hosted(play: Play) -> (Arc<TerminalView>, Progress, Arc<Mutex<Shown>>) {
    let style = progress::Style {
        live: false,
        lines: true,
        quiet: false,
        reasoning: false,
        width: None,
        colour: false,
    };
    let (view, progress) = (Arc::new(play.view), Progress::new(style, Redactor::default()));
    progress.draw_on(view.clone());
    (view, progress, play.shown)
}

fn types(shown: &Mutex<Shown>, text: &str) {
    shown.lock().unwrap().parser.process(text.as_bytes());
}

fn screen(shown: &Mutex<Shown>) -> String {
    shown.lock().unwrap().parser.screen().contents()
}

#[tokio::test]
async fn nothing_moves_while_somebody_is_asked() {
    let play = Play::new(60, RICH);
    let one = call(0, "weather__forecast", "{}");
    play.asks();
    play.replied("");
    play.asked_for(std::slice::from_ref(&one));
    play.hears(&Event::Started(std::slice::from_ref(&one)));
    let (view, progress, shown) = hosted(play);
    progress
        .suspended(async || {
            assert_eq!(screen(&shown), "", "the region is away");
            assert!(!shown.lock().unwrap().parser.screen().hide_cursor());
            types(&shown, "allow it? y\r\n");
            view.note("a word of somebody else");
            view.tick();
            assert_eq!(screen(&shown), "allow it? y", "and nothing comes into the question");
        })
        .await;
    assert_eq!(screen(&shown), "allow it? y\na word of somebody else\n⠋ weather.forecast 0 s");
}

#[tokio::test]
async fn a_question_has_one_empty_line_above_it() {
    for (is_told, above) in [(false, "❯ one\n\nallow it? y"), (true, "❯ one\n\na note\n\nallow it? y")] {
        let play = Play::new(60, RICH);
        types(&play.shown, "❯ one\r\n");
        play.view.breathe();
        if is_told {
            play.view.note("a note");
        }
        play.asks();
        let (view, progress, shown) = hosted(play);
        progress.suspended(async || types(&shown, "\r\nallow it? y\r\n")).await;
        assert_eq!(screen(&shown).trim_end_matches("\n⠋ asking mock/one 0 s"), above);
        view.end_turn(None);
        progress.suspended(async || types(&shown, "which? 1\r\n")).await;
        assert!(screen(&shown).starts_with(above) && screen(&shown).contains("which? 1"));
    }
}

#[tokio::test]
async fn a_question_that_is_broken_off_stays_whole() {
    let (view, progress, shown) = hosted(Play::new(60, RICH));
    let never = progress.suspended(async || {
        types(&shown, "allow it? ");
        std::future::pending::<()>().await;
    });
    let _ = tokio::time::timeout(Duration::from_millis(1), never).await;
    view.note("interrupted");
    assert_eq!(screen(&shown), "allow it? \ninterrupted");
}

#[tokio::test]
async fn progress_is_told_on_the_stage_and_drawn_nowhere_else() {
    let play = Play::new(60, RICH);
    let (view, progress, shown) = hosted(play);
    let warning = Event::Warned("said once");
    progress.emit(&warning).unwrap();
    view.emit(&warning).unwrap();
    assert_eq!(screen(&shown), "warning: said once");
    assert!(progress.told_to_host("warning: quarantined"));
    assert_eq!(screen(&shown), "warning: said once\nwarning: quarantined");
    let slow = async {
        while screen(&shown) != "warning: said once\nwarning: quarantined\n⠋ starting weather … 0 s" {
            tokio::task::yield_now().await;
        }
    };
    while_waiting(&progress, "starting weather", ends("showing who starts", slow)).await;
    assert_eq!(screen(&shown), "warning: said once\nwarning: quarantined");
}

#[tokio::test]
async fn pictures_move_while_it_takes_time() {
    let play = Play::new(60, RICH);
    play.asks();
    let before = play.shown.lock().unwrap().writes;
    let shown = Arc::clone(&play.shown);
    let work = async {
        while shown.lock().unwrap().writes < before + 3 {
            shown.lock().unwrap().now += Duration::from_millis(1);
            tokio::task::yield_now().await;
        }
        "done"
    };
    assert_eq!(ends("moving pictures", play.view.during(work)).await, "done");
}

#[test]
fn where_only_answers_are_asked_for_there_is_nothing_else() {
    for style in [RICH, PLAIN] {
        let play = Play::new(60, Style { quiet: true, ..style });
        let one = call(0, "weather__forecast", "{}");
        play.asks();
        play.thinks("hm");
        play.replied("");
        play.asked_for(std::slice::from_ref(&one));
        play.hears(&Event::Started(std::slice::from_ref(&one)));
        play.after(1000);
        play.finished(&one, Outcome::Success, "ok", 5);
        play.hears(&Event::Warned("careful"));
        play.asks();
        play.text("Yes.");
        play.replied("Yes.");
        play.view.end_turn(None);
        play.shows(&["Yes."]);
        assert_eq!(play.view.calls().len(), 1);
    }
}

#[test]
fn a_stage_that_goes_leaves_the_terminal_free() {
    let play = Play::new(60, RICH);
    play.asks();
    let Play { view, shown } = play;
    assert!(shown.lock().unwrap().parser.screen().hide_cursor());
    drop(view);
    assert!(!shown.lock().unwrap().parser.screen().hide_cursor());
    assert_eq!(screen(&shown), "");
}
