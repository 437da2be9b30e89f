package connect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/smithy-go"

	"github.com/wovyr/wovyr/pkg/aws/stack"
)

// Replay lets the publisher of the stack look after what it could not publish, and publish it again unless look is set. It takes the right
// lambda:InvokeFunction on the publisher: nobody else needs the rights that it has. Call again while More is set.
func (s *Stack) Replay(ctx context.Context, look bool) (stack.Replayed, error) {
	var out stack.Replayed
	function := s.Outputs[stack.OutputPublisher]
	if function == "" {
		return out, fmt.Errorf("connect: stack %s has no output %s: it is older than this program, deploy it again", s.Name, stack.OutputPublisher)
	}
	request, err := json.Marshal(stack.ReplayRequest{Wovyr: stack.ReplayEvent, Look: look})
	if err != nil {
		return out, fmt.Errorf("connect: %w", err)
	}
	res, err := lambda.NewFromConfig(s.Config).Invoke(ctx, &lambda.InvokeInput{FunctionName: &function, Payload: request})
	var api smithy.APIError
	switch {
	case errors.As(err, &api) && strings.HasPrefix(api.ErrorCode(), "AccessDenied"):
		return out, &DeniedError{Action: "lambda:InvokeFunction", Said: api.ErrorMessage(),
			Resource: fmt.Sprintf("arn:%s:lambda:%s:%s:function:%s", s.ARN.Partition, s.ARN.Region, s.ARN.AccountID, function)}
	case err != nil:
		return out, fmt.Errorf("connect: ask the publisher of stack %s: %w", s.Name, err)
	case res.FunctionError != nil:
		return out, fmt.Errorf("connect: the publisher of stack %s failed (%s): %s", s.Name, aws.ToString(res.FunctionError), res.Payload)
	}
	if err := json.Unmarshal(res.Payload, &out); err != nil {
		return out, fmt.Errorf("connect: the publisher of stack %s answers what this program does not know: %w", s.Name, err)
	}
	return out, nil
}
