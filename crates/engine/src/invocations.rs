//! Runs a batch of approved invocations in parallel and passes on each result when it comes.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use converse_canister::{Invocation, InvocationId, InvocationResult};
use converse_ensemble::{Approved, CancelScope, Host, Invoked, Roster, ToolProgress};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc;

use crate::{Event, Ports, SinkError};

/// Progress messages that may wait before more are dropped.
const WORDS: usize = 64;

/// An invocation that has finished.
pub(crate) struct Finished {
    pub(crate) result: InvocationResult,
    pub(crate) elapsed: Duration,
    pub(crate) lacks_descriptors: bool,
}

/// The configuration of a batch.
pub(crate) struct Batch<'a> {
    pub(crate) roster: &'a Roster,
    pub(crate) ports: Ports<'a>,
    pub(crate) scope: CancelScope,
}

impl Batch<'_> {
    /// Reports each invocation as started (and so durable, if one has effects) before it runs: those that run in parallel at once, each
    /// other one when its turn comes. Each has an entry in `approved`. An error of a sink ends all of them at once; the
    /// journal then shows those that had started as interrupted.
    pub(crate) async fn run<E: From<SinkError>>(
        &self,
        invocations: &[Invocation],
        approved: &HashMap<InvocationId, Approved>,
        mut on_finished: impl FnMut(&Invocation, Finished) -> Result<(), E>,
    ) -> Result<(), E> {
        let (words_in, mut words) = mpsc::channel::<(usize, ToolProgress)>(WORDS);
        let granted = invocations.iter().enumerate().filter_map(|(index, invocation)| {
            let approved = approved.get(&invocation.id)?;
            Some(Granted { index, invocation, approved })
        });
        let (together, alone): (Vec<_>, Vec<_>) = granted.partition(|granted| granted.approved.is_parallel());
        if !together.is_empty() {
            let started: Vec<Invocation> = together.iter().map(Granted::as_run).collect();
            let has_effects = together.iter().any(|granted| granted.approved.has_effects());
            self.ports.emit(&Event::Started { invocations: &started, has_effects })?;
        }
        let all = together.into_iter().chain(alone);
        let mut running: FuturesUnordered<_> =
            all.map(|granted| self.one(granted, words_in.clone())).collect();
        loop {
            tokio::select! {
                biased;
                Some((index, word)) = words.recv() => {
                    if let Some(invocation) = invocations.get(index) {
                        self.ports.emit(&Event::ToolProgress { id: &invocation.id, word: &word })?;
                    }
                }
                next = running.next() => match next {
                    None => return Ok(()),
                    Some(finished) => {
                        let (invocation, finished) = finished?;
                        on_finished(invocation, finished)?;
                    }
                },
            }
        }
    }

    async fn one<'i>(
        &self,
        granted: Granted<'i>,
        words: mpsc::Sender<(usize, ToolProgress)>,
    ) -> Result<(&'i Invocation, Finished), SinkError> {
        let Granted { index, invocation, approved } = granted;
        let turn = match self.roster.turn(approved, &self.scope).await {
            Ok(turn) => turn,
            Err(result) => {
                let elapsed = Duration::ZERO;
                return Ok((invocation, Finished { result, elapsed, lacks_descriptors: false }));
            }
        };
        if !approved.is_parallel() {
            let has_effects = approved.has_effects();
            self.ports.emit(&Event::Started { invocations: &[granted.as_run()], has_effects })?;
        }
        let began = Instant::now();
        let host = Host::new(index, words);
        let Invoked { result, lacks_descriptors, .. } =
            self.roster.invoke(approved, turn, host, &self.scope.now).await;
        Ok((invocation, Finished { result, elapsed: began.elapsed(), lacks_descriptors }))
    }
}

/// An invocation and the approval to run it.
struct Granted<'i> {
    index: usize,
    invocation: &'i Invocation,
    approved: &'i Approved,
}

impl Granted<'_> {
    /// Returns the invocation with the arguments it runs with: defaults filled in, edits applied.
    fn as_run(&self) -> Invocation {
        Invocation { arguments: self.approved.arguments().clone(), ..self.invocation.clone() }
    }
}
