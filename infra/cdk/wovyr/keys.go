package wovyr

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/jsii-runtime-go"
)

// customerKey is the stack's own key, or nil: then each service encrypts with AWS's.
func (w *Wovyr) customerKey() awskms.Key {
	if !w.props.CustomerKey {
		return nil
	}
	key := awskms.NewKey(w.Construct, jsii.String("Key"), &awskms.KeyProps{
		Description: jsii.String("Encrypts the data of the Wovyr Workflow Engine"), EnableKeyRotation: jsii.Bool(true), RemovalPolicy: w.removal,
	})
	region := *awscdk.Stack_Of(w.Construct).Region()
	key.AddToResourcePolicy(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Sid:        jsii.String("Logs"),
		Principals: &[]awsiam.IPrincipal{awsiam.NewServicePrincipal(jsii.String("logs."+region+".amazonaws.com"), nil)},
		Actions:    jsii.Strings("kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:Describe*"),
		Resources:  jsii.Strings("*"),
		Conditions: &map[string]any{"ArnLike": map[string]any{"kms:EncryptionContext:aws:logs:arn": awscdk.Stack_Of(w.Construct).FormatArn(&awscdk.ArnComponents{
			Service: jsii.String("logs"), Resource: jsii.String("log-group"), ResourceName: jsii.String("*"), ArnFormat: awscdk.ArnFormat_COLON_RESOURCE_NAME})}},
	}), nil)
	return key
}

// tokenKey signs the tokens of callbacks and attempts. Its value is made by the service and stands in no template.
func (w *Wovyr) tokenKey() awssecretsmanager.Secret {
	return awssecretsmanager.NewSecret(w.Construct, jsii.String("TokenKey"), &awssecretsmanager.SecretProps{
		Description: jsii.String("Signs the tokens of callbacks and attempts of Wovyr"), EncryptionKey: keyOrNil(w.Key), RemovalPolicy: w.removal,
		GenerateSecretString: &awssecretsmanager.SecretStringGenerator{PasswordLength: jsii.Number(64), ExcludePunctuation: jsii.Bool(true)},
	})
}

// keyOrNil keeps a nil key from becoming an interface that is not nil.
func keyOrNil(k awskms.Key) awskms.IKey {
	if k == nil {
		return nil
	}
	return k
}
