//! Others on the same terminal: questions, warnings, servers that start.

use converse_testkit::hang_guard::ends;
use futures_util::FutureExt as _;

use super::*;
use crate::view::ModelView;
use converse_host::context::{Notices, while_waiting};

const ASCII: Style = Style { unicode: false, ..RICH };

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
    play.hears(&Event::Started { invocations: std::slice::from_ref(&one), has_effects: true });
    let Play { view, shown } = play;
    view.suspended(async || {
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
        let Play { view, shown } = play;
        view.suspended(async || types(&shown, "\r\nallow it? y\r\n")).await;
        assert_eq!(screen(&shown).trim_end_matches("\n⠋ asking mock/one 0 s"), above);
        view.end_turn(None);
        view.suspended(async || types(&shown, "which? 1\r\n")).await;
        assert!(screen(&shown).starts_with(above) && screen(&shown).contains("which? 1"));
    }
}

#[tokio::test]
async fn a_question_that_is_broken_off_stays_whole() {
    let Play { view, shown } = Play::new(60, RICH);
    let never = view.suspended(async || {
        types(&shown, "allow it? ");
        std::future::pending::<()>().await;
    });
    let _ = tokio::time::timeout(Duration::from_millis(1), never).await;
    view.note("interrupted");
    assert_eq!(screen(&shown), "allow it? \ninterrupted");
}

#[tokio::test]
async fn notices_and_waits_are_shown_on_the_view() {
    let Play { view, shown } = Play::new(60, RICH);
    view.emit(&Event::Warned("said once")).unwrap();
    view.hush();
    assert_eq!(screen(&shown), "warning: said once");
    Notices::show(&*view, "warning: quarantined");
    assert_eq!(screen(&shown), "warning: said once\nwarning: quarantined");
    let slow = async {
        while screen(&shown) != "warning: said once\nwarning: quarantined\n⠋ starting weather … 1 s" {
            tokio::task::yield_now().await;
        }
    };
    while_waiting(&*view, "starting weather", ends("showing who starts", slow)).await;
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
        let play = Play::new(60, Style { detail: Detail::Nothing, ..style });
        let one = call(0, "weather__forecast", "{}");
        play.asks();
        play.thinks("hm");
        play.replied("");
        play.asked_for(std::slice::from_ref(&one));
        play.hears(&Event::Started { invocations: std::slice::from_ref(&one), has_effects: true });
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

#[test]
fn beside_an_answer_lines_stand_above_what_moves() {
    let play = Play::new(60, BESIDE);
    let one = call(0, "weather__forecast", r#"{"city":"Oslo"}"#);
    play.asks();
    play.after(2000);
    assert!(play.rows()[0].ends_with("asking mock/one 2 s"), "{:?}", play.rows());
    play.view.hush();
    play.shows(&[]);
    types(&play.shown, "The answer");
    play.text("The answer");
    play.view.set_line_open(true);
    play.after(40);
    play.replied("The answer");
    play.asked_for(std::slice::from_ref(&one));
    play.hears(&Event::Started { invocations: std::slice::from_ref(&one), has_effects: true });
    assert!(!play.view.is_line_open(), "the view has ended the line");
    assert!(!play.shown.lock().unwrap().parser.screen().hide_cursor());
    types(&play.shown, "\r");
    play.finished(&one, Outcome::Refused, "refused by the user", 5);
    let rows = play.rows();
    let last = "✗ [1] weather.forecast city=\"Oslo\" 5 ms refused by the user";
    assert_eq!((rows[0].as_str(), rows.last().unwrap().as_str()), ("The answer", last));
}

#[test]
fn the_lines_of_several_models_say_whose_they_are() {
    let play = Play::new(60, Style { live: false, ..BESIDE });
    let models = ["a/one", "b/two"].map(|id| ModelView::new(&play.view, id));
    play.view.show_reasoning(true);
    let one = call(0, "weather__forecast", "{}");
    for model in &models {
        model.emit(&Event::Delta(&Delta::Reasoning("It is\nclear.".to_owned()))).unwrap();
        model.emit(&Event::Delta(&Delta::Text("Yes.".to_owned()))).unwrap();
        model.emit(&Event::Appended(&Canister::Invocation(one.clone()))).unwrap();
        model.emit(&Event::Warned("careful")).unwrap();
    }
    let result = InvocationResult::new(one.id.clone(), Outcome::Success, "sunny");
    models[0].emit(&Event::Appended(&Canister::Result(result))).unwrap();
    models[1].ended(false, Duration::from_millis(1200));
    assert_eq!(
        play.written(),
        "a/one thinks:\n│ It is\n│ clear.\nwarning: a/one: careful\nb/two thinks:\n│ It is\n│ clear.\n\
         warning: b/two: careful\na/one: ✓ [1] weather.forecast → sunny\nb/two: ✗ has no answer (1.2 s)\n"
    );
}

#[test]
fn words_that_are_asked_again_are_all_there_up_to_a_bound() {
    let play = Play::new(20, RICH);
    play.view.echo("when does the moon rise?\n\nkey sk-secret-0123456789\x1b[2J\n");
    play.shows(&["❯ when does the", "  moon rise?", "", "  key", "  [redacted]\\x1b[2J"]);
    let play = Play::new(60, RICH);
    let many: Vec<String> = (1..=25).map(|number| format!("line {number}")).collect();
    play.view.echo(&many.join("\n"));
    let rows = play.rows();
    assert_eq!((rows[0].as_str(), rows[19].as_str()), ("❯ line 1", "  line 20"));
    assert_eq!(rows[20..], ["  … 5 more lines"]);
    let play = Play::new(60, ASCII);
    play.view.echo("short");
    play.shows(&["> short"]);
    let quiet = Play::new(60, Style { detail: Detail::Nothing, ..RICH });
    quiet.view.echo("short");
    quiet.shows(&[]);
}

#[test]
fn a_table_is_no_wider_than_the_stage() {
    let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
    let rows = [
        row([
            "/ensembles [NAME|+NAME|-NAME …]",
            "Use only these ensembles, or list them, one after the other",
        ]),
        row(["/fork", &"x".repeat(150)]),
    ];
    for style in [RICH, ASCII] {
        for columns in [100, 80, 60, 40, 20] {
            let play = Play::new(columns, style);
            let table = play.view.table(&rows);
            play.view.say(&table);
            // Nothing was broken once more.
            play.shows(&table.lines().collect::<Vec<_>>());
        }
    }
}

#[tokio::test]
async fn what_comes_at_the_end_of_a_turn_does_not_break_off_the_next() {
    let Play { view, .. } = Play::new(60, RICH);
    view.turn.lock().escape.cancel();
    view.turn.lock().loss.cancel();
    view.escaped().await;
    view.lost().await;
    view.end_turn(None);
    view.begin_turn();
    assert!(view.escaped().now_or_never().is_none() && view.lost().now_or_never().is_none());
}
