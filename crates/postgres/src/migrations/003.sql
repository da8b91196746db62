-- Who a session belongs to: a client of a server. '' is the user of the command line.
ALTER TABLE converse.sessions ADD COLUMN owner text NOT NULL DEFAULT '';
CREATE INDEX sessions_of_owner ON converse.sessions (owner);

-- Servers that use the database, with their heartbeats.
CREATE TABLE converse.processes (
  id uuid PRIMARY KEY,
  expires timestamptz NOT NULL
);

-- The last turn of each session that a server ran. Without a reference: a new session is created by its turn.
CREATE TABLE converse.turns (
  session uuid PRIMARY KEY,
  owner text NOT NULL,
  -- the client's name for the turn
  run text NOT NULL,
  -- NULL: it has ended
  process uuid,
  -- messages of the session before it
  began bigint,
  cancelled boolean NOT NULL DEFAULT false,
  ending text
);
CREATE INDEX running_turns ON converse.turns (process) WHERE process IS NOT NULL;

-- Small values: idempotency keys, questions that wait for answers.
CREATE TABLE converse.records (
  owner text NOT NULL,
  kind text NOT NULL,
  key text NOT NULL,
  value bytea NOT NULL,
  changed timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (owner, kind, key)
);
CREATE INDEX records_by_age ON converse.records (kind, changed);
