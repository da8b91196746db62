//! Several calls that wait for an answer: a list, and one answer for all of them or for some. What does not fit into the
//! list is shown before a yes to it counts.

use converse_canister::Decision;
use converse_screen::{Line, Tone};

use super::TerminalApprover;
use super::answers::{Chosen, several};
use super::asking::answer;
use super::question::{QuestionText, painted};
use super::shown::Much;

impl TerminalApprover {
    /// One decision each; `None` for each if they are to be asked about one by one.
    pub(super) async fn about_all(&self, asked: &[QuestionText<'_>]) -> Option<Vec<Decision>> {
        let (mut text, mut unseen) = self.list(asked);
        loop {
            let answer = answer(&self.progress, &text, several(title(asked), asked.len()), false).await;
            match answer.unwrap_or(Chosen::None(None)) {
                Chosen::OneByOne => return None,
                Chosen::None(why) => {
                    return Some(asked.iter().map(|_| super::deny(why.clone())).collect());
                }
                Chosen::View => {
                    text = self.in_full(asked, &(0..asked.len()).collect::<Vec<_>>());
                    unseen.clear();
                }
                Chosen::These(places) => {
                    let hidden: Vec<usize> =
                        unseen.iter().copied().filter(|at| places.contains(at)).collect();
                    if hidden.is_empty() {
                        let decision =
                            |at| if places.contains(&at) { super::allow() } else { super::deny(None) };
                        return Some((0..asked.len()).map(decision).collect());
                    }
                    text = format!("  not everything was shown:\n{}", self.in_full(asked, &hidden));
                    unseen.retain(|at| !places.contains(at));
                }
            }
        }
    }

    /// The question, and those of which not everything is in it.
    fn list(&self, asked: &[QuestionText<'_>]) -> (String, Vec<usize>) {
        let title = Line::toned(Tone::Strong, &title(asked));
        let (mut lines, mut unseen) = (vec![Line::new(), title], Vec::new());
        let look = self.look();
        for (at, one) in asked.iter().enumerate() {
            let change = self.change(one);
            let (entry, cut) = one.in_short(change.as_ref(), (at + 1, asked.len()), &look);
            lines.extend(entry);
            if cut {
                unseen.push(at);
            }
        }
        (painted(&lines, &look), unseen)
    }

    fn in_full(&self, asked: &[QuestionText<'_>], places: &[usize]) -> String {
        let look = self.look();
        let shown = places.iter().filter_map(|at| asked.get(*at));
        let lines = |one: &QuestionText<'_>| one.lines(self.change(one).as_ref(), Much::All, &look).0;
        let lines: Vec<Line> = shown.flat_map(lines).collect();
        painted(&lines, &look)
    }
}

fn title(asked: &[QuestionText<'_>]) -> String {
    let caller = asked.first().map(QuestionText::caller).unwrap_or_default();
    format!("{caller}allow these {} calls?", asked.len())
}
