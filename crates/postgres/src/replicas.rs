//! What servers with the same database share: turns, heartbeats, and messages that there is more to read.
//!
//! A connection of its own listens for messages and has the heartbeat. An idle server sends one statement in 3.3 seconds:
//! it renews the heartbeat, and returns the turns of processes that are gone, and its own to see which are to be cancelled.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use converse_session::Uuid;
use converse_session::storage::{News, Replicas, SharedTurn, WaitingSession, Wake};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tokio_postgres::types::Type;

use crate::address::Address;
use crate::connection::{Database, Failed, Live, Param, borrowed, connect, int, seconds, text, uuid};
use crate::storage::unreadable;

/// Changes that wait to be taken or told. With more, the receiver looks at everything.
const MAX_WAITING: usize = 4096;
/// Time between two attempts to connect.
const PAUSE: Duration = Duration::from_secs(1);
/// Turns that one heartbeat returns.
const MAX_TURNS: i64 = 100_000;

/// The channel of the messages.
const LISTEN: &str = "LISTEN converse";
const NOTIFY: &str = "SELECT pg_notify('converse', payload) FROM unnest($1) AS payload";

/// Renews the heartbeat, and returns the turns of this process and those that are lost. A process that holds the lease of a session
/// still writes: its turn is not lost yet. After an outage all processes seem lost to the first that is back: the last column says
/// whether heartbeats, of whatever processes, have come for a lease without a break of one. Those that are there are known then.
const BEAT: &str = "WITH beat AS (
        INSERT INTO converse.processes (id, expires)
        VALUES ($1, clock_timestamp() + make_interval(secs => $2))
        ON CONFLICT (id) DO UPDATE SET expires = excluded.expires),
    pulse AS (
        INSERT INTO converse.pulse AS p (since, last) VALUES (clock_timestamp(), clock_timestamp())
        ON CONFLICT (id) DO UPDATE SET last = excluded.last, since = CASE
            WHEN p.last > excluded.last - make_interval(secs => $2) THEN p.since ELSE excluded.last END
        RETURNING since),
    old AS (DELETE FROM converse.processes WHERE expires < clock_timestamp() - interval '1 day' AND id <> $1)
    SELECT t.owner, t.session, t.process, t.cancelled, t.run,
        (SELECT since FROM pulse) <= clock_timestamp() - make_interval(secs => $2)
    FROM converse.turns AS t
    LEFT JOIN converse.processes AS p ON p.id = t.process
    LEFT JOIN converse.sessions AS s ON s.id = t.session
    WHERE t.process = $1 OR t.process IS NOT NULL
        AND (p.id IS NULL OR p.expires <= clock_timestamp())
        AND (s.expires IS NULL OR s.expires <= clock_timestamp())
    LIMIT $3";

const END_FORGOTTEN: &str =
    "UPDATE converse.turns SET process = NULL WHERE process = $1 AND session = ANY($2)";

/// Not without a heartbeat, which another process would miss; one that comes first is the process's first. Not in the session
/// of another owner, whose own turn takes the place of one that was there before the session.
const BEGIN: &str = "WITH beat AS (
        INSERT INTO converse.processes (id, expires)
        VALUES ($4, clock_timestamp() + make_interval(secs => $5)) ON CONFLICT DO NOTHING)
    INSERT INTO converse.turns (session, owner, run, process) SELECT $1, $2, $3, $4
    WHERE NOT EXISTS (SELECT 1 FROM converse.processes WHERE id = $4 AND expires <= clock_timestamp())
        AND NOT EXISTS (SELECT 1 FROM converse.sessions WHERE id = $1 AND owner <> $2)
    ON CONFLICT (session) DO UPDATE SET owner = excluded.owner,
        run = excluded.run, process = excluded.process, began = NULL, cancelled = false, ending = NULL
    WHERE turns.process IS NULL AND (turns.owner = excluded.owner OR EXISTS (
        SELECT 1 FROM converse.sessions WHERE id = excluded.session AND owner = excluded.owner))";

/// As a heartbeat finds a turn that is lost: its process may have come back since.
const TAKE_OVER: &str = "UPDATE converse.turns SET process = $2 WHERE session = $1 AND process = $3
    AND NOT EXISTS (SELECT 1 FROM converse.processes WHERE id = $3 AND expires > clock_timestamp())
    AND NOT EXISTS (SELECT 1 FROM converse.sessions WHERE id = $1 AND expires > clock_timestamp())";

const GIVE_BACK: &str = "UPDATE converse.turns SET process = $3 WHERE session = $1 AND process = $2";

const TURN: &str = "SELECT run, process IS NOT NULL, began, ending
    FROM converse.turns WHERE session = $1 AND owner = $2";

/// Not what has just been answered: the server that got the answer continues the turn. The last change first: a list that is
/// cut off lacks those that have waited longest, as a rule for a person.
const WAITING: &str = "SELECT r.owner, r.key, (extract(epoch FROM r.changed) * 1000000)::bigint
    FROM converse.records AS r WHERE r.kind = 'waiting'
        AND r.changed < clock_timestamp() - interval '5 seconds' AND NOT EXISTS (
        SELECT 1 FROM converse.turns AS t WHERE t.process IS NOT NULL AND t.session::text = r.key)
    ORDER BY r.changed DESC LIMIT $1";

/// The server in the database, as one of its processes.
pub(crate) struct PostgresReplicas {
    database: Arc<Database>,
    member: Arc<Member>,
}

impl fmt::Debug for PostgresReplicas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresReplicas").field("process", &self.member.process).finish_non_exhaustive()
    }
}

/// What the task of the heartbeat uses. It does not hold the database, whose thread runs it.
struct Member {
    process: Uuid,
    address: Address,
    /// How long a heartbeat counts.
    lease: Duration,
    /// Sessions whose turns run here.
    running: Mutex<BTreeSet<Uuid>>,
    heard: Mutex<BTreeSet<News>>,
    to_tell: Mutex<BTreeSet<News>>,
    /// Something is in `to_tell`.
    told: Notify,
    wake: Wake,
    beat: Mutex<Option<Instant>>,
}

impl PostgresReplicas {
    pub(crate) fn join(
        database: Arc<Database>,
        process: Uuid,
        lease: Duration,
        wake: Wake,
    ) -> io::Result<Self> {
        let address = database.address().clone();
        let member = Arc::new(Member {
            process,
            address,
            lease,
            running: Mutex::default(),
            heard: Mutex::default(),
            to_tell: Mutex::default(),
            told: Notify::new(),
            wake,
            beat: Mutex::new(None),
        });
        database.handle()?.spawn(Arc::clone(&member).stay());
        Ok(Self { database, member })
    }
}

impl Member {
    /// Keeps the heartbeat and listens, over one connection after the other.
    async fn stay(self: Arc<Self>) {
        loop {
            if let Err(error) = self.listen().await {
                tracing::warn!(%error, "this server is cut off from the others until the database answers");
            }
            // What it could not tell.
            self.tell_later(News::Anything);
            sleep(PAUSE).await;
        }
    }

    async fn listen(self: &Arc<Self>) -> Result<(), Failed> {
        let hearing = Arc::clone(self);
        let connected = connect(&self.address, move |payload| {
            if let Some(news) = hearing.read(payload) {
                hearing.hear(news);
            }
        });
        let live = timeout(self.lease, connected).await.map_err(|_| Failed::NoConnection)??;
        self.answered(live.client.batch_execute(LISTEN)).await?;
        // What was said before was not heard.
        self.hear(News::Anything);
        let mut beats = interval(self.lease / crate::connection::RENEWALS);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut forgotten = BTreeSet::new();
        loop {
            tokio::select! {
                _ = beats.tick() => forgotten = self.beat(&live, &forgotten).await?,
                () = self.told.notified() => self.tell(&live).await?,
            }
        }
    }

    /// Waits for an answer while there is time for another attempt.
    async fn answered<T>(
        &self,
        answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Failed> {
        let most = self.lease / crate::connection::RENEWALS;
        Ok(timeout(most, answer).await.map_err(|_| Failed::NoAnswer(most))??)
    }

    /// Renews the heartbeat. Turns whose end could not be noted are ended when they are found for the second time: one that
    /// has just begun or ended may be found once. Returns those that were found for the first time.
    async fn beat(&self, live: &Live, forgotten: &BTreeSet<Uuid>) -> Result<BTreeSet<Uuid>, Failed> {
        let params = [uuid(self.process), seconds(self.lease.as_secs_f64()), int(MAX_TURNS)];
        let began = Instant::now();
        let rows = self.answered(live.client.query_typed(BEAT, &borrowed(&params))).await?;
        *self.beat.lock() = Some(began);
        let (mut found, running) = (BTreeSet::new(), self.running.lock().clone());
        for row in rows {
            let (owner, session, process) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
            if process != self.process {
                if row.try_get(5)? {
                    self.hear(News::Lost { owner, session, process });
                }
            } else if !running.contains(&session) {
                found.insert(session);
            } else if row.try_get(3)? {
                self.hear(News::Cancelled { owner, session, run: row.try_get(4)? });
            }
        }
        let again: Vec<Uuid> = found.intersection(forgotten).copied().collect();
        if !again.is_empty() {
            let params: [Param; 2] = [uuid(self.process), (Box::new(again), Type::UUID_ARRAY)];
            self.answered(live.client.execute_typed(END_FORGOTTEN, &borrowed(&params))).await?;
            // Those who follow them look at everything.
            self.tell_later(News::Anything);
        }
        Ok(found)
    }

    fn tell_later(&self, news: News) {
        keep(&mut self.to_tell.lock(), news);
        self.told.notify_one();
    }

    async fn tell(&self, live: &Live) -> Result<(), Failed> {
        let news = std::mem::take(&mut *self.to_tell.lock());
        let payloads: Vec<String> = news.iter().map(|news| self.written(news)).collect();
        let params: [Param; 1] = [(Box::new(payloads), Type::TEXT_ARRAY)];
        self.answered(live.client.execute_typed(NOTIFY, &borrowed(&params))).await.map(drop)
    }

    fn hear(&self, news: News) {
        keep(&mut self.heard.lock(), news);
        (self.wake)();
    }

    /// Returns the message: who says it, what it is, and about which session of which owner. The name of a run is the client's,
    /// and last.
    fn written(&self, news: &News) -> String {
        let process = self.process;
        match news {
            News::Grown { owner, session } => format!("{process} grown {session} {owner}"),
            News::Changed { owner, session } => format!("{process} changed {session} {owner}"),
            News::Cancelled { owner, session, run } => {
                format!("{process} cancelled {session} {owner} {run}")
            }
            News::Anything | News::Lost { .. } => format!("{process} anything"),
        }
    }

    /// Reads a message of another process. Unknown ones are those of a later version.
    fn read(&self, payload: &str) -> Option<News> {
        let mut words = payload.splitn(5, ' ');
        let process: Uuid = words.next()?.parse().ok()?;
        if process == self.process {
            return None;
        }
        let what = words.next()?;
        if what == "anything" {
            return Some(News::Anything);
        }
        let (session, owner) = (words.next()?.parse().ok()?, words.next()?.to_owned());
        match what {
            "grown" => Some(News::Grown { owner, session }),
            "changed" => Some(News::Changed { owner, session }),
            // Without a run it is that of an earlier version: the next heartbeat returns it.
            "cancelled" => Some(News::Cancelled { owner, session, run: words.next()?.to_owned() }),
            _ => None,
        }
    }
}

/// Adds a change; with too many of them, `Anything` replaces them.
fn keep(waiting: &mut BTreeSet<News>, news: News) {
    if waiting.len() >= MAX_WAITING {
        waiting.clear();
        waiting.insert(News::Anything);
    }
    waiting.insert(news);
}

impl Replicas for PostgresReplicas {
    fn process(&self) -> Uuid {
        self.member.process
    }

    fn is_connected(&self) -> bool {
        self.member.beat.lock().is_some_and(|beat| beat.elapsed() < self.member.lease)
    }

    fn is_alive(&self, process: Uuid) -> io::Result<bool> {
        let sql = "SELECT 1 FROM converse.processes WHERE id = $1 AND expires > clock_timestamp()";
        Ok(process == self.process() || !self.database.rows(sql, vec![uuid(process)])?.is_empty())
    }

    fn news(&self) -> Vec<News> {
        std::mem::take(&mut *self.member.heard.lock()).into_iter().collect()
    }

    fn announce(&self, news: News) {
        self.member.tell_later(news);
    }

    fn begin(&self, owner: &str, session: Uuid, run: &str) -> io::Result<bool> {
        // Before the row: a heartbeat would take it for one that was forgotten.
        let is_free = self.member.running.lock().insert(session);
        let lease = self.member.lease;
        let params =
            vec![uuid(session), text(owner), text(run), uuid(self.process()), seconds(lease.as_secs_f64())];
        let begun = self.database.execute(BEGIN, params).map(|rows| rows > 0);
        if is_free && !matches!(begun, Ok(true)) {
            // If the row is there although the answer was lost, a heartbeat ends it.
            self.member.running.lock().remove(&session);
        }
        let is_cut_off = self.member.beat.lock().is_some_and(|beat| beat.elapsed() >= lease);
        if is_cut_off && matches!(begun, Ok(false)) {
            return Err(Failed::NoConnection.into_io());
        }
        begun
    }

    fn began(&self, session: Uuid, messages: usize) -> io::Result<bool> {
        let sql = "UPDATE converse.turns SET began = $3 WHERE session = $1 AND process = $2";
        let messages = int(i64::try_from(messages).unwrap_or(i64::MAX));
        let params = vec![uuid(session), uuid(self.process()), messages];
        self.database.execute(sql, params).map(|rows| rows > 0)
    }

    fn end(&self, session: Uuid, ending: &str) -> io::Result<()> {
        let sql = "UPDATE converse.turns SET process = NULL, ending = $3 WHERE session = $1 AND process = $2";
        // Before the row: the next turn of the session may begin as soon as that is free.
        self.member.running.lock().remove(&session);
        self.database.execute(sql, vec![uuid(session), uuid(self.process()), text(ending)]).map(drop)
    }

    fn turn(&self, owner: &str, session: Uuid) -> io::Result<Option<SharedTurn>> {
        let rows = self.database.rows(TURN, vec![uuid(session), text(owner)])?;
        let read = |row: &tokio_postgres::Row| {
            let began = row.try_get::<_, Option<i64>>(2)?;
            Ok(SharedTurn {
                run: row.try_get(0)?,
                is_running: row.try_get(1)?,
                began: began.and_then(|messages| usize::try_from(messages).ok()),
                ending: row.try_get(3)?,
            })
        };
        rows.first().map(read).transpose().map_err(unreadable)
    }

    fn running(&self, owner: &str) -> io::Result<Vec<Uuid>> {
        let sql = "SELECT session FROM converse.turns WHERE owner = $1 AND process IS NOT NULL";
        let rows = self.database.rows(sql, vec![text(owner)])?;
        rows.iter().map(|row| row.try_get(0).map_err(unreadable)).collect()
    }

    fn cancel(&self, owner: &str, session: Uuid) -> io::Result<bool> {
        let sql = "UPDATE converse.turns SET cancelled = true
            WHERE session = $1 AND owner = $2 AND process IS NOT NULL RETURNING run";
        let rows = self.database.rows(sql, vec![uuid(session), text(owner)])?;
        let Some(row) = rows.first() else { return Ok(false) };
        let run = row.try_get(0).map_err(unreadable)?;
        self.announce(News::Cancelled { owner: owner.to_owned(), session, run });
        Ok(true)
    }

    fn take_over(&self, session: Uuid, from: Uuid) -> io::Result<bool> {
        let is_free = self.member.running.lock().insert(session);
        let params = vec![uuid(session), uuid(self.process()), uuid(from)];
        let taken = self.database.execute(TAKE_OVER, params).map(|rows| rows > 0);
        if is_free && !matches!(taken, Ok(true)) {
            self.member.running.lock().remove(&session);
        }
        taken
    }

    fn give_back(&self, session: Uuid, to: Uuid) -> io::Result<()> {
        self.member.running.lock().remove(&session);
        let params = vec![uuid(session), uuid(self.process()), uuid(to)];
        self.database.execute(GIVE_BACK, params).map(drop)
    }

    fn waiting(&self) -> io::Result<Vec<WaitingSession>> {
        let rows = self.database.rows(WAITING, vec![int(MAX_TURNS)])?;
        let read = |row: &tokio_postgres::Row| {
            let session = row.try_get::<_, &str>(1)?.parse().unwrap_or_default();
            Ok(WaitingSession { owner: row.try_get(0)?, session, version: row.try_get(2)? })
        };
        rows.iter().map(read).collect::<Result<_, _>>().map_err(unreadable)
    }
}
