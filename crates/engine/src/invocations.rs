//! Runs a batch of approved invocations side by side and hands each result on as it comes.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use converse_canister::{Invocation, InvocationId, InvocationResult};
use converse_ensemble::{Approved, Halt, Host, Roster, Word};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc;

use crate::{Event, Ports, SinkError};

/// Words a tool may have waiting before they are dropped.
const WORDS: usize = 64;

/// One that has finished.
pub(crate) struct Finished {
    pub(crate) result: InvocationResult,
    pub(crate) elapsed: Duration,
}

/// What a batch is run with.
pub(crate) struct Batch<'a> {
    pub(crate) roster: &'a Roster,
    pub(crate) ports: Ports<'a>,
    pub(crate) halt: Halt,
}

impl Batch<'_> {
    /// All are `Started` (and so durable) before any runs. Each has an entry in `approved`. A sink's error
    /// ends all at once: what had started is then for the journal to tell, as interrupted.
    pub(crate) async fn run<E: From<SinkError>>(
        &self,
        invocations: &[Invocation],
        approved: &HashMap<InvocationId, Approved>,
        mut on_finished: impl FnMut(&Invocation, Finished) -> Result<(), E>,
    ) -> Result<(), E> {
        self.ports.emit(&Event::Started(invocations))?;
        let (words_in, mut words) = mpsc::channel::<(usize, Word)>(WORDS);
        let mut running: FuturesUnordered<_> = invocations
            .iter()
            .enumerate()
            .filter_map(|(index, invocation)| approved.get(&invocation.id).map(|approved| (index, approved)))
            .map(|(index, approved)| self.one(index, approved, words_in.clone()))
            .collect();
        loop {
            tokio::select! {
                biased;
                Some((index, word)) = words.recv() => {
                    if let Some(invocation) = invocations.get(index) {
                        self.ports.emit(&Event::Word { id: &invocation.id, word: &word })?;
                    }
                }
                next = running.next() => match next {
                    None => return Ok(()),
                    Some((index, finished)) => {
                        if let Some(invocation) = invocations.get(index) {
                            on_finished(invocation, finished)?;
                        }
                    }
                },
            }
        }
    }

    async fn one(
        &self,
        index: usize,
        approved: &Approved,
        words: mpsc::Sender<(usize, Word)>,
    ) -> (usize, Finished) {
        let began = Instant::now();
        let host = Host::new(index, words);
        let result = self.roster.invoke(approved, host, &self.halt).await;
        (index, Finished { result, elapsed: began.elapsed() })
    }
}
