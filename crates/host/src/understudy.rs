//! The embedded understudy behind the same port as HTTP, so that every layer above it is the real one.

use bytes::Bytes;
use converse_engine::{ByteStream, Wire, WireError};
use converse_provider::AuthScheme;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream;

#[derive(Debug)]
pub(crate) struct UnderstudyWire;

impl Wire for UnderstudyWire {
    fn send<'a>(
        &'a self,
        request: http::Request<Bytes>,
        _: &'a AuthScheme,
    ) -> BoxFuture<'a, Result<http::Response<ByteStream>, WireError>> {
        let response = converse_understudy::respond(&request);
        let response = response.map(|body| stream::iter([Ok(body)]).boxed());
        Box::pin(std::future::ready(Ok(response)))
    }
}
