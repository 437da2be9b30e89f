package project_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/wovyr/wovyr/pkg/project"
	"github.com/wovyr/wovyr/pkg/secret"
)

func ExampleLoad() {
	dir, err := os.MkdirTemp("", "project")
	check(err)
	defer os.RemoveAll(dir)
	check(os.WriteFile(filepath.Join(dir, project.FileName), []byte(`
functions:
  price.quote: { url: http://127.0.0.1:9000/quote }
secrets:
  mail: { file: mail.txt }
`), 0o600))
	check(os.WriteFile(filepath.Join(dir, "mail.txt"), []byte("sesame"), 0o600))

	p, err := project.Load(dir)
	check(err)
	fmt.Println(p.Functions["price.quote"].URL)
	mail, err := p.SecretProvider(nil).Get(context.Background(), secret.Ref{Name: "mail"})
	check(err)
	fmt.Println(mail)
	// Output:
	// http://127.0.0.1:9000/quote
	// sesame
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
