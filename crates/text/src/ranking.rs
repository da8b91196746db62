//! Which tools fit some words: BM25 over their names, descriptions and the names of their arguments. The same words over
//! the same tools always give the same order.

use std::collections::HashMap;

/// The usual constants: how soon repetition stops to count, and how much length does.
const K: f64 = 1.2;
const B: f64 = 0.75;
/// A word of the name says as much as so many of the description.
const NAME: usize = 4;
/// What a word weighs that only begins alike.
const BEGINS: f64 = 0.5;
/// Bytes that are looked at, of a query and of a description.
const LONGEST: usize = 4 * 1024;

/// What a search reads of a tool.
#[derive(Debug, Clone)]
pub struct SearchText<'t> {
    pub name: &'t str,
    pub description: &'t str,
    /// The names of its arguments.
    pub arguments: Vec<&'t str>,
}

impl SearchText<'_> {
    fn words(&self) -> HashMap<String, usize> {
        let mut document = HashMap::new();
        let mut add = |text: &str, weight: usize| {
            for word in words(text) {
                *document.entry(word).or_default() += weight;
            }
        };
        add(self.name, NAME);
        add(self.description, 1);
        self.arguments.iter().for_each(|name| add(name, 1));
        document
    }
}

/// Returns the positions of at most `most` tools, the best first; nothing that no word fits.
pub fn ranked(query: &str, tools: &[SearchText<'_>], most: usize) -> Vec<usize> {
    let mut query = words(query);
    query.sort();
    query.dedup();
    let documents: Vec<HashMap<String, usize>> = tools.iter().map(SearchText::words).collect();
    let lengths: Vec<usize> = documents.iter().map(|document| document.values().sum()).collect();
    let average = lengths.iter().sum::<usize>() as f64 / lengths.len().max(1) as f64;
    let mut scores = vec![0.0; tools.len()];
    for word in &query {
        let often: Vec<f64> = documents.iter().map(|document| frequency(document, word)).collect();
        let holders = often.iter().filter(|often| **often > 0.0).count() as f64;
        let rare = (1.0 + (tools.len() as f64 - holders + 0.5) / (holders + 0.5)).ln();
        for ((score, often), length) in scores.iter_mut().zip(often).zip(&lengths) {
            let long = 1.0 - B + B * *length as f64 / average.max(1.0);
            *score += rare * often * (K + 1.0) / (often + K * long);
        }
    }
    let scored = scores.into_iter().zip(tools).enumerate();
    let mut ranked: Vec<(usize, f64, &str)> =
        scored.map(|(at, (score, tool))| (at, score, tool.name)).collect();
    ranked.retain(|(_, score, _)| *score > 0.0);
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.2.cmp(b.2)));
    ranked.into_iter().take(most).map(|(at, ..)| at).collect()
}

fn frequency(document: &HashMap<String, usize>, word: &str) -> f64 {
    if let Some(often) = document.get(word) {
        return *often as f64;
    }
    let begins = |other: &str| {
        let (short, long) = if other.len() < word.len() { (other, word) } else { (word, other) };
        short.chars().count() >= 4 && long.starts_with(short)
    };
    // The best of them, not their sum: order in the map must not matter.
    let alike = document.iter().filter(|(other, _)| begins(other)).map(|(_, often)| *often).max();
    alike.map_or(0.0, |often| often as f64 * BEGINS)
}

/// Lower-case words without a plural's `s`; `getUserById` and `get_user_by_id` are the same four.
fn words(text: &str) -> Vec<String> {
    let text = text.get(..text.floor_char_boundary(LONGEST)).unwrap_or_default();
    let (mut words, mut word) = (Vec::new(), String::new());
    let mut was_lower = false;
    for letter in text.chars() {
        if !letter.is_alphanumeric() || (letter.is_uppercase() && was_lower) {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
        was_lower = letter.is_lowercase();
    }
    words.push(word);
    let singular = |word: String| match word.strip_suffix('s') {
        Some(stem) if stem.len() > 2 && !stem.ends_with('s') => stem.to_owned(),
        _ => word,
    };
    words.into_iter().filter(|word| !word.is_empty()).map(singular).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_names_of_all_kinds() {
        for (text, expected) in [
            ("getUserById", "get user by id"),
            ("mail.send_message", "mail send message"),
            ("Sends   e-mails!", "send e mail"),
            ("класс Открыть", "класс открыть"),
            ("glass its HTTP2", "glass its http2"),
            ("", ""),
        ] {
            assert_eq!(words(text).join(" "), expected);
        }
    }
}
