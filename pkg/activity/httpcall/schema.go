package httpcall

import "github.com/wovyr/wovyr/pkg/workflow"

// targetSchema is the block `http` once its expressions are filled in, for people and tools; parse says more, and in plainer words.
var targetSchema = workflow.Value(`{
	"type": "object", "required": ["url"], "additionalProperties": false,
	"properties": {
		"method": {"enum": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]},
		"url": {"type": "string"},
		"query": {"type": "object", "additionalProperties": {"anyOf": [{"$ref": "#/$defs/simple"}, {"type": "array", "items": {"$ref": "#/$defs/simple"}}]}},
		"headers": {"type": "object", "additionalProperties": {"$ref": "#/$defs/simple"}},
		"body": true,
		"form": {"type": "object"},
		"multipart": {"type": "object", "additionalProperties": {"anyOf": [{"$ref": "#/$defs/simple"}, {"type": "object", "additionalProperties": false,
			"properties": {"text": {"$ref": "#/$defs/simple"}, "bytes": {"type": "string"}, "filename": {"type": "string"}, "content_type": {"type": "string"}}}]}},
		"bytes": {"type": "string"},
		"success": {"type": "array", "items": {"type": ["string", "integer"]}},
		"response": {"enum": ["auto", "json", "text", "bytes"]},
		"idempotency_key": {"type": "string"},
		"redirects": {"type": "integer", "minimum": 0, "maximum": 20},
		"auth": {"type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": false, "properties": {
			"basic": {"type": "object", "additionalProperties": false, "properties": {"user": {"type": "string"}, "password": {"type": "string"}}},
			"bearer": {"type": "string"},
			"oauth2": {"type": "object", "required": ["token_url", "client_id", "client_secret"], "additionalProperties": false, "properties": {
				"token_url": {"type": "string"}, "client_id": {"type": "string"}, "client_secret": {"type": "string"},
				"scopes": {"type": "array", "items": {"type": "string"}}, "params": {"type": "object"}}},
			"sigv4": {"type": "object", "required": ["service", "region", "access_key", "secret_key"], "additionalProperties": false, "properties": {
				"service": {"type": "string"}, "region": {"type": "string"}, "access_key": {"type": "string"}, "secret_key": {"type": "string"}, "session_token": {"type": "string"}}}}},
		"tls": {"type": "object", "additionalProperties": false, "properties": {
			"ca": {"type": "string"}, "cert": {"type": "string"}, "key": {"type": "string"}, "min_version": {"enum": ["1.2", "1.3"]}, "server_name": {"type": "string"}}}
	},
	"$defs": {"simple": {"type": ["string", "number", "boolean", "null"]}}
}`)

// outputSchema is what an answer comes to.
var outputSchema = workflow.Value(`{
	"type": "object", "required": ["status", "headers", "body"], "additionalProperties": false,
	"properties": {"status": {"type": "integer"}, "headers": {"type": "object", "additionalProperties": {"type": "string"}}, "body": true}
}`)
