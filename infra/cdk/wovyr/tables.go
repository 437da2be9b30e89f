package wovyr

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/jsii-runtime-go"

	"github.com/wovyr/wovyr/pkg/eventstore/dynamodb/schema"
)

// table makes a table as the store describes it: paid by request, restorable to any moment of the last 35 days.
func (w *Wovyr) table(id string, s schema.Table) awsdynamodb.Table {
	props := &awsdynamodb.TableProps{
		PartitionKey: attribute(s.Partition), BillingMode: awsdynamodb.BillingMode_PAY_PER_REQUEST, Encryption: awsdynamodb.TableEncryption_AWS_MANAGED,
		PointInTimeRecoverySpecification: &awsdynamodb.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: jsii.Bool(true)},
		RemovalPolicy:                    w.removal, DeletionProtection: jsii.Bool(!w.props.Ephemeral),
	}
	if s.Sort.Name != "" {
		props.SortKey = attribute(s.Sort)
	}
	if s.TTL != "" {
		props.TimeToLiveAttribute = jsii.String(s.TTL)
	}
	if s.Stream {
		props.Stream = awsdynamodb.StreamViewType_NEW_IMAGE
	}
	if w.Key != nil {
		props.Encryption, props.EncryptionKey = awsdynamodb.TableEncryption_CUSTOMER_MANAGED, w.Key
	}
	t := awsdynamodb.NewTable(w.Construct, jsii.String(id), props)
	for _, i := range s.Indexes {
		index := &awsdynamodb.GlobalSecondaryIndexProps{IndexName: jsii.String(i.Name), PartitionKey: attribute(i.Partition), SortKey: attribute(i.Sort), ProjectionType: awsdynamodb.ProjectionType_ALL}
		switch {
		case len(i.Include) > 0:
			index.ProjectionType, index.NonKeyAttributes = awsdynamodb.ProjectionType_INCLUDE, jsii.Strings(i.Include...)
		case i.KeysOnly:
			index.ProjectionType = awsdynamodb.ProjectionType_KEYS_ONLY
		}
		t.AddGlobalSecondaryIndex(index)
	}
	return t
}

func attribute(k schema.Key) *awsdynamodb.Attribute {
	types := map[string]awsdynamodb.AttributeType{"S": awsdynamodb.AttributeType_STRING, "N": awsdynamodb.AttributeType_NUMBER, "B": awsdynamodb.AttributeType_BINARY}
	return &awsdynamodb.Attribute{Name: jsii.String(k.Name), Type: types[k.Type]}
}

// tables are all tables.
func (w *Wovyr) tables() []awsdynamodb.Table {
	return []awsdynamodb.Table{w.History, w.Catalogue, w.Index}
}

// bucket makes a private, encrypted bucket.
func (w *Wovyr) bucket(id string, rules ...*awss3.LifecycleRule) awss3.Bucket {
	rules = append(rules, &awss3.LifecycleRule{Id: jsii.String("parts"), AbortIncompleteMultipartUploadAfter: awscdk.Duration_Days(jsii.Number(3))})
	props := &awss3.BucketProps{
		BlockPublicAccess: awss3.BlockPublicAccess_BLOCK_ALL(), EnforceSSL: jsii.Bool(true), ObjectOwnership: awss3.ObjectOwnership_BUCKET_OWNER_ENFORCED,
		Encryption: awss3.BucketEncryption_S3_MANAGED, RemovalPolicy: w.removal, LifecycleRules: &rules,
	}
	if w.Key != nil {
		props.Encryption, props.EncryptionKey, props.BucketKeyEnabled = awss3.BucketEncryption_KMS, w.Key, jsii.Bool(true)
	}
	return awss3.NewBucket(w.Construct, jsii.String(id), props)
}
