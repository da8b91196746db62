-- Lists are read in pages, by id. What an append changes is in no index.
CREATE INDEX sessions_of_owner_by_id ON converse.sessions (owner, id);
DROP INDEX converse.sessions_of_owner;
