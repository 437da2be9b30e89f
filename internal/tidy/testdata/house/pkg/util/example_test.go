package util_test

func Example() {}
