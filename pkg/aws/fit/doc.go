// Package fit finds out before a workflow is deployed to AWS what could never run there: a step that may take longer than a Lambda function runs, a
// function that no worker class has, a Lambda function that the deployment may not call, a program where there are no programs. The API refuses such a
// document with all findings, and `wovyr validate --target aws` says the same at the desk.
//
// The package depends on no service, so that everybody can import it.
package fit
