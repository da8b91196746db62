//! Runs a batch of approved invocations side by side and hands each result on as it comes.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use converse_canister::{Invocation, InvocationId, InvocationResult};
use converse_ensemble::{Approved, CancelScope, Host, Roster, ToolProgress};
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
    pub(crate) scope: CancelScope,
}

impl Batch<'_> {
    /// Each is `Started` (and so durable) before it runs: those that run together at once, the others when their turn
    /// has come. Each has an entry in `approved`. A sink's error ends all at once: what had started is then for the
    /// journal to tell, as interrupted.
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
            self.ports.emit(&Event::Started(&started))?;
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
            Err(result) => return Ok((invocation, Finished { result, elapsed: Duration::ZERO })),
        };
        if !approved.is_parallel() {
            self.ports.emit(&Event::Started(&[granted.as_run()]))?;
        }
        let began = Instant::now();
        let host = Host::new(index, words);
        let result = self.roster.invoke(approved, turn, host, &self.scope.now).await;
        Ok((invocation, Finished { result, elapsed: began.elapsed() }))
    }
}

/// An invocation and the leave to run it.
struct Granted<'i> {
    index: usize,
    invocation: &'i Invocation,
    approved: &'i Approved,
}

impl Granted<'_> {
    /// With the arguments it runs with: defaults filled in, and as they were edited.
    fn as_run(&self) -> Invocation {
        Invocation { arguments: self.approved.arguments().clone(), ..self.invocation.clone() }
    }
}
