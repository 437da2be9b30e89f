package dsl

import "regexp"

// callWords are the words of one call of an activity: in a step, in `compensate` and in `notify`.
var callWords = []word{
	{name: "function", value: functionShape, example: "inventory.reserve", doc: "Calls a registered Go function by name, or `{ arn }`, `{ command }` or `{ url }`: any language."},
	{name: "http", value: httpShape, example: "{ method: POST, url: 'https://pay.example/charges', body: { amount: '${ input.total }' } }",
		doc: "One REST call. Output: `{ status, headers, body }`."},
	{name: "grpc", value: grpcShape, example: "{ target: 'stock.example:443', method: stock.v1.Stock/Reserve, message: { sku: '${ input.sku }' } }",
		doc: "One unary or server-streaming call, JSON in and out."},
	{name: "ai", value: aiShape, example: "{ model: default, prompt: 'Summarize ${ input.text }' }", doc: "One call of a language model or, with `tools`, a durable agent loop."},
	{name: "tool", value: toolShape, example: "search_docs", doc: "One call of a registered tool."},
	{name: "script", value: scriptShape, example: "{ js: 'return input.a + input.b' }", doc: "Sandboxed JavaScript or WebAssembly, without network and files."},
	{name: "with", value: template, example: "{ id: '${ input.order_id }' }", only: []string{"function", "tool", "script"}, doc: "The input of the call."},
	{name: "output", value: schemaBlock, example: "{ schema: { type: object } }", only: []string{"function", "http", "grpc", "tool", "script"},
		doc: "The JSON Schema of the result. A result that it refuses fails the step, and expressions that read the output are checked against it.", fallback: "any result"},
}

var functionShape = &variants{name: "the name of a function, or { arn }, { command } or { url }", text: registered, object: functionTargetShape,
	hint: "write a name, or one of { arn: … }, { command: … } and { url: … }"}

var functionTargetShape = &object{
	name: "function",
	doc:  "A function outside the worker. It gets `with` as JSON and answers with JSON.",
	one:  []string{"name", "arn", "command", "url"},
	words: []word{
		{name: "name", value: registered, example: "inventory.reserve", doc: "A registered Go function; short: `function: inventory.reserve`."},
		{name: "arn", value: &scalar{name: "an ARN", mixed: true, problem: arnProblem, pattern: `^arn:|\$\{`, hint: "write the ARN of a Lambda function"}, example: "arn:aws:lambda:eu-north-1:123456789012:function:price", doc: "A Lambda function."},
		{name: "command", example: "[ python3, price.py ]", doc: "A program that reads JSON on standard input and writes JSON on standard output.",
			value: &variants{name: "a command or a list of its words", text: mixed, list: &list{item: simple, what: "words", min: 1, max: maxList}, hint: "write [ program, argument ]"}},
		{name: "url", value: address, example: "https://functions.example/price", doc: "An address that takes the input by POST."},
	},
}

var httpShape = &object{
	name: "http",
	doc:  "One REST call. Output: `{ status, headers, body }`. It never reaches private addresses unless the operator allows them.",
	hint: "write { url: https://… }",
	most: [][]string{{"body", "form", "multipart", "bytes"}},
	words: []word{
		{name: "method", example: "POST", fallback: "GET", doc: "The method of the request.",
			value: &choice{options: []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}, dynamic: true,
				synonyms: map[string]string{"get": "GET", "head": "HEAD", "post": "POST", "put": "PUT", "patch": "PATCH", "delete": "DELETE", "options": "OPTIONS"}}},
		{name: "url", required: true, value: address, example: "'https://pay.example/charges/${ input.id }'", doc: "The address."},
		{name: "query", example: "{ page: 1 }", doc: "Parameters that are appended to the address.",
			value: &dictionary{key: fieldKeys, what: "parameters by name", max: maxList, value: &variants{name: "a text, number, boolean or a list of them", text: simple,
				list: &list{item: simple, what: "values", max: maxList}}}},
		{name: "headers", value: &dictionary{key: headers, what: "headers by name", max: 100, value: simple}, example: "{ Authorization: 'Bearer ${ secrets.pay }' }", doc: "Headers of the request."},
		{name: "body", value: template, example: "{ amount: '${ input.total }' }", doc: "The body: a text as it stands, anything else as JSON."},
		{name: "form", value: &dictionary{key: fieldKeys, what: "fields by name", max: maxList, value: simple}, example: "{ grant_type: client_credentials }", doc: "The body as a URL-encoded form."},
		{name: "multipart", value: &dictionary{key: fieldKeys, what: "parts by name", max: maxList, value: &variants{name: "a text or a part", text: simple, object: partShape}},
			example: "{ note: hello, file: { filename: a.txt, bytes: '${ base64.encode(b\"abc\") }' } }", doc: "The body as multipart/form-data."},
		{name: "bytes", value: mixed, example: "'${ steps.render.output.pdf }'", doc: "The body as bytes, in base64."},
		{name: "success", value: &list{item: statusShape, what: "status codes", min: 1, max: 64, unique: true}, example: "[ 2xx, 404 ]", fallback: "[ 2xx ]",
			doc: "Status codes that count as success; any other fails the step with `http.<code>`."},
		{name: "response", value: &choice{options: []string{"auto", "json", "text", "bytes"}}, example: "json", fallback: "auto",
			doc: "How to read the body of the answer; `auto` goes by its content type, `bytes` gives base64."},
		{name: "idempotency_key", value: header, example: "X-Request-Id", doc: "The header that carries the key of the step, the same at each attempt.",
			fallback: "Idempotency-Key with POST and PATCH, none with others"},
		{name: "redirects", value: &count{min: 0, max: 20}, example: "0", fallback: "10", doc: "How many redirects are followed. Another host gets no credentials and no body."},
		{name: "auth", value: authShape, example: "{ bearer: '${ secrets.pay }' }", doc: "How the call proves who makes it, to the host of `url` alone."},
		{name: "tls", value: tlsShape, example: "{ ca: '${ secrets.corp_ca }' }", doc: "Certificates, where the usual ones do not do."},
	},
}

var authShape = &object{
	name: "auth",
	doc:  "How a call proves who makes it.",
	one:  []string{"basic", "bearer", "oauth2", "sigv4"},
	words: []word{
		{name: "basic", value: basicShape, example: "{ user: shop, password: '${ secrets.shop }' }", doc: "User and password (RFC 7617)."},
		{name: "bearer", value: mixed, example: "'${ secrets.pay }'", doc: "A token, sent as `Authorization: Bearer …`."},
		{name: "oauth2", value: oauthShape, example: "{ token_url: 'https://id.example/token', client_id: shop, client_secret: '${ secrets.shop }' }",
			doc: "A token by client credentials of OAuth 2; workers keep it until it expires, and get a new one when it is refused."},
		{name: "sigv4", value: sigV4Shape, example: "{ service: execute-api, region: eu-north-1, access_key: '${ secrets.aws_id }', secret_key: '${ secrets.aws_key }' }",
			doc: "A signature of AWS, Signature Version 4."},
	},
}

var basicShape = &object{
	name: "basic",
	doc:  "User and password.",
	words: []word{
		{name: "user", required: true, value: mixed, example: "shop", doc: "The user."},
		{name: "password", required: true, value: mixed, example: "'${ secrets.shop }'", doc: "The password."},
	},
}

var oauthShape = &object{
	name: "oauth2",
	doc:  "The client credentials of OAuth 2 (RFC 6749, section 4.4).",
	words: []word{
		{name: "token_url", required: true, value: address, example: "https://id.example/token", doc: "Where tokens are given."},
		{name: "client_id", required: true, value: mixed, example: "shop", doc: "The client."},
		{name: "client_secret", required: true, value: mixed, example: "'${ secrets.shop }'", doc: "Its secret."},
		{name: "scopes", value: &list{item: mixed, what: "scopes", max: 100}, example: "[ 'charges:write' ]", doc: "What the token is to allow.", fallback: "those of the client"},
		{name: "params", value: &dictionary{key: fieldKeys, what: "fields by name", max: 100, value: simple}, example: "{ audience: 'https://pay.example' }",
			doc: "More fields of the request for the token."},
	},
}

var sigV4Shape = &object{
	name: "sigv4",
	doc:  "A signature of AWS. The keys are those that the step names, never the worker's own.",
	words: []word{
		{name: "service", required: true, value: mixed, example: "execute-api", doc: "The service that is called."},
		{name: "region", required: true, value: mixed, example: "eu-north-1", doc: "Its region."},
		{name: "access_key", required: true, value: mixed, example: "'${ secrets.aws_id }'", doc: "The ID of the access key."},
		{name: "secret_key", required: true, value: mixed, example: "'${ secrets.aws_key }'", doc: "The secret access key."},
		{name: "session_token", value: mixed, example: "'${ secrets.aws_session }'", doc: "The token of temporary keys."},
	},
}

var tlsVersion = regexp.MustCompile(`^1\.[23]$`)

var tlsShape = &object{
	name: "tls",
	doc:  "Options of TLS. Certificates and keys are texts in PEM.",
	words: []word{
		{name: "ca", value: mixed, example: "'${ secrets.corp_ca }'", doc: "The certificates that vouch for the other side.", fallback: "those of the system"},
		{name: "cert", value: mixed, example: "'${ secrets.client_cert }'", doc: "The certificate of this side (mutual TLS); with `key`."},
		{name: "key", value: mixed, example: "'${ secrets.client_key }'", doc: "The private key of `cert`."},
		{name: "min_version", example: "'1.3'", fallback: "1.2", doc: "The lowest version of TLS.",
			value: &scalar{name: "a version", pattern: tlsVersion.String(), hint: "write '1.2' or '1.3', in quotes", problem: patternProblem(tlsVersion, "a version", "write '1.2' or '1.3'")}},
		{name: "server_name", value: mixed, example: "pay.internal.example", doc: "The name in the certificate of the other side.", fallback: "the host that is called"},
	},
}

var partShape = &object{
	name: "part",
	doc:  "One part of a multipart body.",
	one:  []string{"text", "bytes"},
	words: []word{
		{name: "text", value: simple, example: "hello", doc: "The content as text."},
		{name: "bytes", value: mixed, example: "aGVsbG8=", doc: "The content in base64."},
		{name: "filename", value: mixed, example: "hello.txt", doc: "The name of the file."},
		{name: "content_type", value: mixed, example: "text/plain", doc: "The type of the content."},
	},
}

var statusShape = &variants{name: "a status code or class", number: &count{min: 100, max: 599, fixed: true}, hint: "write a code such as 404, or a class such as 2xx",
	text: &scalar{name: "a status class", pattern: statusCode.String(), hint: "write a code such as 404, or a class such as 2xx",
		problem: patternProblem(statusCode, "a status code", "write a code such as 404, or a class such as 2xx")}}

var grpcShape = &object{
	name: "grpc",
	doc:  "One unary or server-streaming call, JSON in and out. The types come by reflection or from a descriptor set. Output: the message, or the list of messages of a stream.",
	words: []word{
		{name: "target", required: true, value: mixed, example: "'stock.example:443'", doc: "Host and port."},
		{name: "method", required: true, example: "stock.v1.Stock/Reserve", doc: "Service and method.",
			value: &scalar{name: "a method", pattern: grpcMethod.String(), hint: "write package.Service/Method",
				problem: patternProblem(grpcMethod, "a method", "write package.Service/Method")}},
		{name: "message", value: template, example: "{ sku: '${ input.sku }' }", doc: "The request message.", fallback: "{}"},
		{name: "metadata", value: &dictionary{key: headers, what: "metadata by name", max: 100, value: simple}, example: "{ authorization: 'Bearer ${ secrets.stock }' }", doc: "Metadata of the call."},
		{name: "descriptors", value: mixed, example: "stock.binpb", doc: "A descriptor set of the project.", fallback: "reflection"},
		{name: "plaintext", value: boolean, example: "true", fallback: "false", doc: "Speaks without TLS."},
		{name: "tls", value: tlsShape, example: "{ ca: '${ secrets.corp_ca }' }", doc: "Certificates, where the usual ones do not do."},
	},
}

var aiShape = &object{
	name: "ai",
	doc:  "One call of a language model or, with `tools`, a durable agent loop: each model call and each tool call is an activity.",
	hint: "write { prompt: … }",
	words: []word{
		{name: "model", value: mixed, example: "default", fallback: "default", doc: "A model of the project."},
		{name: "system", value: mixed, example: "You triage tickets.", doc: "The system prompt."},
		{name: "prompt", required: true, value: mixed, example: "'Summarize ${ input.text }'", doc: "The prompt."},
		{name: "tools", value: &list{item: agentToolShape, what: "tools", max: 128}, example: "[ search_docs, { name: refund, approve: 'role:lead' } ]", doc: "Tools that the model may call."},
		{name: "max_turns", value: attempts, example: "12", doc: "How often the model is called at most.", only: []string{"tools"}},
		{name: "max_tokens", value: &count{min: 1, max: 10_000_000}, example: "2000", doc: "Tokens of one answer."},
		{name: "temperature", value: &number{min: 0, max: 2, dynamic: true}, example: "0", doc: "How freely the model answers."},
		{name: "budget", value: budgetShape, example: "{ tokens: 50000, usd: 0.50 }", doc: "What the whole step may use; beyond it, `ai.budget`."},
		{name: "output", value: schemaBlock, example: "{ schema: { type: object, required: [ score ] } }", doc: "The JSON Schema of the answer.", fallback: "text"},
	},
}

var budgetShape = &object{
	name: "budget",
	doc:  "What an `ai` step may use over all its calls.",
	words: []word{
		{name: "tokens", value: &count{min: 1, max: 1_000_000_000}, example: "50000", doc: "Tokens in and out."},
		{name: "usd", value: &number{min: 0, max: 1e6, dynamic: true}, example: "0.50", doc: "Cost in US dollars."},
	},
}

var toolName = &scalar{name: "the name of a tool", dynamic: true, pattern: callName.String(), hint: "write the name of a registered tool",
	problem: patternProblem(callName, "the name of a tool", "write the name of a registered tool, such as search_docs")}

var agentToolShape = &variants{name: "the name of a tool, or { name, approve }", text: toolName, hint: "write the name of a tool", object: &object{
	name: "agent tool",
	doc:  "A tool that a model may call.",
	words: []word{
		{name: "name", required: true, value: toolName, example: "refund", doc: "The name of a registered tool."},
		{name: "approve", value: mixed, example: "'role:lead'", doc: "Who must agree to each call.", fallback: "nobody"},
	},
}}

var toolShape = &variants{name: "the name of a tool, or { name }", text: toolName, hint: "write the name of a tool", object: &object{
	name:  "tool",
	doc:   "One call of a registered tool. MCP servers are the standard provider.",
	words: []word{{name: "name", required: true, value: toolName, example: "search_docs", doc: "The name of a registered tool; short: `tool: search_docs`."}},
}}

var scriptShape = &object{
	name: "script",
	doc:  "A sandboxed script that gets `with` as input: `timeout` and `limits` bound it, and it has no network and no files.",
	hint: "write { js: … }",
	one:  []string{"js", "wasm"},
	words: []word{
		{name: "js", example: "'return input.a + input.b'", doc: "JavaScript: the body of a function of `input`. `${` in it is JavaScript's, not ours.",
			value: &scalar{name: "a text", min: 1, verbatim: true}},
		{name: "wasm", example: "resize.wasm", doc: "A WebAssembly module of the project.", value: &scalar{name: "a text", min: 1, max: 1024, verbatim: true}},
	},
}
