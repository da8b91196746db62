//! Servers that are connected only to be looked at, or for a resource or a prompt; their tools are not offered.

use std::sync::Arc;

use converse_config::{EnsemblePlan, Rule};
use converse_ensemble::Connection as _;
use converse_mcp::McpConnection;
use converse_process::Guardian;
use futures_util::future::join_all;

use super::{Connected, ConnectionNotices, Servers, Wiring, at_home};
use crate::contents::Kept;
use crate::context::RunContext;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::world::World;

/// Servers, each started by its first request.
pub struct Readers {
    servers: Servers,
    guardian: Guardian,
    connection_notices: ConnectionNotices,
}

crate::opaque_debug!(Readers);

impl Wiring<'_> {
    /// Creates the connections without starting a server. Plans without a server are skipped.
    pub fn readers(&self, plans: &[&EnsemblePlan]) -> Readers {
        self.context.redactor.learn(self.secrets(plans.iter().copied()));
        let (guardian, connection_notices) = (self.guardian(), ConnectionNotices::default());
        let around = Arc::new(self.surroundings_of_servers(&guardian, &connection_notices));
        let server = |plan: &&EnsemblePlan| {
            let connection = at_home(plan, plan.connection.as_ref()?, self.world);
            let server = McpConnection::new(plan, &connection, Arc::clone(&around));
            server.accept_offers(self.lockfiles.offers(plan));
            Some((plan.name.clone(), Arc::new(server)))
        };
        Readers { servers: plans.iter().filter_map(server).collect(), guardian, connection_notices }
    }

    /// Awaits a request unless the run ends first.
    pub async fn unless_stopped<T>(&self, asking: impl Future<Output = T>) -> Result<T, Failure> {
        tokio::select! {
            answer = asking => Ok(answer),
            failure = self.stopped() => Err(failure),
        }
    }
}

impl Readers {
    pub fn server(&self, name: &str) -> Option<&McpConnection> {
        self.servers.iter().find(|(known, _)| known.as_str() == name).map(|(_, server)| server.as_ref())
    }

    /// Disconnects all servers concurrently, within a time limit.
    pub async fn disconnect(self, context: &RunContext) {
        join_all(self.servers.iter().map(|(_, server)| server.disconnect())).await;
        self.guardian.sweep();
        self.connection_notices.tell(&self.guardian, context);
    }
}

/// The plan with `required` and `lazy` off: it is connected at once, and a failure is reported like any other.
pub fn eager(plan: &EnsemblePlan) -> EnsemblePlan {
    EnsemblePlan { required: false, lazy: false, ..plan.clone() }
}

/// Connects all plans, calls `read` and disconnects them.
pub fn inspect<T>(
    plans: &[&EnsemblePlan],
    context: &RunContext,
    interrupt: &Interrupt,
    world: &World,
    read: impl AsyncFnOnce(&Connected) -> T,
) -> Result<T, Failure> {
    let contents = Kept::new(None);
    let wiring = Wiring::looking(world, context, interrupt, &contents);
    let eager: Vec<EnsemblePlan> = plans.iter().map(|plan| eager(plan)).collect();
    crate::runtime::block_on(async {
        let connected = wiring.connect(&eager.iter().collect::<Vec<_>>(), Vec::<Rule>::new()).await?;
        let read = read(&connected).await;
        connected.disconnect(context).await;
        Ok(read)
    })?
}
