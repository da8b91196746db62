use converse_canister::{Artefact, NoBlobs, Outcome};

use super::*;
use crate::context::testing::{answered, call, reply, result, user};

fn trimmed(trims: &Trims) -> Vec<String> {
    let mut ids: Vec<String> = trims.results.keys().map(ToString::to_string).collect();
    ids.sort();
    ids
}

fn text_of(canister: &Canister) -> String {
    let Canister::Result(result) = canister else { panic!("{canister:?}") };
    words(&result.content)
}

#[test]
fn what_has_another_answer_since_is_superseded() {
    let long = "x".repeat(300);
    let file = |turn, arguments: &str| {
        vec![reply(turn, ""), call(turn, 0, "io__read_file", arguments), result(turn, 0, &long)]
    };
    let list = |turn, arguments: &str, outcome| {
        vec![reply(turn, ""), call(turn, 0, "io__list", arguments), answered(turn, 0, outcome, &long)]
    };
    for (canisters, ids) in [
        ([file(1, r#"{"path":"a"}"#), file(2, r#"{ "path": "a" }"#)].concat(), vec!["inv_1_0"]),
        ([file(1, r#"{"path":"a"}"#), file(2, r#"{"path":"b"}"#)].concat(), vec![]),
        // A piece is in the whole, and the whole is in no piece.
        ([file(1, r#"{"path":"a","from":9}"#), file(2, r#"{"path":"a"}"#)].concat(), vec!["inv_1_0"]),
        ([file(1, r#"{"path":"a"}"#), file(2, r#"{"path":"a","from":9}"#)].concat(), vec![]),
        ([file(1, r#"{"path":"a","depth":3}"#), file(2, r#"{"path":"a"}"#)].concat(), vec![]),
        ([file(1, r#"{"path":"a","from":1}"#), file(2, r#"{"path":"a","from":9}"#)].concat(), vec![]),
        // Another tool's answer is another answer.
        ([file(1, r#"{"path":"a"}"#), list(2, r#"{"path":"a"}"#, Outcome::Success)].concat(), vec![]),
        ([list(1, "{}", Outcome::Success), list(2, "{}", Outcome::Failed)].concat(), vec![]),
        ([list(1, "{}", Outcome::Failed), list(2, "{}", Outcome::Success)].concat(), vec!["inv_1_0"]),
    ] {
        let mut trims = Trims::default();
        trims.superseded(&canisters, &NoBlobs, |_| true);
        assert_eq!(trimmed(&trims), ids, "{canisters:?}");
        let mut trims = Trims::default();
        trims.superseded(&canisters, &NoBlobs, |_| false);
        assert!(trims.is_empty(), "what a call did is known by its answer alone");
    }
    // What was cut at its limit holds less than it was asked for.
    let [mut piece, mut same] = [r#"{"path":"a","from":9}"#, r#"{"path":"a"}"#]
        .map(|first| [file(1, first), file(2, r#"{"path":"a"}"#)].concat());
    let mark = |canisters: &[Canister]| {
        let mut trims = Trims::default();
        trims.superseded(canisters, &NoBlobs, |_| true);
        text_of(&trims.shown(2, &canisters[2]))
    };
    assert!(mark(&piece).contains("a later read of the whole file holds it"), "{}", mark(&piece));
    assert!(mark(&same).contains("with the same arguments"), "{}", mark(&same));
    for canisters in [&mut piece, &mut same] {
        let Some(Canister::Result(last)) = canisters.last_mut() else { panic!() };
        last.truncated = Some(Artefact { bytes: 9_000, kept: 300, digest: None });
        assert_eq!(mark(canisters), long);
    }
    let short = [reply(1, ""), call(1, 0, "t", "{}"), result(1, 0, "y"), reply(2, ""), call(2, 0, "t", "{}")];
    let mut trims = Trims::default();
    trims.superseded(&[&short[..], &[result(2, 0, "y")]].concat(), &NoBlobs, |_| true);
    assert!(trims.is_empty());
}

#[test]
fn the_bulk_of_old_results_goes_and_the_last_replies_keep_theirs() {
    let large = "ж".repeat(3_000);
    let turn = |number: u64| {
        [reply(number, ""), call(number, 0, "t", "{}"), call(number, 1, "t", "{}"), result(number, 0, &large)]
            .into_iter()
            .chain([result(number, 1, "short")])
    };
    let canisters: Vec<Canister> = [user("go")].into_iter().chain((1..=5).flat_map(turn)).collect();
    let mut trims = Trims::default();
    trims.old(&canisters, &NoBlobs);
    assert_eq!(trimmed(&trims), ["inv_1_0", "inv_2_0"]);
    let Some(Canister::Result(whole)) = canisters.get(4) else { panic!() };
    let shown = words(&trims.result(whole).unwrap().content);
    assert!(shown.starts_with(&"ж".repeat(250)) && shown.contains("the first 500 of 6000 bytes"), "{shown}");
    // Only as many as are needed.
    trims.squeeze(&canisters, (0, 1), &NoBlobs, 6_000);
    assert_eq!(trimmed(&trims).len(), 4);
}
