//! The questions of `init`.

use converse_canister::EnsembleName;
use converse_foreign::SketchKind;

use converse_host::failure::Failure;
use converse_terminal::approver::asks;
use converse_terminal::console::Console;

/// The number of invalid answers to one question before it fails.
const TRIES: usize = 5;

pub(super) struct Questions<'a> {
    pub(super) console: &'a Console,
}

impl Questions<'_> {
    pub(super) async fn name(&self) -> Result<String, Failure> {
        let valid = |answer: &str| EnsembleName::new(answer).map(String::from).map_err(|bad| bad.to_string());
        self.until("name of the new ensemble: ", valid).await
    }

    pub(super) async fn kind(&self) -> Result<SketchKind, Failure> {
        let question = "what kind of ensemble?\n  1  an MCP server that converse starts\n  2  an MCP server at a URL\n  \
            3  a program as a tool\n  4  an HTTP request as a tool\n1, 2, 3 or 4: ";
        let number = self.until(question, |answer| match answer {
            "1" | "2" | "3" | "4" => Ok(answer.to_owned()),
            _ => Err("1, 2, 3 or 4".to_owned()),
        });
        let line = "command line, as you would type it: ";
        let template = "command line, with `{name}` for each argument of the tool: ";
        Ok(match number.await?.as_str() {
            "1" => SketchKind::Server(self.until(line, words).await?),
            "2" => SketchKind::Url(self.until("URL: ", given).await?, Vec::new()),
            "3" => SketchKind::Command(self.until(template, words).await?),
            _ => {
                let url = self.until("URL, with `{name}` for each argument of the tool: ", given).await?;
                SketchKind::Http("GET".to_owned(), url, Vec::new())
            }
        })
    }

    /// `None` for an empty answer.
    pub(super) async fn description(&self) -> Result<Option<String>, Failure> {
        let answer = self.ask("description in one sentence (may be empty): ").await?;
        Ok(Some(answer).filter(|answer| !answer.is_empty()))
    }

    async fn until<T>(
        &self,
        question: &str,
        valid: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, Failure> {
        let mut asked = question.to_owned();
        for _ in 0..TRIES {
            match valid(&self.ask(&asked).await?) {
                Ok(answer) => return Ok(answer),
                Err(why) => asked = format!("  {}\n{question}", converse_text::safe_line(&why, 200)),
            }
        }
        Err(Failure::usage("not-enough", "there was no valid answer; nothing was written"))
    }

    async fn ask(&self, question: &str) -> Result<String, Failure> {
        let none = || Failure::usage("not-enough", "there is no answer; nothing was written");
        asks(&self.console.progress, question.to_owned()).await.ok_or_else(none)
    }
}

fn given(answer: &str) -> Result<String, String> {
    if answer.is_empty() { Err("it must not be empty".to_owned()) } else { Ok(answer.to_owned()) }
}

/// Splits at white space outside of `'…'` and `"…"`. No other character is special.
fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    match (quote, words.is_empty()) {
        (Some(_), _) => Err("a quote is not closed".to_owned()),
        (None, true) => Err("it must name a program".to_owned()),
        (None, false) => Ok(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_words() {
        for (line, expected) in [
            ("npx -y  a@1", &["npx", "-y", "a@1"][..]),
            ("sh -c 'a \"b\" c'", &["sh", "-c", "a \"b\" c"]),
            ("x \"\" a'b c'd", &["x", "", "ab cd"]),
        ] {
            assert_eq!(
                words(line).as_deref(),
                Ok(&expected.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()[..])
            );
        }
        assert!(words(" ").is_err() && words("x 'a").is_err());
    }
}
