//! Words that are shown again, and tables.

use super::*;

const ASCII: Style = Style { unicode: false, ..RICH };

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
