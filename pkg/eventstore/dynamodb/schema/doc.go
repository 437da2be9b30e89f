// Package schema describes the tables of the DynamoDB store: what the store expects, tests create and the CDK stack deploys. It depends on
// nothing, so that all of them can import it. How items lie in the tables, and why, is in docs/adr/0011-items-in-dynamodb.md.
package schema
