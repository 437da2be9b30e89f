package connect_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/stretchr/testify/require"

	"github.com/wovyr/wovyr/internal/emulator"
	"github.com/wovyr/wovyr/pkg/aws/connect"
	"github.com/wovyr/wovyr/pkg/aws/stack"
)

// policies are those of docs/deploy.md, in its order: callers, operators, deployers.
func policies(t *testing.T, account string) []string {
	text, err := os.ReadFile("../../../docs/deploy.md")
	require.NoError(t, err)
	var out []string
	for _, found := range regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		out = append(out, strings.NewReplacer("REGION", "us-east-1", "ACCOUNT", account, ":API/", ":a1b2c3d4/").Replace(found[1]))
	}
	require.Len(t, out, 3)
	return out
}

// TestPoliciesOfTheDocs gives people the policies of docs/deploy.md, on an emulator that checks rights, and lets them do what the page says that they may.
func TestPoliciesOfTheDocs(t *testing.T) {
	cfg := emulator.Config(t)
	who, err := sts.NewFromConfig(cfg).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	require.NoError(t, err)
	policy := policies(t, *who.Account)
	create(t, cfg, "wovyr", map[string]string{stack.OutputURL: "https://a1b2c3d4.execute-api.us-east-1.amazonaws.com", stack.OutputAuth: "iam", stack.OutputPublisher: "wovyr-WovyrPublisher1-x"})
	admin := dynamodb.NewFromConfig(cfg)
	for _, table := range []string{"wovyr-WovyrHistory1-x", "wovyr-WovyrIndex1-x", "wovyr-WovyrCatalogue1-x"} {
		_, err := admin.CreateTable(t.Context(), &dynamodb.CreateTableInput{TableName: aws.String(table), BillingMode: types.BillingModePayPerRequest,
			AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("p"), AttributeType: types.ScalarAttributeTypeS}},
			KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("p"), KeyType: types.KeyTypeHash}}})
		require.NoError(t, err)
	}
	queue, err := sqs.NewFromConfig(cfg).CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("wovyr-WovyrInboxDeadLetters1-x")})
	require.NoError(t, err)

	calls := map[string]func(aws.Config) error{
		"find the stack": func(c aws.Config) error { _, err := connect.Find(t.Context(), c, "wovyr"); return err },
		"read histories": func(c aws.Config) error {
			_, err := dynamodb.NewFromConfig(c).Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("wovyr-WovyrHistory1-x")})
			return err
		},
		"write histories": func(c aws.Config) error { return put(t, c, "wovyr-WovyrHistory1-x") },
		"write the index": func(c aws.Config) error { return put(t, c, "wovyr-WovyrIndex1-x") },
		"write the catalogue": func(c aws.Config) error {
			return put(t, c, "wovyr-WovyrCatalogue1-x")
		},
		"take dead letters": func(c aws.Config) error {
			_, err := sqs.NewFromConfig(c).ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: queue.QueueUrl})
			return err
		},
	}
	for i, allowed := range [][]string{{"find the stack"}, {"read histories", "write the index", "take dead letters"}, {}} {
		person := person(t, cfg, fmt.Sprint("person-", i), policy[i])
		person.RetryMaxAttempts = 1
		var may []string
		for name, call := range calls { // order-free: a set
			if err := call(person); err == nil {
				may = append(may, name)
			} else {
				require.Regexp(t, "AccessDenied|lack the right", err.Error(), name)
			}
		}
		require.ElementsMatch(t, allowed, may, "policy %d", i+1)
	}
}

func put(t *testing.T, c aws.Config, table string) error {
	_, err := dynamodb.NewFromConfig(c).PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: map[string]types.AttributeValue{"p": &types.AttributeValueMemberS{Value: "x"}}})
	return err
}
