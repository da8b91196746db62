-- Since when heartbeats have come without a break, whichever process sent them. One row.
CREATE TABLE converse.pulse (
  id integer PRIMARY KEY DEFAULT 1 CHECK (id = 1),
  since timestamptz NOT NULL,
  last timestamptz NOT NULL
);
