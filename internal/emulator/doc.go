// Package emulator gives tests an AWS to run on: by default an emulator on this machine (localstack/ministack.sh), started once for
// each test binary and gone with it, however it ends. Nothing is skipped where none can be had: the test fails and says what is missing.
//
// WOVYR_AWS_ENDPOINT names a running one instead, LocalStack for example: http://127.0.0.1:4566. The word "aws" means AWS itself, with the
// credentials and region of the environment, for whoever wants to pay for it.
package emulator
