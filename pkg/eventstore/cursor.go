package eventstore

import (
	"encoding/base64"
	"encoding/binary"
)

// NewCursor makes a cursor of the key of a page's last item, for stores.
func NewCursor(number int64, parts ...string) string {
	b := binary.AppendVarint(nil, number)
	for _, p := range parts {
		b = binary.AppendUvarint(b, uint64(len(p)))
		b = append(b, p...)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// ParseCursor undoes NewCursor for a key of so many parts. Anything else than such a cursor is an *InvalidError.
func ParseCursor(cursor string, parts int) (int64, []string, error) {
	invalid := &InvalidError{Field: "cursor", Reason: "it is not one that the same list returned"}
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return 0, nil, invalid
	}
	number, n := binary.Varint(b)
	if n <= 0 {
		return 0, nil, invalid
	}
	b = b[n:]
	out := make([]string, parts)
	for i := range out {
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return 0, nil, invalid
		}
		out[i] = string(b[n : n+int(size)])
		b = b[n+int(size):]
	}
	if len(b) != 0 {
		return 0, nil, invalid
	}
	return number, out, nil
}
