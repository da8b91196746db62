-- One row per session. The lease of its writer is in it, so that a write checks and renews it in the row that it changes.
CREATE TABLE converse.sessions (
  id uuid PRIMARY KEY,
  -- false while its creator still fills it
  published boolean NOT NULL,
  has_journal boolean NOT NULL DEFAULT false,
  -- bytes of the journal
  length bigint NOT NULL DEFAULT 0,
  -- time of the journal's last write
  modified timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- raised by each writer that takes the lease
  epoch bigint NOT NULL DEFAULT 0,
  -- NULL: nobody holds it
  expires timestamptz,
  holder_pid bigint,
  holder_since timestamptz
) WITH (fillfactor = 70);

-- The journal: the bytes of each line, at the offset where it starts. A line has its own number and checksum.
CREATE TABLE converse.entries (
  session uuid NOT NULL REFERENCES converse.sessions ON DELETE CASCADE,
  start bigint NOT NULL,
  -- of the writer
  epoch bigint NOT NULL,
  line bytea NOT NULL,
  PRIMARY KEY (session, start)
);

CREATE TABLE converse.documents (
  session uuid NOT NULL REFERENCES converse.sessions ON DELETE CASCADE,
  name text NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (session, name)
);

-- Of each session by itself: what is deleted with a session is gone.
CREATE TABLE converse.contents (
  session uuid NOT NULL REFERENCES converse.sessions ON DELETE CASCADE,
  name text NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (session, name)
);
