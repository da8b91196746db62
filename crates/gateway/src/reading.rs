//! Requests of clients for resources, prompts and completions: judged, limited and recorded like calls of tools.
//! <https://modelcontextprotocol.io/specification/2026-07-28/server/resources> (checked 2026-11)

use converse_canister::{Arguments, Content, InvocationResult, Outcome};
use converse_ensemble::{COMPLETE, GET_PROMPT, OfferKind, READ_RESOURCE, Roster, Verdict};
use rmcp::model::{
    CompleteRequestParams, CompleteResult, ErrorCode, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Reference,
    ResultType,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::call::{Ended, Target, text_of};
use crate::calling_client::Round;
use crate::gateway::Gateway;
use crate::principal::Principal;
use crate::raw_arguments::RawArguments;

/// The code of requests that the rules refuse, in the range for errors of a server.
const REFUSED: ErrorCode = ErrorCode(-32052);

impl Gateway {
    pub(crate) async fn read_offer(
        &self,
        mut request: ReadResourceRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.within_budget(&Principal::of(context))?;
        let roster = self.roster_for(context);
        let Some(ensemble) = self.owner_of(roster, &request.uri).await else {
            return Err(no_resource(&request.uri));
        };
        let round = (request.input_responses.take().unwrap_or_default(), request.request_state.take());
        let params = json!({ "uri": request.uri });
        let ended = self.read(roster, (&ensemble, READ_RESOURCE), &params, round, context).await?;
        if let Some(asking) = ended.asking {
            return Ok(ReadResourceResponse::InputRequired(asking));
        }
        let mut result: ReadResourceResult = result_of(&ended.report.result, |_| no_resource(&request.uri))?;
        result.result_type = Some(ResultType::COMPLETE);
        Ok(ReadResourceResponse::Complete(result))
    }

    pub(crate) async fn prompt_offer(
        &self,
        mut request: GetPromptRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.within_budget(&Principal::of(context))?;
        let roster = self.roster_for(context);
        let Some(prompt) = self.find_offer(roster, OfferKind::Prompts, &request.name).await else {
            return Err(ErrorData::invalid_params(format!("unknown prompt: {}", short(&request.name)), None));
        };
        let round = (request.input_responses.take().unwrap_or_default(), request.request_state.take());
        let mut params = json!({ "name": prompt.own });
        if let Some(arguments) = request.arguments.take() {
            params["arguments"] = Value::Object(arguments);
        }
        let ended = self.read(roster, (&prompt.ensemble, GET_PROMPT), &params, round, context).await?;
        if let Some(asking) = ended.asking {
            return Ok(GetPromptResponse::InputRequired(asking));
        }
        let mut result: GetPromptResult = result_of(&ended.report.result, invalid)?;
        result.result_type = Some(ResultType::COMPLETE);
        Ok(GetPromptResponse::Complete(result))
    }

    pub(crate) async fn complete_offer(
        &self,
        request: CompleteRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.within_budget(&Principal::of(context))?;
        let roster = self.roster_for(context);
        let (reference, ensemble) = match &request.r#ref {
            Reference::Prompt(prompt) => {
                let found = self.find_offer(roster, OfferKind::Prompts, &prompt.name).await;
                let found = found.ok_or_else(|| invalid("the prompt does not exist".to_owned()))?;
                (json!({ "type": "ref/prompt", "name": found.own }), found.ensemble)
            }
            Reference::Resource(resource) => {
                let template = self.find_offer(roster, OfferKind::Templates, &resource.uri).await;
                let ensemble = match template {
                    Some(template) => Some(template.ensemble),
                    None => self.owner_of(roster, &resource.uri).await,
                };
                let ensemble = ensemble.ok_or_else(|| no_resource(&resource.uri))?;
                (json!({ "type": "ref/resource", "uri": resource.uri }), ensemble)
            }
            _ => return Err(invalid("unknown type of reference".to_owned())),
        };
        let mut params = json!({ "ref": reference, "argument": request.argument });
        if let Some(known) = request.context {
            params["context"] = json!(known);
        }
        let ended = self.read(roster, (&ensemble, COMPLETE), &params, Round::default(), context).await?;
        let mut result: CompleteResult = result_of(&ended.report.result, invalid)?;
        result.result_type = Some(ResultType::COMPLETE);
        Ok(result)
    }

    /// Judges, runs and records one request. `reader` is the ensemble and the tool by which its server is read.
    async fn read(
        &self,
        roster: &Roster,
        reader: (&str, &str),
        params: &Value,
        round: Round,
        context: &RequestContext<RoleServer>,
    ) -> Result<Ended, ErrorData> {
        let _call = self.admit()?;
        let sink = self.sink_for(context);
        let readers = roster.readers();
        let qualified = format!("{}.{}", reader.0, reader.1);
        let shown = shown_name(&readers, &qualified)?;
        let arguments = RawArguments::new(&params.to_string(), 0);
        let target = Target { shown: &shown, qualified: &qualified, roster: &readers, fixed: None };
        let turn = self.wait_for_turn(&target, &arguments, sink.as_ref(), context).await?;
        // A reload may have replaced the server meanwhile, or taken it away.
        let readers = if turn.has_waited { roster.readers() } else { readers };
        if turn.has_waited && shown_name(&readers, &qualified).is_err() {
            turn.unused(Outcome::NoSuchTool);
            let text = "the server is not served any more; nothing was run";
            return Err(self.ended_in_queue((&shown, Outcome::NoSuchTool), text, sink.as_ref()).await);
        }
        let target = Target { shown: &shown, qualified: &qualified, roster: &readers, fixed: None };
        self.run_in_turn(turn, &target, arguments, round, sink.as_ref(), context).await
    }

    /// Returns the ensemble whose resource the rules allow to be read, for a subscription.
    pub(crate) async fn readable(&self, roster: &Roster, uri: &str) -> Result<String, ErrorData> {
        let Some(ensemble) = self.owner_of(roster, uri).await else { return Err(no_resource(uri)) };
        self.judge_reading(roster, &ensemble, uri).map(|()| ensemble)
    }

    /// Checks whether the rules, as they are now, allow a resource of this ensemble to be read.
    pub(crate) fn judge_reading(&self, roster: &Roster, ensemble: &str, uri: &str) -> Result<(), ErrorData> {
        let readers = roster.readers();
        let shown = shown_name(&readers, &format!("{ensemble}.{READ_RESOURCE}"))?;
        let arguments = Arguments::parse(&json!({ "uri": uri }).to_string());
        match readers.judge(&self.invocation(&shown, arguments)) {
            Verdict::Allowed(_) => Ok(()),
            Verdict::Answered(denied) => Err(ErrorData::new(REFUSED, text_of(&denied.result), None)),
            Verdict::Ask(pending) => {
                let text = format!("reading it needs an approval; `--allow '{}'` gives it", pending.tool());
                Err(ErrorData::new(REFUSED, text, None))
            }
        }
    }
}

fn shown_name(readers: &Roster, qualified: &str) -> Result<String, ErrorData> {
    let offer = readers.offer();
    let tool = offer.tools().find(|tool| tool.qualified == qualified);
    let name = tool.map(|tool| tool.declaration.name.to_string());
    name.ok_or_else(|| ErrorData::internal_error("the server is not connected", None))
}

/// Returns the result of the server. `wrong` makes the error for parameters that the server does not accept.
fn result_of<T: DeserializeOwned>(
    result: &InvocationResult,
    wrong: impl Fn(String) -> ErrorData,
) -> Result<T, ErrorData> {
    match result.outcome {
        Outcome::Invalid => return Err(wrong(text_of(result))),
        Outcome::Refused => return Err(ErrorData::new(REFUSED, text_of(result), None)),
        outcome if !outcome.is_success() => return Err(ErrorData::internal_error(text_of(result), None)),
        _ => {}
    }
    let value = result.content.iter().find_map(|content| match content {
        Content::Structured { value } => Some(value.clone()),
        _ => None,
    });
    let unreadable = || ErrorData::internal_error("the result of the server could not be read", None);
    serde_json::from_value(value.ok_or_else(unreadable)?).map_err(|_| unreadable())
}

fn invalid(text: String) -> ErrorData {
    ErrorData::invalid_params(text, None)
}

fn no_resource(uri: &str) -> ErrorData {
    let text = format!("there is no resource `{}`", short(uri));
    ErrorData::resource_not_found(text, Some(json!({ "uri": uri })))
}

fn short(name: &str) -> String {
    name.chars().take(200).collect()
}
