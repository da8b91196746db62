//! Lists from which the user picks: by keys, or by lines with a number or words where nothing is drawn.

use converse_screen::{Line, wrapped};

use crate::approver::{INDENT, Listing, Pick, asks, pick, picks_by_key, rows_of};
use crate::repl::session::ReplSession;
use converse_host::failure::Failure;

/// Number of entries in a list without keys.
const MOST: usize = 10;
/// Number of such lists that one command shows, one after the other.
const ROUNDS: usize = 50;

impl ReplSession<'_> {
    /// Lets the user pick an entry of those that the words find. [`Pick::Words`]: they find nothing.
    pub(super) async fn picks<L: Listing>(
        &self,
        listing: &mut L,
        words: &str,
    ) -> Result<Pick<L::Item>, Failure> {
        if !picks_by_key(&self.console.progress) {
            return self.picks_by_line(listing, words).await;
        }
        if listing.found(words).is_empty() {
            return Ok(Pick::Words(words.trim().to_owned()));
        }
        let picking = async { Some(pick(&self.console.progress, listing, words).await) };
        Ok(self.attended(picking).await.unwrap_or(Pick::Nothing))
    }

    async fn picks_by_line<L: Listing>(
        &self,
        listing: &mut L,
        words: &str,
    ) -> Result<Pick<L::Item>, Failure> {
        let mut words = words.to_owned();
        for _ in 0..ROUNDS {
            let found = listing.found(&words);
            if found.is_empty() {
                return Ok(Pick::Words(words.trim().to_owned()));
            }
            let shown = found.get(..MOST).unwrap_or(&found);
            self.view.say(self.listed(listing, shown).trim_end());
            if let Some(more) = found.len().checked_sub(MOST).filter(|more| *more > 0) {
                self.view.note(&format!("{more} more; type words to search"));
            }
            let Some(picked) = self.read_answer(&self.question::<L>()).await? else {
                return Ok(Pick::Nothing);
            };
            let place = picked.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            if let Some(item) = place.and_then(|place| shown.get(place)) {
                return Ok(Pick::Entry(item.clone()));
            }
            words = picked;
        }
        Ok(Pick::Nothing)
    }

    /// Broken between words.
    fn question<L: Listing>(&self) -> String {
        let question = Line::plain(&format!("{} ({})", L::QUESTION, L::LEGEND));
        let rows = wrapped(&question, self.view.look().width.saturating_sub(1).max(8));
        rows.iter().map(Line::text).collect::<Vec<_>>().join("\n") + " "
    }

    /// The rows, with what is below each.
    fn listed<L: Listing>(&self, listing: &mut L, items: &[L::Item]) -> String {
        let room = self.view.look().width.saturating_sub(INDENT.len()).max(1);
        let rows = self.view.table_rows(&rows_of(listing, items, 1));
        let previews = [Vec::new()].into_iter().chain(items.iter().map(|item| listing.preview(item)));
        let below = |text: &String| {
            let rows = wrapped(&Line::plain(text), room).into_iter();
            rows.map(|row| format!("{INDENT}{}\n", row.text())).collect::<String>()
        };
        let entry =
            |(row, preview): (String, Vec<String>)| row + &preview.iter().map(below).collect::<String>();
        rows.into_iter().zip(previews).map(entry).collect()
    }

    /// A line from the user; `None` if there is none, or the question was interrupted.
    pub(super) async fn read_answer(&self, question: &str) -> Result<Option<String>, Failure> {
        let line = self.attended(asks(&self.console.progress, question.to_owned())).await;
        Ok(line.filter(|line| !line.is_empty()))
    }

    /// What comes of a question; `None` if it was interrupted.
    pub(super) async fn attended<T>(&self, asking: impl Future<Output = Option<T>>) -> Option<T> {
        let attended = self.attention.to_turn();
        tokio::select! {
            answer = asking => answer,
            () = attended.interrupt.token.cancelled() => None,
        }
    }
}
