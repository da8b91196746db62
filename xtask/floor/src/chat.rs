//! One streamed request of Chat Completions.

use std::io::Write;

use futures_util::StreamExt as _;
use serde_json::{Value, json};

use crate::Result;

#[derive(Debug, Default)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

#[derive(Debug, Default)]
pub(crate) struct Reply {
    pub(crate) calls: Vec<Call>,
    /// Words that were not yet shown.
    text: String,
}

/// For plain `http:` only: no root certificate is loaded.
pub(crate) fn client() -> Result<reqwest::Client> {
    let tls = rustls::ClientConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    Ok(reqwest::Client::builder().no_proxy().tls_backend_preconfigured(tls).build()?)
}

pub(crate) async fn reply(
    client: &reqwest::Client,
    url: &str,
    messages: &[Value],
    tools: &[Value],
    out: &mut impl Write,
) -> Result<Reply> {
    let mut body = json!({"model": "stub", "stream": true, "messages": messages});
    if !tools.is_empty() {
        body["tools"] = json!(tools);
    }
    let request = client.post(format!("{url}/chat/completions")).header("content-type", "application/json");
    let response =
        request.bearer_auth("x").body(serde_json::to_vec(&body)?).send().await?.error_for_status()?;
    let (mut stream, mut reply, mut buffer) = (response.bytes_stream(), Reply::default(), Vec::new());
    while let Some(bytes) = stream.next().await {
        buffer.extend_from_slice(&bytes?);
        let whole = buffer.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        for line in buffer.drain(..whole).collect::<Vec<u8>>().split(|&byte| byte == b'\n') {
            reply.hear(line)?;
        }
        if !reply.text.is_empty() {
            out.write_all(std::mem::take(&mut reply.text).as_bytes())?;
            out.flush()?;
        }
    }
    Ok(reply)
}

impl Reply {
    fn hear(&mut self, line: &[u8]) -> Result<()> {
        let Some(data) = line.strip_prefix(b"data: ").filter(|data| *data != b"[DONE]") else {
            return Ok(());
        };
        let event: Value = serde_json::from_slice(data)?;
        let delta = &event["choices"][0]["delta"];
        self.text.push_str(delta["content"].as_str().unwrap_or_default());
        for part in delta["tool_calls"].as_array().into_iter().flatten() {
            if let Some(id) = part["id"].as_str() {
                self.calls.push(Call { id: id.to_owned(), ..Call::default() });
            }
            let Some(call) = self.calls.last_mut() else { continue };
            call.name.push_str(part["function"]["name"].as_str().unwrap_or_default());
            call.arguments.push_str(part["function"]["arguments"].as_str().unwrap_or_default());
        }
        Ok(())
    }
}
