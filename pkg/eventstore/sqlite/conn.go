package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"

	"modernc.org/sqlite"
)

// conn is one connection with its prepared statements. It is used without database/sql, whose pool, locks and conversions cost
// as much as the statements here do. Not for concurrent use.
type conn struct {
	db    driver.Conn
	stmts map[string]driver.Stmt
	args  []driver.NamedValue
	row   []driver.Value
}

// dbError is an error of SQLite: the transaction that it happened in is not to be used any further.
type dbError struct {
	query string
	err   error
}

func (e *dbError) Error() string {
	return fmt.Sprintf("%v (in %.60s)", e.err, strings.Join(strings.Fields(e.query), " "))
}
func (e *dbError) Unwrap() error { return e.err }

// openConn opens a connection. It changes nothing in the file.
func openConn(path string) (*conn, error) {
	// A path may hold any character; in a URI, these mean something else.
	uri := "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
	db, err := (&sqlite.Driver{}).Open(uri)
	if err != nil {
		return nil, err
	}
	c := &conn{db: db, stmts: map[string]driver.Stmt{}}
	// Others may have a lock for a moment: the command line that looks at the store.
	if err := c.script("PRAGMA busy_timeout = 10000"); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *conn) pragmas(list []string) error {
	for _, p := range list {
		if err := c.script("PRAGMA " + p); err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.db.Close())...)
}

// script runs one or more statements without arguments that need not be fast.
func (c *conn) script(sql string) error {
	if _, err := c.db.(driver.ExecerContext).ExecContext(context.Background(), sql, nil); err != nil {
		return &dbError{sql, err}
	}
	return nil
}

// prepare returns the prepared statement of a query, which is made on its first use.
func (c *conn) prepare(query string) (driver.Stmt, error) {
	if s := c.stmts[query]; s != nil {
		return s, nil
	}
	s, err := c.db.Prepare(query)
	if err != nil {
		return nil, err
	}
	c.stmts[query] = s
	return s, nil
}

// bind turns arguments into those of the driver.
func (c *conn) bind(args []any) []driver.NamedValue {
	c.args = c.args[:0]
	for i, a := range args {
		switch v := a.(type) {
		case uint64:
			a = int64(v)
		case uint32:
			a = int64(v)
		case int:
			a = int64(v)
		}
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return c.args
}

// exec runs a statement that returns no rows.
func (c *conn) exec(query string, args ...any) (driver.Result, error) {
	s, err := c.prepare(query)
	if err != nil {
		return nil, &dbError{query, err}
	}
	r, err := s.(driver.StmtExecContext).ExecContext(context.Background(), c.bind(args))
	if err != nil {
		return nil, &dbError{query, err}
	}
	return r, nil
}

// query calls each with every row of a result. The row is reused, its values are not.
func (c *conn) query(query string, each func(row) error, args ...any) error {
	s, err := c.prepare(query)
	if err != nil {
		return &dbError{query, err}
	}
	rows, err := s.(driver.StmtQueryContext).QueryContext(context.Background(), c.bind(args))
	if err != nil {
		return &dbError{query, err}
	}
	err = c.walk(query, rows, each)
	if e := rows.Close(); err == nil && e != nil {
		err = &dbError{query, e}
	}
	return err
}

func (c *conn) walk(query string, rows driver.Rows, each func(row) error) error {
	n := len(rows.Columns())
	for len(c.row) < n {
		c.row = append(c.row, nil)
	}
	for {
		switch err := rows.Next(c.row[:n]); {
		case err == io.EOF:
			return nil
		case err != nil:
			return &dbError{query, err}
		}
		if err := each(c.row[:n]); err != nil {
			return err
		}
	}
}

// one calls each with the only row of a result, and reports whether there was one.
func (c *conn) one(query string, each func(row) error, args ...any) (bool, error) {
	found := false
	err := c.query(query, func(r row) error {
		found = true
		return each(r)
	}, args...)
	return found, err
}

// row is one row of a result. NULL reads as the zero value.
type row []driver.Value

func (r row) int(i int) int64   { v, _ := r[i].(int64); return v }
func (r row) uint(i int) uint64 { return uint64(r.int(i)) }
func (r row) text(i int) string { v, _ := r[i].(string); return v }
func (r row) blob(i int) []byte { v, _ := r[i].([]byte); return v }
