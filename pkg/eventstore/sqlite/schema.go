package sqlite

import (
	"fmt"
)

// applicationID marks the file as a Wovyr store: "Wvyr".
const applicationID = 0x57767972

// migrations lead from each version of the schema to the next; the file's user_version is the number of those applied. One that
// was released never changes.
//
// Commits stand in the order in which they were written, with one index to find them by. That halves the cost of clustering
// them by stream: a transaction of 64 commits touches the end of a table and some dense pages of an index, not 64 scattered pages.
// The row of a stream holds its head and its row of the index, so that one update does for both; nothing indexed changes in a
// usual commit but due, which comes to lie near the end of its index again (shards would scatter it). The columns of the fixed group are NULL until a row is there (workflow), which the partial indexes ask
// for, since a WHERE on a column that changes would touch them with every commit.
var migrations = []string{`
CREATE TABLE streams(
  id INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  head INTEGER NOT NULL,
  version INTEGER NOT NULL DEFAULT 0,
  revision INTEGER NOT NULL DEFAULT 0,
  updated INTEGER NOT NULL DEFAULT 0,
  wake INTEGER NOT NULL DEFAULT 0,
  due INTEGER,
  purge INTEGER,
  repairs INTEGER NOT NULL DEFAULT 0,
  open INTEGER NOT NULL DEFAULT 0,
  status TEXT,
  outcome TEXT,
  workflow TEXT,
  definition INTEGER,
  parent TEXT,
  started INTEGER,
  labels BLOB
) STRICT;
CREATE UNIQUE INDEX streams_name ON streams(tenant, name);
CREATE INDEX streams_started ON streams(tenant, started DESC, id) WHERE workflow IS NOT NULL;
CREATE INDEX streams_workflow ON streams(tenant, workflow, started DESC, id) WHERE workflow IS NOT NULL;
CREATE INDEX streams_status ON streams(tenant, status, started DESC, id) WHERE workflow IS NOT NULL;
CREATE INDEX streams_parent ON streams(tenant, parent, started DESC, id) WHERE parent IS NOT NULL;
CREATE INDEX streams_due ON streams(due, id) WHERE due IS NOT NULL;
CREATE INDEX streams_purge ON streams(purge, id) WHERE purge IS NOT NULL;
CREATE TABLE labels(
  tenant TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  started INTEGER NOT NULL,
  stream INTEGER NOT NULL,
  PRIMARY KEY(tenant, key, value, started DESC, stream)
) STRICT, WITHOUT ROWID;
CREATE TABLE commits(
  id INTEGER PRIMARY KEY,
  stream INTEGER NOT NULL,
  first INTEGER NOT NULL,
  last INTEGER NOT NULL,
  checkpoint INTEGER NOT NULL,
  nonce BLOB NOT NULL,
  prev BLOB NOT NULL,
  data BLOB
) STRICT;
CREATE UNIQUE INDEX commits_key ON commits(stream, first);
CREATE TABLE claims(
  stream INTEGER NOT NULL,
  attempt TEXT NOT NULL,
  fence INTEGER NOT NULL,
  owner TEXT NOT NULL,
  worker TEXT NOT NULL,
  started INTEGER NOT NULL,
  until INTEGER NOT NULL,
  ceiling INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  PRIMARY KEY(stream, attempt, fence)
) STRICT, WITHOUT ROWID;
CREATE TABLE notices(
  stream INTEGER NOT NULL,
  name TEXT NOT NULL,
  PRIMARY KEY(stream, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE definitions(
  id INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  workflow TEXT NOT NULL,
  version INTEGER NOT NULL,
  hash BLOB NOT NULL,
  created INTEGER NOT NULL,
  bytes BLOB
) STRICT;
CREATE UNIQUE INDEX definitions_key ON definitions(tenant, workflow, version DESC);
CREATE TABLE aliases(
  tenant TEXT NOT NULL,
  workflow TEXT NOT NULL,
  name TEXT NOT NULL,
  revision INTEGER NOT NULL,
  updated INTEGER NOT NULL,
  targets BLOB,
  PRIMARY KEY(tenant, workflow, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE events(
  id INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  type TEXT NOT NULL,
  key TEXT NOT NULL,
  number INTEGER NOT NULL,
  sender TEXT NOT NULL,
  source TEXT NOT NULL,
  at INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  data BLOB
) STRICT;
CREATE UNIQUE INDEX events_key ON events(tenant, type, key, number);
CREATE TABLE subscriptions(
  tenant TEXT NOT NULL,
  type TEXT NOT NULL,
  key TEXT NOT NULL,
  execution TEXT NOT NULL,
  waiter TEXT NOT NULL,
  expires INTEGER NOT NULL,
  PRIMARY KEY(tenant, type, key, execution, waiter)
) STRICT, WITHOUT ROWID;
CREATE TABLE letters(
  id INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  execution TEXT NOT NULL,
  queue TEXT NOT NULL,
  code TEXT NOT NULL,
  cause TEXT NOT NULL,
  at INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  body BLOB
) STRICT;
CREATE UNIQUE INDEX letters_key ON letters(tenant, name);
CREATE INDEX letters_at ON letters(tenant, at DESC, name);
`, `
CREATE TABLE feed(
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  stream INTEGER NOT NULL,
  first INTEGER NOT NULL
) STRICT;
`}

// SchemaError says that a file is not one that this program can work with.
type SchemaError struct{ File, Reason string }

// Error names the file and the reason.
func (e *SchemaError) Error() string { return fmt.Sprintf("%s: %s", e.File, e.Reason) }

// migrate brings the schema from a version to the newest. Every step is a transaction.
func migrate(c *conn, version int) error {
	for ; version < len(migrations); version++ {
		step := fmt.Sprintf("BEGIN IMMEDIATE; %s; PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT", migrations[version], applicationID, version+1)
		if err := c.script(step); err != nil {
			return err
		}
	}
	return nil
}

// checkSchema returns the version of the schema; 0 is an empty file.
func checkSchema(c *conn, file string) (int, error) {
	var app, version, tables int64
	for query, to := range map[string]*int64{
		"PRAGMA application_id":              &app,
		"PRAGMA user_version":                &version,
		"SELECT count(*) FROM sqlite_schema": &tables,
	} {
		if _, err := c.one(query, func(r row) error { *to = r.int(0); return nil }); err != nil {
			return 0, err
		}
	}
	switch {
	case app != applicationID && (app != 0 || version != 0 || tables != 0):
		return 0, &SchemaError{file, "it is an SQLite file of another program"}
	case version > int64(len(migrations)):
		return 0, &SchemaError{file, fmt.Sprintf("its schema is version %d, this program knows %d at most: use the newer program", version, len(migrations))}
	}
	return int(version), nil
}
