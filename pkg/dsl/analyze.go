package dsl

import "github.com/wovyr/wovyr/pkg/workflow"

// analyze completes and checks what parse read.
func analyze(def *workflow.Definition, s *source, k *sink) {}
