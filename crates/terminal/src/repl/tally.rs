//! What the conversation has taken so far, in this run and before it.

use converse_canister::{Cost, Usage};
use converse_engine::{Event, Sink, SinkError};
use converse_session::Loaded;
use parking_lot::Mutex;

use crate::view::money;
use converse_text::wording::{counted, grouped};

#[derive(Debug, Default)]
pub(super) struct Tally(Mutex<Sums>);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sums {
    usage: Usage,
    /// Of models.
    cost: Cost,
    /// Of tools.
    paid: Cost,
    replies: u64,
    invocations: u64,
    /// A reply has an unknown price.
    unknown: bool,
}

impl Tally {
    /// Of a conversation that begins; the run goes on.
    pub(super) fn clear(&self) {
        self.begin(Sums::default());
    }

    /// Of one that goes on.
    pub(super) fn take(&self, loaded: &Loaded) {
        let Loaded { usage, cost, paid, unpriced: unknown, .. } = *loaded;
        self.begin(Sums { usage, cost, paid, unknown, ..Sums::default() });
    }

    fn begin(&self, of: Sums) {
        let mut sums = self.0.lock();
        *sums = Sums { replies: sums.replies, invocations: sums.invocations, ..of };
    }

    /// Tokens, for people.
    pub(super) fn tokens(&self) -> String {
        let Sums { usage, replies, invocations, .. } = *self.0.lock();
        let count = |tokens: Option<u64>| tokens.map_or_else(|| "–".to_owned(), grouped);
        let several = |count: u64, noun: &str| counted(usize::try_from(count).unwrap_or(usize::MAX), noun);
        let of = |what: Option<u64>, name: &str| what.map(|tokens| format!("{} {name}", grouped(tokens)));
        let parts = [
            of(usage.cache_read, "from a cache"),
            of(usage.cache_write, "into a cache"),
            of(usage.reasoning, "of reasoning"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let parts = if parts.is_empty() { String::new() } else { format!("  ({})", parts.join(", ")) };
        format!(
            "{} tokens in, {} out{parts}\nin this run: {}, {}",
            count(usage.input),
            count(usage.output),
            several(replies, "model call"),
            several(invocations, "invocation"),
        )
    }

    /// Money in a few characters, if it is known that something was spent.
    pub(super) fn dollars(&self) -> Option<String> {
        let Sums { cost, paid, .. } = *self.0.lock();
        let all = cost.plus(paid);
        (all > Cost(0)).then(|| money(all))
    }

    /// Money, for people.
    pub(super) fn cost(&self) -> String {
        let Sums { cost, paid, unknown, .. } = *self.0.lock();
        let tools = match paid {
            Cost(0) => String::new(),
            paid => format!(", {:.6} of them for tools", paid.dollars()),
        };
        let rest = match unknown {
            true if cost.plus(paid) == Cost(0) => return "cost unknown".to_owned(),
            true => "; some prices are not known",
            false => "",
        };
        format!("{:.6} USD{tools}{rest}", cost.plus(paid).dollars())
    }
}

impl Sink for Tally {
    fn emit(&self, event: &Event<'_>) -> Result<(), SinkError> {
        let mut sums = self.0.lock();
        match event {
            Event::Used { usage, cost, .. } => {
                sums.usage += *usage;
                sums.replies += 1;
                match cost {
                    Some(cost) => sums.cost = sums.cost.plus(*cost),
                    None => sums.unknown = true,
                }
            }
            Event::Finished { result, .. } => {
                sums.invocations += 1;
                sums.paid = sums.paid.plus(result.cost.unwrap_or_default());
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_knows_is_said() {
        let tally = Tally::default();
        assert_eq!(tally.cost(), "0.000000 USD", "nothing was asked");
        let used =
            |usage, cost| Event::Used { usage, cost, model: "m", provider: "p", cut: false, instead: None };
        let usage = |input, output| Usage { input: Some(input), output: Some(output), ..Usage::default() };
        tally.emit(&used(usage(10, 2), Some(Cost(1_500)))).unwrap();
        assert_eq!(tally.cost(), "0.001500 USD");
        tally.emit(&used(Usage { cache_read: Some(4), ..usage(5, 1) }, None)).unwrap();
        assert_eq!(tally.cost(), "0.001500 USD; some prices are not known");
        assert!(tally.tokens().starts_with("15 tokens in, 3 out  (4 from a cache)\n"), "{}", tally.tokens());
        tally.clear();
        tally.emit(&used(usage(1, 1), None)).unwrap();
        assert_eq!(tally.cost(), "cost unknown", "and not nothing");
        tally.clear();
        assert!(tally.tokens().starts_with("– tokens in, – out\n"), "{}", tally.tokens());
        assert!(tally.tokens().ends_with("in this run: 3 model calls, 0 invocations"), "{}", tally.tokens());
    }
}
