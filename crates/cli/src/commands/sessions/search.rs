//! `sessions search`.

use converse_session::{Hit, Query, SearchResults, Uuid, Within};
use converse_text::shorten::within_columns;
use serde_json::{Value, json};

use super::SessionCommands;
use super::list::SHORT;
use crate::args::{SearchArgs, SearchIn};
use converse_host::failure::Failure;
use converse_terminal::render::output::{painted, write_stdout};
use converse_terminal::render::transcript::minute;
use converse_text::safe_line;

impl SessionCommands<'_> {
    pub(super) fn search(&self, args: &SearchArgs) -> Result<(), Failure> {
        let words: Vec<_> = args.words.iter().map(|word| word.trim()).collect();
        let query = Query::new(words, within(args.within))
            .ok_or_else(|| Failure::usage("no-words", "there is no word to search for"))?;
        self.learn_keys_if_possible();
        let found = self.store.search(&query, args.limit).map_err(Failure::of_session)?;
        for (id, error) in &found.unread {
            self.console.warn(&format!("warning: session {id} was not searched: {error}"));
        }
        if args.json {
            return Ok(self.console.print_json(self.json(&found)?)?);
        }
        for hit in &found.hits {
            write_stdout(&self.shown(hit)?)?;
        }
        match (found.hits.len(), found.total) {
            (_, 0) => self.console.note("nothing was found"),
            (shown, total) if shown < total => {
                self.console.note(&format!("{shown} of {total} messages; `--limit` shows more"));
            }
            _ => {}
        }
        Ok(())
    }

    fn name(&self, id: Uuid) -> Result<Option<String>, Failure> {
        Ok(self.store.metadata(id).map_err(Failure::of_session)?.name)
    }

    fn json(&self, found: &SearchResults) -> Result<Value, Failure> {
        let hit = |hit: &Hit| -> Result<Value, Failure> {
            let marks: Vec<_> = hit.marks.iter().filter_map(|mark| hit.snippet.get(mark.clone())).collect();
            Ok(json!({
                "session": hit.session.to_string(), "name": self.name(hit.session)?, "message": hit.number,
                "at": hit.at, "who": hit.who.label(), "snippet": hit.snippet, "marked": marks,
            }))
        };
        let unread = found.unread.iter();
        let unread =
            unread.map(|(id, error)| json!({ "session": id.to_string(), "problem": error.to_string() }));
        Ok(json!({
            "total": found.total,
            "hits": found.hits.iter().map(hit).collect::<Result<Vec<_>, _>>()?,
            "unread": unread.collect::<Vec<_>>(),
        }))
    }

    /// One line with the place, one with the text.
    fn shown(&self, hit: &Hit) -> Result<String, Failure> {
        let id: String = hit.session.to_string().chars().take(SHORT).collect();
        let name = self.name(hit.session)?.unwrap_or_default();
        let name = safe_line(&self.console.context.redactor.clean(&name), 60);
        let place = format!("{id}  {:>4}  {}  {:<9}  {name}", hit.number, minute(hit.at), hit.who.label());
        let place =
            self.columns().map_or(place.clone(), |columns| within_columns(&place, columns, "…").into_owned());
        let place = painted(self.console.style.colour, "2", place.trim_end());
        Ok(format!("{place}\n  {}\n", self.marked(hit)))
    }

    fn marked(&self, hit: &Hit) -> String {
        let piece = |from, to| hit.snippet.get(from..to).unwrap_or_default();
        let (mut line, mut from) = (String::new(), 0);
        for mark in &hit.marks {
            line.push_str(&safe_line(piece(from, mark.start), usize::MAX));
            line.push_str(&painted(
                self.console.style.colour,
                "1;33",
                &safe_line(piece(mark.start, mark.end), usize::MAX),
            ));
            from = mark.end;
        }
        line + &safe_line(piece(from, hit.snippet.len()), usize::MAX)
    }
}

fn within(within: Option<SearchIn>) -> Within {
    match within {
        None => Within::All,
        Some(SearchIn::User) => Within::User,
        Some(SearchIn::Assistant) => Within::Assistant,
        Some(SearchIn::Tools) => Within::Tools,
    }
}
