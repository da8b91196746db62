-- The audit log: a chain of lines for each owner. Each line is the bytes that its hash is of.
CREATE TABLE converse.audit (
  owner text NOT NULL,
  seq bigint NOT NULL CHECK (seq > 0),
  line bytea NOT NULL,
  PRIMARY KEY (owner, seq)
);

-- The end of each chain. An append replaces it, if it is still the end that its lines follow.
CREATE TABLE converse.audit_heads (
  owner text PRIMARY KEY,
  seq bigint NOT NULL,
  -- SHA-256 of the last line
  head bytea NOT NULL
) WITH (fillfactor = 70);
