// Package wovyr is the AWS platform of the Wovyr Workflow Engine as a CDK construct: functions, tables, queues, bus, schedules, API, alarms
// and a dashboard, with the least rights that each needs.
//
//	wovyr.NewWovyr(stack, jsii.String("Wovyr"), &wovyr.Props{})
//
// Data stays when the stack is removed, unless Props.Ephemeral says otherwise. Logical IDs are part of the contract: what runs must survive
// an update, so a resource that holds data or messages never changes its ID (a test compares).
package wovyr
