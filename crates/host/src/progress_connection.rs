//! A connection that shows a progress message while a slow connection is opened.

use std::sync::Arc;

use converse_ensemble::{ConnectError, Connection, Ensemble, Instructions, Tool};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use crate::context::{Notices, while_waiting};

pub(crate) struct ProgressConnection<C> {
    pub inner: C,
    pub notices: Arc<dyn Notices>,
    /// The message, such as `starting NAME`.
    pub what: String,
}

impl<C: Connection> Connection for ProgressConnection<C> {
    fn connect<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Result<Vec<Tool>, ConnectError>> {
        while_waiting(self.notices.as_ref(), &self.what, self.inner.connect(ensemble)).boxed()
    }

    fn refresh<'a>(&'a self, ensemble: &'a Ensemble) -> BoxFuture<'a, Option<Vec<Tool>>> {
        self.inner.refresh(ensemble)
    }

    fn instructions(&self) -> Option<Instructions> {
        self.inner.instructions()
    }

    fn disconnect(&self) -> BoxFuture<'_, ()> {
        self.inner.disconnect()
    }
}
