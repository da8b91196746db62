//! Collects one response, streamed or whole.
//!
//! A stream has chunks of the same form as a whole response, each with the new parts; usage is repeated cumulatively.
//! Only a finish reason completes the reply. There is no last event, so the stream is read to the end of its body,
//! where late usage and an empty part with a signature may follow. Only the first candidate is read.
//!
//! Without `alt=sse` the stream is one JSON array of the same chunks, which some proxies always send.

use converse_canister::{Stop, Usage};
use serde_json::value::RawValue;

use super::chunk::{Candidate, Chunk, UsageMetadata};
use super::finish;
use super::part::PartList;
use crate::body::{Assembly, Fault, refused};
use crate::compose::ReplyParts;
use crate::head::Head;
use crate::lenient::{count, read};
use crate::sse::Event;
use crate::{Delta, Reply, ReplyError, ReplyOrigin};

#[derive(Debug)]
pub(crate) struct CandidateAssembly {
    origin: ReplyOrigin,
    parts: PartList,
    stop: Option<Stop>,
    usage: WireUsage,
    id: Option<String>,
    model: Option<String>,
}

impl CandidateAssembly {
    pub(crate) fn new(origin: ReplyOrigin) -> Self {
        Self {
            origin,
            parts: PartList::default(),
            stop: None,
            usage: WireUsage::default(),
            id: None,
            model: None,
        }
    }

    /// True if the chunk is one of this wire's.
    fn absorb(&mut self, data: &str, out: &mut Vec<Delta>) -> Result<bool, Fault> {
        let mut repaired = None;
        let chunk: Chunk<'_> = read(data, &mut repaired)?;
        if chunk.error.is_some() {
            return Err(refused(data));
        }
        let known =
            chunk.candidates.is_some() || chunk.prompt_feedback.is_some() || chunk.usage_metadata.is_some();
        if self.id.is_none() {
            self.id = chunk.response_id.into_text().map(|id| id.into_owned());
        }
        if self.model.is_none() {
            self.model = chunk.model_version.into_text().map(|model| model.into_owned());
        }
        if let Some(usage) = chunk.usage_metadata.and_then(|usage| usage.0) {
            self.usage.update(&usage);
        }
        for candidate in chunk.candidates.into_iter().flatten() {
            self.candidate(candidate, out)?;
        }
        if let Some(feedback) = chunk.prompt_feedback
            && let Some(reason) = feedback.block_reason.text()
            && self.stop.is_none()
        {
            self.stop = Some(finish::blocked(reason, feedback.block_reason_message.text()));
        }
        Ok(known)
    }

    fn candidate(&mut self, candidate: Candidate<'_>, out: &mut Vec<Delta>) -> Result<(), Fault> {
        if count(candidate.index).unwrap_or(0) != 0 {
            return Ok(());
        }
        for raw in candidate.content.and_then(|content| content.parts).into_iter().flatten() {
            self.parts.add(raw.get(), out)?;
        }
        if let Some(reason) = candidate.finish_reason.text()
            && self.stop.is_none()
        {
            self.stop = finish::stop(reason, candidate.finish_message.text())?;
        }
        Ok(())
    }
}

impl Assembly for CandidateAssembly {
    fn event(&mut self, event: &Event<'_>, out: &mut Vec<Delta>) -> Result<(), Fault> {
        // `[DONE]` is not of this wire; proxies that speak another one add it.
        if matches!(event.data.trim(), "" | "[DONE]") {
            return Ok(());
        }
        if event.name == "error" {
            return Err(refused(event.data));
        }
        self.absorb(event.data, out).map(|_| ())
    }

    fn whole(&mut self, body: &str) -> Result<(), Fault> {
        // Nobody is shown a whole response while it comes in.
        let mut unseen = Vec::new();
        let mut known = false;
        if body.starts_with('[') {
            let chunks: Vec<&RawValue> = serde_json::from_str(body)?;
            for chunk in chunks {
                known |= self.absorb(chunk.get(), &mut unseen)?;
                unseen.clear();
            }
        } else {
            known = self.absorb(body, &mut unseen)?;
        }
        if known { Ok(()) } else { Err(Fault::Nonsense) }
    }

    fn reads_arrays(&self) -> bool {
        true
    }

    fn is_complete(&self) -> bool {
        false
    }

    fn finish(self: Box<Self>, head: &Head) -> Result<Reply, ReplyError> {
        let stop = self.stop.unwrap_or(Stop::Cut);
        let collected = ReplyParts {
            pieces: self.parts.pieces,
            native: self.parts.native,
            usage: self.usage.counted(stop != Stop::Cut),
            model: self.model,
            response_id: self.id,
            ..ReplyParts::default()
        };
        collected.into_reply(Some(stop), &self.origin, head)
    }
}

/// The last reported token counts.
#[derive(Debug, Clone, Copy, Default)]
struct WireUsage {
    prompt: Option<u64>,
    cached: Option<u64>,
    tool_use: Option<u64>,
    candidates: Option<u64>,
    thoughts: Option<u64>,
    total: Option<u64>,
}

impl WireUsage {
    fn update(&mut self, usage: &UsageMetadata<'_>) {
        for (mine, reported) in [
            (&mut self.prompt, usage.prompt_token_count),
            (&mut self.cached, usage.cached_content_token_count),
            (&mut self.tool_use, usage.tool_use_prompt_token_count),
            (&mut self.candidates, usage.candidates_token_count),
            (&mut self.thoughts, usage.thoughts_token_count),
            (&mut self.total, usage.total_token_count),
        ] {
            *mine = count(reported).or(*mine);
        }
    }

    /// Gemini counts reasoning apart from the candidates, and results of its own tools apart from the prompt. A count
    /// of zero is omitted on this wire: at the end, where the total is known, missing parts are zero.
    fn counted(self, at_the_end: bool) -> Usage {
        let known =
            self.candidates.is_some() || self.thoughts.is_some() || (at_the_end && self.total.is_some());
        let output = self.candidates.unwrap_or(0).saturating_add(self.thoughts.unwrap_or(0));
        Usage {
            input: self.prompt.map(|prompt| prompt.saturating_add(self.tool_use.unwrap_or(0))),
            output: known.then_some(output),
            cache_read: self.cached,
            cache_write: None,
            reasoning: self.thoughts,
        }
    }
}
