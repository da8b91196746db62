-- Raised when the journal is cut off or replaced, so that nobody reads parts of two journals.
ALTER TABLE converse.sessions ADD COLUMN generation bigint NOT NULL DEFAULT 0;
