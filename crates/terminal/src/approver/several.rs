//! Several calls that wait for an answer: a list, and one answer for all of them or for some. What does not fit into the
//! list is shown before a yes to it counts.

use converse_canister::Decision;
use converse_screen::{Line, Tone};

use super::TerminalApprover;
use super::answers::{Chosen, SEVERAL, SEVERAL_REMINDER, chosen};
use super::question::{QuestionText, flowing, painted};
use super::reading::read_answer;
use super::shown::Much;

impl TerminalApprover {
    /// One decision each; `None` for each if they are to be asked about one by one.
    pub(super) async fn about_all(&self, asked: &[QuestionText<'_>]) -> Option<Vec<Decision>> {
        let (mut text, mut unseen) = self.list(asked);
        loop {
            let Some(line) = self.progress.suspended(|| read_answer(text.clone())).await else {
                return Some(asked.iter().map(|_| super::deny(None)).collect());
            };
            match chosen(&line, asked.len()) {
                None => text = SEVERAL_REMINDER.to_owned(),
                Some(Chosen::OneByOne) => return None,
                Some(Chosen::None(why)) => {
                    return Some(asked.iter().map(|_| super::deny(why.clone())).collect());
                }
                Some(Chosen::View) => {
                    text = self.in_full(asked, &(0..asked.len()).collect::<Vec<_>>());
                    unseen.clear();
                }
                Some(Chosen::These(places)) => {
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
        let who = asked.first().and_then(|one| one.who);
        let who = who.map_or(String::new(), |who| format!("{}: ", converse_text::safe_line(who, 100)));
        let title = format!("{who}allow these {} calls?", asked.len());
        let (mut lines, mut unseen) = (vec![Line::new(), Line::toned(Tone::Strong, &title)], Vec::new());
        let look = self.look();
        for (at, one) in asked.iter().enumerate() {
            let (entry, cut) = one.in_short(at + 1, asked.len(), &look);
            lines.extend(entry);
            if cut {
                unseen.push(at);
            }
        }
        (painted(&lines, &look) + &flowing(&format!("{SEVERAL}: ")), unseen)
    }

    fn in_full(&self, asked: &[QuestionText<'_>], places: &[usize]) -> String {
        let look = self.look();
        let shown = places.iter().filter_map(|at| asked.get(*at));
        let lines: Vec<Line> = shown.flat_map(|one| one.lines(Much::All, &look).0).collect();
        painted(&lines, &look) + &flowing(&format!("{SEVERAL}: "))
    }
}
