package stack_test

import (
	"fmt"

	"github.com/wovyr/wovyr/pkg/aws/stack"
)

func ExampleEnvTasksQueue() {
	fmt.Println(stack.EnvTasksQueue("gpu-large"))
	// Output: WOVYR_QUEUE_TASKS_GPU_LARGE
}
