package iampolicy_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/wovyr/wovyr/internal/iampolicy"
)

func ExampleDecide() {
	p, err := iampolicy.Parse([]byte(`{"Version": "2012-10-17", "Statement": {
		"Sid": "Claims", "Effect": "Allow", "Action": ["dynamodb:GetItem", "dynamodb:PutItem"], "Resource": "arn:aws:dynamodb:*:*:table/history",
		"Condition": {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": "k/*"}, "Null": {"dynamodb:LeadingKeys": "false"}}}}`))
	if err != nil {
		panic(err)
	}
	for _, key := range []string{"k/order-17", "x/order-17"} {
		d := iampolicy.Decide([]iampolicy.Policy{p}, iampolicy.Request{Action: "dynamodb:PutItem",
			Resource: "arn:aws:dynamodb:eu-north-1:111122223333:table/history", Context: map[string][]string{"dynamodb:LeadingKeys": {key}}})
		fmt.Println(key, d.Allowed)
	}
	// Output:
	// k/order-17 true
	// x/order-17 false
}

func parse(t *testing.T, statements string) []iampolicy.Policy {
	t.Helper()
	p, err := iampolicy.Parse([]byte(`{"Version": "2012-10-17", "Statement": [` + statements + `]}`))
	require.NoError(t, err)
	return []iampolicy.Policy{p}
}

func TestDecide(t *testing.T) {
	const all = `{"Effect": "Allow", "Action": "*", "Resource": "*"}`
	for name, tc := range map[string]struct {
		statements, action, resource string
		allowed                      bool
	}{
		"nothing allows":                       {`{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}`, "s3:PutObject", "arn:aws:s3:::b/k", false},
		"everything":                           {all, "s3:PutObject", "arn:aws:s3:::b/k", true},
		"a deny goes first":                    {all + `, {"Effect": "Deny", "Action": "s3:Put*", "Resource": "arn:aws:s3:::b/*"}`, "s3:PutObject", "arn:aws:s3:::b/k", false},
		"a deny of something else":             {all + `, {"Effect": "Deny", "Action": "s3:Put*", "Resource": "arn:aws:s3:::c/*"}`, "s3:PutObject", "arn:aws:s3:::b/k", true},
		"letters of an action":                 {`{"Effect": "Allow", "Action": "SQS:sendmessage", "Resource": "*"}`, "sqs:SendMessage", "arn:aws:sqs:r:1:q", true},
		"an action is whole":                   {`{"Effect": "Allow", "Action": "s3:Get", "Resource": "*"}`, "s3:GetObject", "arn:aws:s3:::b/k", false},
		"one of many":                          {`{"Effect": "Allow", "Action": ["s3:GetObject", "s3:PutObject"], "Resource": ["arn:aws:s3:::a/*", "arn:aws:s3:::b/*"]}`, "s3:PutObject", "arn:aws:s3:::b/k", true},
		"letters of a resource":                {`{"Effect": "Allow", "Action": "*", "Resource": "arn:aws:s3:::B/*"}`, "s3:PutObject", "arn:aws:s3:::b/k", false},
		"a bucket is not its objects":          {`{"Effect": "Allow", "Action": "*", "Resource": "arn:aws:s3:::b/*"}`, "s3:ListBucket", "arn:aws:s3:::b", false},
		"a table is not its indexes":           {`{"Effect": "Allow", "Action": "*", "Resource": "arn:aws:dynamodb:r:1:table/t"}`, "dynamodb:Query", "arn:aws:dynamodb:r:1:table/t/index/i", false},
		"its indexes":                          {`{"Effect": "Allow", "Action": "*", "Resource": "arn:aws:dynamodb:r:1:table/t/index/*"}`, "dynamodb:Query", "arn:aws:dynamodb:r:1:table/t/index/i", true},
		"a wildcard stays in its part":         {`{"Effect": "Allow", "Action": "*", "Resource": "arn:aws:sqs:*:q"}`, "sqs:SendMessage", "arn:aws:sqs:r:1:q", false},
		"the last part may have colons":        {`{"Effect": "Allow", "Action": "*", "Resource": "arn:aws:secretsmanager:r:1:secret:wovyr/*"}`, "secretsmanager:GetSecretValue", "arn:aws:secretsmanager:r:1:secret:wovyr/key-AbCdEf", true},
		"another secret":                       {`{"Effect": "Allow", "Action": "*", "Resource": "arn:aws:secretsmanager:r:1:secret:wovyr/*"}`, "secretsmanager:GetSecretValue", "arn:aws:secretsmanager:r:1:secret:other-AbCdEf", false},
		"one character":                        {`{"Effect": "Allow", "Action": "*", "Resource": "arn:aws:sqs:r:1:q-?"}`, "sqs:SendMessage", "arn:aws:sqs:r:1:q-12", false},
		"a name that begins with another's":    {`{"Effect": "Allow", "Action": "*", "Resource": "arn:aws:sqs:r:1:q"}`, "sqs:SendMessage", "arn:aws:sqs:r:1:q2", false},
		"another account":                      {`{"Effect": "Allow", "Action": "*", "Resource": "arn:aws:sqs:r:1:q"}`, "sqs:SendMessage", "arn:aws:sqs:r:2:q", false},
		"a resource that is no ARN":            {`{"Effect": "Allow", "Action": "*", "Resource": "arn:aws:sqs:r:1:q"}`, "sqs:SendMessage", "q", false},
		"a wildcard in the middle":             {`{"Effect": "Allow", "Action": "*", "Resource": "arn:aws:s3:::b/*/x/*"}`, "s3:GetObject", "arn:aws:s3:::b/1/2/x/3", true},
		"a wildcard in the middle, not so far": {`{"Effect": "Allow", "Action": "*", "Resource": "arn:aws:s3:::b/*/x"}`, "s3:GetObject", "arn:aws:s3:::b/1/x/3", false},
	} {
		t.Run(name, func(t *testing.T) {
			d := iampolicy.Decide(parse(t, tc.statements), iampolicy.Request{Action: tc.action, Resource: tc.resource})
			require.Equal(t, tc.allowed, d.Allowed)
		})
	}
}

func TestConditions(t *testing.T) {
	type values = map[string][]string
	for name, tc := range map[string]struct {
		condition string
		context   values
		allowed   bool
	}{
		"equal":                                {`"StringEquals": {"k": "v"}`, values{"k": {"v"}}, true},
		"equal to one of them":                 {`"StringEquals": {"k": ["u", "v"]}`, values{"k": {"v"}}, true},
		"not equal":                            {`"StringEquals": {"k": "v"}`, values{"k": {"V"}}, false},
		"no value":                             {`"StringEquals": {"k": "v"}`, nil, false},
		"no value, if there is one":            {`"StringEqualsIfExists": {"k": "v"}`, nil, true},
		"a value, if there is one":             {`"StringEqualsIfExists": {"k": "v"}`, values{"k": {"w"}}, false},
		"letters of a key":                     {`"StringEquals": {"AWS:Key": "v"}`, values{"aws:key": {"v"}}, true},
		"different, of none":                   {`"StringNotEquals": {"k": ["u", "v"]}`, values{"k": {"v"}}, false},
		"different":                            {`"StringNotEquals": {"k": ["u", "v"]}`, values{"k": {"w"}}, true},
		"different, no value":                  {`"StringNotEquals": {"k": "v"}`, nil, true},
		"like":                                 {`"StringLike": {"k": "a*z"}`, values{"k": {"abcz"}}, true},
		"unlike":                               {`"StringNotLike": {"k": "a*z"}`, values{"k": {"abcz"}}, false},
		"whatever its letters":                 {`"StringEqualsIgnoreCase": {"k": "V"}`, values{"k": {"v"}}, true},
		"a key of many values needs a manner":  {`"StringLike": {"k": "a*"}`, values{"k": {"a1", "a2"}}, false},
		"all values":                           {`"ForAllValues:StringLike": {"k": "a*"}`, values{"k": {"a1", "a2"}}, true},
		"all values but one":                   {`"ForAllValues:StringLike": {"k": "a*"}`, values{"k": {"a1", "b2"}}, false},
		"all of no values":                     {`"ForAllValues:StringLike": {"k": "a*"}`, nil, true},
		"all of no values, and there must be":  {`"ForAllValues:StringLike": {"k": "a*"}, "Null": {"k": "false"}`, nil, false},
		"all values, and there must be":        {`"ForAllValues:StringLike": {"k": "a*"}, "Null": {"k": "false"}`, values{"k": {"a1"}}, true},
		"any value":                            {`"ForAnyValue:StringLike": {"k": "a*"}`, values{"k": {"b", "a"}}, true},
		"any of no values":                     {`"ForAnyValue:StringLike": {"k": "a*"}`, nil, false},
		"there must be none":                   {`"Null": {"k": "true"}`, values{"k": {"v"}}, false},
		"an ARN":                               {`"ArnLike": {"k": "arn:aws:sqs:*:*:q"}`, values{"k": {"arn:aws:sqs:r:1:q"}}, true},
		"an ARN, a wildcard stays in its part": {`"ArnLike": {"k": "arn:aws:*:q"}`, values{"k": {"arn:aws:sqs:r:1:q"}}, false},
		"true":                                 {`"Bool": {"aws:SecureTransport": "true"}`, values{"aws:SecureTransport": {"false"}}, false},
		"all conditions":                       {`"StringEquals": {"k": "v", "l": "w"}`, values{"k": {"v"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			policies := parse(t, `{"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {`+tc.condition+`}}`)
			require.Equal(t, tc.allowed, iampolicy.Decide(policies, iampolicy.Request{Action: "a:B", Resource: "arn:aws:a:::b", Context: tc.context}).Allowed)
		})
	}
}

// TestUnknown: what is not understood is an error, for to leave it out would allow too much.
func TestUnknown(t *testing.T) {
	for _, statement := range []string{
		`{"Effect": "Allow", "NotAction": "*", "Resource": "*"}`,
		`{"Effect": "Allow", "Action": "*", "NotResource": "*"}`,
		`{"Effect": "Allow", "Action": "*", "Resource": "*", "Principal": "*"}`,
		`{"Effect": "Allow", "Action": "*"}`,
		`{"Effect": "Allow", "Resource": "*"}`,
		`{"Effect": "allow", "Action": "*", "Resource": "*"}`,
		`{"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"NumericLessThan": {"k": "1"}}}`,
		`{"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"NullIfExists": {"k": "true"}}}`,
		`{"Effect": "Allow", "Action": {"Ref": "x"}, "Resource": "*"}`,
	} {
		_, err := iampolicy.Parse([]byte(`{"Version": "2012-10-17", "Statement": [` + statement + `]}`))
		require.Error(t, err, statement)
	}
}

func TestWildcards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.StringMatching(`[ab/]{0,4}`)
		a, b, c, between := part.Draw(t, "a"), part.Draw(t, "b"), part.Draw(t, "c"), part.Draw(t, "between")
		require.True(t, iampolicy.MatchAction(a+"*"+b+"*"+c, a+between+b+between+c))
		require.True(t, iampolicy.MatchAction(a+"?"+c, a+"x"+c))
		require.False(t, iampolicy.MatchAction(a+"?"+c, a+c))
		require.False(t, iampolicy.MatchAction(a+"*"+b+"x", a+between+b))
		require.Equal(t, a == b, iampolicy.MatchAction(a, b))
	})
}
